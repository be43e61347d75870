"""The client against the real server: `noregret serve` of the command in the variable NOREGRET."""

import os
import re
import signal
import subprocess
import threading

import numpy as np
import pytest

import noregret

PROGRAM = os.environ.get("NOREGRET")
assert PROGRAM, "NOREGRET must say where the command is: scripts/test_python.sh builds it and does so"


class Served:
    def __init__(self, folder, *more):
        self.folder, self.more, self.port = folder, more, 0
        self.start()

    def start(self):
        command = [PROGRAM, "serve", "--data", str(self.folder), "--listen", f"127.0.0.1:{self.port}", "--quiet", *self.more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline()).group()
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def served(tmp_path):
    server = Served(tmp_path / "data")
    yield server
    server.kill()


def rows(count, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(count, 4)).round(6)
    return X, np.where(X @ [1.0, -2.0, 0.5, 0.0] > 0, 1, -1)


def test_a_model_is_made_taught_asked_described_and_removed(served):
    with noregret.Client(served.url) as client:
        client.create("m", loss="logistic", learner="auto")
        X, y = rows(200)
        first = client.learn_one("m", X[0], y[0], predict=True)
        assert first["examples"] == 1 and len(first["predictions"]) == 1
        assert client.learn_many("m", X[1:100], y[1:100])["examples"] == 100
        assert client.learn_stream("m", zip(X[100:], y[100:]))["learned"] == 100
        told = client.describe("m")
        assert told["examples"] == 200 and told["certificate"]["best_at_least"] <= told["average_loss"]
        assert [m["name"] for m in client.models()] == ["m"]
        found = [p["label"] for p in client.predict_many("m", X)]
        assert np.mean(np.array(found) == y) > 0.9
        wide = client.certificate("m", radius=100.0)
        assert wide["radius"] == 100.0 and wide["best_at_least"] <= told["average_loss"]
        assert client.history("m")["points"][-1]["examples"] == 200
        client.delete("m")
        with pytest.raises(noregret.ServerError) as refused:
            client.describe("m")
        assert (refused.value.status, refused.value.code) == (404, "unknown_model")


def test_names_labels_that_come_later_and_texts(served):
    with noregret.Client(served.url) as client:
        client.create("shop", loss="logistic", classes=["stays", "buys"])
        told = client.predict_one("shop", {"city": "Rome", "visits": 3}, id=True)
        assert client.label("shop", told["id"], "buys")["learned"] == 1
        assert client.learn_stream("shop", ["city,visits,what\n", "Oslo,1,stays\n"], "csv", label="what")["examples"] == 2
        with pytest.raises(noregret.ServerError) as refused:
            client.learn_many("shop", [{"city": "Lima"}] * 2, ["buys", "hesitates"])
        assert refused.value.code == "bad_label" and refused.value.example == 1
        assert client.describe("shop")["examples"] == 2


def test_models_go_down_and_up_to_the_bit(served):
    with noregret.Client(served.url) as client:
        client.create("m", loss="logistic", learner="adagrad")
        X, y = rows(300)
        client.learn_many("m", X, y)
        learner = client.download("m")
        client.upload("copy", learner)
        asked = rows(20, 1)[0]
        scores = [[p["score"] for p in client.predict_many(name, asked)] for name in ("m", "copy")]
        assert scores[0] == scores[1]
        client.learn_many("copy", X, y)
        assert client.describe("copy")["examples"] == 600


def test_a_server_that_was_killed_has_everything_and_learns_nothing_twice(served):
    client = noregret.Client(served.url)
    client.create("m", loss="logistic")
    X, y = rows(50)
    for k in range(50):
        client.learn_one("m", X[k], y[k], key=f"request-{k}")
        if k % 10 == 9:
            served.kill()
            served.start()
            # The answer might have been lost: the same again, with the same key.
            assert client.learn_one("m", X[k], y[k], key=f"request-{k}")["examples"] == k + 1
    assert client.describe("m")["examples"] == 50


def test_threads_share_a_client(served):
    client = noregret.Client(served.url)
    client.create("m", loss="logistic")
    X, y = rows(200)

    def teach(part):
        for k in range(part, 200, 4):
            client.learn_one("m", X[k], y[k])
        client.close()

    threads = [threading.Thread(target=teach, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.describe("m")["examples"] == 200


def test_tokens(tmp_path):
    tokens = tmp_path / "tokens"
    make = [PROGRAM, "serve", "--new-token", "read", "--token-file", str(tokens)]
    token = subprocess.run(make, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    server = Served(tmp_path / "data", "--token-file", str(tokens))
    try:
        for given, code in ((None, "bad_token"), ("wrong", "bad_token"), (token, "not_allowed")):
            with pytest.raises(noregret.ServerError) as refused:
                noregret.Client(server.url, given).create("m")
            assert refused.value.code == code
        assert noregret.Client(server.url, token).models() == []
    finally:
        server.kill()
