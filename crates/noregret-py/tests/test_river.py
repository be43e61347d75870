"""The models are River's in every manner that it checks."""

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, datasets, evaluate, metrics, preprocessing

from noregret.river import LinearClassifier, LinearRegressor

MODELS = [LinearClassifier(), LinearRegressor(), LinearClassifier("ogd", "hinge", eta=0.1), LinearRegressor(loss="quantile", tau=0.9)]
CHECKS = [(model, check) for model in MODELS for check in checks.yield_checks(model)]


@pytest.mark.parametrize("model, check", CHECKS, ids=[f"{type(m).__name__}-{m.learner}-{m.loss}-{c.__name__}" for m, c in CHECKS])
def test_the_manners_of_river(model, check):
    check(model.clone())


def test_progressive_validation_in_a_pipeline():
    model = preprocessing.StandardScaler() | LinearClassifier()
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert metric.get() > 0.85
    assert model["LinearClassifier"].certificate().regret_at_most > 0
    regression = compose.Select("ordinal_date", "gallup", "ipsos") | LinearRegressor()
    assert evaluate.progressive_val_score(datasets.TrumpApproval(), regression, metrics.MAE()).get() < 10


def test_learning_a_table_is_learning_its_rows_to_the_last_bit():
    rows, labels = zip(*datasets.Phishing().take(300))
    one, many = LinearClassifier(), LinearClassifier()
    for x, y in zip(rows, labels):
        one.learn_one({name: float(value) for name, value in x.items()}, y)
    frame = pd.DataFrame(rows)
    for k in range(0, 300, 77):
        many.learn_many(frame[k : k + 77], pd.Series(labels[k : k + 77]))
    assert one.model.to_bytes() == many.model.to_bytes()
    assert many.predict_many(frame).tolist() == [many.predict_one(x) for x in rows]
    proba = many.predict_proba_many(frame)[True].to_numpy()
    assert np.array_equal(proba, [many.predict_proba_one(x)[True] for x in rows])
    assert set(one.weights) == set(frame.columns)


def test_texts_of_a_table_are_texts_of_its_rows():
    rows = [{"sun": 1.0, "city": "Rome", "n": 3}, {"sun": 0.5, "city": "Oslo", "n": 0}, {"sun": 2.0, "city": None, "n": 1}]
    one, many = LinearRegressor(), LinearRegressor()
    for k, x in enumerate(rows):
        one.learn_one(x, float(k))
    many.learn_many(pd.DataFrame(rows), pd.Series([0.0, 1.0, 2.0]))
    assert one.model.to_bytes() == many.model.to_bytes()
    assert many.predict_many(pd.DataFrame(rows)).tolist() == [many.predict_one(x) for x in rows]
