"""Learning inside Apache Spark, with one certificate for the cluster.

:class:`OnlineClassifier` and :class:`OnlineRegressor` are estimators of ``pyspark.ml``. Every partition is learned where it
lies, from a common start; the models are averaged and the ledgers added, so that the certificate speaks of the whole
data set. :func:`audit` and :func:`separate` ask a whole DataFrame; ``noregret.spark.streaming`` learns streams.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._audit import audit
    from ._estimator import OnlineClassifier, OnlineClassifierModel, OnlineRegressor, OnlineRegressorModel
    from ._separate import separate

__all__ = [
    "OnlineClassifier",
    "OnlineClassifierModel",
    "OnlineRegressor",
    "OnlineRegressorModel",
    "audit",
    "separate",
]

_HOMES = {"audit": "_audit", "separate": "_separate"}


def __getattr__(name: str) -> Any:
    # Only when asked for: tasks come by here too, need none of these, and would load all of `pyspark.ml`.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_HOMES.get(name, '_estimator')}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
