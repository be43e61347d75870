"""Estimators on `local[2]`: agreement with one machine, manners of `pyspark.ml`, bad rows."""

import math
import os
import subprocess

import numpy as np
import pytest
from conftest import cut, frame, parallel
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator, RegressionEvaluator
from pyspark.ml.feature import StandardScaler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as f

import noregret
from noregret import _noregret
from noregret.spark import OnlineClassifier, OnlineClassifierModel, OnlineRegressor

LEARNERS = ["adagrad", "projected-ogd", "ftrl"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_partition_is_one_machine_to_the_last_bit(spark, data, learner):
    fitted = OnlineClassifier(learner=learner).fit(frame(spark, data.X, data.y))
    alone = noregret.Learner(learner, "logistic")
    alone.learn_many(data.X, data.y)
    assert fitted.online.to_bytes() == alone.to_bytes()
    assert fitted.certificate == alone.certificate()
    assert fitted.averageLoss == alone.average_loss


def test_dense_sparse_and_mixed_vectors_are_the_same(spark, data):
    kinds = [lambda k: True, lambda k: False, lambda k: k % 3 == 0]
    models = [OnlineClassifier().fit(frame(spark, data.X, data.y, 3, kind)) for kind in kinds]
    assert models[0].online.to_bytes() == models[1].online.to_bytes() == models[2].online.to_bytes()


@pytest.mark.parametrize(("partitions", "fan_in"), [(2, 8), (9, 8), (7, 2)])
def test_partitions_are_averaged_in_a_fixed_tree(spark, data, partitions, fan_in, monkeypatch):
    monkeypatch.setattr("noregret.spark._job.FAN_IN", fan_in)
    rows = frame(spark, data.X, data.y, partitions)
    fitted = OnlineClassifier().fit(rows)
    parts = []
    for begin, end in cut(rows):
        part = noregret.Learner("adagrad", "logistic")
        part.learn_many(data.X[begin:end], data.y[begin:end])
        parts.append(part)
    while len(parts) > 1:
        groups = [parts[k : k + fan_in] for k in range(0, len(parts), fan_in)]
        parts = [_noregret.average(group) if len(group) > 1 else group[0] for group in groups]
    assert fitted.online.to_bytes() == parts[0].to_bytes()
    assert fitted.online.examples == len(data.y)
    assert fitted.online.summary()["bound"]["unmet"]


def test_the_weights_are_the_average_by_examples(spark, data):
    rows = frame(spark, data.X, data.y, 3, weight=data.weight)
    fitted = OnlineClassifier(weightCol="weight").fit(rows)
    total = np.zeros(data.X.shape[1])
    for begin, end in cut(rows):
        part = noregret.Learner("adagrad", "logistic")
        part.learn_many(data.X[begin:end], data.y[begin:end], data.weight[begin:end])
        total += data.weight[begin:end].sum() * part.weights
    assert np.allclose(fitted.coefficients.toArray(), total / data.weight.sum(), rtol=1e-12)


def test_plain_columns_and_lists(spark, data):
    rows = [(float(x[0]), int(k % 3), "abc"[k % 3], float(y)) for k, (x, y) in enumerate(zip(data.X, data.y))]
    plain = parallel(spark, rows, "size double, level int, kind string, label double", 2)
    fitted = OnlineClassifier(featuresCols=["size", "level", "kind"]).fit(plain)
    assert {"size", "level", "kind=a", "kind=b", "kind=c"} <= set(fitted.namedCoefficients)
    scored = fitted.transform(plain).select("prediction").collect()
    assert {row.prediction for row in scored} <= {0.0, 1.0}
    rows = [([int(i) for i in np.flatnonzero(x)], [float(v) for v in x[x != 0]], float(y)) for x, y in zip(data.X, data.y)]
    lists = parallel(spark, rows, "indices array<int>, values array<double>, label double", 1)
    fitted = OnlineClassifier(featuresCols=["indices", "values"]).fit(lists)
    alone = OnlineClassifier().fit(frame(spark, data.X, data.y))
    assert fitted.online.to_bytes() == alone.online.to_bytes()
    assert fitted.transform(lists).count() == len(rows)


def test_labels_may_have_names(spark, data):
    rows = [(float(x[0]), "spam" if y else "ham") for x, y in zip(data.X, data.y)]
    mail = parallel(spark, rows, "size double, label string", 2)
    fitted = OnlineClassifier(featuresCols=["size"], classes=["ham", "spam"]).fit(mail)
    assert fitted.online.classes == ("ham", "spam")
    assert {row.prediction for row in fitted.transform(mail).collect()} <= {"ham", "spam"}


def test_transform_says_what_the_plain_model_says(spark, data):
    rows = frame(spark, data.X, data.y, 2)
    fitted = OnlineClassifier(loss="logistic").fit(rows)
    told = fitted.transform(rows).collect()
    scores = fitted.online.score_many(data.X)
    assert [row.rawPrediction[1] for row in told] == list(scores)
    assert [row.prediction for row in told] == [float(z >= 0) for z in scores]
    assert np.allclose([row.probability[1] for row in told], fitted.online.predict_proba_many(data.X), rtol=1e-12)
    coefficients = fitted.coefficients.toArray()
    assert np.allclose(data.X @ coefficients + fitted.intercept, scores)


def test_pipeline_cross_validation_and_files(spark, data, tmp_path):
    rows = frame(spark, data.X, data.y, 2).cache()
    scaler = StandardScaler(inputCol="features", outputCol="scaled", withMean=True)
    classifier = OnlineClassifier(featuresCol="scaled")
    grid = ParamGridBuilder().addGrid(classifier.radius, [1.0, 5.0]).addGrid(classifier.learner, ["projected-ogd"]).build()
    search = CrossValidator(
        estimator=Pipeline(stages=[scaler, classifier]),
        estimatorParamMaps=grid,
        evaluator=BinaryClassificationEvaluator(),
        numFolds=2,
        seed=1,
    )
    found = search.fit(rows)
    assert max(found.avgMetrics) > 0.8
    found.bestModel.save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    model, back = found.bestModel.stages[1], loaded.stages[1]
    assert isinstance(back, OnlineClassifierModel)
    assert back.online.to_bytes() == model.online.to_bytes()
    assert back.certificate == model.certificate and back.uid == model.uid
    assert back.getOrDefault(back.radius) == model.getOrDefault(model.radius)
    assert loaded.transform(rows).collect() == found.bestModel.transform(rows).collect()
    classifier.save(str(tmp_path / "estimator"))
    assert OnlineClassifier.load(str(tmp_path / "estimator")).getFeaturesCol() == "scaled"


def test_model_files_are_the_commands(spark, data, tmp_path):
    program = os.environ.get("NOREGRET")
    assert program, "say where the command is: NOREGRET=target/release/noregret"
    fitted = OnlineClassifier().fit(frame(spark, data.X, data.y, 3))
    path = tmp_path / "model.noregret"
    fitted.saveModel(str(path))
    rows = tmp_path / "rows.svm"
    with rows.open("w") as out:
        for x, y in zip(data.X, data.y):
            out.write(f"{int(y)} " + " ".join(f"{i + 1}:{float(v)!r}" for i, v in enumerate(x) if v) + "\n")
    told = subprocess.run([program, "predict", path, rows, "--scores"], capture_output=True, text=True, check=True)
    scores = [float(line.split()[0]) for line in told.stdout.splitlines()]
    # Files are read as float32.
    assert np.allclose(scores, fitted.online.score_many(data.X), atol=1e-4)
    told = subprocess.run([program, "inspect", path], capture_output=True, text=True, check=True)
    assert "adagrad" in told.stdout


def test_regression(spark, data):
    rows = frame(spark, data.X, data.z, 2)
    fitted = OnlineRegressor(radius=10.0, settings={"eta": 0.5}).fit(rows)
    error = RegressionEvaluator(metricName="rmse").evaluate(fitted.transform(rows))
    assert error < data.z.std()
    assert fitted.certificate.best_at_least <= fitted.averageLoss


def test_rounds_narrow_the_bracket(spark, data):
    rows = frame(spark, data.X, data.y, 4).cache()
    fitted = OnlineClassifier(learner="projected-ogd", radius=3.0, rounds=4).fit(rows)
    progress = fitted.progress
    assert [each.round for each in progress] == [1, 2, 3, 4]
    audit = noregret.audit(data.X, data.y, "logistic", 3.0)
    for each in progress:
        assert each.inside and each.best_at_least <= audit.best.at_most <= each.model_loss + 1e-9
    assert progress[-1].model_loss - progress[-1].best_at_least < progress[0].model_loss - progress[0].best_at_least
    one = OnlineClassifier(learner="projected-ogd", radius=3.0).fit(rows)
    assert fitted.averageLoss == one.averageLoss
    assert fitted.certificate.best_at_least >= one.certificate.best_at_least


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda rows: rows.__setitem__(333, (None, 1.0, 1.0)), "is null"),
        (lambda rows: rows.__setitem__(333, (rows[333][0], None, 1.0)), "`label` is null"),
        (lambda rows: rows.__setitem__(333, (rows[333][0], float("nan"), 1.0)), "NaN"),
        (lambda rows: rows.__setitem__(333, (rows[333][0], 7.0, 1.0)), "third label `7`"),
        (lambda rows: rows.__setitem__(333, (rows[333][0], 1.0, -2.0)), "weight is -2"),
        (lambda rows: rows.__setitem__(333, (type(rows[0][0])([1.0, math.nan, 0, 0, 0, 0]), 1.0, 1.0)), "NaN"),
        (lambda rows: rows.__setitem__(333, (type(rows[0][0])([1.0, math.inf, 0, 0, 0, 0]), 1.0, 1.0)), "inf"),
    ],
)
def test_a_bad_row_is_named_by_the_driver(spark, data, spoil, what):
    whole = frame(spark, data.X, data.y, 2, lambda k: False)
    rows = [tuple(row) for row in whole.collect()]
    spoil(rows)
    bad = parallel(spark, rows, whole.schema, 2)
    with pytest.raises(ValueError, match=r"^partition 1, row 133 \(from 0\): ") as raised:
        OnlineClassifier(weightCol="weight").fit(bad)
    assert what in str(raised.value)


