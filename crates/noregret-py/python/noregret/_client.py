"""A client of `noregret serve`, with Python's standard library alone."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ._noregret import Learner

_TEXT = {"ndjson": "application/x-ndjson", "csv": "text/csv", "libsvm": "text/x-libsvm", "vw": "text/x-vw"}


class ServerError(Exception):
    """What a server refused: `status` (of HTTP), `code`, the message, and `example`, the place of the bad one, if it is one."""

    def __init__(self, status: int, code: str, message: str, example: int | None = None):
        super().__init__(f"{message} ({code}, {status})" if example is None else f"example {example}: {message} ({code}, {status})")
        self.status = status
        self.code = code
        self.message = message
        self.example = example

    def __reduce__(self) -> tuple:
        return ServerError, (self.status, self.code, self.message, self.example)


def _plain(value: Any) -> Any:
    """Numbers of NumPy and the like as Python's own, which JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _example(x: Any, y: Any = None, weight: float | None = None) -> dict:
    if hasattr(x, "items"):
        example: dict[str, Any] = {"features": _plain(dict(x.items()))}
    else:
        values = _plain(x)
        if not isinstance(values, list) or any(isinstance(value, list) for value in values):
            raise ValueError(f"x is of type {type(x).__name__}, expected a dict or a one-dimensional array")
        kept = [(k, value) for k, value in enumerate(values) if value != 0]
        example = {"indices": [k for k, _ in kept], "values": [value for _, value in kept]}
    if y is not None:
        example["label"] = _plain(y)
    if weight is not None:
        example["weight"] = float(weight)
    return example


