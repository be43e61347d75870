"""The client, against a stub that speaks the server's shapes and learns with the package itself."""

import json
import pickle
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from noregret import Client, Learner, ServerError


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status, content):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, status, code, message, **more):
        self.answer(status, {"error": {"code": code, "message": message, **more}})

    def handle_any(self):
        stub, content = self.server.stub, self.body()
        stub["requests"].append((self.command, self.path, self.headers.get("Idempotency-Key")))
        if stub["drop"]:
            stub["drop"] -= 1
            self.close_connection = True
            return
        if self.headers.get("Authorization") != "Bearer secret":
            return self.refuse(401, "no_token", "a token is needed")
        url = urllib.parse.urlsplit(self.path)
        parts = [urllib.parse.unquote(part) for part in url.path.split("/")[2:]]
        query = dict(urllib.parse.parse_qsl(url.query))
        models = stub["models"]
        if parts == ["models"]:
            return self.answer(200, {"models": [{"name": name} for name in models]})
        name, verb = parts[1], (parts[2:] or [self.command])[0]
        if verb == "PUT":
            models[name] = Learner(**json.loads(content))
            return self.answer(201, {"name": name})
        if verb == "model" and self.command == "PUT":
            models[name] = Learner.from_bytes(content)
            return self.answer(201, {"name": name, "query": query})
        if name not in models:
            return self.refuse(404, "no_model", f"there is no model `{name}`")
        model = models[name]
        if verb == "GET":
            return self.answer(200, model.summary())
        if verb == "DELETE":
            del models[name]
            return self.answer(204, b"")
        if verb == "model":
            return self.answer(200, model.to_bytes())
        if verb == "certificate":
            found = model.certificate(radius=float(query["radius"]) if "radius" in query else None)
            return self.answer(200, {"best_at_least": found.best_at_least, "radius": found.radius})
        if verb == "history":
            return self.answer(200, {"points": []})
        if verb == "broken":
            return self.answer(500, b"out of order")
        if self.headers["Content-Type"] == "application/x-ndjson":
            asked = {"examples": [json.loads(line) for line in content.splitlines()]}
        elif self.headers["Content-Type"] == "text/x-libsvm":
            return self.answer(200, {"learned": len(content.splitlines()), "query": query})
        else:
            asked = json.loads(content)
        if verb == "label":
            several = asked.get("labels", [asked])
            return self.answer(200, {"learned": len(several), "told": several})
        examples = asked.get("examples", [asked])
        rows = [e["features"] if "features" in e else dense(e) for e in examples]
        if verb == "predict":
            scores = [model.score_one(x) for x in rows]
            told = [{"label": model.predict_one(x), "score": z} | ({"id": f"{k:016x}"} if asked["id"] else {}) for k, (x, z) in enumerate(zip(rows, scores))]
            return self.answer(200, {"predictions": told})
        key = self.headers["Idempotency-Key"]
        if key not in stub["keys"]:
            for k, (x, e) in enumerate(zip(rows, examples)):
                try:
                    model.learn_one(x, e["label"], e.get("weight", 1.0))
                except ValueError as error:
                    return self.refuse(422, "bad_feature", str(error), example=k)
            stub["keys"][key] = {"learned": len(rows), "examples": model.examples, "average_loss": model.average_loss}
        if stub["drop_after"]:
            stub["drop_after"] -= 1
            self.close_connection = True
            return
        self.answer(200, stub["keys"][key])

    do_GET = do_PUT = do_POST = do_DELETE = handle_any


def dense(example):
    x = np.zeros(max(example["indices"], default=-1) + 1)
    x[example["indices"]] = example["values"]
    return x


@pytest.fixture
def stub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.stub = {"models": {}, "keys": {}, "requests": [], "drop": 0, "drop_after": 0}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.stub["url"] = f"http://127.0.0.1:{server.server_port}"
    yield server.stub
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_model_is_made_taught_asked_and_removed(stub, stream):
    X, y = stream
    here = Learner("ogd", loss="hinge")
    with Client(stub["url"], "secret") as client:
        client.create("weather/1 ä", learner="ogd", loss="hinge")
        assert [model["name"] for model in client.models()] == ["weather/1 ä"]
        for x, label in zip(X[:10], y[:10]):
            client.learn_one("weather/1 ä", x, label, weight=0.5)
            here.learn_one(x, label, 0.5)
        told = client.learn_many("weather/1 ä", X[10:], y[10:])
        here.learn_many(X[10:], y[10:])
        assert told == {"learned": 290, "examples": 300, "average_loss": here.average_loss}
        assert client.describe("weather/1 ä") == here.summary()
        assert client.predict_one("weather/1 ä", X[0]) == {"label": here.predict_one(X[0]), "score": here.score_one(X[0])}
        assert [p["score"] for p in client.predict_many("weather/1 ä", X)] == here.score_many(X).tolist()
        assert client.certificate("weather/1 ä", radius=2)["best_at_least"] == here.certificate(2).best_at_least
        assert client.history("weather/1 ä") == {"points": []}
        assert client.download("weather/1 ä").to_bytes() == here.to_bytes()
        client.delete("weather/1 ä")
        assert client.models() == []
        assert client.upload("again", here, replace=True)["query"] == {"replace": "true"}
        assert client.download("again").to_bytes() == here.to_bytes()


