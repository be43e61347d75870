"""The kinds of rows, tables and labels there are in Python, brought to the few that the extension takes.

Nothing is copied that has the right layout already: float32 or float64, rows one after the other, sparse rows
with indices of 32 or 64 bits, and tables that speak Arrow's C interface.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def _floats(values: Any, what: str) -> np.ndarray:
    """An array of float32 or float64, in rows; anything else that is a number becomes float64."""
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        if array.dtype.kind not in "biufO":
            raise ValueError(f"{what} is of dtype {array.dtype}, expected numbers")
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} is of dtype {array.dtype}, expected numbers: {error}") from None
    return np.require(array, requirements=["C", "A"])


def as_row(x: Any) -> dict | np.ndarray:
    """One example as a dict or a one-dimensional array."""
    if hasattr(x, "items"):  # a mapping, or a Series of pandas with its names
        return {str(name): value for name, value in x.items()}
    if _is_sparse(x):
        if x.ndim == 2 and x.shape[0] != 1:
            raise ValueError(f"x has {x.shape[0]} rows, expected one example")
        x = x.toarray().ravel()
    row = _floats(x, "x")
    if row.ndim != 1:
        raise ValueError(f"x has {row.ndim} dimensions, expected a dict or a one-dimensional array")
    return row


def _is_sparse(X: Any) -> bool:
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and scipy_sparse.issparse(X)


def _sparse(X: Any) -> tuple:
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, expected 2")
    if X.format != "csr":
        X = X.tocsr()
    values = _floats(X.data, "X")
    indices = X.indices
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    indptr = np.require(X.indptr, dtype=np.int64, requirements="C")
    return None, values, indptr, np.require(indices, requirements=["C", "A"]), int(X.shape[1])


class Rows:
    """Rows that are ready for the extension, and can be cut without a copy."""

    def __init__(self, X: Any):
        self.form = as_matrix(X)
        if not isinstance(self.form, (tuple, list)):
            if not hasattr(self.form, "slice"):  # a stream can be read once only
                import pyarrow as pa

                self.form = pa.table(self.form)
            self.length = len(self.form) if hasattr(self.form, "__len__") else self.form.num_rows
        elif isinstance(self.form, list):
            self.length = len(self.form)
        else:
            self.length = len(self.form[1]) if len(self.form) == 3 else len(self.form[2]) - 1

    def __len__(self) -> int:
        return self.length

    def cut(self, start: int, end: int) -> Rows:
        part = object.__new__(Rows)
        part.length = end - start
        form = self.form
        if isinstance(form, list):
            part.form = form[start:end]
        elif not isinstance(form, tuple):
            part.form = form.slice(start, end - start)
        elif len(form) == 3:
            part.form = (form[0], form[1][start:end], None)
        else:
            part.form = (*form[:2], form[2][start : end + 1], *form[3:])
        return part


def _is_pandas(X: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def _pandas(X: Any) -> Any:
    """A frame of numbers as an array with names; one with text as a table of Arrow, or else as dicts."""
    names = [str(name) for name in X.columns]
    _once(names)
    if all(getattr(dtype, "kind", "O") in "biuf" and isinstance(dtype, np.dtype) for dtype in X.dtypes):
        return names, _two(_floats(X.to_numpy(), "X")), None
    columns = [X.iloc[:, k] for k in range(X.shape[1])]
    try:
        import pyarrow as pa

        # A NaN among numbers stays one, to be refused; among texts it is pandas' way to say that there is none.
        plain = [isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf" for column in columns]
        arrays = [pa.array(c.to_numpy() if p else c, from_pandas=not p) for c, p in zip(columns, plain)]
    except (ImportError, TypeError, ValueError):  # values of several kinds in one column
        arrays = None
    if arrays is not None and not any(pa.types.is_nested(array.type) for array in arrays):
        return pa.table(arrays, names=names)
    rows = X.to_dict("records")
    texts = [getattr(column.dtype, "kind", "O") not in "biuf" for column in columns]
    missing = [column.isna().to_numpy() & text for column, text in zip(columns, texts)]
    plain = [
        {name: None if gone[k] else value for name, value, gone in zip(names, row.values(), missing)}
        for k, row in enumerate(rows)
    ]
    return [{name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in row.items()} for row in plain]


def _arrow(X: Any) -> Any:
    """A table that speaks Arrow's interface; as dicts where columns are nested."""
    if hasattr(X, "column_names") and hasattr(X, "to_pylist"):  # pyarrow
        _once(X.column_names)
        import pyarrow as pa

        nested = any(pa.types.is_nested(kind) for kind in X.schema.types)
        if nested and set(X.column_names) != {"indices", "values"}:
            return X.to_pylist()
    elif hasattr(X, "to_dicts") and any(getattr(dtype, "is_nested", bool)() for dtype in X.dtypes):  # polars
        if set(X.columns) != {"indices", "values"}:
            return X.to_dicts()
    return X


def _once(names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError("the table has two columns of one name")


def as_matrix(X: Any) -> Any:
    """Many examples: (names or None, a two-dimensional array, None) when dense, (None, values, indptr,
    indices, columns) when sparse, a list of dicts, or a table that speaks Arrow's C interface."""
    if isinstance(X, Rows):
        return X.form
    if _is_sparse(X):
        return _sparse(X)
    if _is_pandas(X):
        return _pandas(X)
    if hasattr(X, "__arrow_c_stream__") or (hasattr(X, "__arrow_c_array__") and hasattr(X, "schema")):
        return _arrow(X)
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], dict):
        for row, x in enumerate(X):
            if not isinstance(x, dict):
                raise ValueError(f"row {row} of X is of type {type(x).__name__}, expected a dict like the first")
        return list(X)
    return None, _two(_floats(X, "X")), None


def _two(X: np.ndarray) -> np.ndarray:
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, expected 2: a row for each example")
    return X


def as_labels(y: Any) -> np.ndarray | tuple[list[str], np.ndarray]:
    """An array of float64, or names and for each row which of them it has."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    array = np.asarray(y)
    if array.ndim != 1:
        raise ValueError(f"y has {array.ndim} dimensions, expected 1: a label for each example")
    if array.dtype.kind in "biuf":
        return np.require(array, dtype=np.float64, requirements=["C", "A"])
    labels = array.tolist()
    if all(isinstance(label, str) for label in labels):
        names, codes = np.unique(array.astype(str), return_inverse=True)
        return names.tolist(), np.require(codes.ravel(), dtype=np.int64, requirements="C")
    try:
        return np.array([float(label) for label in labels], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y has labels that are neither all numbers nor all names") from None


def as_weights(weights: Any) -> np.ndarray:
    """An array of float64."""
    array = _floats(weights, "sample_weight").astype(np.float64, copy=False)
    if array.ndim != 1:
        raise ValueError(f"sample_weight has {array.ndim} dimensions, expected 1: a number for each example")
    return np.require(array, requirements=["C", "A"])


def _classes(classes: list) -> np.ndarray:
    kinds = {type(label) for label in classes}
    return np.array(classes, dtype=object if str in kinds and len(kinds) > 1 else None)


def as_classes(scores: np.ndarray, negative: Any, positive: Any) -> np.ndarray:
    """The class of each score; zero is positive."""
    return _classes([negative, positive])[(scores >= 0).astype(np.intp)]


def highest(scores: np.ndarray, classes: list) -> np.ndarray:
    """The class of the highest score of each row, the earliest of equal ones."""
    if not classes:
        raise ValueError("no class has been seen: nothing can be predicted")
    return _classes(classes)[scores.argmax(axis=1)]
