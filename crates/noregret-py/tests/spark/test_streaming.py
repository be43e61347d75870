"""Structured Streaming: exactly once in effect, whatever is interrupted."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import Data

import noregret
from noregret.spark import OnlineClassifier, streaming
from noregret.spark._files import Folder

SCHEMA = "x double, z double, label double"


def write(folder, k):
    """One file is one batch."""
    import pandas as pd

    data = Data(n=50, d=2, seed=k)
    table = pd.DataFrame({"x": data.X[:, 0], "z": data.X[:, 1], "label": data.y})
    path = folder / f"{k:03}.parquet"
    table.to_parquet(path)
    # Spark takes files in the order of their times, and these could be written in one millisecond.
    os.utime(path, (1_700_000_000 + k, 1_700_000_000 + k))
    return table


def start(spark, source, checkpoint, **more):
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    estimator = OnlineClassifier(featuresCols=["x", "z"], learner="projected-ogd", radius=2.0)
    return streaming.learn(stream, str(checkpoint), estimator, trigger={"availableNow": True}, **more)


def finish(query):
    query.awaitTermination(120)
    assert not query.isActive
    assert query.exception() is None, query.exception()


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "source").mkdir()
    for k in range(4):
        write(folder / "source", k)
    finish(start(spark, folder / "source", folder / "checkpoint"))
    return streaming.model(spark, str(folder / "checkpoint"))


def test_batches_are_learned_in_order(spark, undisturbed, tmp_path):
    learner, number = undisturbed
    assert number == 3 and learner.examples == 200
    alone = noregret.Learner("projected-ogd", "logistic", 2.0, columns=["x", "z"])
    for k in range(4):
        table = write(tmp_path, k)
        alone.learn_many(table[["x", "z"]], table["label"])
    # A batch of one file is one partition: the very weights of one machine.
    assert np.array_equal(learner.weights, alone.weights) and learner.bias == alone.bias
    assert learner.average_loss == pytest.approx(alone.average_loss, rel=1e-14)
    assert learner.certificate().best_at_least == pytest.approx(alone.certificate().best_at_least, rel=1e-9)


def test_a_query_that_is_stopped_between_batches_goes_on(spark, undisturbed, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for k in range(4):
        write(source, k)
        finish(start(spark, source, tmp_path / "checkpoint"))
        assert streaming.model(spark, str(tmp_path / "checkpoint"))[1] == k
    assert streaming.model(spark, str(tmp_path / "checkpoint"))[0].to_bytes() == undisturbed[0].to_bytes()


@pytest.mark.parametrize("moment", ["before the model is written", "after the model is written"])
def test_a_query_that_dies_inside_a_batch_neither_repeats_nor_loses_it(spark, undisturbed, tmp_path, monkeypatch, moment):
    source = tmp_path / "source"
    source.mkdir()
    for k in range(4):
        write(source, k)
    whole = Folder.write

    def dies(folder, name, data):
        if name.endswith("2.noregret"):
            if moment.startswith("after"):
                whole(folder, name, data)
            raise RuntimeError("the driver died here")
        whole(folder, name, data)

    monkeypatch.setattr(Folder, "write", dies)
    query = start(spark, source, tmp_path / "checkpoint")
    with pytest.raises(Exception, match="the driver died here"):
        query.awaitTermination(120)
    known = streaming.model(spark, str(tmp_path / "checkpoint"))[1]
    assert known == (2 if moment.startswith("after") else 1)
    monkeypatch.undo()
    told = []
    finish(start(spark, source, tmp_path / "checkpoint", on_batch=lambda learner, number: told.append(number)))
    assert told == ([3] if moment.startswith("after") else [2, 3])
    assert streaming.model(spark, str(tmp_path / "checkpoint"))[0].to_bytes() == undisturbed[0].to_bytes()


DRIVER = """
import sys, time
from pyspark.sql import SparkSession
from test_streaming import finish, start

def note(learner, number):
    print("learned", number, flush=True)
    # Here it is killed.
    time.sleep(600 if str(number) == until else 0)

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
spark = spark.config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
source, checkpoint, until = sys.argv[1:]
finish(start(spark, source, checkpoint, on_batch=note))
"""


def drive(source, checkpoint, until=None):
    """A driver of its own, killed with all that it started once it has learned batch `until`; what it has learned."""
    command = [sys.executable, "-c", DRIVER, str(source), str(checkpoint), str(until)]
    here = os.path.dirname(__file__)
    driver = subprocess.Popen(
        command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    told = []
    for line in driver.stdout:
        if line.startswith("learned "):
            told.append(int(line.split()[1]))
            if told[-1] == until:
                os.killpg(driver.pid, signal.SIGKILL)
    assert (driver.wait() == 0) == (until is None)
    return told


def test_a_driver_that_is_killed_neither_repeats_nor_loses_a_batch(spark, undisturbed, tmp_path):
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    for k in range(4):
        write(source, k)
    # The model of batch 1 is there, and Spark has not noted that the batch is done.
    assert drive(source, checkpoint, until=1) == [0, 1]
    assert drive(source, checkpoint) == [2, 3]
    assert streaming.model(spark, str(checkpoint))[0].to_bytes() == undisturbed[0].to_bytes()


def test_what_a_stream_cannot_do_is_said(spark, tmp_path):
    (tmp_path / "source").mkdir()
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "source"))
    with pytest.raises(ValueError, match="one round"):
        streaming.learn(stream, str(tmp_path / "c"), OnlineClassifier(featuresCols=["x"], rounds=2))
    with pytest.raises(FileNotFoundError, match="no batch has been learned"):
        streaming.model(spark, str(tmp_path / "c"))