def test_dicts_numbers_of_numpy_and_later_labels(stub):
    client = Client(stub["url"] + "/", "secret")
    client.create("m", learner="ogd")
    client.learn_one("m", {"a": np.float32(1.5), "city": "Rome", "deep": {"b": np.int64(2)}}, np.True_)
    found = client.predict_many("m", [{"a": 1.0}, {"a": 2.0}], id=True)
    told = client.label("m", [(found[0]["id"], 1), (found[1]["id"], np.float64(0), 2.0)])
    assert told["told"] == [{"id": "0" * 16, "label": 1}, {"id": "0" * 15 + "1", "label": 0.0, "weight": 2.0}]
    assert client.label("m", found[0]["id"], "yes")["told"] == [{"id": "0" * 16, "label": "yes"}]


def test_streams_are_sent_in_chunks(stub, stream):
    X, y = stream
    client = Client(stub["url"], "secret")
    client.create("m", learner="ogd")
    assert client.learn_stream("m", zip(X, y.tolist()))["learned"] == 300
    here = Learner("ogd")
    here.learn_many(X, y)
    assert client.download("m").to_bytes() == here.to_bytes()
    lines = (f"1 {k % 1000 + 1}:1\n" for k in range(50_000))
    assert client.learn_stream("m", lines, "libsvm", label="y") == {"learned": 50_000, "query": {"label": "y"}}
    with pytest.raises(ValueError, match="expected one of ndjson, csv, libsvm, vw"):
        client.learn_stream("m", [], "arrow")


def test_what_is_refused_says_why(stub):
    client = Client(stub["url"], "secret")
    with pytest.raises(ServerError, match="there is no model `none`") as caught:
        client.describe("none")
    assert (caught.value.status, caught.value.code, caught.value.example) == (404, "no_model", None)
    client.create("m", learner="ogd")
    with pytest.raises(ServerError, match="example 1: .*found the label") as caught:
        client.learn_many("m", [{"a": 1.0}, {"a": 1.0}], [1, "blue"])
    assert caught.value.example == 1 and pickle.loads(pickle.dumps(caught.value)).code == "bad_feature"
    with pytest.raises(ServerError, match="a token is needed"):
        Client(stub["url"]).models()
    with pytest.raises(ServerError, match="out of order") as caught:
        client._ask("GET", "/v1/models/m/broken")
    assert caught.value.code == "unknown"
    with pytest.raises(ValueError, match="2 examples, y 1 labels"):
        client.learn_many("m", [{}, {}], [1])
    with pytest.raises(ValueError, match="expected a dict or a one-dimensional array"):
        client.predict_one("m", [[1.0]])
    with pytest.raises(ValueError, match="not JSON compliant|Out of range"):
        client.learn_one("m", {"a": float("nan")}, 1)
    for url in ("127.0.0.1:7878", "ftp://here", "http://", "http://here?x=1"):
        with pytest.raises(ValueError, match="url: found"):
            Client(url)
    with pytest.raises(ConnectionRefusedError):
        Client("http://127.0.0.1:1").models()


def test_a_broken_connection_learns_nothing_twice(stub):
    client = Client(stub["url"], "secret")
    client.create("m", learner="ogd")
    stub["drop_after"] = 1
    assert client.learn_one("m", {"a": 1.0}, 1)["examples"] == 1
    keys = [key for method, path, key in stub["requests"] if path.endswith("learn")]
    assert len(keys) == 2 and keys[0] == keys[1]
    stub["drop"] = 1
    assert len(client.models()) == 1
    stub["drop"] = 2
    with pytest.raises((ConnectionError, OSError, Exception)):
        client.models()
    stub["drop"] = 1
    with pytest.raises(Exception):
        client.create("other", learner="ogd")
    assert "other" not in stub["models"]


def test_threads_have_connections_of_their_own(stub):
    client = Client(stub["url"], "secret")
    client.create("m", learner="ogd")
    threads = [threading.Thread(target=lambda: [client.learn_one("m", {"a": 1.0}, 1) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.describe("m")["examples"] == 80
