"""Which columns of a DataFrame are examples, and how an Arrow batch of them becomes rows for the extension.

Nothing here goes through rows one by one: a batch is a few arrays, and stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

INDICES, VALUES = "indices", "values"


class BadRow(ValueError):
    """A row that cannot be learned: its position in the batch, and what is wrong with it."""

    def __init__(self, row: int, message: str):
        super().__init__(f"row {row}: {message}")
        self.row = row
        self.message = message


@dataclass(frozen=True)
class Columns:
    """The columns of the examples. `kind` is ``vector``, ``lists`` or ``plain``."""

    kind: str
    features: tuple[str, ...]
    label: str | None
    weight: str | None
    absent: bool = False  # whether a null among plain columns is an absent feature

    @classmethod
    def of(
        cls,
        schema: Any,
        features: str | Sequence[str],
        label: str | None,
        weight: str | None = None,
        absent: bool = False,
    ) -> Columns:
        """Finds the columns in a schema and checks their types."""
        from pyspark.sql import types as t

        names = (features,) if isinstance(features, str) else tuple(features)
        if not names:
            raise ValueError("there is no feature column: name one vector column, or several columns")
        if len(set(names)) != len(names):
            raise ValueError(f"featuresCols has a column twice: {list(names)}")
        for name in (*names, label, weight):
            if name is not None and name not in schema.names:
                raise ValueError(f"there is no column `{name}`; the columns are {', '.join(schema.names)}")
        kinds = [schema[name].dataType for name in names]
        number = (t.NumericType, t.BooleanType)
        if len(names) == 1 and _is_vector(kinds[0]):
            kind = "vector"
        elif set(names) == {INDICES, VALUES} and all(isinstance(k, t.ArrayType) for k in kinds):
            kind, names = "lists", (INDICES, VALUES)
            whole, real = (schema[name].dataType.elementType for name in names)
            if not isinstance(whole, (t.IntegerType, t.LongType)) or not isinstance(real, (t.FloatType, t.DoubleType)):
                raise TypeError(
                    f"`indices` holds {whole.simpleString()} and `values` {real.simpleString()}, expected int or bigint, "
                    "and float or double"
                )
        else:
            kind = "plain"
            for name, found in zip(names, kinds):
                if not isinstance(found, (*number, t.StringType)) or isinstance(found, t.DecimalType):
                    raise TypeError(
                        f"column `{name}` has the type {found.simpleString()}, expected a vector, numbers, text, or the "
                        "two arrays `indices` and `values`"
                    )
        for name in (label, weight):
            found = None if name is None else schema[name].dataType
            text = name == label and isinstance(found, t.StringType)
            if found is not None and not isinstance(found, number) and not text:
                expected = "numbers or text" if name == label else "numbers"
                raise TypeError(f"column `{name}` has the type {found.simpleString()}, expected {expected}")
        return cls(kind, names, label, weight, absent)

    @property
    def names(self) -> list[str] | None:
        """The columns that become named features."""
        return list(self.features) if self.kind == "plain" else None

    def select(self, data: Any) -> Any:
        """The columns that are needed, in their order: features, label, weight."""
        from pyspark.sql import functions as f
        from pyspark.sql import types as t

        def number(name: str) -> Any:
            text = isinstance(data.schema[name].dataType, t.StringType)
            column = f.col(_quoted(name))
            return column if text else column.cast("double")

        chosen = [f.col(_quoted(name)) for name in self.features]
        if self.label is not None:
            chosen.append(number(self.label).alias("label"))
        if self.weight is not None:
            chosen.append(number(self.weight).alias("weight"))
        return data.select(*chosen)

    def rows(self, batch: Any) -> tuple[Any, Any, np.ndarray | None, BadRow | None]:
        """Features, labels and weights of a batch, up to the first row with a null; and what is wrong with that row."""
        import pyarrow as pa

        width = len(self.features)
        problem = None
        arrays = batch.columns
        for k, array in enumerate(arrays):
            if array.null_count and not (self.absent and self.kind == "plain" and k < width):
                row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
                if problem is None or row < problem.row:
                    named = [*self.features, *(n for n in (self.label, self.weight) if n is not None)]
                    problem = BadRow(row, f"column `{named[k]}` is null, expected a value")
        if problem is not None:
            arrays = [array.slice(0, problem.row) for array in arrays]
        if self.kind == "vector":
            features = vectors(arrays[0])
        elif self.kind == "lists":
            features = pa.table(dict(zip(self.features, arrays[:width])))
        else:
            features = pa.table(list(arrays[:width]), names=list(self.features))
        rest = [array.to_numpy(zero_copy_only=False) for array in arrays[width:]]
        labels = rest.pop(0) if self.label is not None else None
        return features, labels, rest[0] if rest else None, problem


def _is_vector(kind: Any) -> bool:
    from pyspark.ml.linalg import VectorUDT

    return isinstance(kind, VectorUDT)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def vectors(array: Any) -> Any:
    """A column of Spark's vectors, a struct (type, size, indices, values), as what the extension reads where it lies: an
    array of dense rows, or the lists of sparse ones. Where a batch has both, the dense ones get their indices."""
    import pyarrow as pa

    indices, values = array.field("indices"), array.field("values")
    if len(array) == 0:
        return np.empty((0, 0))
    dense = array.field("type").to_numpy(zero_copy_only=False) == 1
    if not dense.any():
        return pa.table({INDICES: indices, VALUES: values})
    lengths = np.diff(values.offsets.to_numpy())
    numbers = values.flatten().to_numpy(zero_copy_only=False)
    if dense.all() and (lengths == lengths[0]).all():
        return numbers.reshape(len(array), lengths[0])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    places[np.repeat(~dense, lengths)] = indices.flatten().to_numpy(zero_copy_only=False)
    kept = numbers != 0
    ends = np.concatenate(([0], np.cumsum(kept)))[starts]
    offsets = pa.array(ends.astype(np.int32))
    whole = pa.ListArray.from_arrays(offsets, pa.array(places[kept].astype(np.int32)))
    return pa.table({INDICES: whole, VALUES: pa.ListArray.from_arrays(offsets, pa.array(numbers[kept]))})