class Client:
    """Talks to a server: `Client("http://127.0.0.1:7878")`, with a `token` where it wants one.

    One connection for each thread is kept open. What was sent and may have been learned is never sent again without the
    same key, by which the server knows it: a connection that breaks loses nothing and learns nothing twice.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:7878",
        token: str | None = None,
        *,
        timeout: float = 30.0,
        context: ssl.SSLContext | None = None,
    ):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"url: found {url!r}, expected one such as http://127.0.0.1:7878")
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._root = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout
        self._context = context
        self._kept = threading.local()
        self.url = url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes this thread's connection."""
        connection = getattr(self._kept, "connection", None)
        self._kept.connection = None
        if connection is not None:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        connection = getattr(self._kept, "connection", None)
        if connection is None:
            if self._secure:
                context = self._context or ssl.create_default_context()
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
            else:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            self._kept.connection = connection
        return connection

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str], again: bool) -> bytes:
        """Sends a request, once more if the connection had been closed meanwhile and that does no harm."""
        for last in (not again, True):
            connection = self._connection()
            try:
                connection.request(method, self._root + path, body=body, headers=self._headers | headers)
                answer = connection.getresponse()
                content = answer.read()
                break
            except (http.client.HTTPException, OSError) as error:
                self.close()
                if last or isinstance(error, TimeoutError):
                    raise
        if answer.status < 300:
            return content
        try:
            told = json.loads(content)["error"]
            raise ServerError(answer.status, told["code"], told["message"], told.get("example"))
        except (ValueError, KeyError, TypeError):
            text = content.decode(errors="replace").strip() or answer.reason
            raise ServerError(answer.status, "unknown", text) from None

    def _ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, again: bool = True) -> Any:
        if body is not None:
            body = json.dumps(body, allow_nan=False).encode()
            headers = {"Content-Type": "application/json"} | (headers or {})
        content = self._send(method, path, body, headers or {}, again)
        return json.loads(content) if content else None

    @staticmethod
    def _path(model: str, *more: str, **query: Any) -> str:
        path = "/v1/models/" + "/".join(urllib.parse.quote(part, safe="") for part in (model, *more))
        asked = {key: value for key, value in query.items() if value is not None}
        return path + ("?" + urllib.parse.urlencode(asked) if asked else "")

    def create(self, model: str, **settings: Any) -> dict:
        """Makes a model: `learner`, `loss`, `radius` and parameters as in `Learner`."""
        # A second answer to a first request that was lost could be that the model exists; so it is sent once.
        return self._ask("PUT", self._path(model), settings, again=False)

    def models(self) -> list[dict]:
        """All models."""
        return self._ask("GET", "/v1/models")["models"]

    def describe(self, model: str) -> dict:
        """What is known of a model: the keys of `noregret learn --json`."""
        return self._ask("GET", self._path(model))

    def delete(self, model: str) -> None:
        """Removes a model."""
        self._ask("DELETE", self._path(model), again=False)

    def learn_one(self, model: str, x: Any, y: Any, weight: float | None = None, *, predict: bool = False, key: str | None = None) -> dict:
        """Teaches one example: a dict or an array. The answer comes when it is durable. `predict=True` also tells what was
        predicted before. `key` is the request's Idempotency-Key; without one a new one is made."""
        return self._learn(model, _example(x, y, weight), predict, key)

    def learn_many(
        self,
        model: str,
        X: Iterable[Any],
        y: Iterable[Any],
        sample_weight: Iterable[float] | None = None,
        *,
        predict: bool = False,
        key: str | None = None,
    ) -> dict:
        """Teaches several examples in one request: all of them, or none."""
        rows, labels = list(X), list(y)
        weights = [None] * len(rows) if sample_weight is None else list(sample_weight)
        if not len(rows) == len(labels) == len(weights):
            raise ValueError(f"X has {len(rows)} examples, y {len(labels)} labels and sample_weight {len(weights)} numbers")
        return self._learn(model, {"examples": [_example(*row) for row in zip(rows, labels, weights)]}, predict, key)

    def _learn(self, model: str, body: dict, predict: bool, key: str | None) -> dict:
        if predict:
            body["predict"] = True
        return self._ask("POST", self._path(model, "learn"), body, {"Idempotency-Key": key or str(uuid.uuid4())})

    def learn_stream(self, model: str, lines: Iterable[Any], format: str = "ndjson", *, key: str | None = None, **query: Any) -> dict:
        """Teaches a stream without holding it in memory: texts or bytes with their newlines (such as an open file) as
        `libsvm`, `vw` or `csv`, or as `ndjson`, where pairs (x, y) will do too. `query` may have `label`, `weight`."""
        if format not in _TEXT:
            raise ValueError(f"format: found {format!r}, expected one of {', '.join(_TEXT)}")

        def chunks() -> Iterator[bytes]:
            gathered, size = [], 0
            for line in lines:
                if isinstance(line, tuple):
                    line = json.dumps(_example(*line), allow_nan=False) + "\n"
                line = line.encode() if isinstance(line, str) else bytes(line)
                gathered.append(line)
                size += len(line)
                if size >= 1 << 16:
                    yield b"".join(gathered)
                    gathered, size = [], 0
            if gathered:
                yield b"".join(gathered)

        headers = {"Content-Type": _TEXT[format], "Idempotency-Key": key or str(uuid.uuid4())}
        # What has been read of an iterator cannot be sent again.
        return json.loads(self._send("POST", self._path(model, "learn", **query), chunks(), headers, again=False))

    def predict_one(self, model: str, x: Any, *, id: bool = False) -> dict:
        """The prediction for one example: `label`, `score`, `probability`, and with `id=True` an `id` to label it by later."""
        return self._predict(model, _example(x), id)[0]

    def predict_many(self, model: str, X: Iterable[Any], *, id: bool = False) -> list[dict]:
        """The predictions for several examples."""
        return self._predict(model, {"examples": [_example(x) for x in X]}, id)

    def _predict(self, model: str, body: dict, id: bool) -> list[dict]:
        return self._ask("POST", self._path(model, "predict"), body | {"id": id}, again=not id)["predictions"]

    def label(self, model: str, id: str | Sequence[tuple], label: Any = None, weight: float | None = None, *, key: str | None = None) -> dict:
        """Tells the label of an earlier prediction by its `id`; or of several, as pairs (id, label)."""

        def one(id: str, label: Any, weight: float | None = None) -> dict:
            return {"id": id, "label": _plain(label)} | ({} if weight is None else {"weight": weight})

        body = one(id, label, weight) if isinstance(id, str) else {"labels": [one(*pair) for pair in id]}
        return self._ask("POST", self._path(model, "label"), body, {"Idempotency-Key": key or str(uuid.uuid4())})

    def certificate(self, model: str, radius: float | None = None) -> dict:
        """What is proved against every model of the radius (or of the one in force)."""
        return self._ask("GET", self._path(model, "certificate", radius=radius))

    def history(self, model: str) -> Any:
        """The points of the curves of loss, regret and best in hindsight."""
        return self._ask("GET", self._path(model, "history"))

    def download(self, model: str) -> Learner:
        """The model itself, to go on with here."""
        return Learner.from_bytes(self._send("GET", self._path(model, "model"), None, {}, True))

    def upload(self, model: str, learner: Learner | bytes, *, replace: bool = False) -> dict:
        """Gives the server a learner (or the bytes of a model file) under a name."""
        body = learner.to_bytes() if isinstance(learner, Learner) else learner
        path = self._path(model, "model", replace="true" if replace else None)
        return json.loads(self._send("PUT", path, body, {"Content-Type": "application/octet-stream"}, False))
