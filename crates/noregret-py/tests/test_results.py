"""Curves, audits, comparisons, separations: what they claim, and how they look."""

import copy
import io
import json
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import noregret
from noregret import Learner
from noregret._progress import Bar

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def learned(X, y, **settings):
    learner = Learner(**settings)
    learner.learn_many(X, y)
    return learner


def drawn(result):
    """Its picture has something in it."""
    from matplotlib import pyplot

    axes = result.plot()
    assert axes.lines or axes.patches or axes.collections
    assert result.plot(axes) is axes
    pyplot.close("all")


def test_a_curve_is_the_certificate_at_every_radius(stream):
    X, y = stream
    learner = learned(X, y, learner="projected-ogd", loss="hinge", radius=2)
    curve = learner.curve()
    assert [radius for radius, _ in curve] == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
    assert all(best == learner.certificate(radius).best_at_least for radius, best in curve)
    assert learner.curve([0.5, 3.0], "l1") == [(r, learner.certificate(r, "l1").best_at_least) for r in (0.5, 3.0)]
    assert list(curve) == learner.ledger.curve([radius for radius, _ in curve])
    drawn(curve)
    assert "<table>" in curve._repr_html_() and pickle.loads(pickle.dumps(curve)) == curve
    with pytest.raises(ValueError, match="radius: found -1"):
        learner.curve([-1.0])


def test_ledgers_are_summed(stream):
    learners = [noregret.Learner("projected-ogd", "hinge") for _ in range(3)]
    X, y = stream
    for learner in learners:
        learner.learn_many(X, y)
    first, second, third = (learner.ledger for learner in learners)
    assert sum([first, second, third]) == first + second + third
    assert sum([first]) == first
    for other in (1, 0.0, False, "0", None):
        with pytest.raises(TypeError):
            other + first
        with pytest.raises(TypeError):
            first + other


def test_ledgers_and_certificates_are_copied_exactly(stream):
    X, y = stream
    for settings in ({}, {"learner": "perceptron"}, {"loss": "hinge", "learner": "ftrl", "radius": 3}):
        learner = learned(X, y, **settings)
        ledger, certificate = learner.ledger, learner.certificate(radius=2)
        for twin in (pickle.loads(pickle.dumps(ledger)), copy.copy(ledger), copy.deepcopy(ledger)):
            assert twin == ledger and twin.certificate(2) == ledger.certificate(2)
            assert (twin + ledger).certificate(2) == (ledger + ledger).certificate(2)
        for twin in (pickle.loads(pickle.dumps(certificate)), copy.copy(certificate), copy.deepcopy(certificate)):
            assert twin == certificate and repr(twin) == repr(certificate) and twin.radius_from == certificate.radius_from
        assert "<table>" in ledger._repr_html_() and "<table>" in certificate._repr_html_() and "<table>" in learner._repr_html_()
    with pytest.raises(ValueError, match="not the bytes of a ledger"):
        noregret.Ledger.from_bytes(b"{}")
    assert "<table>" in Learner()._repr_html_()


def test_a_summary_has_the_keys_of_the_command(stream, tmp_path):
    X, y = stream
    X = X.astype(np.float32)
    data = tmp_path / "data.svm"
    lines = (f"{label} " + " ".join(f"{k + 1}:{float(v)!r}" for k, v in enumerate(row) if v) for row, label in zip(X, y))
    data.write_text("\n".join(lines) + "\n")
    run = subprocess.run([os.environ["NOREGRET"], "learn", data, "--json", "-", "--quiet"], check=True, capture_output=True, text=True)
    told = json.loads(run.stdout)
    summary = learned(X, y).summary()
    assert set(summary) <= set(told)
    assert all(summary[key] == told[key] for key in summary if key != "labels"), "to the last bit"


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_an_audit_brackets_the_best_in_hindsight(stream, loss):
    X, y = stream
    value = {"hinge": lambda m: np.maximum(0, 1 - m), "logistic": lambda m: np.logaddexp(0, -m)}[loss]
    learner = learned(X, y, loss=loss, learner="projected-ogd", radius=3)
    audit = noregret.audit(X, y, learner=learner)
    assert audit.closed and audit.radius == 3 and audit.loss == loss
    assert audit.best.at_most - audit.best.at_least <= 1e-3 * audit.best.at_most
    u = np.append(audit.weights, audit.bias)
    assert np.linalg.norm(u) <= 3 and value(y * (X @ u[:-1] + u[-1])).mean() <= audit.best.at_most
    for seed in range(30):
        v = np.random.default_rng(seed).normal(size=21)
        v *= 3 / np.linalg.norm(v)
        assert value(y * (X @ v[:-1] + v[-1])).mean() >= audit.best.at_least
    assert learner.certificate().best_at_least <= audit.best.at_most
    assert 0 < audit.regret.at_least <= learner.certificate().regret_at_most
    assert 1 <= audit.certificate_ratio < 100
    assert "its regret is between" in str(audit) and "regret=(" in repr(audit) and "<table>" in audit._repr_html_()
    drawn(audit)


