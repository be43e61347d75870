"""Is there a hyperplane with every row of a DataFrame on its right side? The Optimistic Perceptron, a round of which is one
map and one sum: the weight of a row follows from the sum of all iterates, so nothing is kept for it."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import Learner, _noregret
from .._audit import Interval
from .._separate import Separation
from ._audit import _longer
from ._columns import Columns
from ._job import Rows

UNIT = np.finfo(float).eps / 2


class _Playing:
    """Plays the data's half of a round with a partition."""

    by_batch = True

    def __init__(self, learner: bytes, total: np.ndarray, over: float, asked: list[np.ndarray], bias: bool):
        self.learner = Learner.from_bytes(learner)
        self.round = (total, over, asked, bias)
        self.sums: Any = None

    def take(self, features: Any, labels: Any, weights: Any) -> None:
        found = _noregret.play(self.learner, features, labels, *self.round)
        self.sums = found if self.sums is None else _sum(self.sums, found)

    def result(self) -> bytes:
        return pickle.dumps(self.sums)


def _sum(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    shift = max(a["shift"], b["shift"])
    ours, theirs = math.exp(a["shift"] - shift), math.exp(b["shift"] - shift)
    return {
        "rows": a["rows"] + b["rows"],
        "longest": max(a["longest"], b["longest"]),
        "shortest": min(a["shortest"], b["shortest"]),
        "entries": max(a["entries"], b["entries"]),
        "shift": shift,
        "total": ours * a["total"] + theirs * b["total"],
        "mixed": _longer(ours * a["mixed"], theirs * b["mixed"]),
        "mixed_bias": ours * a["mixed_bias"] + theirs * b["mixed_bias"],
        "least": np.minimum(a["least"], b["least"]),
    }


def _merged(parts: list[bytes]) -> bytes:
    total = None
    for part in map(pickle.loads, parts):
        if part is not None:
            total = part if total is None else _sum(total, part)
    return pickle.dumps(total)


def separate(
    data: Any,
    *,
    featuresCol: str | Sequence[str] = "features",
    labelCol: str = "label",
    fitIntercept: bool = True,
    tolerance: float | None = None,
    margin_floor: float | None = None,
    max_rounds: int = 1000,
    classes: Sequence[Any] | None = None,
) -> Separation:
    """Finds a hyperplane that separates the rows of two classes, or proves that none does above a margin.

    Without a `tolerance` it ends when a separating hyperplane is found, or when the largest margin is proved to be at most
    `margin_floor`; with one it goes on until the largest margin is known within it. Every round is one job over all rows.
    `separable` is None when `max_rounds` came first. Both ends of the margin are computed with their rounding taken outward.
    """
    if max_rounds < 1:
        raise ValueError(f"max_rounds: found {max_rounds!r}, expected a whole number, at least 1")
    for name, value in (("tolerance", tolerance), ("margin_floor", margin_floor)):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{name}: found {value!r}, expected a number greater than 0")
    began = time.monotonic()
    columns = Columns.of(data.schema, featuresCol, labelCol)
    begun = Learner("perceptron", classes=classes, bias=fitIntercept, columns=columns.names).to_bytes()

    examples = Rows(data, columns)

    def play(total: np.ndarray, over: float, asked: list[np.ndarray]) -> dict[str, Any]:
        return pickle.loads(examples.run(lambda: _Playing(begun, total, over, asked, fitIntercept), _merged))

    start = np.zeros(int(fitIntercept))
    found = play(start, 0.0, [])
    if found is None:
        raise ValueError("the DataFrame has no rows, expected at least one example")
    rows, longest = found["rows"], found["longest"]
    floor = 1e-12 * longest if margin_floor is None else margin_floor
    if found["shortest"] == 0.0:
        return _told(False, Interval(0.0, 0.0), floor, "zero row", 0, rows, began, None, fitIntercept, exact=True)
    # r is no smaller than the longest row, whatever was rounded.
    radius = longest * (1 + (found["entries"] + 4) * UNIT)
    mixed = _mixed(found, fitIntercept)
    at_least, at_most = 0.0, _above(found, mixed, radius)
    w, total, earlier = np.zeros_like(mixed), np.zeros_like(mixed), mixed
    best, rounds, ended = None, 0, "rounds"
    for rounds in range(1, max_rounds + 1):
        w = w + 2 * mixed - earlier
        total = total + w
        found = play(total, 1 / radius**2, [w, total])
        earlier, mixed = mixed, _mixed(found, fitIntercept)
        at_most = min(at_most, _above(found, mixed, radius))
        for plane, least in zip((w, total), found["least"]):
            margin = _below(plane, float(least), found["entries"], radius)
            if margin > at_least:
                at_least, best = margin, plane
        if at_least > 0 and tolerance is None:
            ended = "separated"
            break
        if tolerance is not None and at_most - at_least <= tolerance:
            ended = "tolerance"
            break
        if at_most <= floor:
            ended = "floor"
            break
    separable = True if at_least > 0 else False if at_most <= floor else None
    return _told(separable, Interval(at_least, max(at_least, at_most)), floor, ended, rounds, rows, began, best, fitIntercept)


def _mixed(found: dict[str, Any], bias: bool) -> np.ndarray:
    mixed = np.append(found["mixed"], found["mixed_bias"]) if bias else found["mixed"]
    return mixed / found["total"]


def _above(found: dict[str, Any], mixed: np.ndarray, radius: float) -> float:
    """No hyperplane has a larger margin: the length of the weighted mean of the rows. Any weights prove it, so the
    exponentials need not be exact; the sums are off by at most a rounding for each row, of rows no longer than the radius."""
    return float(np.linalg.norm(mixed)) * (1 + 1e-15 * math.sqrt(len(mixed) + 1)) + (found["rows"] + 64) * 2 * UNIT * radius


def _below(plane: np.ndarray, least: float, entries: int, radius: float) -> float:
    """The margin that the hyperplane has at least; 0 if that may be none."""
    length = float(np.linalg.norm(plane))
    if length == 0.0 or not math.isfinite(length) or not math.isfinite(least):
        return 0.0
    slack = (entries + 8) * UNIT
    return max(0.0, least / length * (1 - 1e-15 * math.sqrt(len(plane) + 1)) - 2 * slack * radius)


def _told(
    separable: bool | None,
    margin: Interval,
    floor: float,
    ended: str,
    rounds: int,
    rows: int,
    began: float,
    plane: np.ndarray | None,
    bias: bool,
    exact: bool = False,
) -> Separation:
    weights = None if plane is None else plane[:-1] if bias else plane
    at_bias = None if plane is None else float(plane[-1]) if bias else 0.0
    nothing = np.empty(0)
    return Separation(
        separable=separable,
        margin=margin,
        exact=exact,
        margin_floor=floor,
        method="optimistic",
        decided_by="optimistic",
        ended=ended,
        rounds=rounds,
        iterations=rows + rounds * (2 * rows + 3),
        mistakes=None,
        examples=rows,
        seconds=time.monotonic() - began,
        weights=weights,
        bias=at_bias,
        row_margins=None,
        proof_rows=nothing.astype(np.int64),
        proof_weights=nothing,
    )
