"""The parameters of the estimators, in the manner of ``pyspark.ml``."""

from __future__ import annotations

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol

from .. import Learner
from ._columns import Columns


def _same(value: Any) -> Any:
    return value


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"settings: found {value!r}, expected a dict from names of parameters to values")
    return value


class OnlineParams(HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol):
    """What the classifier and the regressor have in common."""

    featuresCols = Param(
        Params._dummy(), "featuresCols", "columns of numbers and text, or `indices` and `values`, instead of featuresCol",
        TypeConverters.toListString,
    )  # fmt: skip
    learner = Param(Params._dummy(), "learner", "the learner's name", TypeConverters.toString)
    loss = Param(Params._dummy(), "loss", "the loss's name", TypeConverters.toString)
    radius = Param(
        Params._dummy(), "radius", "the ball of a projected learner, and of the models compared with", TypeConverters.toFloat
    )
    comparator = Param(Params._dummy(), "comparator", "the class of models compared with", TypeConverters.toString)
    l2 = Param(Params._dummy(), "l2", "the strength of the quadratic penalty", TypeConverters.toFloat)
    rounds = Param(Params._dummy(), "rounds", "local passes, each followed by an average", TypeConverters.toInt)
    fitIntercept = Param(Params._dummy(), "fitIntercept", "whether there is a constant feature", TypeConverters.toBoolean)
    bits = Param(Params._dummy(), "bits", "how many bits text features are hashed to", TypeConverters.toInt)
    settings = Param(Params._dummy(), "settings", "parameters of the learner and the loss by their names", _settings)
    handleInvalid = Param(
        Params._dummy(), "handleInvalid", "a null in a plain column is an error, or (keep) an absent feature",
        TypeConverters.toString,
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(rounds=1, fitIntercept=True, learner="adagrad", settings={}, handleInvalid="error")

    def _get(self, name: str) -> Any:
        param = getattr(self, name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def columns(self, schema: Any, labelled: bool = True) -> Columns:
        """The columns of a DataFrame that the parameters name."""
        invalid = self._get("handleInvalid")
        if invalid not in ("error", "keep"):
            raise ValueError(f"handleInvalid: found {invalid!r}, expected 'error' or 'keep'")
        features = self._get("featuresCols") or self._get("featuresCol")
        label = self._get("labelCol") if labelled else None
        weight = self._get("weightCol") if labelled else None
        return Columns.of(schema, features, label, weight or None, invalid == "keep")

    def fresh(self, columns: Columns, classes: list[Any] | None = None) -> Learner:
        """A learner that has learned nothing, as the parameters say."""
        if self._get("rounds") < 1:
            raise ValueError(f"rounds: found {self._get('rounds')}, expected a whole number, at least 1")
        return Learner(
            self._get("learner"),
            self._get("loss"),
            self._get("radius"),
            comparator=self._get("comparator"),
            l2=self._get("l2"),
            bias=self._get("fitIntercept"),
            bits=self._get("bits"),
            columns=columns.names,
            classes=classes,
            **self._get("settings"),
        )