def test_an_audit_takes_rows_of_all_kinds(stream):
    X, y = stream
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(20)])
    expected = noregret.audit(X, y, "hinge", radius=[1, 2])
    assert [bracket.radius for bracket in expected.brackets] == [1, 2] and expected.radius == 2 and expected.regret is None
    for rows in (sp.csr_matrix(X), frame, pl.from_pandas(frame), frame.to_dict("records"), X.astype(np.float32)):
        found = noregret.audit(rows, y, "hinge", radius=[1, 2])
        assert np.isclose(found.best.at_most, expected.best.at_most, rtol=2e-3)
    drawn(expected)
    assert "<table>" in expected._repr_html_()
    square = noregret.audit(X, X[:, 0], "square", l2=0.1)
    assert square.comparator == "ridge" and square.radius is None and square.closed
    weighted = noregret.audit(X[:50], y[:50], "logistic", 1, sample_weight=np.full(50, 2.0))
    assert np.isclose(weighted.best.at_most, noregret.audit(X[:50], y[:50], "logistic", 1).best.at_most, rtol=2e-3)
    words = noregret.audit(X, np.where(y > 0, "a", "b"), "hinge", radius=2, classes=("b", "a"))
    assert np.isclose(words.best.at_most, expected.best.at_most, rtol=2e-3)


def test_an_audit_refuses_what_makes_no_sense(stream):
    X, y = stream
    learner = learned(X, y)
    before = learner.to_bytes()
    for arguments, words in [
        ({"radius": -1}, "radius: found -1"),
        ({}, "say radius="),
        ({"radius": 1, "tolerance": 0}, "tolerance"),
        ({"radius": 1, "max_sweeps": 0}, "max_sweeps"),
        ({"radius": 1, "comparator": "ball"}, "comparator"),
        ({"radius": 1, "comparator": "ridge", "l2": 1}, "does not go with"),
        ({"loss": "no-such", "radius": 1}, "no loss is called"),
        ({"learner": learner, "loss": "hinge"}, "leave them out"),
        ({"learner": Learner()}, "has learned nothing"),
    ]:
        with pytest.raises(ValueError, match=words):
            noregret.audit(X, y, **arguments)
    with pytest.raises(ValueError, match="audit the rows that it learned"):
        noregret.audit(X[:10], y[:10], learner=learner)
    with pytest.raises(ValueError, match="row 1, column 0"):
        noregret.audit([[1.0], [np.nan]], [1, -1], radius=1)
    with pytest.raises(ValueError, match="2 rows and y has 3"):
        noregret.audit(np.eye(2), [1, -1, 1], radius=1)
    with pytest.raises(ValueError, match="dimension="):
        noregret.audit(sp.csr_matrix(([1.0], ([0], [1 << 30])), shape=(1, (1 << 30) + 1)), [1], radius=1)
    noregret.audit(X, y, learner=learner)
    assert learner.to_bytes() == before, "an audit changes nothing"


def test_a_comparison_is_learning_each_by_itself(stream):
    X, y = stream
    entries = ["auto", "perceptron", {"learner": "ogd", "eta": 0.5}, {"learner": "ogd", "eta": 0.1, "name": "slow"}]
    reader = pa.table(pd.DataFrame(X, columns=list("abcdefghijklmnopqrst"))).to_reader()
    assert noregret.compare(reader, y, ["ogd"]).runs[0]["examples"] == 300
    for rows in (X, sp.csr_matrix(X), pl.from_numpy(X), pd.DataFrame(X), [dict(zip("abcdefghijklmnopqrst", x)) for x in X]):
        comparison = noregret.compare(rows, y, entries)
        assert set(comparison.learners) == {"auto", "perceptron", "ogd (eta=0.5)", "slow"}
        assert comparison.learners["auto"].to_bytes() == learned(rows, y).to_bytes()
    losses = [run["average_loss"] for run in comparison.runs]
    assert losses == sorted(losses) and comparison.best is comparison.runs[0]
    for run in comparison.runs:
        assert [row["examples"] for row in run["history"]] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
        assert run["history"][-1]["average_loss"] == run["average_loss"]
        assert run["certificate"]["best_at_least"] <= run["average_loss"]
    assert "slow" in repr(comparison) and "regret at most" in comparison._repr_html_()
    drawn(comparison)


