"""Is there a hyperplane with every row on its right side?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from . import _noregret
from ._audit import Interval
from ._display import axes, pairs_html
from ._noregret import Learner


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """What `separate` found: a hyperplane, a proof that there is none above a margin, or neither yet."""

    separable: bool | None
    margin: Interval
    exact: bool
    margin_floor: float
    method: str
    decided_by: str
    ended: str
    rounds: int
    iterations: int
    mistakes: int | None
    examples: int
    seconds: float
    weights: np.ndarray | None
    bias: float | None
    row_margins: np.ndarray | None
    proof_rows: np.ndarray
    proof_weights: np.ndarray

    def __bool__(self) -> bool:
        return bool(self.separable)

    def __str__(self) -> str:
        if self.separable:
            return f"Separable: the hyperplane found has a margin of at least {self.margin.at_least:.6g}."
        if self.separable is None:
            return f"Undecided ({self.ended}): the best margin is {self.margin}."
        if self.exact:
            return f"Not separable: {len(self.proof_rows)} rows, weighted, cancel exactly."
        return (
            f"Not separable: no hyperplane has a margin above {self.margin.at_most:.6g} (the floor is "
            f"{self.margin_floor:.6g}); {len(self.proof_rows)} weighted rows prove it."
        )

    def __repr__(self) -> str:
        margin = f"margin=({self.margin.at_least:.6g}, {self.margin.at_most:.6g})"
        return f"Separation(separable={self.separable}, {margin}, decided_by={self.decided_by!r}, rounds={self.rounds})"

    def _repr_html_(self) -> str:
        pairs = [
            ("margin at least", self.margin.at_least),
            ("margin at most", self.margin.at_most),
            ("decided by", self.decided_by),
            ("rounds", self.rounds),
        ]
        return pairs_html(pairs, str(self))

    def plot(self, ax: Any = None) -> Any:
        """Draws how far the rows are from the hyperplane; without one, the weights of the proof. Returns the axes."""
        ax = axes(ax)
        if self.row_margins is not None:
            ax.hist(self.row_margins, bins=50)
            ax.axvspan(self.margin.at_least, self.margin.at_most, alpha=0.3, color="gray", label="the best margin")
            ax.set_xlabel("distance from the hyperplane, on the right side")
            ax.set_ylabel("rows")
            ax.legend()
        else:
            ax.bar(range(len(self.proof_weights)), np.sort(self.proof_weights)[::-1])
            ax.set_xlabel("rows of the proof")
            ax.set_ylabel("weight")
        return ax


def separate(
    X: Any,
    y: Any,
    method: str = "auto",
    *,
    stop: str | None = None,
    tolerance: float | None = None,
    margin_floor: float | None = None,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    normalize: str = "none",
    bias: bool = True,
    classes: Sequence[Any] | None = None,
    certificate: str | PathLike[str] | None = None,
) -> Separation:
    """Finds a hyperplane that separates the rows of two classes, or proves that none does above a margin.

    `stop="tolerance"` (or a `tolerance`) goes on until the largest margin is known within it. `certificate` names a file
    for the proof, which `noregret separate --verify` checks. `X` is as in `Learner.learn_many`.

    >>> import noregret
    >>> bool(noregret.separate([[1.0, 0.0], [0.0, 1.0]], [1, -1]))
    True
    >>> print(noregret.separate([[1.0], [1.0]], [1, -1]))
    Not separable: 2 rows, weighted, cancel exactly.
    """
    if normalize not in ("none", "rows"):
        raise ValueError(f"normalize: found {normalize!r}, expected 'none' or 'rows'")
    placing = Learner("perceptron", classes=classes)
    told = _noregret.separate(
        placing, X, y, method, stop, tolerance, margin_floor, max_rounds, max_seconds, normalize == "rows", bias, certificate
    )
    margin = Interval(told.pop("at_least"), told.pop("at_most"))
    return Separation(margin=margin, **{"weights": None, "bias": None, "row_margins": None} | told)
