"""A model that was learned inside Spark goes on in `noregret serve`, the command in the variable NOREGRET."""

import os
import re
import subprocess

import numpy as np
import pytest
from conftest import frame, parallel

import noregret
from noregret.spark import OnlineClassifier


@pytest.fixture
def served(tmp_path):
    program = os.environ.get("NOREGRET")
    assert program, "say where the command is: NOREGRET=target/release/noregret"
    command = [program, "serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield re.search(r"http://\S+", process.stdout.readline()).group()
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_model_learned_on_spark_is_served_and_goes_on(spark, data, served, tmp_path):
    fitted = OnlineClassifier().fit(frame(spark, data.X, data.y, 3))
    fitted.saveModel(str(tmp_path / "model.noregret"))
    with noregret.Client(served) as client:
        client.upload("m", (tmp_path / "model.noregret").read_bytes())
        told = client.describe("m")
        assert told["examples"] == len(data.y)
        assert told["certificate"]["best_at_least"] == fitted.certificate.best_at_least
        found = np.array([each["score"] for each in client.predict_many("m", data.X)])
        assert np.allclose(found, fitted.online.score_many(data.X), atol=1e-5)
        assert client.learn_many("m", data.X[:50], [int(y) for y in data.y[:50]])["examples"] == len(data.y) + 50
        assert client.download("m").examples == len(data.y) + 50


def test_named_features_are_served_by_their_names(spark, data, served):
    rows = [(float(x[0]), "abc"[k % 3], float(y)) for k, (x, y) in enumerate(zip(data.X, data.y))]
    fitted = OnlineClassifier(featuresCols=["size", "kind"]).fit(parallel(spark, rows, "size double, kind string, label double", 2))
    with noregret.Client(served) as client:
        client.upload("m", fitted.online)
        asked = [{"size": size, "kind": kind} for size, kind, _ in rows]
        found = np.array([each["score"] for each in client.predict_many("m", asked)])
    assert np.allclose(found, fitted.online.score_many(asked), atol=1e-5)
