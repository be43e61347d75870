"""Estimators for scikit-learn: one-pass learners with a certificate.

>>> from sklearn.datasets import load_breast_cancer
>>> from noregret.sklearn import OnlineClassifier
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = OnlineClassifier().fit(X, y)
>>> bool(model.score(X, y) > 0.9)
True
>>> model.certificate_.best_at_least <= model.certificate_.average_loss
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._noregret import Certificate, Learner
from ._registry import parameter_names

__all__ = ["OnlineClassifier", "OnlineRegressor"]


def _linear(estimator: Any) -> bool:
    check_is_fitted(estimator)
    if not estimator.learner_._has_weights:
        raise AttributeError(f"the learner {estimator.learner!r} is not linear: its predictions have no coefficients")
    return True


class _Online(BaseEstimator):
    """What classifier and regressor share: parameters, passes, coefficients, certificates."""

    def __init__(
        self,
        learner: str = "auto",
        loss: str | None = None,
        radius: float | None = None,
        *,
        comparator: str | None = None,
        l2: float | None = None,
        fit_intercept: bool = True,
        max_iter: int = 1,
        warm_start: bool = False,
        **parameters: Any,
    ):
        self.learner = learner
        self.loss = loss
        self.radius = radius
        self.comparator = comparator
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.warm_start = warm_start
        # Those of learner and loss; fitting refuses what neither has.
        self._parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, those of learner and loss that were given included."""
        return super().get_params(deep) | self._parameters

    def set_params(self, **params: Any) -> _Online:
        """Sets parameters, those of learners and losses included."""
        own = {name: params.pop(name) for name in list(params) if name in parameter_names()}
        super().set_params(**params)
        self._parameters = self._parameters | own
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _new(self, **more: Any) -> Learner:
        return Learner(
            self.learner,
            self._loss(),
            self.radius,
            comparator=self.comparator,
            l2=self.l2,
            bias=self.fit_intercept,
            dimension=self.n_features_in_,
            **self._parameters,
            **more,
        )

    def _learn(self, X: Any, target: np.ndarray, sample_weight: Any, passes: int) -> None:
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        for number in range(passes):
            if number > 0:
                self.learner_.next_pass()
            self.learner_.learn_many(X, target, weight)
        if passes > 1:
            # As after saving: what is learned from here on is new to the ledger, not a part of the last pass.
            self.learner_ = Learner.from_bytes(self.learner_.to_bytes())
        self.n_iter_ = passes
        self.t_ = getattr(self, "t_", 0) + X.shape[0] * passes

    def _check(self, X: Any, y: Any, reset: bool, **how: Any) -> Any:
        return validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, reset=reset, **how
        )

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, reset=False
        )

    def _passes(self) -> int:
        if not (isinstance(self.max_iter, (int, np.integer)) and self.max_iter >= 1):
            raise ValueError(f"max_iter: found {self.max_iter!r}, expected a whole number, at least 1")
        return int(self.max_iter)

    def _coefficients(self) -> np.ndarray:
        weights = np.atleast_2d(self.learner_.weights)
        rows = np.zeros((len(weights), self.n_features_in_))
        rows[:, : weights.shape[1]] = weights
        return rows

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the first pass; of several classes, of the sum of their losses."""
        check_is_fitted(self)
        return self.learner_.certificate()


class OnlineClassifier(ClassifierMixin, _Online):
    """A linear classifier that learns in one pass and certifies its regret.

    Any learner of the library with a loss of two classes; a parameter of the learner or the loss, such as ``eta``,
    is a keyword argument. More than two classes are learned one against the rest, or as ``multiclass`` says.

    Parameters
    ----------
    learner : str, default="auto"
        A name of ``noregret.learners()``.
    loss : str, default=None
        A name of ``noregret.losses()``; None is the learner's only loss, or ``"logistic"``.
    radius : float, default=None
        The ball of a projected learner and of the certificate's comparators.
    comparator : str, default=None
        Whom the certificate compares with: ``"l2"``, ``"l1"``, ``"linf"``, ``"simplex"`` or ``"ridge"``.
    l2 : float, default=None
        Strength of the penalty, for learners that have one.
    fit_intercept : bool, default=True
        Whether there is a constant feature.
    max_iter : int, default=1
        Passes of ``fit`` over the data.
    warm_start : bool, default=False
        Whether ``fit`` goes on from what was learned.
    multiclass : str, default="ovr"
        How more than two classes are learned: ``"ovr"``, one against the rest, or with a learner and a loss of their own
        ``"softmax"`` and ``"perceptron"``.
    **parameters
        Parameters of the learner and the loss.

    Attributes
    ----------
    classes_ : array
        The classes.
    coef_, intercept_ : arrays
        The weights: one row for two classes, else one for each. Of a mixture such as ``"auto"`` they are those of its
        heaviest member, and ``decision_function`` is not their product with the rows.
    certificate_ : Certificate
        What is proved of the first pass; of several classes, of the sum of their losses.
    class_certificates_ : list of dict
        With ``"ovr"``, what is proved of each class against the rest.
    learner_ : noregret.Learner
        The learner itself; to it the classes are -1 and 1, or their places in ``classes_``.
    n_iter_, t_ : int
        Passes of the last fit; examples learned.
    """

    def __init__(
        self,
        learner: str = "auto",
        loss: str | None = None,
        radius: float | None = None,
        *,
        comparator: str | None = None,
        l2: float | None = None,
        fit_intercept: bool = True,
        max_iter: int = 1,
        warm_start: bool = False,
        multiclass: str = "ovr",
        **parameters: Any,
    ):
        super().__init__(
            learner,
            loss,
            radius,
            comparator=comparator,
            l2=l2,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            warm_start=warm_start,
            **parameters,
        )
        self.multiclass = multiclass

    def _loss(self) -> str | None:
        return self.loss

    @property
    def _several(self) -> bool:
        """Whether there is a score for each class."""
        return self.learner_.multiclass is not None

    def _target(self, y: np.ndarray) -> np.ndarray:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the labels {unknown.tolist()}, which are not among the classes {self.classes_.tolist()}")
        places = np.searchsorted(self.classes_, y).astype(np.float64)
        return places if self._several else 2.0 * places - 1.0

    def _begin(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(f"the number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        several = len(classes) > 2 or self.multiclass != "ovr"
        more = {"multiclass": self.multiclass, "classes": list(range(len(classes)))} if several else {}
        self.learner_ = self._new(**more)
        self.t_ = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineClassifier:
        """Learns from the beginning (or goes on, with ``warm_start``)."""
        passes = self._passes()
        again = self.warm_start and hasattr(self, "learner_")
        X, y = self._check(X, y, not again)
        check_classification_targets(y)
        if not again:
            self._begin(unique_labels(y))
        self._learn(X, self._target(y), sample_weight, passes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineClassifier:
        """Learns more; the first call needs all ``classes``."""
        first = not hasattr(self, "learner_")
        X, y = self._check(X, y, first)
        check_classification_targets(y)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if first:
            self._begin(unique_labels(classes))
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(f"classes={classes!r} is not the same as on the first call to partial_fit: {self.classes_!r}")
        self._learn(X, self._target(y), sample_weight, 1)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: of the second class where there are two, else of each."""
        X = self._rows(X)
        scores = self.learner_.score_many(X)
        return scores[:, 1] - scores[:, 0] if self._several and len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The classes; a score of zero is the second class."""
        X = self._rows(X)
        scores = self.learner_.score_many(X)
        return self.classes_[scores.argmax(axis=1) if self._several else (scores >= 0).astype(np.intp)]

    def _has_probabilities(self) -> bool:
        if self.multiclass != "ovr":
            loss, has = self.multiclass, self.multiclass == "softmax"
        else:
            loss = self.learner_.loss if hasattr(self, "learner_") else self._new_loss()
            has = loss == "logistic"
        if not has:
            raise AttributeError(f"probabilities need the logistic loss, not {loss!r}")
        return True

    def _new_loss(self) -> str:
        return Learner(self.learner, self.loss, self.radius, comparator=self.comparator, l2=self.l2, **self._parameters).loss

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes (logistic loss, softmax); those of several classes against the rest are made to
        sum to 1."""
        X = self._rows(X)
        p = self.learner_.predict_proba_many(X)
        return p if self._several else np.column_stack([1.0 - p, p])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> np.ndarray:
        """The weights: one row for two classes, else one for each."""
        _linear(self)
        rows = self._coefficients()
        return rows[1:] - rows[:1] if self._several and len(self.classes_) == 2 else rows

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature, for each row of ``coef_``."""
        _linear(self)
        all_ = np.atleast_1d(self.learner_.bias)
        return all_[1:] - all_[:1] if self._several and len(self.classes_) == 2 else all_

    @property
    def class_certificates_(self) -> list[dict]:
        """What is proved of each class against the rest (``"ovr"`` of more than two classes)."""
        check_is_fitted(self)
        if self.learner_.multiclass != "ovr":
            raise AttributeError("only several classes learned one against the rest have a certificate each")
        return [told["certificate"] for told in self.learner_.summary()["classes"]]


class OnlineRegressor(RegressorMixin, _Online):
    """A linear regressor that learns in one pass and certifies its regret.

    As :class:`OnlineClassifier`, with a loss of numbers: ``"square"`` by default, ``"absolute"``, ``"huber"``,
    ``"quantile"`` (with ``tau``), ``"poisson"``.

    Attributes
    ----------
    coef_ : array
        The weights.
    intercept_ : array
        The weight of the constant feature.
    certificate_ : Certificate
        What is proved of the first pass.
    learner_ : noregret.Learner
        The learner itself.
    n_iter_, t_ : int
        Passes of the last fit; examples learned.

    Examples
    --------
    >>> import numpy as np
    >>> from noregret.sklearn import OnlineRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = OnlineRegressor().fit(X, X @ [1.0, 2.0, 3.0] + 4.0)
    >>> bool(model.score(X, X @ [1.0, 2.0, 3.0] + 4.0) > 0.99)
    True
    """

    def _loss(self) -> str:
        return "square" if self.loss is None else self.loss

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineRegressor:
        """Learns from the beginning (or goes on, with ``warm_start``)."""
        passes = self._passes()
        again = self.warm_start and hasattr(self, "learner_")
        X, y = self._check(X, y, not again, y_numeric=True)
        if not again:
            self.learner_, self.t_ = self._new(), 0
        self._learn(X, np.asarray(y, dtype=np.float64), sample_weight, passes)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineRegressor:
        """Learns more."""
        first = not hasattr(self, "learner_")
        X, y = self._check(X, y, first, y_numeric=True)
        if first:
            self.learner_, self.t_ = self._new(), 0
        self._learn(X, np.asarray(y, dtype=np.float64), sample_weight, 1)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The predicted numbers."""
        X = self._rows(X)
        return self.learner_.score_many(X)

    @property
    def coef_(self) -> np.ndarray:
        """The weights."""
        _linear(self)
        return self._coefficients()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature."""
        _linear(self)
        return np.array([self.learner_.bias])
