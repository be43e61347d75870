"""Estimators and models for ``pyspark.ml``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasProbabilityCol, HasRawPredictionCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from .. import Certificate, Learner
from ._files import Folder
from ._job import placed
from ._params import OnlineParams, _same
from ._rounds import Progress, learn

MODEL_FILE = "model.noregret"

# Spark 4.3 hands columns of files to Python without making rows of them, and fails where a vector is among them.
COLUMNAR = "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"


@lru_cache(maxsize=8)
def _loaded(model: bytes) -> Learner:
    """A model in a worker, which serves many batches."""
    return Learner.from_bytes(model)


class _OnlineEstimator(Estimator, OnlineParams, DefaultParamsReadable, DefaultParamsWritable):
    def _fit(self, dataset: Any) -> Any:
        columns = self.columns(dataset.schema)
        classes = self._get("classes") if self.hasParam("classes") else None
        learner, progress = learn(dataset, columns, self.fresh(columns, classes), self._get("rounds"))
        if learner.examples == 0:
            raise ValueError("the DataFrame has no rows, expected at least one example")
        width = _width(dataset, columns)
        return self._copyValues(self._model(learner.to_bytes(), width, progress))

    def setParams(self, **given: Any) -> Any:
        """Sets parameters by their names."""
        return self._set(**given)


def _width(dataset: Any, columns: Any) -> int | None:
    """How many features vectors have, where the column says so."""
    if columns.kind != "vector":
        return None
    attributes = dataset.schema[columns.features[0]].metadata.get("ml_attr", {})
    return attributes.get("num_attrs")


class _OnlineModel(Model, OnlineParams, MLReadable, MLWritable):
    def __init__(self, model: bytes = b"", width: int | None = None, progress: list[Progress] | None = None):
        super().__init__()
        self._bytes = model
        self._width = width
        self.progress = progress or []

    @cached_property
    def online(self) -> Learner:
        """The plain learner: it can go on learning, and knows its certificate for any radius and class."""
        return Learner.from_bytes(self._bytes)

    @property
    def certificate(self) -> Certificate:
        """What is proved against every fixed model of the class, on all rows of all partitions."""
        return self.online.certificate()

    @property
    def averageLoss(self) -> float | None:
        """The average loss of the first round, every row predicted before it was learned."""
        return self.online.average_loss

    @property
    def coefficients(self) -> DenseVector:
        """The weights of the features."""
        weights = self.online.weights
        width = max(self._width or 0, len(weights))
        return DenseVector(np.pad(weights, (0, width - len(weights))))

    @property
    def namedCoefficients(self) -> dict[str, float]:
        """The weights of named features."""
        return self.online.named_weights

    @property
    def intercept(self) -> float:
        """The weight of the constant feature."""
        return self.online.bias

    @property
    def numFeatures(self) -> int:
        """How many features there are."""
        return len(self.coefficients)

    def saveModel(self, path: str) -> None:
        """Writes the plain model file, which ``noregret predict`` and ``noregret serve`` take, on the driver."""
        self.online.save(path)

    def _scored(self, dataset: Any) -> Any:
        """The column of scores."""
        import pyarrow as pa
        from pyspark.sql import functions as f

        columns = self.columns(dataset.schema, labelled=False)
        model = self._bytes
        if columns.kind == "vector":
            dataset.sparkSession.conf.set(COLUMNAR, "false")

        def score(batches: Iterator[Any]) -> Iterator[pa.Array]:
            from pyspark import TaskContext

            position = 0
            for arrays in batches:
                arrays = arrays if isinstance(arrays, tuple) else (arrays,)
                batch = pa.RecordBatch.from_arrays(list(arrays), [str(k) for k in range(len(arrays))])
                features, _, _, bad = columns.rows(batch)
                try:
                    scores = _loaded(model).score_many(features)
                    if bad is not None:
                        raise bad
                except ValueError as error:
                    where = placed(error, TaskContext.get().partitionId(), position)  # type: ignore[union-attr]
                    hint = " (handleInvalid='keep' takes nulls of plain columns as absent)" if error is bad else ""
                    raise ValueError(f"transform: {where}{hint}") from None
                yield pa.array(scores)
                position += batch.num_rows

        taken = pa.Array if len(columns.features) == 1 else tuple[pa.Array, ...]
        score.__annotations__ = {"batches": Iterator[taken], "return": Iterator[pa.Array]}  # type: ignore[valid-type]
        return f.arrow_udf(score, "double")(*(f.col("`" + name.replace("`", "``") + "`") for name in columns.features))

    def write(self) -> MLWriter:
        """What ``save`` uses."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """What ``load`` uses."""
        return _Reader(cls)


class _Writer(MLWriter):
    def __init__(self, instance: Any):
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        model, folder = self.instance, Folder(self.sparkSession, path)
        more = {"width": model._width, "progress": [vars(each) for each in model.progress]}
        DefaultParamsWriter.saveMetadata(model, path, self.sparkSession, extraMetadata=more)
        folder.write(MODEL_FILE, model._bytes)


class _Reader(MLReader):
    def __init__(self, cls: type):
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        folder = Folder(self.sparkSession, path)
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        progress = [Progress(**each) for each in metadata["progress"]]
        model = self.cls(folder.read(MODEL_FILE), metadata["width"], progress)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


class _ClassifierParams(HasRawPredictionCol, HasProbabilityCol):
    classes = Param(Params._dummy(), "classes", "the negative and the positive class, where they are not 0 (or -1) and 1", _same)


class OnlineClassifierModel(_OnlineModel, _ClassifierParams):
    """A linear model of two classes, learned on a cluster."""

    def _transform(self, dataset: Any) -> Any:
        from pyspark.sql import functions as f

        score = self._scored(dataset)
        negative, positive = self.online.classes
        if not isinstance(negative, str):
            negative, positive = float(negative), float(positive)
        raw, probability, predicted = (self._get(n) for n in ("rawPredictionCol", "probabilityCol", "predictionCol"))
        if raw:
            dataset = dataset.withColumn(raw, array_to_vector(f.array(-score, score)))
        if probability and self.online.loss == "logistic":
            chance = f.lit(1.0) / (f.lit(1.0) + f.exp(-score))
            dataset = dataset.withColumn(probability, array_to_vector(f.array(f.lit(1.0) - chance, chance)))
        if predicted:
            dataset = dataset.withColumn(predicted, f.when(score >= 0, f.lit(positive)).otherwise(f.lit(negative)))
        return dataset


class OnlineRegressorModel(_OnlineModel):
    """A linear model of numbers, learned on a cluster."""

    def _transform(self, dataset: Any) -> Any:
        from pyspark.sql import functions as f

        score = self._scored(dataset)
        # A rate is predicted by its logarithm.
        return dataset.withColumn(self._get("predictionCol"), f.exp(score) if self.online.loss == "poisson" else score)


class OnlineClassifier(_OnlineEstimator, _ClassifierParams):
    """Learns a linear model of two classes in rounds of one pass over every partition.

    Labels are 1 and 0 (or -1), or the two of ``classes=[negative, positive]``. Parameters of learners go in ``settings``.
    """

    _model = OnlineClassifierModel

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        featuresCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        probabilityCol: str = "probability",
        learner: str = "adagrad",
        loss: str = "logistic",
        radius: float | None = None,
        comparator: str | None = None,
        l2: float | None = None,
        rounds: int = 1,
        fitIntercept: bool = True,
        bits: int | None = None,
        classes: list[Any] | None = None,
        settings: dict[str, Any] | None = None,
        handleInvalid: str = "error",
    ):
        super().__init__()
        self._setDefault(loss="logistic")
        self._set(**self._input_kwargs)


class OnlineRegressor(_OnlineEstimator):
    """Learns a linear model of numbers in rounds of one pass over every partition. Parameters of learners go in ``settings``."""

    _model = OnlineRegressorModel

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        featuresCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        learner: str = "adagrad",
        loss: str = "square",
        radius: float | None = None,
        comparator: str | None = None,
        l2: float | None = None,
        rounds: int = 1,
        fitIntercept: bool = True,
        bits: int | None = None,
        settings: dict[str, Any] | None = None,
        handleInvalid: str = "error",
    ):
        super().__init__()
        self._setDefault(loss="square")
        self._set(**self._input_kwargs)
