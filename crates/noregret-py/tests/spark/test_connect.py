"""Spark Connect: what works through it, and what says that it does not. In a process of its own, which knows no other Spark."""

import subprocess
import sys

from conftest import frame, parallel

from noregret.spark import OnlineClassifier

SCRIPT = r"""
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from noregret.spark import OnlineClassifier, audit, separate

vectors, plain, out = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
spark.conf.set("spark.sql.files.maxPartitionBytes", "2k")
spark.conf.set("spark.sql.files.openCostInBytes", "2k")
rows = spark.read.parquet(vectors)
model = OnlineClassifier(rounds=2).fit(rows)
Path(out).write_bytes(model.online.to_bytes())
assert audit(rows, "logistic", radius=1.0, max_sweeps=2).best.at_least > 0
assert separate(rows, max_rounds=2).margin.at_most >= 0
rows = spark.read.parquet(plain)
model = OnlineClassifier(featuresCols=["size", "kind"]).fit(rows)
assert {row.prediction for row in model.transform(rows).select("prediction").collect()} <= {0.0, 1.0}
try:
    model.save(out + ".saved")
except NotImplementedError as error:
    print(error)
"""


def test_fits_and_audits_go_through_connect(spark, data, tmp_path):
    rows = frame(spark, data.X, data.y, 10)
    rows.write.parquet(str(tmp_path / "vectors"))
    rows = [(float(x[0]), "abc"[k % 3], float(y)) for k, (x, y) in enumerate(zip(data.X, data.y))]
    parallel(spark, rows, "size double, kind string, label double", 2).write.parquet(str(tmp_path / "plain"))
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", tmp_path / "vectors", tmp_path / "plain", tmp_path / "model"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert told.returncode == 0, told.stderr[-4000:]
    assert "Spark Connect" in told.stdout and "saveModel" in told.stdout
    before = spark.conf.get("spark.sql.files.maxPartitionBytes"), spark.conf.get("spark.sql.files.openCostInBytes")
    for name, value in zip(("maxPartitionBytes", "openCostInBytes"), ("2k", "2k")):
        spark.conf.set(f"spark.sql.files.{name}", value)
    here = spark.read.parquet(str(tmp_path / "vectors"))
    fitted = OnlineClassifier(rounds=2).fit(here)
    partitions = here.rdd.getNumPartitions()
    for name, value in zip(("maxPartitionBytes", "openCostInBytes"), before):
        spark.conf.set(f"spark.sql.files.{name}", value)
    assert partitions > 8 and (tmp_path / "model").read_bytes() == fitted.online.to_bytes()
