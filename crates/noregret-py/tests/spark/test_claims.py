"""The certificate of a cluster holds against the audited best of all rows together; audits and separations of DataFrames."""

import numpy as np
import pytest
from conftest import Data, frame

import noregret
from noregret import _noregret
from noregret.spark import OnlineClassifier, audit, separate

AVERAGED = [
    "perceptron", "ogd", "projected-ogd", "subgradient", "strongly-convex-ogd", "ftrl", "adagrad", "ftrl-proximal",
    "scale-free", "normalized", "passive-aggressive",
]  # fmt: skip


def settings(learner, loss):
    given = {"loss": loss}
    if learner == "subgradient":
        given["horizon"] = 100
    if learner == "strongly-convex-ogd":
        given["l2"] = 0.05
    return given


@pytest.mark.parametrize("learner", AVERAGED)
def test_the_certificate_holds_for_any_partition_and_in_any_round(learner):
    """Without Spark, so that there can be many: the same calls as on executors."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        data = Data(n=int(random.integers(5, 120)), d=int(random.integers(1, 6)), seed=seed, noise=float(random.random() * 2))
        y = np.where(data.y > 0, 1.0, -1.0)
        weight = data.weight if seed % 3 == 0 and data.weight.any() else np.ones(len(y))
        loss = "hinge" if learner in ("perceptron", "passive-aggressive") or seed % 2 else "logistic"
        order = random.integers(0, int(random.integers(1, 9)), size=len(y))
        parts = [np.flatnonzero(order == k) for k in range(order.max() + 1)]
        start = noregret.Learner(learner, **settings(learner, loss))
        model = first = None
        radii = [0.3, 1.0, 4.0]
        best = [noregret.audit(data.X, y, loss, r, sample_weight=weight, tolerance=1e-6).best.at_most for r in radii]
        for number in (1, 2, 3):
            learned = []
            for rows in parts:
                part = _noregret.fork(model or start)
                part.learn_many(data.X[rows], y[rows], weight[rows])
                learned.append(part)
            model = _noregret.average(learned)
            if number > 1:
                _noregret.repeat(model, first, number)
            model = noregret.Learner.from_bytes(model.to_bytes())
            first = first or model
            assert model.examples == len(y)
            for radius, least in zip(radii, best):
                proved = model.certificate(radius=radius, comparator="l2")
                assert proved.best_at_least <= least, (learner, seed, number, radius)
                if learner != "perceptron":  # whose ledger of mistakes alone no file keeps beside other rounds
                    assert proved.best_at_least >= first.certificate(radius=radius, comparator="l2").best_at_least - 1e-12


def test_a_model_goes_on_from_an_average(data):
    """A stream of batches, each learned in parts: the ledger is that of all batches."""
    for learner in ("adagrad", "ftrl", "projected-ogd"):
        model = noregret.Learner(learner, "logistic")
        total = None
        for batch in range(4):
            rows = np.arange(batch * 100, batch * 100 + 100)
            parts = [_noregret.fork(model) for _ in range(3)]
            for k, part in enumerate(parts):
                part.learn_many(data.X[rows[k::3]], data.y[rows[k::3]])
                total = part.ledger if total is None else total + part.ledger
            merged = _noregret.average(parts)
            _noregret.follow(merged, model)
            model = merged
        assert model.examples == 400
        assert model.average_loss == pytest.approx(total.average_loss, rel=1e-13)
        best = noregret.audit(data.X, data.y, "logistic", 2.0, tolerance=1e-6).best.at_most
        proved = model.certificate(radius=2.0).best_at_least
        assert proved <= best
        assert proved == pytest.approx(total.certificate(radius=2.0).best_at_least, rel=1e-9)


def test_what_cannot_be_averaged_says_so(data):
    one, two = noregret.Learner("adagrad"), noregret.Learner("adagrad", eta=0.1)
    for learner in (one, two):
        learner.learn_many(data.X, data.y)
    with pytest.raises(ValueError, match="different settings"):
        _noregret.average([one, two])
    other = noregret.Learner("adagrad")
    other.learn_many(data.X, 2 * data.y - 1)
    with pytest.raises(ValueError, match="different labels for one class, 0 and -1"):
        _noregret.average([one, other])
    with pytest.raises(ValueError, match="average of its iterates"):
        _noregret.can_average(noregret.Learner("adagrad", average=True))
    with pytest.raises(ValueError, match="several classes"):
        _noregret.can_average(noregret.Learner(multiclass="ovr"))


@pytest.mark.parametrize("partitions", [1, 5])
def test_on_spark_the_certificate_holds_against_the_audit(spark, data, partitions):
    rows = frame(spark, data.X, data.y, partitions)
    fitted = OnlineClassifier(learner="projected-ogd", radius=2.0).fit(rows)
    best = noregret.audit(data.X, data.y, "logistic", 2.0, tolerance=1e-6).best
    assert fitted.certificate.best_at_least <= best.at_most
    assert fitted.averageLoss - fitted.certificate.regret_at_most <= best.at_most


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_audit_of_a_frame_brackets_what_one_machine_finds(spark, loss):
    data = Data(n=120, d=3, seed=5)
    tolerance = 0.01 if loss == "logistic" else 0.05
    found = audit(frame(spark, data.X, data.y, 2), loss, 1.5, tolerance=tolerance, max_sweeps=60)
    alone = noregret.audit(data.X, data.y, loss, 1.5, tolerance=1e-7).best
    assert found.best.at_least <= alone.at_most and alone.at_least <= found.best.at_most
    assert found.brackets[0].closed, found
    assert np.hypot(np.linalg.norm(found.weights), found.bias) <= 1.5


@pytest.mark.parametrize("comparator", ["l1", "linf", "simplex"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_audit_in_other_classes_brackets_what_one_machine_finds(spark, loss, comparator):
    data = Data(n=120, d=3, seed=5)
    tolerance = 0.01 if loss == "logistic" else 0.05
    rows = frame(spark, data.X, data.y, 2).cache()
    found = audit(rows, loss, 0.8, comparator=comparator, tolerance=tolerance, max_sweeps=80)
    alone = noregret.audit(data.X, data.y, loss, 0.8, comparator=comparator, tolerance=1e-7).best
    assert found.comparator == comparator and found.brackets[0].closed, found
    assert found.best.at_least <= alone.at_most and alone.at_least <= found.best.at_most
    u = np.append(found.weights, found.bias)
    assert np.abs(u).max() <= 0.8 and (comparator == "linf" or np.abs(u).sum() <= 0.8)
    assert comparator != "simplex" or (u >= 0).all()


def test_the_audit_of_a_model_in_its_class(spark, data):
    rows = frame(spark, data.X, data.y, 2).cache()
    fitted = OnlineClassifier(radius=2.0, comparator="l1").fit(rows)
    found = audit(rows, model=fitted, tolerance=0.05, max_sweeps=60)
    assert found.comparator == "l1" and found.regret.at_least <= fitted.certificate.regret_at_most
    with pytest.raises(ValueError, match="a DataFrame is audited in one of l2, l1, linf, simplex"):
        audit(rows, "logistic", 1.0, comparator="ridge", max_sweeps=2)


@pytest.mark.parametrize("comparator", ["l2", "l1", "linf", "simplex"])
def test_the_way_into_a_class_is_the_shortest(comparator):
    from noregret.spark._class import project, size

    random = np.random.default_rng(4)
    for _ in range(50):
        v, metric = random.normal(size=4), random.uniform(0.1, 3, size=4)
        u = project(comparator, v, metric, 0.9)
        assert size(comparator, u) <= 0.9
        for other in random.uniform(-0.9, 0.9, size=(200, 4)):
            other = np.abs(other) if comparator == "simplex" else other
            other *= min(1.0, 0.9 / size(comparator, other))
            assert (metric * (u - v) ** 2).sum() <= (metric * (other - v) ** 2).sum() + 1e-9


def test_the_audit_of_a_model_brackets_its_regret(spark, data):
    rows = frame(spark, data.X, data.y, 2).cache()
    fitted = OnlineClassifier(learner="projected-ogd", radius=2.0).fit(rows)
    found = audit(rows, model=fitted, tolerance=0.02, max_sweeps=40)
    assert found.regret.at_least <= fitted.certificate.regret_at_most
    with pytest.raises(ValueError, match="the model has learned 400 rows"):
        audit(rows.limit(10), model=fitted, max_sweeps=2)


def test_separation_of_a_frame(spark):
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 3))
    z = X @ np.array([1.0, -2.0, 0.5])
    apart = np.abs(z) > 0.8
    X, y = X[apart], np.where(z[apart] > 0, 1, 0)
    found = separate(frame(spark, X, y, 2), fitIntercept=False)
    alone = noregret.separate(X, y, bias=False, tolerance=1e-6)
    assert found.separable
    assert found.margin.at_least <= alone.margin.at_most and alone.margin.at_least <= found.margin.at_most
    signs = np.where(y > 0, 1, -1)
    assert (signs * (X @ found.weights) / np.linalg.norm(found.weights)).min() >= found.margin.at_least * (1 - 1e-12)
    y[0] = 1 - y[0]
    found = separate(frame(spark, np.vstack([X, X[:1]]), np.append(y, 1 - y[0]), 2), margin_floor=0.3, max_rounds=40)
    assert found.separable is False and found.margin.at_least == 0.0
    with pytest.raises(ValueError, match=r"partition 0, row 1 \(from 0\)"):
        separate(frame(spark, X[:3], [1, 7, 0], 1))


def test_the_papers_rounds(spark):
    """The hard set of the paper, n = 3: 7 rounds (MATH section 5)."""
    rows = []
    for i in range(1, 4):
        s = (-1.0) ** i
        rows.append([s] * (i - 1) + [-s] + [0.0] * (3 - i))
    y = [(-1) ** (i + 1) for i in range(1, 4)]
    found = separate(frame(spark, np.array(rows), y, 2), fitIntercept=False)
    assert found.separable and found.rounds <= 8