def test_a_comparison_audits_lists_divergence_and_refuses(stream):
    X, y = stream
    comparison = noregret.compare(X, np.where(y > 0, "b", "a"), ["ftrl"], "hinge", 2, audit=True, classes=("a", "b"))
    audit = comparison.best["audit"]
    assert audit["best"]["at_least"] <= audit["best"]["at_most"] and audit["regret"]["at_most"] <= 2
    wild = noregret.compare(X * 1e30, y.astype(float), [{"learner": "ogd", "eta": 1e30, "schedule": "constant"}, "auto"], "square")
    assert [("error" in run) for run in wild.runs] == [False, True] and "diverged" in repr(wild)
    for learners, words in [([], "at least one"), (["auto", "auto"], "same name"), ([3], "expected a name"), (["no-such"], "there is no learner")]:
        with pytest.raises(ValueError, match=words):
            noregret.compare(X, y, learners)
    with pytest.raises(ValueError, match="300 rows and y has 2"):
        noregret.compare(X, [1, -1])


def test_a_separation_is_proved_either_way(tmp_path):
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 5))
    truth = random.normal(size=5)
    y = np.where(X @ truth > 0, 1, -1)
    found = noregret.separate(X, y, tolerance=0.05)
    assert found and found.separable and found.margin.at_least > 0
    assert found.margin.at_most - found.margin.at_least <= 0.05 * found.margin.at_most
    margins = y * (X @ found.weights + found.bias) / np.linalg.norm(np.append(found.weights, found.bias))
    assert np.isclose(margins.min(), found.margin.at_least) and np.allclose(margins, found.row_margins)
    drawn(found)
    y[0] = -y[0]
    X = np.vstack([X, X[:1]])
    y = np.append(y, -y[0])
    proof = tmp_path / "proof.json"
    not_found = noregret.separate(X, y, certificate=proof)
    assert not not_found and not_found.separable is False and "Not separable" in str(not_found)
    mixed = (y[not_found.proof_rows] * not_found.proof_weights) @ np.column_stack([X, np.ones(len(y))])[not_found.proof_rows]
    assert np.linalg.norm(mixed) / not_found.proof_weights.sum() <= 1e-9
    drawn(not_found)
    data = tmp_path / "data.svm"
    data.write_text("".join(f"{label} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row)) + "\n" for row, label in zip(X.tolist(), y)))
    verify = [os.environ["NOREGRET"], "separate", data, "--verify", proof, "--quiet"]
    assert subprocess.run(list(map(str, verify)), capture_output=True).returncode == 1, "a valid proof that there is none"
    assert "<table>" in found._repr_html_() and "separable=False" in repr(not_found)


def test_a_separation_takes_rows_and_classes_of_all_kinds():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), [1, -1, 1]
    expected = noregret.separate(X, y, tolerance=1e-3)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for rows in (sp.csr_matrix(X), frame, pl.from_pandas(frame), X.astype(np.float32), X.tolist()):
        assert np.isclose(noregret.separate(rows, y, tolerance=1e-3).margin.at_least, expected.margin.at_least, rtol=1e-2)
    assert noregret.separate(X, ["b", "a", "b"], classes=("a", "b"))
    assert noregret.separate([{"a": 1.0}, {"b": "x"}], [True, False])
    for arguments, words in [
        ({"method": "no-such"}, "there is no method"),
        ({"stop": "never"}, "expected separated or tolerance"),
        ({"tolerance": -1.0}, "tolerance: found -1"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"max_seconds": 0.0}, "max_seconds"),
        ({"normalize": "columns"}, "expected 'none' or 'rows'"),
    ]:
        with pytest.raises(ValueError, match=words):
            noregret.separate(X, y, **arguments)
    with pytest.raises(ValueError, match="row 2: found a third label `5`"):
        noregret.separate(X, [1, -1, 5])
    with pytest.raises(ValueError, match="no rows"):
        noregret.separate(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="row 1: found a value of the size 1e200"):
        noregret.separate([[1.0], [1e200]], [1, -1])
    undecided = noregret.separate(np.random.default_rng(0).normal(size=(500, 50)), np.tile([1, -1], 250), "perceptron", max_rounds=1)
    assert undecided.separable is None and "Undecided" in str(undecided)


def test_progress_is_shown_or_told(tmp_path, capfd):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 5000)
    learner = Learner()
    assert learner.learn_file(path, progress=True) == 10000
    shown = capfd.readouterr().err
    assert "100%|####################|" in shown and "10,000 examples, loss" in shown and shown.endswith("\n")
    told = []
    Learner().learn_file(path, progress=lambda *where: told.append(where))
    assert told[-1][:3] == (path.stat().st_size, path.stat().st_size, 10000) and 0 < told[-1][3] < 1
    Learner().learn_file(path, progress=False)
    assert capfd.readouterr().err == ""

    def stop(*where):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        Learner().learn_file(path, progress=stop)


def test_a_bar_without_a_known_end():
    out = io.StringIO()
    bar = Bar(out, clock=iter([0.0, 4000.0]).__next__)
    bar(2_000_000_000_000, None, 3, None)
    bar.close()
    assert out.getvalue() == "\r2000.0 GB [1:06:40, 500.0 MB/s, 3 examples]\n"
