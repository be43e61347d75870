"""Models for River: one-pass learners with a certificate.

>>> from river import datasets, evaluate, metrics
>>> from noregret.river import LinearClassifier
>>> model = LinearClassifier()
>>> metric = evaluate.progressive_val_score(datasets.Phishing().take(500), model, metrics.Accuracy())
>>> bool(metric.get() > 0.8)
True
>>> model.certificate().best_at_least <= model.certificate().average_loss
True
"""

from __future__ import annotations

from typing import Any

from river import base

from ._noregret import Certificate, Learner

__all__ = ["LinearClassifier", "LinearRegressor"]


def _table(X: Any) -> Any:
    """A table whose numbers are those that single rows would have; texts stay texts."""
    numbers = all(getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes)
    return X.astype("float64") if numbers else X


class _Linear:
    """What classifier and regressor share."""

    def __init__(self, learner: str, loss: str, radius: float | None, bits: int, parameters: dict[str, Any]):
        self.learner = learner
        self.loss = loss
        self.radius = radius
        self.bits = bits
        self.parameters = parameters
        # Names are hashed from the first example on, whether it comes as a dict or in a table: so that learning a
        # table is learning its rows, to the last bit.
        self.model = Learner(learner, loss, radius, bits=bits, columns=[], **parameters)

    @property
    def weights(self) -> dict[str, float]:
        """The weights by name."""
        return self.model.named_weights

    @property
    def intercept(self) -> float:
        """The weight of the constant feature."""
        return self.model.bias

    def certificate(self, radius: float | None = None, comparator: str | None = None) -> Certificate:
        """What is proved against every fixed model of a class."""
        return self.model.certificate(radius, comparator)


class LinearClassifier(_Linear, base.MiniBatchClassifier):
    """A linear classifier of two classes that certifies its regret.

    Labels are booleans, or 1 and 0 or -1. Values that are texts become features of their own (`city=Oslo`).

    Parameters
    ----------
    learner
        A name of `noregret.learners()`.
    loss
        A loss of two classes; probabilities need `logistic`.
    radius
        The ball of a projected learner and of the certificate's comparators.
    bits
        Names are hashed to so many bits.
    parameters
        Parameters of the learner and the loss.

    Examples
    --------

    >>> from noregret.river import LinearClassifier

    >>> model = LinearClassifier()
    >>> model.learn_one({"sun": 1.0}, True)
    >>> model.learn_one({"rain": 1.0}, False)
    >>> model.predict_one({"sun": 1.0})
    True

    """

    def __init__(
        self, learner: str = "auto", loss: str = "logistic", radius: float | None = None, bits: int = 18, **parameters: Any
    ):
        super().__init__(learner, loss, radius, bits, parameters)

    @property
    def _multiclass(self) -> bool:
        return False

    def learn_one(self, x: dict, y: Any, w: float = 1.0) -> None:
        """Learns one example, of weight `w`."""
        self.model.learn_one(x, y, w)

    def predict_proba_one(self, x: dict) -> dict[bool, float]:
        """The probabilities of both classes; with another loss than the logistic, 1 for the predicted one."""
        if self.loss == "logistic":
            p = self.model.predict_proba_one(x)
        else:
            p = float(self.model.score_one(x) >= 0.0)
        return {False: 1.0 - p, True: p}

    def predict_one(self, x: dict, **kwargs: Any) -> bool:
        """The predicted class; a score of zero is True."""
        return self.model.score_one(x) >= 0.0

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learns the rows of a table, exactly as one by one."""
        self.model.learn_many(_table(X), y, w)

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of both classes for the rows of a table."""
        import pandas as pd

        if self.loss == "logistic":
            p = self.model.predict_proba_many(_table(X))
        else:
            p = (self.model.score_many(_table(X)) >= 0.0).astype(float)
        return pd.DataFrame({False: 1.0 - p, True: p}, index=X.index)

    def predict_many(self, X: Any) -> Any:
        """The predicted classes of the rows of a table."""
        import pandas as pd

        return pd.Series(self.model.score_many(_table(X)) >= 0.0, index=X.index, dtype="bool")


class LinearRegressor(_Linear, base.MiniBatchRegressor):
    """A linear regressor that certifies its regret.

    Parameters
    ----------
    learner
        A name of `noregret.learners()`.
    loss
        A loss of numbers, such as `square`, `absolute`, `huber`, `quantile`, `poisson`.
    radius
        The ball of a projected learner and of the certificate's comparators.
    bits
        Names are hashed to so many bits.
    parameters
        Parameters of the learner and the loss.

    Examples
    --------

    >>> from noregret.river import LinearRegressor

    >>> model = LinearRegressor()
    >>> for _ in range(100):
    ...     model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    >>> round(model.predict_one({"a": 1.0, "b": 2.0}), 1)
    3.0

    """

    def __init__(
        self, learner: str = "auto", loss: str = "square", radius: float | None = None, bits: int = 18, **parameters: Any
    ):
        super().__init__(learner, loss, radius, bits, parameters)

    def learn_one(self, x: dict, y: float, w: float = 1.0) -> None:
        """Learns one example, of weight `w`."""
        self.model.learn_one(x, y, w)

    def predict_one(self, x: dict) -> float:
        """The predicted number."""
        return self.model.score_one(x)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learns the rows of a table, exactly as one by one."""
        self.model.learn_many(_table(X), y, w)

    def predict_many(self, X: Any) -> Any:
        """The predicted numbers of the rows of a table."""
        import pandas as pd

        return pd.Series(self.model.score_many(_table(X)), index=X.index, name="prediction")
