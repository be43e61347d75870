"""One session for all tests on `local[2]`."""

import os
import sys

import numpy as np
import pytest

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.ml.linalg import Vectors  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Data:
    """Rows of two classes, or with numbers as labels."""

    def __init__(self, n=400, d=6, seed=0, noise=0.5):
        random = np.random.default_rng(seed)
        self.X = random.normal(size=(n, d))
        self.X[random.random((n, d)) < 0.3] = 0.0
        z = self.X @ random.normal(size=d) + noise * random.normal(size=n) + 0.3
        self.z = z
        self.y = (z > 0).astype(float)
        self.weight = random.integers(0, 4, size=n).astype(float)


@pytest.fixture(scope="session")
def data():
    return Data()


def vector(row, sparse):
    if sparse:
        places = np.flatnonzero(row)
        return Vectors.sparse(len(row), places, row[places])
    return Vectors.dense(row)


def frame(spark, X, y, partitions=1, sparse=lambda k: k % 2 == 0, weight=None):
    """Rows in their order, cut into so many partitions."""
    rows = [
        (vector(x, sparse(k)), float(label), float(1.0 if weight is None else weight[k]))
        for k, (x, label) in enumerate(zip(X, y))
    ]
    return parallel(spark, rows, _schema(), partitions)


def parallel(spark, rows, schema, partitions):
    """Rows in their order in so many partitions, without a worker of Python's to make them."""
    from pyspark.sql import DataFrame
    from pyspark.sql.types import _parse_datatype_string

    schema = _parse_datatype_string(schema) if isinstance(schema, str) else schema
    context = spark.sparkContext
    plain = context.parallelize([schema.toInternal(row) for row in rows], partitions)
    java = context._jvm.SerDeUtil.toJavaArray(plain._to_java_object_rdd())
    return DataFrame(spark._jsparkSession.applySchemaToPythonRDD(java.rdd(), schema.json()), spark)


def _schema():
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import DoubleType, StructField, StructType

    names = [("features", VectorUDT()), ("label", DoubleType()), ("weight", DoubleType())]
    return StructType([StructField(name, kind, True) for name, kind in names])


def cut(rows):
    """Where the partitions of a frame begin and end."""
    from pyspark.sql import functions as f

    counts = rows.groupBy(f.spark_partition_id().alias("part")).count().collect()
    ends = np.cumsum([0, *(row["count"] for row in sorted(counts))])
    return list(zip(ends[:-1], ends[1:]))
