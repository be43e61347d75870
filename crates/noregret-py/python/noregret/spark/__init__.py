"""Learning inside Apache Spark, with one certificate for the cluster.

:class:`OnlineClassifier` and :class:`OnlineRegressor` are estimators of ``pyspark.ml``. Every partition is learned where it
lies, from a common start; the models are averaged and the ledgers added, so that the certificate speaks of the whole
data set. :func:`audit` and :func:`separate` ask a whole DataFrame; ``noregret.spark.streaming`` learns streams.
"""

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