@pytest.mark.parametrize(
    ("spoiled", "what"),
    [
        ((math.nan, "a", "ham"), "NaN"),
        ((math.inf, "a", "ham"), "inf"),
        ((None, "a", "ham"), "`size` is null"),
        ((1.0, None, "ham"), "`kind` is null"),
        ((1.0, "a", None), "`label` is null"),
        ((1.0, "a", "eggs"), "third label `eggs`"),
        ((1.0, "a", "1"), "third label `1`"),
    ],
)
def test_a_bad_row_of_plain_columns_is_named_by_the_driver(spark, data, spoiled, what):
    rows = [(float(x[0]), "abc"[k % 3], "spam" if y else "ham") for k, (x, y) in enumerate(zip(data.X, data.y))]
    rows[333] = spoiled
    bad = parallel(spark, rows, "size double, kind string, label string", 2)
    with pytest.raises(ValueError, match=r"^partition 1, row 133 \(from 0\): ") as raised:
        OnlineClassifier(featuresCols=["size", "kind"], classes=["ham", "spam"]).fit(bad)
    assert what in str(raised.value)


@pytest.mark.parametrize("estimator", [OnlineClassifier, OnlineRegressor])
def test_labels_of_a_wrong_type_are_named_by_the_driver(spark, data, estimator):
    """Text where numbers are wanted: the type of the column is one that labels can have, so a row tells."""
    rows = frame(spark, data.X, data.y, 2).withColumn("label", f.col("label").cast("string"))
    with pytest.raises(ValueError, match=r"^partition 0, row 0 \(from 0\): found the label `"):
        estimator().fit(rows)


