"""The best in hindsight, to any tolerance, with the rows at hand."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _noregret
from ._display import axes, pairs_html, table_html
from ._noregret import Learner


@dataclass(frozen=True)
class Interval:
    """A number that lies between two others; both ends are proved."""

    at_least: float
    at_most: float

    def __str__(self) -> str:
        return f"between {self.at_least:.6g} and {self.at_most:.6g}"


@dataclass(frozen=True, eq=False)
class Bracket:
    """The best average loss of a class of models, and a model of the class that has the upper one."""

    radius: float | None
    best: Interval
    closed: bool
    sweeps: int
    norm: float
    weights: np.ndarray
    bias: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What `audit` found. `best`, `weights`, `bias` and the regret speak of `radius`: the learner's, or the largest."""

    loss: str
    comparator: str
    examples: int
    brackets: list[Bracket]
    chosen: int
    average_loss: float | None
    certified: float | None

    @property
    def _bracket(self) -> Bracket:
        return self.brackets[self.chosen]

    @property
    def radius(self) -> float | None:
        """The radius of the class; None for `ridge`."""
        return self._bracket.radius

    @property
    def best(self) -> Interval:
        """The least average loss of the class lies between its ends."""
        return self._bracket.best

    @property
    def weights(self) -> np.ndarray:
        """A model of the class whose average loss is at most `best.at_most`."""
        return self._bracket.weights

    @property
    def bias(self) -> float:
        """Its constant."""
        return self._bracket.bias

    @property
    def closed(self) -> bool:
        """Whether every bracket is as narrow as was asked."""
        return all(bracket.closed for bracket in self.brackets)

    @property
    def regret(self) -> Interval | None:
        """The learner's average regret, where there is a learner."""
        if self.average_loss is None:
            return None
        slack = 4 * sys.float_info.epsilon * abs(self.average_loss)
        return Interval(self.average_loss - self.best.at_most - slack, self.average_loss - self.best.at_least + slack)

    @property
    def certificate_ratio(self) -> float | None:
        """The certified regret beside the true one, at most; None where that may be 0."""
        if self.certified is None or self.regret is None or self.regret.at_least <= 0:
            return None
        return self.certified / self.regret.at_least

    def __str__(self) -> str:
        whom = "penalised models" if self.radius is None else f"models of {self.comparator} norm <= {self.radius:g}"
        text = f"The best of all {whom} loses {self.best} on average"
        if self.regret is not None:
            text += f"; the learner lost {self.average_loss:.6g}: its regret is {self.regret}"
        return text + "."

    def __repr__(self) -> str:
        best = f"best=({self.best.at_least:.6g}, {self.best.at_most:.6g})"
        regret = "" if self.regret is None else f", regret=({self.regret.at_least:.6g}, {self.regret.at_most:.6g})"
        return f"Audit(loss={self.loss!r}, comparator={self.comparator!r}, radius={self.radius}, {best}{regret})"

    def _repr_html_(self) -> str:
        if len(self.brackets) == 1:
            pairs = [("best at least", self.best.at_least), ("best at most", self.best.at_most)]
            if self.regret is not None:
                pairs += [("regret at least", self.regret.at_least), ("regret at most", self.regret.at_most)]
            return pairs_html(pairs, str(self))
        rows = [[b.radius, b.best.at_least, b.best.at_most, b.closed] for b in self.brackets]
        return table_html(["radius", "best at least", "best at most", "as narrow as asked"], rows)

    def plot(self, ax: Any = None) -> Any:
        """Draws the bracket against the radius (or the one bracket there is), and the learner's loss. Returns the axes."""
        ax = axes(ax)
        radii = [1.0 if b.radius is None else b.radius for b in self.brackets]
        low, high = [b.best.at_least for b in self.brackets], [b.best.at_most for b in self.brackets]
        ax.fill_between(radii, low, high, alpha=0.4)
        ax.plot(radii, high, marker="o", label="best in hindsight, at most")
        ax.plot(radii, low, marker="o", label="best in hindsight, at least")
        if self.average_loss is not None:
            ax.axhline(self.average_loss, linestyle="--", color="gray", label="average loss of the learner")
        if len(radii) > 1:
            ax.set_xscale("log")
        ax.set_xlabel("radius")
        ax.set_ylabel(f"average {self.loss} loss")
        ax.legend()
        return ax


