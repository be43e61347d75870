"""usage: bench.py FOLDER ROWS [--svm FILE | --text] [--workers K] [--penalty P] [--fits LIST] [--losses LIST]
                [--times K] [--most N] [--eta E] [--rounds LIST]

Time and CPU of fits inside Spark, beside Spark's own. FOLDER gets train and test as Parquet: of FILE (LIBSVM), of text-like rows (`rows.py`), a
tenth of which is held out, or of rows that `noregret generate rcv1-like` makes ($NOREGRET is the command). Ten times rcv is
one command: `bench.py FOLDER 2000000 --text`.

Each fit is measured in one session after a first one that nobody counts; CPU is that of the driver, its JVM and all Python workers.
LIST of --fits has some of: `ours` (K times), `through` (ours with rows that come through Spark, K times), `defaults` (Spark's own as they
come: regParam=0, maxIter=100) and `search` (Spark's own with regParam=P (1e-3) and 2, 4, 8, ... iterations until their held-out loss is no
worse than ours, or they have had N, 128). LIST of --losses has `logistic` (LogisticRegression), `hinge` (LinearSVC), or both.
--fits prepare makes the data and fits nothing. --eta is the step size of ours (the learner's own default otherwise). LIST
of --rounds says how many rounds ours makes (1; `1,2,3` fits with each); Spark's own are compared with each of them.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import DoubleType, StructField, StructType

import rows as text_like
from noregret.spark import OnlineClassifier

PARTITIONS = 8
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
READ = "spark.noregret.readFiles"


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
    text = folder / "rows"
    held = max(2000, rows // 10)
    if given or "--text" in sys.argv:
        rows -= held
    if "--text" in sys.argv:
        if not text.exists():
            text_like.write(text, rows + held)
        schema = StructType([StructField("label", DoubleType()), StructField("features", VectorUDT())])
        whole = spark.read.schema(schema).parquet(str(text))
    else:
        if given:
            text.symlink_to(Path(given).resolve())
        else:
            program = os.environ.get("NOREGRET", "noregret")
            many = str(rows + held)
            subprocess.run([program, "generate", "rcv1-like", "--n", many, "--out", text, "--quiet"], check=True)
        whole = spark.read.format("libsvm").option("numFeatures", 1 << 16).load(str(text))
        whole = whole.withColumn("label", (f.col("label") > 0).cast("double"))
    whole = whole.withColumn("part", f.rand(1) < rows / (rows + held))
    whole.where("part").drop("part").repartition(PARTITIONS).write.parquet(str(folder / "train"))
    whole.where("not part").drop("part").repartition(2).write.parquet(str(folder / "test"))
    shutil.rmtree(text) if text.is_dir() else text.unlink()


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


def ours(spark, loss, direct, times, train, test):
    """For each number of rounds the cheapest of some fits, after one that starts workers and compiles, and that nobody counts."""
    spark.conf.set(READ, str(direct).lower())
    eta, cheapest = option("--eta", None), []
    for rounds in map(int, option("--rounds", "1").split(",")):
        estimator = OnlineClassifier(loss=loss, rounds=rounds, settings={} if eta is None else {"eta": float(eta)})
        estimator.fit(train)
        name = f"OnlineClassifier {loss}" + ("" if eta is None else f", eta={eta}") + ("" if direct else ", through Spark")
        name += "" if rounds == 1 else f", rounds={rounds}"
        fits = [measured(name, estimator, train, test, loss == "hinge") for _ in range(times)]
        cheapest.append(min(fits, key=lambda fit: fit["cpu"]))
    return cheapest


def search(their, penalty, limit, best, train, test, hinge):
    """Spark's own with more and more iterations, until they lose no more than ours."""
    most, theirs = 2, None
    while most <= limit:
        name = f"{their.__name__} maxIter={most}, regParam={penalty}"
        theirs = measured(name, their(maxIter=most, regParam=penalty), train, test, hinge)
        if best and theirs["held_out"] <= min(fit["held_out"] for fit in best):
            break
        most *= 2
    return theirs


def main():
    folder, rows = Path(sys.argv[1]), int(sys.argv[2])
    workers, penalty = int(option("--workers", 2)), float(option("--penalty", 1e-3))
    fits = option("--fits", "ours,defaults,search").split(",")
    losses = option("--losses", "logistic,hinge").split(",")
    times = int(option("--times", 1))
    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "6g")
        .config("spark.sql.files.openCostInBytes", "128m")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    prepare(spark, folder, rows, option("--svm", None))
    if fits == ["prepare"]:
        return
    train, test = (spark.read.parquet(str(folder / name)) for name in ("train", "test"))
    print(json.dumps({"rows": train.count(), "partitions": train.rdd.getNumPartitions(), "workers": workers}), flush=True)
    for loss, their in (("logistic", LogisticRegression), ("hinge", LinearSVC)):
        if loss not in losses:
            continue
        hinge, best = loss == "hinge", []
        if "ours" in fits:
            best = ours(spark, loss, True, times, train, test)
        if "through" in fits:
            ours(spark, loss, False, times, train, test)
        theirs = {}
        if "defaults" in fits or "search" in fits:
            their(maxIter=1, regParam=penalty).fit(train)
        if "defaults" in fits:
            theirs["defaults"] = measured(f"{their.__name__}()", their(), train, test, hinge)
        if "search" in fits:
            theirs["search"] = search(their, penalty, int(option("--most", 128)), best, train, test, hinge)
        for name, fit in theirs.items():
            for each in best:
                better = each["held_out"] <= fit["held_out"]
                told = {"ours": each["fit"], "theirs": name, "ours loses no more": better, "their CPU / ours": fit["cpu"] / each["cpu"]}
                print(json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
