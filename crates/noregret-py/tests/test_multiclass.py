"""Several classes, learned by the library's own schemes."""

import json
import os
import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from noregret import Learner

SETTINGS = [
    {"multiclass": "ovr"},
    {"multiclass": "ovr", "learner": "ogd", "loss": "hinge", "eta": 0.1},
    {"multiclass": "softmax"},
    {"multiclass": "perceptron"},
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def learned(X, y, **settings):
    learner = Learner(**settings)
    learner.learn_many(X, y)
    return learner


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_is_one_repeated_and_every_layout_is_the_same(digits, settings, dtype):
    X, y = digits[0][:300].astype(dtype), digits[1][:300]
    many = learned(X, y, **settings)
    assert many.to_bytes() == learned(sp.csr_matrix(X), y, **settings).to_bytes()
    one = Learner(**settings)
    for x, label in zip(X, y):
        one.learn_one(x, label)
    assert one.to_bytes() == many.to_bytes()
    assert many.predict_many(X).tolist() == [many.predict_one(x) for x in X]
    scores = many.score_many(X)
    assert scores.shape == (300, 10) and np.array_equal(scores[7], many.score_one(X[7]))
    assert many.weights.shape == (10, 64) and many.bias.shape == (10,)
    assert many.is_linear == (many.learner != "auto"), "a mixture is not the product with anybody's weights"
    if many.is_linear:
        assert np.allclose(X @ many.weights.T + many.bias, scores)


@pytest.mark.parametrize("settings", SETTINGS)
def test_digits_are_told_apart_and_certified(digits, settings):
    X, y = digits
    learner = learned(X, y, **settings)
    assert (learner.predict_many(X) == y).mean() > 0.8
    assert learner.multiclass == settings["multiclass"] and set(learner.classes) == set(range(10))
    certificate = learner.certificate()
    assert certificate.best_at_least <= certificate.average_loss == learner.average_loss
    summary = learner.summary()
    assert summary["certificate"]["best_at_least"] == certificate.best_at_least
    assert sum(told["examples"] for told in summary["classes"]) == len(y)
    for radius in (0.5, 2.0):
        assert learner.certificate(radius=radius).radius == radius
    assert learner.certificate(radius=1).best_at_least >= learner.certificate(radius=3).best_at_least
    assert [radius for radius, _ in learner.curve([1.0, 2.0])] == [1.0, 2.0]
    with pytest.raises(ValueError, match="for each of them"):
        learner.ledger
    with pytest.raises(ValueError, match="made with"):
        learner.certificate(comparator="l1")
    assert "10 classes" in repr(learner) and "<table>" in learner._repr_html_()


def test_probabilities_sum_to_one(digits):
    X, y = digits
    for settings in [SETTINGS[0], SETTINGS[2]]:
        learner = learned(X[:500], y[:500], **settings)
        p = learner.predict_proba_many(X)
        assert p.shape == (len(y), 10) and np.allclose(p.sum(axis=1), 1)
        one = learner.predict_proba_one(X[0])
        assert list(one) == list(learner.classes) and np.allclose(list(one.values()), p[0])
    with pytest.raises(ValueError, match="probabilities need"):
        learned(X[:50], y[:50], multiclass="perceptron").predict_proba_many(X)


def test_classes_have_any_names_and_may_be_closed(digits):
    X, y = digits[0][:200], digits[1][:200]
    words = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
    named = learned(X, words[y], multiclass="ovr")
    plain = learned(X, y, multiclass="ovr")
    order = [words.tolist().index(name) for name in named.classes]
    assert order == list(plain.classes) and np.array_equal(named.weights, plain.weights)
    assert named.predict_many(X).tolist() == words[plain.predict_many(X)].tolist()
    closed = learned(X[:20], words[y[:20]], multiclass="softmax", classes=words.tolist())
    assert closed.classes == tuple(words) and closed.score_many(X).shape == (200, 10)
    with pytest.raises(ValueError, match="row 1: .*found the label.*eleven"):
        closed.learn_many(X[:2], ["one", "eleven"])
    with pytest.raises(ValueError, match="listed twice"):
        Learner(multiclass="ovr", classes=["a", "b", "a"])
    with pytest.raises(ValueError, match="say multiclass"):
        Learner(classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="expected two or more"):
        Learner(multiclass="ovr", classes=["a"])
    with pytest.raises(ValueError, match="expected one of ovr, softmax, perceptron"):
        Learner(multiclass="no-such")
    with pytest.raises(ValueError, match="no class has been seen"):
        Learner(multiclass="ovr").predict_many(X)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_copy_goes_on_as_if_never_stopped(digits, settings):
    X, y = digits[0][:400], digits[1][:400]
    whole = learned(X, y, **settings)
    half = pickle.loads(pickle.dumps(learned(X[:150], y[:150], **settings)))
    half.learn_many(X[150:], y[150:])
    assert half.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("scheme", ["ovr", "softmax", "perceptron"])
def test_the_command_has_the_same_models(digits, scheme, tmp_path):
    X, y = digits[0][:300].astype(np.float32), digits[1][:300]
    data, model = tmp_path / "digits.svm", tmp_path / "model.nrg"
    lines = (f"{label} " + " ".join(f"{k + 1}:{float(v)!r}" for k, v in enumerate(row) if v) for row, label in zip(X, y))
    data.write_text("\n".join(lines) + "\n")
    learn = [os.environ["NOREGRET"], "learn", data, "--multiclass", scheme, "--model", model, "--quiet", "--json", "-"]
    summary = json.loads(subprocess.run(list(map(str, learn)), check=True, capture_output=True, text=True).stdout)
    file = Learner(multiclass=scheme)
    assert file.learn_file(data) == 300
    assert file.to_bytes() == model.read_bytes()
    assert np.array_equal(Learner.load(model).score_many(X), file.score_many(X))
    told = file.summary()
    assert all(summary[key] == told[key] for key in ("average_loss", "error_rate", "certificate", "classes", "examples"))
