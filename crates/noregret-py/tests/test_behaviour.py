"""What is promised of the border: exceptions of the right class, no panic, other threads and ^C."""

import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import noregret
from noregret import Learner
from noregret.sklearn import OnlineClassifier, OnlineRegressor


def csr(data, indices, indptr, shape, index=np.int32):
    """A matrix with just these parts, right or wrong."""
    X = sp.csr_matrix(shape, dtype=np.asarray(data).dtype)
    X.data, X.indices, X.indptr = np.asarray(data), np.asarray(indices, dtype=index), np.asarray(indptr, dtype=index)
    return X


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused_with_row_and_column(index, dtype, bad):
    data = np.ones(40, dtype=dtype)
    data[33] = bad
    X = csr(data, np.tile(np.arange(4), 10), np.arange(0, 41, 4), (10, 4), index)
    words = "row 8, column 1: found " + str(bad).replace("nan", "NaN")
    for learn in (lambda: Learner().learn_many(X, np.ones(10)), lambda: Learner().learn_many(X.toarray(), np.ones(10))):
        with pytest.raises(ValueError, match=words):
            learn()
    frame = pd.DataFrame(X.toarray(), columns=list("abcd"))
    with pytest.raises(ValueError, match="row 8, column 1: found"):
        Learner().learn_many(frame, np.ones(10))
    with pytest.raises(ValueError, match="row 8: the value of `b` is"):
        Learner().learn_many(frame.to_dict("records"), np.ones(10))
    with pytest.raises(ValueError, match="column 1"):
        Learner().learn_one(X.toarray()[8], 1)
    with pytest.raises(ValueError):
        Learner().score_many(X)
    with pytest.raises(ValueError, match="(NaN|infinity)"):
        OnlineClassifier().fit(X, np.tile([0, 1], 5))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_that_are_negative_too_large_or_beyond_32_bits(index):
    one = np.ones(1)
    for wrong, shape, words in [
        ([-1], (1, 3), "negative"),
        ([3], (1, 3), "not below the 3"),
        ([1 << 24], (1, 1 << 30), "dimension="),
    ]:
        with pytest.raises(ValueError, match=words):
            Learner().learn_many(csr(one, wrong, [0, 1], shape, index), [1])
    # A number that would be 5 if it were cut to 32 bits.
    with pytest.raises(ValueError, match="row 0"):
        Learner().learn_many(csr(one, [(1 << 32) + 5], [0, 1], (1, 1 << 40), np.int64), [1])
    allowed = Learner("ogd", dimension=1 << 25)
    allowed.learn_many(csr(one, [1 << 24], [0, 1], (1, (1 << 24) + 1), index), [1])
    assert len(allowed.weights) == (1 << 24) + 1
    # What a model does not know counts nothing in a prediction.
    learner = Learner("ogd")
    learner.learn_many([[1.0]], [1])
    known = learner.score_many([[1.0]])
    assert learner.score_many(csr([1.0, 9.0], [0, 1 << 30], [0, 2], (1, (1 << 30) + 1), index)) == known


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_and_double_indices_are_as_in_scipy(index):
    random = np.random.default_rng(4)
    indptr = np.arange(0, 3001, 30)
    X = csr(random.normal(size=3000), random.integers(0, 25, size=3000), indptr, (100, 25), index)
    summed = X.copy()
    summed.sum_duplicates()
    y = np.where(random.random(100) > 0.5, 1, -1)
    one, other = Learner("ogd"), Learner("ogd")
    one.learn_many(X, y)
    other.learn_many(summed.toarray(), y)
    assert np.allclose(one.weights, other.weights, rtol=1e-12)
    assert not X.has_canonical_format, "the user's matrix is left as it was"
    # One row out of order among many in order, at every place of a run.
    for row in (0, 57, 99):
        Z = sp.csr_matrix(np.arange(1.0, 2501.0).reshape(100, 25))
        expected = Learner("ogd")
        expected.learn_many(Z, y)
        a, b = Z.indptr[row], Z.indptr[row + 1]
        Z.indices[a:b], Z.data[a:b] = Z.indices[a:b][::-1].copy(), Z.data[a:b][::-1].copy()
        learner = Learner("ogd")
        learner.learn_many(Z, y)
        assert learner.to_bytes() == expected.to_bytes()


