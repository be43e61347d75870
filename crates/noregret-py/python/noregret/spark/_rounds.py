"""Rounds of local passes from a common start, each followed by an average over the partitions.

In the first round every partition predicts its rows before it learns them, from the start; the ledgers of all partitions add, and
prove what the best fixed model could have lost on all rows together (MATH: ledgers add). In later rounds the rows have
been seen: what is proved of them is a bracket of the best fixed model's loss. Below, the largest bound of any round's ledger;
above, what the averaged model loses when all rows are gone through with it.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import Learner, _noregret
from ._columns import Columns
from ._job import Rows
from ._sum import Sum, add, at_most


@dataclass(frozen=True)
class Progress:
    """How a round left the bracket. No model of the class loses less than `best_at_least`; the averaged model loses no more
    than `model_loss`, which is the bracket's upper end where the model is of the class (`inside`). With one round
    nothing is measured, and `model_loss` is None."""

    round: int
    comparator: str
    radius: float | None
    best_at_least: float
    model_loss: float | None
    inside: bool


class _Learning:
    """Learns a partition from a start."""

    by_batch = False

    def __init__(self, start: bytes):
        self.learner = Learner.from_bytes(start)

    def take(self, features: Any, labels: Any, weights: Any) -> None:
        self.learner.learn_many(features, labels, weights)

    def result(self) -> bytes:
        return self.learner.to_bytes()


def average(parts: list[bytes]) -> bytes:
    """The average of models that began alike; one alone is what it was."""
    if len(parts) == 1:
        return parts[0]
    return _noregret.average([Learner.from_bytes(part) for part in parts]).to_bytes()


def one_round(rows: Rows, start: Learner) -> Learner:
    """One pass over all partitions. The result's ledger is that of the round alone."""
    begin = start if start.examples == 0 else _noregret.fork(start)
    begun = begin.to_bytes()
    return Learner.from_bytes(rows.run(lambda: _Learning(begun), average))


class _Measuring:
    """Goes through a partition with a fixed model."""

    by_batch = True

    def __init__(self, model: bytes):
        self.learner = Learner.from_bytes(model)
        self.ledger: Any = None
        self.loss: Sum = (0.0, 0.0)

    def take(self, features: Any, labels: Any, weights: Any) -> None:
        ledger, loss, _, _ = _noregret.sweep(self.learner, features, labels, weights)
        self.ledger = ledger if self.ledger is None else self.ledger + ledger
        self.loss = add(self.loss, (loss, 0.0))

    def result(self) -> bytes:
        return pickle.dumps((None if self.ledger is None else _noregret.pack(self.ledger), self.loss))


def _add(parts: list[bytes]) -> bytes:
    ledger, total = None, (0.0, 0.0)
    for packed, loss in map(pickle.loads, parts):
        if packed is not None:
            more = _noregret.unpack(packed)
            ledger = more if ledger is None else ledger + more
        total = add(total, loss)
    return pickle.dumps((None if ledger is None else _noregret.pack(ledger), total))


def measure(rows: Rows, model: Learner) -> tuple[Any, float | None]:
    """The ledger of a fixed model on all rows, and its average loss there."""
    begun = model.to_bytes()
    packed, total = pickle.loads(rows.run(lambda: _Measuring(begun), _add))
    if packed is None:
        return None, None
    ledger = _noregret.unpack(packed)
    return ledger, at_most(total) / ledger.weight if ledger.weight > 0 else None


def learn(data: Any, columns: Columns, start: Learner, rounds: int = 1) -> tuple[Learner, list[Progress]]:
    """Learns a DataFrame in rounds, and says after each how the bracket stands; with one round nothing is measured."""
    _noregret.can_average(start)
    rows = Rows(data, columns)
    first = one_round(rows, start)
    if start.examples > 0:
        _noregret.follow(first, start)
    if rounds == 1 or first.examples == 0:
        return first, [_progress(1, first, None, None)] if first.examples else []
    if start.examples > 0:
        raise ValueError("rounds= goes over the same rows again, and cannot go on from a model of other rows")
    model, progress = first, [_progress(1, first, *measure(rows, first))]
    for number in range(2, rounds + 1):
        model = one_round(rows, model)
        if model.examples != first.examples:
            raise ValueError(
                f"round {number} met {model.examples} rows and the first {first.examples}: the DataFrame changes when it is "
                "read again; write it to files, or keep it with persist()"
            )
        _noregret.repeat(model, first, number)
        progress.append(_progress(number, model, *measure(rows, model)))
    return model, progress


def _progress(number: int, model: Learner, measured: Any, loss: float | None) -> Progress:
    own = model.certificate()
    best = own.best_at_least
    if measured is not None and own.comparator != "ridge":
        # A fixed model's ledger is a proof like any other.
        best = max(best, measured.certificate(own.radius, own.comparator).best_at_least)
    inside = own.comparator == "l2" and own.radius is not None and _norm(model) <= own.radius * (1 + 1e-9)
    return Progress(number, own.comparator, own.radius, best, loss, inside)


def _norm(model: Learner) -> float:
    return float(np.hypot(np.linalg.norm(model.weights), model.bias))
