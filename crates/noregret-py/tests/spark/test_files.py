"""Parquet files that tasks read by themselves: the same to the last bit as rows that come through Spark, or not at all."""

import contextlib
import math
import os

import numpy as np
import pytest
from conftest import frame, parallel

from noregret.spark import OnlineClassifier, audit, separate
from noregret.spark import _job as job
from noregret.spark import _scan as scan
from noregret.spark._columns import Columns

PLAIN = "size double, level int, far bigint, small smallint, tiny tinyint, narrow float, sure boolean, kind string, label double"


@contextlib.contextmanager
def set_to(spark, **settings):
    """Settings of the session for a while; the words of a name are joined by two underscores."""
    settings = {name.replace("__", "."): value for name, value in settings.items()}
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@contextlib.contextmanager
def only_files(monkeypatch):
    """Rows may not come through Spark."""
    with monkeypatch.context() as patch:
        patch.setattr(job, "_mapper", lambda *_: pytest.fail("rows come through Spark"))
        yield


def planned(rows, features="features", label="label"):
    return scan.plan(rows, Columns.of(rows.schema, features, label))


def both(spark, monkeypatch, what):
    """What comes of reading the files, and of rows that come through Spark."""
    with only_files(monkeypatch):
        read = what()
    with set_to(spark, spark__noregret__readFiles="false"):
        return read, what()


def stored(spark, rows, path, small=False, **options):
    """The rows as files, with many small row groups if wanted, and the DataFrame that reads them."""
    options |= {"parquet.block.size": 1024, "parquet.block.size.row.check.min": 10} if small else {}
    options |= {"parquet.page.size.row.check.min": 10} if small else {}
    rows.write.options(**options).parquet(str(path))
    return spark.read.parquet(str(path))


@pytest.fixture
def files(spark, data, tmp_path):
    return stored(spark, frame(spark, data.X, data.y, 3, weight=data.weight), tmp_path / "rows")


@pytest.mark.parametrize("kind", [lambda k: True, lambda k: False, lambda k: k % 3 == 0], ids=["sparse", "dense", "mixed"])
@pytest.mark.parametrize("small", [False, True])
def test_vectors_are_the_same_to_the_last_bit(spark, data, tmp_path, monkeypatch, kind, small):
    rows = stored(spark, frame(spark, data.X, data.y, 3, kind, data.weight), tmp_path / "rows", small)
    estimator = OnlineClassifier(weightCol="weight")
    read, through = both(spark, monkeypatch, lambda: estimator.fit(rows).online)
    assert read.examples == len(data.y) and read.to_bytes() == through.to_bytes()


def test_files_are_cut_as_spark_cuts_them(spark, data, tmp_path, monkeypatch):
    rows = stored(spark, frame(spark, data.X, data.y, 2), tmp_path / "rows", small=True)
    with set_to(spark, spark__sql__files__maxPartitionBytes="3000", spark__sql__files__openCostInBytes="1"):
        rows = spark.read.parquet(str(tmp_path / "rows"))
        pieces = [piece for part in planned(rows).partitions for piece in part]
        assert len(pieces) > 4 and max(piece.begin for piece in pieces) > 0
        assert len(planned(rows).partitions) == rows.rdd.getNumPartitions() > job.FAN_IN
        read, through = both(spark, monkeypatch, lambda: OnlineClassifier().fit(rows).online)
    assert read.examples == len(data.y) and read.to_bytes() == through.to_bytes()


def plain(data):
    return [
        (float(x[0]), k % 3, 2**40 + k, k % 100 - 50, k % 7, float(x[1]), k % 2 == 0, f"{k % 5} ä", float(y))
        for k, (x, y) in enumerate(zip(data.X, data.y))
    ]


@pytest.mark.parametrize("label", ["label", "level2", "sure", "name"])
def test_plain_columns_are_the_same_to_the_last_bit(spark, data, tmp_path, monkeypatch, label):
    rows = parallel(spark, plain(data), PLAIN, 2)
    rows = rows.selectExpr("*", "cast(label as int) level2", "if(label > 0, 'spam', 'ham') name")
    rows = stored(spark, rows, tmp_path / "rows")
    features = ["kind", "size", "level", "far", "small", "tiny", "narrow", "sure"]
    classes = {"classes": ["ham", "spam"]} if label == "name" else {}
    estimator = OnlineClassifier(featuresCols=features, labelCol=label, **classes)
    read, through = both(spark, monkeypatch, lambda: estimator.fit(rows).online)
    assert read.to_bytes() == through.to_bytes() and "kind=3 ä" in read.named_weights
    with only_files(monkeypatch):
        renamed = rows.withColumnRenamed("kind", "sort").select("sort", "narrow", label)
        assert "sort=3 ä" in OnlineClassifier(featuresCols=["sort"], labelCol=label, **classes).fit(renamed).online.named_weights


