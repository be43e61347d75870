"""A real cluster on loopback: a master and two workers as processes of their own; one executor is killed in mid-job."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyspark
import pytest
from conftest import Data

HOME = Path(pyspark.__file__).parent

SCRIPT = r"""
import os, signal, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
from noregret.spark import OnlineClassifier

master, rows, out, kill = sys.argv[1:]
spark = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.executor.cores", "1").config("spark.executor.memory", "512m").config("spark.cores.max", "2")
    .config("spark.sql.files.maxPartitionBytes", "1m").config("spark.sql.files.openCostInBytes", "1m")
    .config("spark.scheduler.minRegisteredResourcesRatio", "1").config("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
frame = spark.read.parquet(rows)
if kill != "no":
    # Rows go slowly, so that the executor dies while its tasks are under way.
    flag = out + ".started"
    if kill == "rows":
        def slowly(batches):
            time.sleep(0.5)
            Path(flag).touch()
            yield from batches
        frame = frame.mapInArrow(slowly, frame.schema)
    else:
        from noregret.spark import _rounds
        class Slowly(_rounds._Learning):
            def take(self, *rows):
                time.sleep(0.5)
                Path(flag).touch()
                super().take(*rows)
        _rounds._Learning = Slowly
    def murder():
        while not Path(flag).exists():
            time.sleep(0.05)
        found = []
        for each in Path("/proc").iterdir():
            try:
                line = (each / "cmdline").read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in line and spark.sparkContext.applicationId.encode() in line:
                found.append(int(each.name))
        os.kill(sorted(found)[0], signal.SIGKILL)
        Path(out + ".killed").write_text(str(sorted(found)))
    threading.Thread(target=murder, daemon=True).start()
model = OnlineClassifier(featuresCols=["a", "b", "c"], labelCol="label").fit(frame)
if kill != "no":
    assert Path(out + ".killed").exists(), "no executor was killed"
Path(out).write_bytes(model.online.to_bytes())
spark.stop()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a master with two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    package = str(Path(__import__("noregret").__file__).parent.parent)
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    environment |= {"SPARK_WORKER_DIR": str(folder), "SPARK_NO_DAEMONIZE": "1"}
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    commands += [
        [f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", address]
    ] * 2
    processes, logs = [], []
    for k, command in enumerate(commands):
        logs.append((folder / f"{k}.log").open("w+"))
        processes.append(
            subprocess.Popen([HOME / "bin" / "spark-class", *command], env=environment, stdout=logs[-1], stderr=logs[-1])
        )
        if k == 0:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
    yield address, environment
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
    for log in logs:
        log.close()


def test_an_executor_that_is_killed_changes_nothing(cluster, tmp_path):
    import pandas as pd

    address, environment = cluster
    data = Data(n=4000, d=3, seed=2)
    table = pd.DataFrame(dict(zip("abc", data.X.T)) | {"label": data.y})
    (tmp_path / "rows").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(table)), 6)):
        table.iloc[rows].to_parquet(tmp_path / "rows" / f"{k:02}.parquet")
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT)
    models = []
    for kill in ("no", "files", "rows"):
        out = tmp_path / f"model-{kill}"
        told = subprocess.run(
            [sys.executable, script, address, tmp_path / "rows", out, kill],
            env=environment, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr[-4000:]
        models.append(out.read_bytes())
    assert models[0] == models[1] == models[2]
    import noregret

    assert noregret.Learner.from_bytes(models[0]).examples == 4000