def test_wrong_shapes_and_kinds_are_value_errors():
    y = [1, -1, 1]
    for X, words in [
        (np.zeros(3), "1 dimensions, expected 2"),
        (np.zeros((3, 1, 1)), "3 dimensions"),
        (np.zeros((2, 2)), "2 rows and y has 3"),
        (np.array([["a"], ["b"], ["c"]]), "expected numbers"),
        (np.array([[object()], [1], [2]], dtype=object), "expected numbers"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[D]").reshape(3, 1), "expected numbers"),
        (sp.csr_matrix(np.eye(3) * 1j), "expected numbers"),
        (csr([1.0], [0, 1], [0, 1, 1, 1], (3, 2)), "2 column numbers for 1 values"),
        (csr([1.0], [0], [0, 1, 0, 1], (3, 2)), "indptr is damaged"),
        (csr([1.0], [0], [0, 1, 1, 9], (3, 2)), "indptr is damaged"),
        (csr([1.0], [0], [5, 5, 5, 5], (3, 2)), "indptr is damaged"),
        (None, "X"),
        (7, "0 dimensions"),
        ("words", "expected numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            Learner().learn_many(X, y)
    for labels in (np.zeros((3, 1)), [[1], [-1], [1]], 3):
        with pytest.raises(ValueError, match="dimensions, expected 1"):
            Learner().learn_many(np.eye(3), labels)
    numbers = Learner("ogd")
    numbers.learn_many(np.array([[1], [2], [3]], dtype=object), y)
    assert numbers.examples == 3, "objects that are numbers are numbers"


def test_nothing_is_asked_of_an_estimator_that_has_learned_nothing():
    for model in (OnlineClassifier(), OnlineRegressor()):
        for ask in ("predict", "decision_function", "coef_", "intercept_", "certificate_"):
            with pytest.raises((NotFittedError, AttributeError)):
                found = getattr(model, ask)
                found(np.eye(2))
        with pytest.raises(NotFittedError):
            model.predict(np.eye(2))


def test_empty_input_is_no_error():
    learner = Learner("ogd")
    learner.learn_many(np.empty((0, 3)), [])
    learner.learn_many(sp.csr_matrix((0, 3)), [])
    learner.learn_many(pd.DataFrame({"a": []}).iloc[:, :0].to_numpy().reshape(0, 0), [])
    assert learner.examples == 0 and learner.score_many(np.empty((0, 3))).shape == (0,)
    learner.learn_many(np.empty((4, 0)), [1, -1, 1, 1])
    learner.learn_many(sp.csr_matrix((20000, 3)), np.ones(20000))
    assert learner.examples == 20004


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_parts_of_a_matrix_make_a_panic(data):
    """Whatever the three arrays hold: it is learned, or a ValueError."""
    index = data.draw(st.sampled_from([np.int32, np.int64]))
    top = int(np.iinfo(index).max)
    numbers = st.one_of(st.integers(-3, 12), st.sampled_from([top, -top - 1, 1 << 31 if index == np.int64 else 1 << 30]))
    values = data.draw(st.lists(st.floats(width=32), max_size=12))
    indices = data.draw(st.lists(numbers, min_size=len(values), max_size=len(values)))
    indptr = data.draw(st.lists(numbers, min_size=1, max_size=6))
    X = csr(np.array(values, dtype=data.draw(st.sampled_from([np.float32, np.float64]))), indices, indptr, (len(indptr) - 1, 10), index)
    learner = Learner("ogd")
    y = np.ones(len(indptr) - 1)
    for work in (lambda: learner.learn_many(X, y), lambda: learner.score_many(X), lambda: noregret.audit(X, y, radius=1, max_sweeps=50)):
        try:
            work()
        except ValueError:
            pass
    assert np.isfinite(learner.weights).all()


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=4), st.binary(max_size=2)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
        max_leaves=8,
    )
)
def test_no_value_of_a_dict_makes_a_panic(value):
    learner = Learner("ogd")
    try:
        learner.learn_one({"a": value, "b": 1.0}, 1)
    except (ValueError, OverflowError):
        return
    assert np.isfinite(learner.score_one({"a": value}))


def test_learning_lets_other_threads_go_on():
    X = sp.csr_matrix(np.ones((2000, 100), dtype=np.float32))
    X = sp.vstack([X] * 50, format="csr")
    y = np.ones(X.shape[0])
    learner = Learner("ogd", "hinge")
    steps, done = [0], threading.Event()

    def count():
        while not done.is_set():
            steps[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = steps[0]
    for _ in range(10):
        learner.learn_many(X, y)
    during = steps[0] - before
    done.set()
    thread.join()
    assert during > 10


def test_threads_that_learn_and_predict_together_lose_nothing(stream):
    X, y = stream
    learner = Learner("ogd")
    failures = []

    def work(kind):
        try:
            for k in range(60):
                if kind == "many":
                    learner.learn_many(X[:50], y[:50])
                elif kind == "one":
                    for x, label in zip(X[:50], y[:50]):
                        learner.learn_one(x, label)
                elif kind == "predict":
                    assert np.isfinite(learner.score_many(X)).all() and learner.predict_one(X[0]) in (1, -1)
                else:
                    assert pickle.loads(pickle.dumps(learner)).examples <= 6000
                    learner.ledger, learner.summary(), repr(learner), learner.weights, learner.bias, learner._repr_html_()
                    if learner.examples:
                        learner.curve([1.0, 2.0]), learner.certificate()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(kind,)) for kind in ("many", "one", "predict", "copy", "predict")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and learner.examples == 2 * 60 * 50


@pytest.mark.parametrize("work", ["file", "audit", "separate", "dicts"])
def test_an_interrupt_is_heard_in_all_long_work(work, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 60))
    y = np.where(random.random(3000) > 0.5, 1, -1)
    dicts = [{str(k): float(v) for k, v in enumerate(row)} for row in X[:1000]]
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:2 3:3\n-1 2:1 5:4\n" * 200_000)
    learner = Learner()
    long = {
        "file": lambda: learner.learn_file(path),
        "audit": lambda: noregret.audit(X, y, "hinge", radius=50, tolerance=1e-9),
        "separate": lambda: noregret.separate(X + y[:, None] * 0.01, y, "perceptron"),
        "dicts": lambda: learner.learn_many(dicts, y[:1000]),
    }[work]
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            long()
    timer.join()
