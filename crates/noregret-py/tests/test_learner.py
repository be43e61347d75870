"""The plain interface: every way to give rows is the same learning, and what is wrong is refused."""

import copy
import json
import os
import pickle
import signal
import subprocess
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret
from noregret import Learner

KINDS = [{}, {"learner": "ogd", "loss": "hinge", "eta": 0.2}, {"learner": "perceptron"}, {"learner": "ftrl", "radius": 3}]


def learned(X, y, weights=None, **settings):
    learner = Learner(**settings)
    learner.learn_many(X, y, weights)
    return learner


def one_by_one(rows, y, weights=None, **settings):
    learner = Learner(**settings)
    for k, (x, label) in enumerate(zip(rows, y)):
        learner.learn_one(x, label, 1.0 if weights is None else weights[k])
    return learner


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_learn_many_is_learn_one_repeated_to_the_last_bit(stream, settings, dtype):
    X, y = stream
    X = X.astype(dtype)
    assert learned(X, y, **settings).to_bytes() == one_by_one(X, y, **settings).to_bytes()
    weights = np.random.default_rng(1).integers(0, 3, size=len(y)) / 2
    assert learned(X, y, weights, **settings).to_bytes() == one_by_one(X, y, weights, **settings).to_bytes()


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_layout_is_the_same_to_the_last_bit(stream, settings, dtype):
    X, y = stream
    X = X.astype(dtype)
    expected = learned(X, y, **settings).to_bytes()
    csr = sp.csr_matrix(X)
    wide = sp.csr_matrix((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=X.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    unsorted = csr.copy()
    for start, end in zip(csr.indptr, csr.indptr[1:]):
        unsorted.indices[start:end] = csr.indices[start:end][::-1]
        unsorted.data[start:end] = csr.data[start:end][::-1]
    unsorted.has_sorted_indices = False
    others = [np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], csr, wide, unsorted, sp.csc_matrix(X), sp.csr_array(X), sp.coo_array(X)]
    for other in others:
        assert learned(other, y, **settings).to_bytes() == expected, type(other)
    scores = [learned(X, y, **settings).score_many(other) for other in [X, *others]]
    assert all(np.array_equal(score, scores[0]) for score in scores)


def test_tables_and_dicts_agree_to_the_last_bit(stream):
    X, y = stream
    names = [f"column {k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    dicts = frame.to_dict("records")
    expected = learned(frame, y, columns=names).to_bytes()
    assert one_by_one(dicts, y, columns=names).to_bytes() == expected
    assert learned(dicts, y, columns=names).to_bytes() == expected
    assert learned(pl.DataFrame(dict(zip(names, X.T))), y, columns=names).to_bytes() == expected
    assert learned(pa.table(dict(zip(names, X.T))), y, columns=names).to_bytes() == expected
    assert learned(frame, y).to_bytes() == expected, "the columns of the first table have places of their own"
    hashed = learned(frame, y, columns=[]).to_bytes()
    assert hashed == one_by_one(dicts, y).to_bytes()
    assert hashed == learned(dicts[:100], y[:100]).to_bytes() or learned(dicts, y).to_bytes() == hashed
    shuffled = frame[names[::-1]]
    assert np.array_equal(learned(frame, y).score_many(shuffled), learned(frame, y).score_many(frame))


def test_tables_with_text_are_as_dicts_and_as_csv(tmp_path):
    frame = pd.DataFrame({"age": [1.0, 2.0, 4.0], "city": ["Oslo", "Rome", None], "n": [3, 0, 1], "yes": [True, False, True]})
    dicts = [{name: None if pd.isna(value) else value for name, value in row.items()} for row in frame.to_dict("records")]
    y, names = [1, 0, 1], list(frame.columns)
    tables = [frame, frame.astype({"city": "category"}), frame.astype({"city": object}), pl.from_pandas(frame)]
    tables += [pa.Table.from_pandas(frame), pa.Table.from_pandas(frame).to_batches()[0]]
    for table in tables:
        assert learned(table, y, columns=[]).to_bytes() == one_by_one(dicts, y).to_bytes(), type(table)
        assert learned(table, y).to_bytes() == one_by_one(dicts, y, columns=names).to_bytes(), type(table)
        assert np.array_equal(learned(table, y).score_many(table), learned(dicts, y, columns=names).score_many(dicts))
    (tmp_path / "rows.csv").write_text("label,age,city,n,yes\n1,1,Oslo,3,1\n0,2,Rome,0,0\n1,4,,1,1\n")
    file = Learner()
    file.learn_file(tmp_path / "rows.csv")
    assert file.named_weights == learned(frame, y).named_weights
    assert file.predict_many(frame).tolist() == file.predict_many(dicts).tolist()


def test_the_order_of_a_dict_does_not_matter(stream):
    X, y = stream
    dicts = [{f"f{k}": float(v) for k, v in enumerate(row)} for row in X]
    backwards = [dict(reversed(row.items())) for row in dicts]
    mixed = [a if k % 3 else b for k, (a, b) in enumerate(zip(dicts, backwards))]
    expected = one_by_one(dicts, y)
    for rows in (backwards, mixed):
        other = one_by_one(rows, y)
        assert np.array_equal(other.weights, expected.weights) and other.bias == expected.bias


def test_values_of_a_dict_are_as_in_json_lines(tmp_path):
    rows = [
        {"a": 1.5, "b": True, "c": "red", "d": None, "e": {"f": 2, "g": [3, 4]}, "h": "", "i": 0},
        {"a": -1, "b": False, "c": "blue", "e": {"f": np.float32(0.5)}},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"label": k} | row, default=float) + "\n" for k, row in enumerate(rows)))
    file = Learner("ogd", "logistic")
    assert file.learn_file(path) == 2
    learner = one_by_one(rows, [0, 1], learner="ogd", loss="logistic")
    assert np.array_equal(file.weights, learner.weights) and file.bias == learner.bias
    assert file.named_weights.keys() >= {"a", "b", "c=red", "c=blue", "e.f", "e.g.0", "e.g.1"}
    assert file.predict_one(rows[0]) == learner.predict_one(rows[0])