def _radii(radius: float | Sequence[float] | None) -> list[float]:
    radii = [] if radius is None else [radius] if np.isscalar(radius) else list(radius)
    for value in radii:
        if not (isinstance(value, (int, float, np.number)) and 0 < value < math.inf):
            raise ValueError(f"radius: found {value!r}, expected a number greater than 0, or several")
    return sorted({float(value) for value in radii})


def audit(
    X: Any,
    y: Any,
    loss: str | None = None,
    radius: float | Sequence[float] | None = None,
    *,
    comparator: str | None = None,
    l2: float | None = None,
    tolerance: float = 1e-3,
    max_sweeps: int | None = None,
    sample_weight: Any = None,
    bias: bool = True,
    classes: Sequence[Any] | None = None,
    learner: Learner | None = None,
    **parameters: Any,
) -> Audit:
    """Brackets the least average loss that a fixed model of a class has on these rows, by going through them again and
    again; both ends are proofs. With a `learner` that has learned just these rows, its loss, labels and class are
    audited, and its regret is bracketed too.

    `radius` may be several, for a curve. `X` is as in `Learner.learn_many`.

    >>> import noregret
    >>> audit = noregret.audit([[1.0], [-0.5]], [1, -1], "hinge", radius=1, bias=False)
    >>> audit.best.at_least <= 0.25 <= audit.best.at_most
    True
    """
    radii = _radii(radius)
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance: found {tolerance!r}, expected a number greater than 0")
    if max_sweeps is not None and max_sweeps < 1:
        raise ValueError(f"max_sweeps: found {max_sweeps!r}, expected a whole number, at least 1")
    average_loss = certified = None
    if learner is not None:
        if loss is not None or classes is not None or parameters or not bias:
            raise ValueError("loss=, bias=, classes= and parameters of losses are the learner's: leave them out")
        if learner.examples == 0:
            raise ValueError("the learner has learned nothing, expected the rows that are audited")
        own = learner.certificate(comparator=comparator)
        comparator = own.comparator
        if not radii and own.radius is not None:
            radii = [own.radius]
        l2 = learner.summary().get("l2") if l2 is None else l2
    else:
        loss = "logistic" if loss is None else loss
    comparator = "ridge" if comparator is None and l2 is not None and not radii else comparator or "l2"
    if comparator != "ridge" and not radii:
        raise ValueError("say radius=: how large the models may be that are asked for")
    if comparator == "ridge" and radii:
        raise ValueError("radius does not go with comparator ridge, which has models of every norm")
    if not all(0 < value for value in radii):
        raise ValueError("the learner's model is 0, and so is the radius: say radius=")
    asked = learner if learner is not None else Learner("ogd", loss, bias=bias, classes=classes, **parameters)
    told = _noregret.audit(asked, X, y, sample_weight, radii, comparator, l2, tolerance, max_sweeps, learner is not None)
    chosen = len(told["brackets"]) - 1
    if learner is not None:
        if told["examples"] != learner.examples:
            raise ValueError(
                f"the learner has learned {learner.examples} examples and X has {told['examples']}: audit the rows that "
                "it learned"
            )
        if comparator == "ridge":
            summary = learner.summary()
            average_loss, certified = summary["penalised_loss"], own.regret_at_most
        else:
            average_loss = learner.average_loss
            certified = learner.certificate(radius=told["brackets"][chosen]["radius"], comparator=comparator).regret_at_most
    brackets = [
        Bracket(b["radius"], Interval(b["at_least"], b["at_most"]), b["closed"], b["sweeps"], b["norm"], b["weights"], b["bias"])
        for b in told["brackets"]
    ]
    return Audit(asked.loss, comparator, told["examples"], brackets, chosen, average_loss, certified)