@pytest.mark.parametrize("kinds", ["array<int>, values array<double>", "array<bigint>, values array<float>"])
def test_lists_are_the_same_to_the_last_bit(spark, data, tmp_path, monkeypatch, kinds):
    lists = [([int(i) for i in np.flatnonzero(x)], [float(v) for v in x[x != 0]], float(y)) for x, y in zip(data.X, data.y)]
    rows = stored(spark, parallel(spark, lists, f"indices {kinds}, label double", 2), tmp_path / "rows")
    estimator = OnlineClassifier(featuresCols=["indices", "values"])
    read, through = both(spark, monkeypatch, lambda: estimator.fit(rows).online)
    assert read.to_bytes() == through.to_bytes()


def test_files_of_others_are_the_same_to_the_last_bit(spark, data, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": data.X[:, 0], "b": pa.array(["xyz"[k % 3] for k in range(len(data.y))]).dictionary_encode(), "label": data.y})
    (tmp_path / "rows").mkdir()
    for version, compression, encoding in (("1.0", "zstd", None), ("2.0", "gzip", {"a": "BYTE_STREAM_SPLIT", "label": "PLAIN", "b": "PLAIN"})):
        pq.write_table(
            table, tmp_path / "rows" / f"{compression}.parquet", data_page_version=version, compression=compression,
            row_group_size=70, use_dictionary=encoding is None, column_encoding=encoding,
        )  # fmt: skip
    rows = spark.read.parquet(str(tmp_path / "rows"))
    read, through = both(spark, monkeypatch, lambda: OnlineClassifier(featuresCols=["a", "b"]).fit(rows).online)
    assert read.examples == 2 * len(data.y) and read.to_bytes() == through.to_bytes()


def test_rounds_audits_and_separation_are_the_same_to_the_last_bit(spark, data, tmp_path, monkeypatch):
    rows = stored(spark, frame(spark, data.X, data.y, 3), tmp_path / "rows", small=True)
    estimator = OnlineClassifier(learner="projected-ogd", radius=3.0, rounds=3)
    read, through = both(spark, monkeypatch, lambda: estimator.fit(rows))
    assert read.online.to_bytes() == through.online.to_bytes() and read.progress == through.progress
    read, through = both(spark, monkeypatch, lambda: audit(rows, "logistic", radius=2.0, max_sweeps=5))
    assert read.best == through.best and np.array_equal(read.weights, through.weights)
    read, through = both(spark, monkeypatch, lambda: separate(rows, max_rounds=3))
    assert read.margin == through.margin


CHANGED = {
    "filter": lambda rows: rows.where("label > 0 or label < 1"),
    "limit": lambda rows: rows.limit(300),
    "sample": lambda rows: rows.sample(0.9, seed=1),
    "union": lambda rows: rows.union(rows),
    "join": lambda rows: rows.crossJoin(rows.limit(1).select("weight").withColumnRenamed("weight", "w")),
    "repartition": lambda rows: rows.repartition(2),
    "coalesce": lambda rows: rows.coalesce(1),
    "sort": lambda rows: rows.orderBy("label"),
    "distinct": lambda rows: rows.distinct(),
    "computed": lambda rows: rows.selectExpr("features", "1 - label as label"),
    "Python": lambda rows: rows.mapInArrow(lambda batches: batches, rows.schema),
    "cached": lambda rows: rows.cache(),
    "RDD": lambda rows: rows.sparkSession.createDataFrame(rows.rdd, rows.schema),
    "observed": lambda rows: rows.observe("seen", __import__("pyspark").sql.functions.count("label").alias("n")),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_changes_rows_comes_through_spark(spark, files, name):
    assert planned(files) is not None
    changed = CHANGED[name](files)
    assert planned(changed) is None
    assert OnlineClassifier().fit(changed).online.examples == changed.count()
    changed.unpersist()


def test_other_files_come_through_spark(spark, data, tmp_path):
    rows = parallel(spark, plain(data), PLAIN, 2)
    rows.write.partitionBy("level").parquet(str(tmp_path / "folders"))
    rows.write.orc(str(tmp_path / "orc"))
    rows.selectExpr("cast(size as decimal(10, 2)) size", "label").write.parquet(str(tmp_path / "decimal"))
    rows.write.bucketBy(2, "level").mode("overwrite").saveAsTable("bucketed")
    rows.write.mode("overwrite").saveAsTable("whole")
    others = [spark.read.parquet(str(tmp_path / "folders")), spark.read.orc(str(tmp_path / "orc")), spark.table("bucketed")]
    for other in others:
        assert planned(other, ["size"]) is None
        assert OnlineClassifier(featuresCols=["size"]).fit(other).online.examples == len(data.y)
    decimals = spark.read.parquet(str(tmp_path / "decimal"))
    assert planned(decimals, ["label"], "size") is None
    assert planned(spark.table("whole"), ["size"]) is not None
    with set_to(spark, spark__sql__sources__useV1SourceList="csv"):
        spark.table("whole").write.parquet(str(tmp_path / "second"))
        second = spark.read.parquet(str(tmp_path / "second"))
        assert planned(second, ["size"]) is None
        assert OnlineClassifier(featuresCols=["size"]).fit(second).online.examples == len(data.y)
    with set_to(spark, spark__sql__parquet__fieldId__read__enabled="true"):
        assert planned(spark.table("whole"), ["size"]) is None
    with set_to(spark, spark__noregret__readFiles="false"):
        assert planned(spark.table("whole"), ["size"]) is None
    spark.sql("drop table bucketed")
    spark.sql("drop table whole")


def fallen(monkeypatch, caplog, what):
    """What comes of it when tasks find that they cannot read the files; and why."""
    caplog.clear()
    with caplog.at_level("INFO", logger="noregret.spark"):
        found = what()
    (record,) = caplog.records
    return found, record.getMessage()


@pytest.mark.parametrize(
    ("first", "second", "schema", "why"),
    [
        ("1D x, 1D label", "0D label", "x double, label double", "no column `x`"),
        ("1D x, 1D label", "2 x, 0D label", "x double, label double", "`x` is int32"),
        ("1D x, 1D label", "2F x, 0D label", "x double, label double", "`x` is float"),
        ("1D X, 1D label", "2D x, 0D label", "x double, label double", "spells"),
    ],
)
def test_files_with_other_columns_come_through_spark(spark, tmp_path, caplog, monkeypatch, first, second, schema, why):
    for k, columns in enumerate((first, second)):
        spark.sql(f"select {columns}").coalesce(1).write.parquet(str(tmp_path / "rows" / f"{k}"))
    rows = spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(str(tmp_path / "rows"))
    estimator = OnlineClassifier(featuresCols=["x"], handleInvalid="keep")
    with set_to(spark, spark__noregret__readFiles="false"):
        through = estimator.fit(rows)
    read, told = fallen(monkeypatch, caplog, lambda: estimator.fit(rows))
    assert why in told and read.online.to_bytes() == through.online.to_bytes()


def test_a_file_that_was_changed_since_comes_through_spark(spark, data, files, tmp_path, caplog, monkeypatch):
    with set_to(spark, spark__noregret__readFiles="false"):
        through = OnlineClassifier().fit(files)
    (first, *_) = sorted((tmp_path / "rows").glob("*.parquet"))
    os.utime(first, (1e9, 1e9))
    read, told = fallen(monkeypatch, caplog, lambda: OnlineClassifier().fit(files))
    assert "changed after it was planned" in told and read.online.to_bytes() == through.online.to_bytes()
    assert OnlineClassifier().fit(spark.read.parquet(str(tmp_path / "rows"))).online.to_bytes() == through.online.to_bytes()
    first.unlink()
    with pytest.raises(Exception, match="FILE_NOT_EXIST|does not exist"):
        OnlineClassifier().fit(files)


def test_a_damaged_file_is_told_by_spark(spark, data, files, tmp_path):
    (first, *_) = sorted((tmp_path / "rows").glob("*.parquet"))
    about, whole = first.stat(), bytearray(first.read_bytes())
    whole[300:310] = bytes(10)
    first.write_bytes(whole)
    os.utime(first, ns=(about.st_atime_ns, about.st_mtime_ns))
    with pytest.raises(Exception, match="(?i)checksum|cannot_read_file|FAILED_READ_FILE"):
        OnlineClassifier().fit(files)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: (None, 1.0, 1.0),
        lambda row: (row[0], None, 1.0),
        lambda row: (row[0], math.nan, 1.0),
        lambda row: (row[0], 7.0, 1.0),
        lambda row: (row[0], 1.0, -2.0),
        lambda row: (row[0], 1.0, None),
        lambda row: (type(row[0])([1.0, math.nan, 0, 0, 0, 0]), 1.0, 1.0),
        lambda row: (type(row[0])([1.0, math.inf, 0, 0, 0, 0]), 1.0, 1.0),
    ],
)
@pytest.mark.parametrize("small", [False, True])
def test_a_bad_row_is_told_in_the_same_words(spark, data, tmp_path, monkeypatch, spoil, small):
    whole = frame(spark, data.X, data.y, 2, lambda k: False)
    rows = [tuple(row) for row in whole.collect()]
    for k in (333, 350):
        rows[k] = spoil(rows[k])
    bad = stored(spark, parallel(spark, rows, whole.schema, 2), tmp_path / "rows", small)

    def refused():
        with pytest.raises(ValueError, match=r"^partition \d, row \d+ \(from 0\): ") as raised:
            OnlineClassifier(weightCol="weight").fit(bad)
        return str(raised.value)

    read, through = both(spark, monkeypatch, refused)
    assert read == through


def test_names_of_files_are_taken_as_they_are(spark, data, tmp_path, monkeypatch):
    folder = tmp_path / "50% ä+b c"
    rows = stored(spark, frame(spark, data.X, data.y), folder)
    with only_files(monkeypatch):
        assert OnlineClassifier().fit(rows).online.examples == len(data.y)


def test_files_without_rows(spark, data, tmp_path):
    rows = stored(spark, frame(spark, data.X, data.y).where("label > 5"), tmp_path / "rows")
    with pytest.raises(ValueError, match="no rows"):
        OnlineClassifier().fit(rows)