def test_a_saved_model_goes_on_as_if_never_stopped(stream, tmp_path):
    X, y = stream
    whole = learned(X, y)
    half = learned(X[:150], y[:150])
    half.save(tmp_path / "half.nrg")
    for copied in [
        Learner.load(tmp_path / "half.nrg"),
        pickle.loads(pickle.dumps(half)),
        copy.copy(half),
        copy.deepcopy(half),
        Learner.from_bytes(half.to_bytes()),
    ]:
        copied.learn_many(X[150:], y[150:])
        assert copied.to_bytes() == whole.to_bytes()
    assert half.examples == 150


def test_the_command_reads_and_writes_the_same_models(stream, tmp_path):
    noregret = os.environ.get("NOREGRET")
    assert noregret, "NOREGRET must say where the command is: scripts/test_python.sh builds it and does so"
    X, y = stream
    X = X.astype(np.float32)
    data, model = tmp_path / "data.svm", tmp_path / "model.nrg"
    lines = (f"{label} " + " ".join(f"{k + 1}:{float(v)!r}" for k, v in enumerate(row) if v) for row, label in zip(X, y))
    data.write_text("\n".join(lines) + "\n")
    command = [noregret, "learn", str(data), "--learner", "ogd", "--loss", "logistic", "--quiet", "--model", str(model)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    loaded = Learner.load(model)
    ours = learned(X, y, learner="ogd", loss="logistic")
    assert np.array_equal(loaded.weights, ours.weights)
    file = Learner("ogd", "logistic")
    assert file.learn_file(data) == 300
    assert file.to_bytes() == loaded.to_bytes()
    ours.save(model)
    predict = [noregret, "predict", str(model), str(data), "--scores", "--quiet"]
    scores = subprocess.run(predict, check=True, capture_output=True, text=True).stdout.split()
    assert np.array_equal(np.array(scores, dtype=float), ours.score_many(X))


def test_labels_may_be_truths_signs_or_named_classes(stream):
    X, y = stream
    expected = learned(X, y)
    for labels in [y > 0, (y > 0).astype(int), (y > 0).astype(object), pd.Series(y > 0)]:
        assert np.array_equal(learned(X, labels).weights, expected.weights)
    words = np.where(y > 0, "spam", "ham")
    named = learned(X, words, classes=("ham", "spam"))
    assert np.array_equal(named.weights, expected.weights)
    assert named.classes == ("ham", "spam")
    assert set(named.predict_many(X)) <= {"ham", "spam"}
    assert named.predict_one(X[0]) == named.predict_many(X)[0]
    assert learned(X, y > 0).predict_many(X).tolist() == [int(z >= 0) for z in expected.score_many(X)]


def test_labels_without_a_meaning_are_refused():
    for labels in (["spam", "ham"], [2, 1], [0, -1], [1, np.nan], ["a", 1], [None, 1]):
        with pytest.raises(ValueError, match="label"):
            learned(np.eye(2), np.array(labels, dtype=object))
    with pytest.raises(ValueError, match="twice"):
        Learner(classes=("a", "a"))
    with pytest.raises(ValueError, match="numbers"):
        Learner(loss="square", classes=("a", "b"))


def damaged(**parts):
    X = sp.csr_matrix(np.eye(3))
    for name, value in parts.items():
        setattr(X, name, np.array(value, dtype=getattr(X, name).dtype))
    return X


@pytest.mark.parametrize(
    "X, words",
    [
        ([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]], "row 0, column 1: found NaN"),
        ([[1.0, 0.0], [0.0, 1.0], [-np.inf, 1.0]], "row 2, column 0: found -inf"),
        (damaged(data=[1.0, np.inf, 1.0]), "row 1, column 1: found inf"),
        (damaged(indices=[0, -1, 2]), "row 1 has a column that is negative"),
        (damaged(indices=[0, 1, 3]), "row 2 has a column"),
        (damaged(indptr=[0, 2, 1, 3]), "indptr is damaged"),
        (damaged(indptr=[0, 1, 2, 4]), "indptr is damaged"),
        (damaged(indptr=[-1, 1, 2, 3]), "indptr is damaged"),
        (np.zeros(3), "1 dimensions, expected 2"),
        (np.zeros((3, 2, 2)), "3 dimensions"),
        (np.array([["a"], ["b"], ["c"]]), "expected numbers"),
        (np.array([[1j], [1j], [1j]]), "expected numbers"),
        (np.array([[{}], [1], [2]], dtype=object), "expected numbers"),
        (np.zeros((2, 2)), "2 rows and y has 3"),
        ([{"a": 1.0}, {"a": np.nan}, {}], "value of `a` is NaN"),
        ([{"a": 1.0}, {"a": object()}, {}], "type object"),
        ([{"a": 1.0}, [1.0], {}], "expected a dict"),
        (sp.csr_matrix(([1.0], ([0], [1 << 24])), shape=(3, (1 << 24) + 1)), "dimension="),
    ],
)
def test_bad_rows_are_refused_where_they_stand(X, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        Learner().learn_many(X, [1, -1, 1])


def test_the_rows_before_a_bad_one_have_been_learned():
    learner = Learner()
    with pytest.raises(ValueError, match="row 2"):
        learner.learn_many([[1.0], [2.0], [np.nan], [3.0]], [1, -1, 1, 1])
    assert learner.to_bytes() == learned([[1.0], [2.0]], [1, -1]).to_bytes()


def test_doubles_of_a_sparse_row_are_summed():
    X = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert learned(X, [1]).to_bytes() == learned([[2.0, 5.0]], [1]).to_bytes()


def test_weights_must_be_numbers_not_below_zero():
    for weights in ([1.0, -1.0], [1.0, np.nan], [1.0], [[1.0, 1.0]], []):
        with pytest.raises(ValueError, match="weight"):
            learned(np.eye(2), [1, -1], weights)
    with pytest.raises(ValueError, match="weight"):
        Learner().learn_one([1.0], 1, -2.0)


@pytest.mark.parametrize(
    "settings, error, words",
    [
        ({"learner": "no-such"}, ValueError, "there is no learner"),
        ({"loss": "no-such"}, ValueError, "no loss is called"),
        ({"eta": 1}, ValueError, "eta belongs to"),
        ({"no_such": 1}, TypeError, "no parameter no_such"),
        ({"learner": "ogd", "eta": -1}, ValueError, "eta: found `-1`"),
        ({"radius": -1}, ValueError, "radius: found -1"),
        ({"learner": "vaw", "loss": "hinge"}, ValueError, "works with the loss"),
        ({"bits": 40}, ValueError, "bits: found 40"),
        ({"columns": ["a", "a"]}, ValueError, "`a` twice"),
    ],
)
def test_bad_settings_are_refused_with_the_librarys_words(settings, error, words):
    with pytest.raises(error, match=words):
        Learner(**settings)


def test_features_have_names_or_numbers_not_both():
    with pytest.raises(ValueError, match="numbered columns"):
        learned(np.eye(2), [1, 0]).predict_one({"a": 1.0})
    with pytest.raises(ValueError, match="have names"):
        one_by_one([{"a": 1.0}], [1]).predict_one([1.0])


def test_files_that_are_not_there_or_not_models(tmp_path):
    with pytest.raises(FileNotFoundError):
        Learner().learn_file(tmp_path / "none.svm")
    with pytest.raises(FileNotFoundError):
        Learner.load(tmp_path / "none.nrg")
    (tmp_path / "bad.svm").write_text("1 1:1\n-1 1:x\n")
    with pytest.raises(ValueError, match=r"bad.svm:2:\d+"):
        Learner().learn_file(tmp_path / "bad.svm")
    with pytest.warns(UserWarning, match="1 bad records skipped"):
        assert Learner().learn_file(tmp_path / "bad.svm", on_error="skip") == 1
    with pytest.raises(ValueError, match="not a noregret model"):
        Learner.load(tmp_path / "bad.svm")
    with pytest.raises(ValueError, match="not a noregret model"):
        Learner.from_bytes(b"nothing")


def test_a_file_without_a_header_calls_its_columns_by_number(tmp_path):
    rows = "1,0.5,2\n-1,1.5,0\n1,2.5,1\n"
    (tmp_path / "plain.csv").write_text(rows)
    (tmp_path / "named.csv").write_text("1,2,3\n" + rows)
    plain, named = Learner(), Learner()
    assert plain.learn_file(tmp_path / "plain.csv", label="1", header=False) == 3
    assert named.learn_file(tmp_path / "named.csv", label="1") == 3
    assert plain.predict_one({"2": 1.0, "3": 2.0}) == named.predict_one({"2": 1.0, "3": 2.0})
    (tmp_path / "rows.svm").write_text("1 1:2\n-1 2:1\n")
    with pytest.raises(ValueError, match="header=False is for CSV"):
        Learner().learn_file(tmp_path / "rows.svm", header=False)


def test_every_learner_learns_and_certifies(stream):
    X, y = stream
    needs = {"subgradient": {"horizon": 300}, "strongly-convex-ogd": {"l2": 0.1}}
    for name in noregret.learners():
        learner = learned(X, y, learner=name, **needs.get(name, {}))
        certificate = learner.certificate()
        assert certificate.best_at_least <= certificate.average_loss + 1e-12 or certificate.comparator == "ridge", name
        assert learner.to_bytes() == one_by_one(X, y, learner=name, **needs.get(name, {})).to_bytes(), name
        if learner.is_linear:
            assert np.allclose(X @ learner.weights + learner.bias, learner.score_many(X)), name


def test_a_certificate_is_never_above_a_model_that_exists(stream):
    X, y = stream
    learner = learned(X, y, loss="hinge")
    for seed in range(50):
        u = np.random.default_rng(seed).normal(size=21)
        loss = np.maximum(0, 1 - y * (X @ u[:20] + u[20])).mean()
        for comparator, norm in [("l2", np.linalg.norm(u)), ("l1", abs(u).sum()), ("linf", abs(u).max())]:
            assert learner.certificate(norm, comparator).best_at_least <= loss
    assert "could have lost" in str(learner.certificate())
    assert "The certificate is loose" in str(learner.certificate(1e6))
    assert "did better than every fixed one" in str(learner.certificate(1e-6))
    assert repr(learner.certificate()).startswith("Certificate(average_loss=")
    assert "<table>" in learner.certificate()._repr_html_()


def test_ledgers_add_where_they_speak_of_the_same(stream):
    X, y = stream
    parts = [learned(X[k::3], y[k::3], loss="hinge").ledger for k in range(3)]
    whole = parts[0] + parts[1] + parts[2]
    assert whole.examples == 300
    u = np.random.default_rng(5).normal(size=20)
    assert whole.certificate(np.linalg.norm(u)).best_at_least <= np.maximum(0, 1 - y * (X @ u)).mean()
    assert [radius for radius, _ in whole.curve([0.5, 1.0, 2.0])] == [0.5, 1.0, 2.0]
    # What has met nothing has placed nothing.
    nothing = noregret.Learner(loss="hinge").ledger
    assert (nothing + whole).examples == (whole + nothing).examples == 300
    assert ((nothing + nothing) + whole).certificate(1.0).best_at_least == whole.certificate(1.0).best_at_least
    # A part may have met one class alone; what is never told apart stays so.
    sides = [learned(X[y == side], y[y == side], loss="hinge").ledger for side in (1, -1)]
    assert (sides[0] + sides[1] + sides[0]).examples == 300 + (y == 1).sum()
    with pytest.raises(ValueError, match="different labels for one class, -1 and 0"):
        whole + learned(X, np.where(y > 0, 1, 0), loss="hinge").ledger
    with pytest.raises(ValueError, match="different losses"):
        whole + learned(X, y).ledger
    with pytest.raises(ValueError, match="place features"):
        whole + one_by_one([{"a": 1.0}, {"a": 0.5}], [1, -1], loss="hinge").ledger
    with pytest.raises(TypeError):
        whole + 1
    with pytest.raises(ValueError, match="nothing is certified"):
        Learner().certificate()


def test_a_thread_may_predict_while_another_learns(stream):
    X, y = stream
    X, y = np.tile(X, (100, 1)), np.tile(y, 100)
    learner = Learner("ogd")
    scores, failures = [], []

    def predict():
        try:
            for _ in range(200):
                scores.append(learner.score_many(X[:10]))
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=predict) for _ in range(2)] + [threading.Thread(target=learner.learn_many, args=(X, y))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and np.isfinite(scores).all()
    assert learner.to_bytes() == learned(X, y, learner="ogd").to_bytes()


def test_an_interrupt_stops_long_work():
    X = sp.csr_matrix(np.ones((1000, 100)))
    X = sp.vstack([X] * 400, format="csr")
    learner = Learner()
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            learner.learn_many(X, np.ones(X.shape[0]))
    timer.join()
    time.sleep(0)
    assert learner.examples > 0


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=8),
    st.data(),
)
def test_any_numbers_are_the_same_dense_sparse_and_named(rows, data):
    y = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    X = np.array(rows)
    dense = learned(X, y, loss="hinge")
    assert dense.to_bytes() == learned(sp.csr_matrix(X), y, loss="hinge").to_bytes()
    named = one_by_one([dict(zip("abc", row)) for row in rows], y, loss="hinge", columns=list("abc"))
    assert np.array_equal(named.weights, dense.weights) and named.bias == dense.bias
