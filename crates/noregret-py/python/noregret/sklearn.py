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
    if not all(learner.is_linear for learner in estimator.learners_):
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

    def _new(self) -> Learner:
        return Learner(
            self.learner,
            self._loss(),
            self.radius,
            comparator=self.comparator,
            l2=self.l2,
            bias=self.fit_intercept,
            dimension=self.n_features_in_,
            **self._parameters,
        )

    def _learn(self, X: Any, targets: list[np.ndarray], sample_weight: Any, passes: int) -> None:
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        for learner, target in zip(self.learners_, targets):
            for number in range(passes):
                if number > 0:
                    learner.next_pass()
                learner.learn_many(X, target, weight)
        if passes > 1:
            # As after saving: what is learned from here on is new to the ledger, not a part of the last pass.
            self.learners_ = [Learner.from_bytes(learner.to_bytes()) for learner in self.learners_]
        self.n_iter_ = passes
        self.t_ = getattr(self, "t_", 0) + X.shape[0] * passes

    def _check(self, X: Any, y: Any, reset: bool, **how: Any) -> Any:
        return validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, reset=reset, **how
        )

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, reset=False
        )
        return np.column_stack([learner.score_many(X) for learner in self.learners_])

    def _passes(self) -> int:
        if not (isinstance(self.max_iter, (int, np.integer)) and self.max_iter >= 1):
            raise ValueError(f"max_iter: found {self.max_iter!r}, expected a whole number, at least 1")
        return int(self.max_iter)

    def _coefficients(self) -> np.ndarray:
        rows = np.zeros((len(self.learners_), self.n_features_in_))
        for row, learner in zip(rows, self.learners_):
            weights = learner.weights
            row[: len(weights)] = weights
        return rows

    def _certificates(self) -> list[Certificate]:
        check_is_fitted(self)
        return [learner.certificate() for learner in self.learners_]


class OnlineClassifier(ClassifierMixin, _Online):
    """A linear classifier that learns in one pass and certifies its regret.

    Any learner of the library with a loss of two classes; a parameter of the learner or the loss, such as ``eta``,
    is a keyword argument. More than two classes are learned one against the rest.

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
    **parameters
        Parameters of the learner and the loss.

    Attributes
    ----------
    classes_ : array
        The classes.
    coef_, intercept_ : arrays
        The weights: one row for two classes, else one for each.
    certificate_ : Certificate or list of Certificate
        What is proved of the first pass: for two classes one certificate, else one for each class against the rest.
    learners_ : list of noregret.Learner
        The learners themselves.
    n_iter_, t_ : int
        Passes of the last fit; examples learned.
    """

    def _loss(self) -> str | None:
        return self.loss

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the labels {unknown.tolist()}, which are not among the classes {self.classes_.tolist()}")
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [np.where(y == label, 1.0, -1.0) for label in positive]

    def _begin(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(f"the number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        self.learners_ = [self._new() for _ in range(1 if len(classes) == 2 else len(classes))]
        self.t_ = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineClassifier:
        """Learns from the beginning (or goes on, with ``warm_start``)."""
        passes = self._passes()
        again = self.warm_start and hasattr(self, "learners_")
        X, y = self._check(X, y, not again)
        check_classification_targets(y)
        if not again:
            self._begin(unique_labels(y))
        self._learn(X, self._targets(y), sample_weight, passes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineClassifier:
        """Learns more; the first call needs all ``classes``."""
        first = not hasattr(self, "learners_")
        X, y = self._check(X, y, first)
        check_classification_targets(y)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if first:
            self._begin(unique_labels(classes))
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(f"classes={classes!r} is not the same as on the first call to partial_fit: {self.classes_!r}")
        self._learn(X, self._targets(y), sample_weight, 1)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: of the second class where there are two, else of each."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The classes; a score of zero is the second class."""
        scores = self._scores(X)
        return self.classes_[(scores[:, 0] >= 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)]

    def _has_probabilities(self) -> bool:
        loss = self.learners_[0].loss if hasattr(self, "learners_") else self._new_loss()
        if loss != "logistic":
            raise AttributeError(f"probabilities need the logistic loss, not {loss!r}")
        return True

    def _new_loss(self) -> str:
        return Learner(self.learner, self.loss, self.radius, comparator=self.comparator, l2=self.l2, **self._parameters).loss

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes (logistic loss); of more than two, those against the rest made to sum to 1."""
        scores = self._scores(X)
        with np.errstate(over="ignore"):
            p = 1.0 / (1.0 + np.exp(-scores))
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> np.ndarray:
        """The weights, a row for each learner."""
        _linear(self)
        return self._coefficients()

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature, for each learner."""
        _linear(self)
        return np.array([learner.bias for learner in self.learners_])

    @property
    def certificate_(self) -> Certificate | list[Certificate]:
        """What is proved of the first pass."""
        certificates = self._certificates()
        return certificates[0] if len(certificates) == 1 else certificates


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
    learners_ : list of noregret.Learner
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
        again = self.warm_start and hasattr(self, "learners_")
        X, y = self._check(X, y, not again, y_numeric=True)
        if not again:
            self.learners_, self.t_ = [self._new()], 0
        self._learn(X, [np.asarray(y, dtype=np.float64)], sample_weight, passes)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineRegressor:
        """Learns more."""
        first = not hasattr(self, "learners_")
        X, y = self._check(X, y, first, y_numeric=True)
        if first:
            self.learners_, self.t_ = [self._new()], 0
        self._learn(X, [np.asarray(y, dtype=np.float64)], sample_weight, 1)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The predicted numbers."""
        return self._scores(X)[:, 0]

    @property
    def coef_(self) -> np.ndarray:
        """The weights."""
        _linear(self)
        return self._coefficients()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """The weight of the constant feature."""
        _linear(self)
        return np.array([self.learners_[0].bias])

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the first pass."""
        return self._certificates()[0]
