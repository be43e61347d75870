"""Structured Streaming: a model that learns every micro-batch, each exactly once in effect.

The model is written after every batch under the batch's number, whole or not at all. A query that is started again asks Spark for
the batch after its last committed one; a batch whose number the model already has is passed over, and one that was
interrupted is learned anew from the model before it. So no batch is learned twice, and none is lost.
"""

from __future__ import annotations

import re
from typing import Any

from .. import Learner, _noregret
from ._files import Folder
from ._rounds import learn as learn_rows

_FILE = re.compile(r"^model-(\d{20})\.noregret$")

KEPT = 2


def _latest(folder: Folder) -> tuple[int, str] | None:
    found = [(int(match[1]), name) for name in folder.names() if (match := _FILE.match(name))]
    return max(found, default=None)


def model(spark: Any, checkpoint: str) -> tuple[Learner, int]:
    """The model as of the last batch, and that batch's number."""
    folder = Folder(spark, f"{checkpoint}/models")
    latest = _latest(folder)
    if latest is None:
        raise FileNotFoundError(f"{checkpoint}/models has no model: no batch has been learned yet")
    return Learner.from_bytes(folder.read(latest[1])), latest[0]


def learn(
    stream: Any,
    checkpoint: str,
    estimator: Any = None,
    *,
    trigger: dict[str, Any] | None = None,
    on_batch: Any = None,
    name: str | None = None,
) -> Any:
    """Starts a query that learns a stream, and returns it (a ``StreamingQuery``).

    `estimator` is an ``OnlineClassifier`` (the default) or ``OnlineRegressor``, whose parameters hold; `rounds` must be 1. `checkpoint`
    is a folder of the query's own: Spark's progress is under ``query``, models under ``models``. `trigger` has
    the arguments of ``DataStreamWriter.trigger``, such as ``{"availableNow": True}``. `on_batch(learner, number)` is called
    after a batch has been written.
    """
    from ._estimator import OnlineClassifier

    estimator = OnlineClassifier() if estimator is None else estimator
    if estimator.getOrDefault(estimator.rounds) != 1:
        raise ValueError("rounds: a stream is learned as it comes, in one round")
    columns = estimator.columns(stream.schema)
    classes = estimator._get("classes") if estimator.hasParam("classes") else None
    fresh = estimator.fresh(columns, classes)
    _noregret.can_average(fresh)
    Folder(stream.sparkSession, checkpoint)  # refuses before anything runs where it cannot be written

    def each(batch: Any, number: int) -> None:
        folder = Folder(batch.sparkSession, f"{checkpoint}/models")
        latest = _latest(folder)
        if latest is not None and latest[0] >= number:
            return
        start = fresh if latest is None else Learner.from_bytes(folder.read(latest[1]))
        learner, _ = learn_rows(batch, columns, start)
        folder.write(f"model-{number:020}.noregret", learner.to_bytes())
        for old in sorted(file for file in folder.names() if _FILE.match(file))[:-KEPT]:
            folder.remove(old)
        if on_batch is not None:
            on_batch(learner, number)

    writer = stream.writeStream.foreachBatch(each).option("checkpointLocation", f"{checkpoint}/query")
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()
