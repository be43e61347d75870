"""Classes of models: how large a model is in each, and the shortest way into it in a diagonal metric."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

# All of them have the model of zeros. `simplex` is the part of it that features that were met make up: one that was not met may
# have the rest of the sum, and changes no prediction.
CLASSES = ("l2", "l1", "linf", "simplex")

_LEAVE = 4 * np.finfo(float).eps


def size(comparator: str, u: np.ndarray) -> float:
    """How large a model is: the least radius of a class that has it; infinite where none does. Not rounded down."""
    if comparator == "linf":
        return float(np.abs(u).max(initial=0.0))
    if comparator == "l2":
        return float(np.linalg.norm(u))
    if comparator == "simplex" and (u < 0).any():
        return math.inf
    return math.nextafter(math.fsum(np.abs(u)), math.inf) if u.any() else 0.0


def project(comparator: str, v: np.ndarray, metric: np.ndarray, radius: float) -> np.ndarray:
    """The nearest model of the class, distances measured by the metric."""
    if comparator == "linf":
        return np.clip(v, -radius, radius)

    def moved(by: float) -> np.ndarray:
        if comparator == "l2":
            return v * (metric / (metric + by))
        if comparator == "l1":
            return np.sign(v) * np.maximum(np.abs(v) - by / metric, 0.0)
        return np.maximum(v - by / metric, 0.0)

    return _inside(comparator, _fitting(comparator, moved, v, metric, radius), radius)


def _fitting(
    comparator: str, moved: Callable[[float], np.ndarray], v: np.ndarray, metric: np.ndarray, radius: float
) -> np.ndarray:
    """Moved as far as it takes to be in the class."""
    if size(comparator, moved(0.0)) <= radius:
        return moved(0.0)
    largest = float(np.linalg.norm(v))
    low, high = 0.0, float(metric.max()) * (largest / radius if comparator == "l2" else largest)
    for _ in range(100):
        middle = (low + high) / 2
        if size(comparator, moved(middle)) > radius:
            low = middle
        else:
            high = middle
    return moved(high)


def _inside(comparator: str, u: np.ndarray, radius: float) -> np.ndarray:
    """Inside whatever was rounded."""
    found = size(comparator, u)
    return u * (radius / found * (1 - _LEAVE)) if found > radius * (1 - _LEAVE) else u