def test_wrong_columns_are_refused_before_anything_runs(spark, data):
    rows = frame(spark, data.X, data.y)
    with pytest.raises(ValueError, match="there is no column `wrong`; the columns are features, label, weight"):
        OnlineClassifier(featuresCol="wrong").fit(rows)
    with pytest.raises(TypeError, match="column `label` has the type array<double>"):
        OnlineClassifier(featuresCols=["x"]).fit(spark.createDataFrame([(1.0, [1.0])], "x double, label array<double>"))
    with pytest.raises(TypeError, match="column `x` has the type date"):
        OnlineClassifier(featuresCols=["x"]).fit(spark.sql("select date'2020-01-01' as x, 1.0D as label"))
    with pytest.raises(ValueError, match="`auto` cannot be averaged; those of perceptron"):
        OnlineClassifier(learner="auto").fit(rows)
    with pytest.raises(ValueError, match="no rows"):
        OnlineClassifier().fit(rows.limit(0))


def test_a_null_in_a_plain_column(spark):
    rows = parallel(spark, [(1.0, "a", 1.0), (None, "b", 0.0), (2.0, None, 1.0)], "x double, kind string, label double", 1)
    with pytest.raises(ValueError, match=r"partition 0, row 1 \(from 0\): column `x` is null"):
        OnlineClassifier(featuresCols=["x", "kind"]).fit(rows)
    fitted = OnlineClassifier(featuresCols=["x", "kind"], handleInvalid="keep").fit(rows)
    assert fitted.online.examples == 3
    assert fitted.transform(rows).count() == 3


def test_a_bad_row_is_named_when_it_is_scored(spark, data):
    spoiled = np.array(data.X)
    spoiled[333, 1] = math.inf
    fitted = OnlineClassifier().fit(frame(spark, data.X, data.y))
    with pytest.raises(Exception, match=r"transform: partition 1, row 133 \(from 0\): .*inf"):
        fitted.transform(frame(spark, spoiled, data.y, 2, lambda k: False)).collect()
    columns = "x double, kind string, label double"
    rows = [(float(k), "a", float(k % 2)) for k in range(6)]
    fitted = OnlineClassifier(featuresCols=["x", "kind"]).fit(parallel(spark, rows, columns, 1))
    for bad, what in [((None, "a", 1.0), "`x` is null"), ((1.0, None, 1.0), "`kind` is null"), ((math.nan, "a", 1.0), "NaN")]:
        with pytest.raises(Exception, match=r"transform: partition 1, row 1 \(from 0\): .*" + what):
            fitted.transform(parallel(spark, [*rows[:4], bad, rows[5]], columns, 2)).collect()

