"""The kinds of rows, tables and labels there are in Python, brought to the few that the extension takes.

Nothing is copied that has the right layout already: float32 or float64, rows one after the other, sparse rows
with indices of 32 or 64 bits.
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


def _named(X: Any) -> tuple[list[str], Any] | None:
    """The names of a table's columns and what makes a two-dimensional array of it, or None."""
    if hasattr(X, "column_names") and hasattr(X, "to_pylist"):  # pyarrow
        names = list(X.column_names)
        numeric = [column.type for column in X.columns]
        if not all(str(t).startswith(("int", "uint", "float", "double", "halffloat", "bool")) for t in numeric):
            return names, X.to_pylist()
        columns = [column.to_numpy(zero_copy_only=False) if hasattr(column, "chunk") is False else column.to_numpy() for column in X.columns]
        return names, np.column_stack(columns) if columns else np.empty((X.num_rows, 0))
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        names = [str(name) for name in X.columns]
        kinds = [getattr(dtype, "kind", None) for dtype in X.dtypes]
        texts = any(kind not in ("b", "i", "u", "f") for kind in kinds) if None not in kinds else not all(
            dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes
        )
        if texts:
            rows = X.to_dicts() if hasattr(X, "to_dicts") else X.to_dict("records")
            return names, [{str(name): value for name, value in row.items()} for row in rows]
        return names, X.to_numpy()
    return None


def as_matrix(X: Any) -> tuple | list:
    """Many examples: (names or None, a two-dimensional array, None) when dense, (None, values, indptr,
    indices, columns) when sparse, or a list of dicts."""
    if _is_sparse(X):
        return _sparse(X)
    table = _named(X)
    if table is not None:
        names, rows = table
        if len(set(names)) != len(names):
            raise ValueError("the table has two columns of one name")
        return rows if isinstance(rows, list) else (names, _two(_floats(rows, "X")), None)
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


def as_classes(scores: np.ndarray, negative: Any, positive: Any) -> np.ndarray:
    """The class of each score; zero is positive."""
    kinds = {type(negative), type(positive)}
    dtype = object if str in kinds and len(kinds) > 1 else None
    return np.array([negative, positive], dtype=dtype)[(scores >= 0).astype(np.intp)]
