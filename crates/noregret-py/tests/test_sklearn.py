"""The estimators are scikit-learn's in every manner that it checks."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from noregret.sklearn import OnlineClassifier, OnlineRegressor

ONE_PASS = "a weight is not a repetition for a learner of one pass"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ONE_PASS,
    "check_sample_weight_equivalence_on_sparse_data": ONE_PASS,
}


@parametrize_with_checks(
    [OnlineClassifier(), OnlineRegressor(), OnlineClassifier("ogd", "hinge", eta=0.1)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
@pytest.mark.filterwarnings("ignore")
def test_the_manners_of_scikit_learn(estimator, check):
    check(estimator)


def test_partial_fit_in_parts_is_fit(stream):
    X, y = stream
    whole = OnlineClassifier().fit(X, y)
    parts = OnlineClassifier()
    for k in range(0, 300, 70):
        parts.partial_fit(X[k : k + 70], y[k : k + 70], classes=[-1, 1])
    assert np.array_equal(whole.coef_, parts.coef_) and np.array_equal(whole.intercept_, parts.intercept_)
    assert parts.t_ == 300 and whole.n_iter_ == 1
    with pytest.raises(ValueError, match="classes must be passed"):
        OnlineClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="not among the classes"):
        parts.partial_fit(X[:2], [1, 7])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense(stream, dtype):
    X, y = stream
    dense = OnlineClassifier("ogd").fit(X.astype(dtype), y)
    sparse = OnlineClassifier("ogd").fit(sp.csr_matrix(X.astype(dtype)), y)
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert dense.coef_.shape == (1, 20) and dense.intercept_.shape == (1,)
    assert np.allclose(X.astype(dtype) @ dense.coef_[0] + dense.intercept_, dense.decision_function(X.astype(dtype)))


def test_parameters_of_learners_survive_clone_grid_and_pickle(stream):
    X, y = stream
    model = OnlineClassifier("ogd", eta=0.25)
    assert model.get_params()["eta"] == 0.25 and clone(model).get_params()["eta"] == 0.25
    assert "eta=0.25" in repr(model)
    grid = GridSearchCV(make_pipeline(StandardScaler(), model), {"onlineclassifier__eta": [0.01, 0.5]}, cv=3).fit(X, y)
    assert grid.best_params_["onlineclassifier__eta"] in (0.01, 0.5)
    fitted = model.fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    with pytest.raises(TypeError, match="no parameter nonsense"):
        OnlineClassifier(nonsense=1).fit(X, y)
    with pytest.raises(ValueError):
        OnlineClassifier().set_params(nonsense=1)


def test_more_than_two_classes_are_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    order = np.random.default_rng(0).permutation(len(y))
    model = OnlineClassifier(max_iter=20).fit(X[order], names[order])
    assert model.score(X, names) > 0.9
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == (3,)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    linear = OnlineClassifier("ogd").fit(X[order], names[order])
    assert np.allclose(X @ linear.coef_.T + linear.intercept_, linear.decision_function(X))
    # One learner a class, each as if it were alone, and a certificate for each and for all together.
    for k, certificate in enumerate(model.class_certificates_):
        alone = OnlineClassifier(max_iter=20).fit(X[order], np.where(y[order] == k, 1, 0))
        assert np.array_equal(alone.coef_[0], model.coef_[k])
        assert certificate["best_at_least"] == alone.certificate_.best_at_least
    total = sum(certificate["best_at_least"] for certificate in model.class_certificates_)
    assert np.isclose(model.certificate_.best_at_least, total)


@pytest.mark.parametrize("scheme", ["softmax", "perceptron"])
def test_other_schemes_of_several_classes(scheme):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = OnlineClassifier(multiclass=scheme, max_iter=20).fit(X[order], y[order])
    assert model.score(X, y) > 0.8 and model.coef_.shape == (3, 4)
    assert hasattr(model, "predict_proba") == (scheme == "softmax")
    assert model.certificate_.best_at_least <= model.certificate_.average_loss
    two = OnlineClassifier(multiclass=scheme).fit(X[:100], y[:100])
    assert two.decision_function(X).shape == (150,) and two.coef_.shape == (1, 4)
    with pytest.raises(ValueError, match="of its own"):
        OnlineClassifier("ogd", multiclass=scheme).fit(X, y)


def test_what_cannot_be_had_is_not_there(stream):
    X, y = stream
    assert not hasattr(OnlineClassifier(loss="hinge"), "predict_proba")
    assert hasattr(OnlineClassifier(), "predict_proba")
    with pytest.raises(NotFittedError):
        OnlineClassifier().predict(X)
    assert not hasattr(OnlineClassifier("voted-perceptron").fit(X, y), "coef_")
    with pytest.raises(ValueError, match="max_iter"):
        OnlineClassifier(max_iter=0).fit(X, y)


def test_the_certificate_speaks_of_the_first_pass_and_of_what_came_after(stream):
    X, y = stream
    model = OnlineClassifier("projected-ogd", radius=5, max_iter=5).fit(X, y)
    once = OnlineClassifier("projected-ogd", radius=5).fit(X, y)
    assert model.certificate_.average_loss == once.certificate_.average_loss
    assert model.certificate_.best_at_least >= once.certificate_.best_at_least
    model.partial_fit(X[:50], y[:50])
    assert model.learner_.examples == 350
    regressor = OnlineRegressor().fit(X, X[:, 0])
    assert regressor.certificate_.best_at_least <= 0.0 + regressor.certificate_.average_loss
