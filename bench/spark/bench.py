"""usage: bench.py FOLDER ROWS [--svm FILE] [--workers K] [--penalty P]    time and CPU of fits inside Spark, beside Spark's own

FOLDER gets train and test as Parquet, of FILE (LIBSVM, of which a tenth is held out) or of rows that `noregret generate
rcv1-like` makes ($NOREGRET is the command). Each fit is measured in one session after a first one that nobody counts; CPU
is that of the driver, its JVM and all Python workers. Spark's own, with regParam=P (1e-3), are run with more and more
iterations until their held-out loss is no worse than ours, or they have had 128.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.functions import vector_to_array
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from noregret.spark import OnlineClassifier

PARTITIONS = 8


def cpu():
    """Seconds of processor that this process and all its descendants have had."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents, spent = {}, {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                fields = (each / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(each.name)] = int(fields[1])
            spent[int(each.name)] = sum(map(int, fields[11:15]))
    mine = os.getpid()

    def ours(pid):
        while pid > 1 and pid != mine:
            pid = parents.get(pid, 0)
        return pid == mine

    return sum(each for pid, each in spent.items() if ours(pid)) / ticks


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def prepare(spark, folder, rows, given):
    if (folder / "test").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "rows.svm"
    held = max(2000, rows // 10)
    if given:
        rows -= held
        text.symlink_to(Path(given).resolve())
    else:
        program = os.environ.get("NOREGRET", "noregret")
        subprocess.run([program, "generate", "rcv1-like", "--n", str(rows + held), "--out", text, "--quiet"], check=True)
    whole = spark.read.format("libsvm").option("numFeatures", 1 << 16).load(str(text))
    whole = whole.withColumn("label", (f.col("label") > 0).cast("double"))
    whole = whole.withColumn("part", f.rand(1) < rows / (rows + held))
    whole.where("part").drop("part").repartition(PARTITIONS).write.parquet(str(folder / "train"))
    whole.where("not part").drop("part").repartition(2).write.parquet(str(folder / "test"))
    text.unlink()


def held_out(model, test, hinge):
    score = vector_to_array("rawPrediction")[1].alias("z")
    scored = model.transform(test).select("label", score).toPandas()
    z = scored.z.to_numpy() * np.where(scored.label > 0, 1, -1)
    return float((np.maximum(0, 1 - z) if hinge else np.logaddexp(0, -z)).mean())


def measured(name, estimator, train, test, hinge):
    begin, spent = time.monotonic(), cpu()
    model = estimator.fit(train)
    row = {"fit": name, "seconds": time.monotonic() - begin, "cpu": cpu() - spent, "held_out": held_out(model, test, hinge)}
    print(json.dumps(row), flush=True)
    return row


def main():
    folder, rows = Path(sys.argv[1]), int(sys.argv[2])
    workers, penalty = int(option("--workers", 2)), float(option("--penalty", 1e-3))
    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.files.openCostInBytes", "128m")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    prepare(spark, folder, rows, option("--svm", None))
    train, test = (spark.read.parquet(str(folder / name)) for name in ("train", "test"))
    print(json.dumps({"rows": train.count(), "partitions": train.rdd.getNumPartitions(), "workers": workers}), flush=True)
    for hinge, their in ((False, LogisticRegression), (True, LinearSVC)):
        loss = "hinge" if hinge else "logistic"
        # The first fits start workers and compile; nobody counts them.
        OnlineClassifier(loss=loss).fit(train)
        ours = measured(f"OnlineClassifier {loss}", OnlineClassifier(loss=loss), train, test, hinge)
        if "--ours" in sys.argv:
            continue
        their(maxIter=1, regParam=penalty).fit(train)
        most = 2
        while most <= 128:
            theirs = measured(f"{their.__name__} maxIter={most}", their(maxIter=most, regParam=penalty), train, test, hinge)
            if theirs["held_out"] <= ours["held_out"]:
                break
            most *= 2
        print(json.dumps({"loss": loss, "their CPU / ours": theirs["cpu"] / ours["cpu"]}), flush=True)
    spark.stop()


main()
