"""The best in hindsight of a whole DataFrame, to a tolerance: every sweep is one job, and proves both ends."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np

from .. import Learner, _noregret
from .._audit import Audit, Bracket, Interval
from ._class import CLASSES, project, size
from ._columns import Columns
from ._job import Rows
from ._sum import add, at_most


class _Sweeping:
    """Goes through a partition with the model `u`, which has the bias at its end if there is one."""

    by_batch = True

    def __init__(self, learner: bytes, u: np.ndarray, bias: bool, width: float):
        self.learner = Learner.from_bytes(learner)
        self.weights = np.ascontiguousarray(u[:-1] if bias else u)
        self.bias = float(u[-1]) if bias else 0.0
        self.width = width
        self.sums: Any = None

    def take(self, features: Any, labels: Any, weights: Any) -> None:
        found = _noregret.sweep(self.learner, features, labels, weights, self.weights, self.bias, self.width)
        found = (found[0], (found[1], 0.0), *found[2:])
        self.sums = found if self.sums is None else _sum(self.sums, found)

    def result(self) -> bytes:
        return _packed(self.sums)


def _sum(a: Any, b: Any) -> Any:
    return a[0] + b[0], add(a[1], b[1]), a[2] + b[2], _longer(a[3], b[3])


def _longer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if len(a) < len(b):
        a, b = b, a
    total = a.copy()
    total[: len(b)] += b
    return total


def _packed(sums: Any) -> bytes:
    return pickle.dumps(None if sums is None else (_noregret.pack(sums[0]), *sums[1:]))


def _merged(parts: list[bytes]) -> bytes:
    total = None
    for part in map(pickle.loads, parts):
        if part is not None:
            part = (_noregret.unpack(part[0]), *part[1:])
            total = part if total is None else _sum(total, part)
    return _packed(total)


class _Sweep:
    """What one job found of a model."""

    def __init__(self, u: np.ndarray, sums: Any, bias: bool, radius: float, comparator: str):
        self.ledger, above, self.smooth, squares = sums
        slopes = self.ledger.slopes
        d = len(slopes) - bias
        self.u = np.concatenate((_grown(u[:-1], d), u[-1:])) if bias else _grown(u, d)
        self.gradient = _spread(slopes, self.u, bias)
        self.squares = np.concatenate((_grown(squares, len(self.u) - bias), [self.ledger.weight] if bias else []))
        n = self.ledger.weight
        if not n > 0:
            raise ValueError("no row has a weight above 0: there is nothing to audit")
        self.at_most = float(np.nextafter(at_most(above) / np.nextafter(n, 0.0), np.inf))
        self.at_least = self.ledger.certificate(radius, comparator).best_at_least


def _grown(v: np.ndarray, length: int) -> np.ndarray:
    return np.pad(v, (0, max(0, length - len(v))))


def _spread(slopes: np.ndarray, u: np.ndarray, bias: bool) -> np.ndarray:
    if not bias:
        return _grown(slopes, len(u))
    return np.concatenate((_grown(slopes[:-1], len(u) - 1), slopes[-1:]))


def audit(
    data: Any,
    loss: str | None = None,
    radius: float | None = None,
    *,
    featuresCol: str | list[str] = "features",
    labelCol: str = "label",
    weightCol: str | None = None,
    comparator: str | None = None,
    model: Any = None,
    tolerance: float = 1e-3,
    max_sweeps: int = 200,
    fitIntercept: bool = True,
    **parameters: Any,
) -> Audit:
    """Brackets the least average loss that a fixed model of a class has on all rows of a DataFrame.

    The class is that of models of Euclidean norm at most `radius`, or of another `comparator`: ``l1``, ``linf``, ``simplex``. With a
    fitted `model` of this package its loss, its features and its class are audited, and its regret on these rows, which
    must be those that it learned, is bracketed too. The rows are gone through at most `max_sweeps` times, each time in one
    job; ``audit.best.closed`` of a bracket says whether the tolerance was reached.

    The method is accelerated projected gradient descent in a diagonal metric; losses with a kink are rounded off there, less and
    less. It decides how narrow the bracket is, and never whether it is true.
    """
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance: found {tolerance!r}, expected a number greater than 0")
    if max_sweeps < 2:
        raise ValueError(f"max_sweeps: found {max_sweeps!r}, expected a whole number, at least 2")
    average_loss = certified = None
    if model is not None:
        learner: Learner = getattr(model, "online", model)
        if loss is not None or parameters or not fitIntercept:
            raise ValueError("loss=, fitIntercept= and parameters of losses are the model's: leave them out")
        own = learner.certificate(radius, comparator)
        comparator, radius, average_loss, certified = own.comparator, own.radius, own.average_loss, own.regret_at_most
        fitIntercept = _noregret.has_bias(learner)
        columns = Columns.of(data.schema, featuresCol, labelCol, weightCol)
    else:
        columns = Columns.of(data.schema, featuresCol, labelCol, weightCol)
        learner = Learner("ogd", loss or "logistic", bias=fitIntercept, columns=columns.names, **parameters)
    comparator = comparator or "l2"
    if comparator not in CLASSES:
        raise ValueError(f"comparator: found {comparator!r}; a DataFrame is audited in one of {', '.join(CLASSES)}")
    if radius is None or not 0 < radius < math.inf:
        raise ValueError(f"radius: found {radius!r}, expected a number greater than 0: how large the models may be")
    bracket, examples = _close(data, columns, learner, fitIntercept, comparator, float(radius), tolerance, max_sweeps)
    if model is not None and examples != learner.examples:
        raise ValueError(f"the model has learned {learner.examples} rows and the DataFrame has {examples}")
    return Audit(learner.loss, comparator, examples, [bracket], 0, average_loss, certified)


def _close(
    data: Any,
    columns: Columns,
    learner: Learner,
    bias: bool,
    comparator: str,
    radius: float,
    tolerance: float,
    most: int,
) -> tuple[Bracket, int]:
    begun = learner.to_bytes()
    rows = Rows(data, columns)
    sweeps = 0

    def sweep(u: np.ndarray, width: float) -> _Sweep:
        nonlocal sweeps
        sweeps += 1
        sums = pickle.loads(rows.run(lambda: _Sweeping(begun, u, bias, width), _merged))
        if sums is None:
            raise ValueError("the DataFrame has no rows, expected at least one example")
        return _Sweep(u, (_noregret.unpack(sums[0]), *sums[1:]), bias, radius, comparator)

    kinked = _noregret.has_kink(learner)
    here = sweep(np.zeros(int(bias)), 0.0)
    zero, n, examples = here.at_most, here.ledger.weight, here.ledger.examples
    at_least, at_most, best = here.at_least, here.at_most, here.u
    if learner.examples > 0 and learner.is_linear:
        own = np.append(learner.weights, learner.bias) if bias else learner.weights
        here.u = _pad(own, here.u, bias)
    metric = _pad(here.squares, here.u, bias) + 1e-9 * here.squares.max() + 1e-300
    here.u = project(comparator, here.u, metric, radius)
    width = 0.2 * abs(zero) if kinked else 0.0
    step, momentum, quiet = 1.0, 1.0, 0

    def keep(point: _Sweep) -> None:
        nonlocal at_least, at_most, best
        at_least = max(at_least, point.at_least)
        if point.at_most < at_most and size(comparator, point.u) <= radius:
            at_most, best = point.at_most, point.u

    def done() -> bool:
        return at_most - at_least <= tolerance * max(abs(at_most), 1e-6 * abs(zero)) or sweeps >= most

    here = sweep(here.u, width)
    keep(here)
    ahead = here
    while not done():
        while True:
            there = sweep(project(comparator, ahead.u - step / metric * ahead.gradient, metric, radius), width)
            keep(there)
            moved = there.u - ahead.u
            model = ahead.gradient @ moved + (metric * moved) @ moved / (2 * step)
            if there.smooth - ahead.smooth <= model + 1e-13 * abs(ahead.smooth) or step < 1e-18 or done():
                break
            step /= 2
        if (metric * (ahead.u - there.u)) @ (there.u - here.u) > 0:
            momentum = 1.0
        faster = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        carry, momentum = (momentum - 1) / faster, faster
        if kinked:
            quiet += 1
            if there.smooth - there.at_least * n <= 0.3 * width * n or quiet > 30:
                width, quiet, momentum, carry = 0.3 * width, 0, 1.0, 0.0
        before, here = here, there
        if done():
            break
        ahead = here
        if carry > 0 or kinked:
            ahead = sweep(here.u + carry * (here.u - before.u), width)
            keep(ahead)
        step *= 1.1
    closed = at_most - at_least <= tolerance * max(abs(at_most), 1e-6 * abs(zero))
    weights, at_bias = (best[:-1], float(best[-1])) if bias else (best, 0.0)
    ends = Interval(min(at_least, at_most), at_most)
    return Bracket(radius, ends, closed, sweeps, size(comparator, best), weights, at_bias), examples


def _pad(own: np.ndarray, like: np.ndarray, bias: bool) -> np.ndarray:
    if bias:
        return np.concatenate((_grown(own[:-1], len(like) - 1), own[-1:]))
    return _grown(own, len(like))
