"""Tables that come through Arrow's C interface, whoever made them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from noregret import Learner


def learned(X, y, **settings):
    learner = Learner(**settings)
    learner.learn_many(X, y)
    return learner


class Stream:
    """A table of nobody's, which has the stream and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, bool])
def test_columns_of_numbers_are_a_matrix_to_the_last_bit(stream, dtype):
    X, y = stream
    X = X.astype(dtype)
    names = [f"c{k}" for k in range(X.shape[1])]
    table = pa.table(dict(zip(names, X.T)))
    expected = learned(pd.DataFrame(X, columns=names), y).to_bytes()
    chunks = pa.concat_tables([table.slice(0, 100), table.slice(100, 1), table.slice(101, 0), table.slice(101)])
    reader = pa.RecordBatchReader.from_batches(table.schema, chunks.to_batches())
    for other in [table, chunks, Stream(table), reader, pl.DataFrame(dict(zip(names, X.T)))]:
        assert learned(other, y).to_bytes() == expected, type(other)
    batch = table.combine_chunks().to_batches()[0]
    assert learned(batch, y).to_bytes() == expected
    learner = learned(table, y)
    assert np.array_equal(learner.score_many(chunks), learner.score_many(pd.DataFrame(X, columns=names)))


@pytest.mark.parametrize("floats", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("places", [pa.int32(), pa.int64(), pa.uint32()])
@pytest.mark.parametrize("lists", [pa.list_, pa.large_list])
def test_lists_of_indices_and_values_are_sparse_rows(stream, floats, places, lists):
    X, y = stream
    csr = sp.csr_matrix(X.astype(floats.to_pandas_dtype()))
    rows = [(csr.indices[a:b], csr.data[a:b]) for a, b in zip(csr.indptr, csr.indptr[1:])]
    columns = {
        "indices": pa.array([i for i, _ in rows], lists(places)),
        "values": pa.array([v for _, v in rows], lists(floats)),
    }
    table = pa.table(columns)
    expected = learned(csr, y).to_bytes()
    assert learned(table, y).to_bytes() == expected
    assert learned(pa.concat_tables([table.slice(0, 77), table.slice(77)]), y).to_bytes() == expected
    with pytest.raises(ValueError, match="row 0: the feature"):
        learned(pa.table({"indices": [[1 << 25]], "values": pa.array([[1.0]], pa.list_(floats))}), [1])


def test_lists_that_do_not_fit_are_refused():
    def lists(indices, values):
        return pa.table({"indices": indices, "values": values})

    for table, words in [
        (lists([[0, 1]], [[1.0]]), "different lengths"),
        (lists([[0]], [["a"]]), "expected lists of float"),
        (lists([[0.5]], [[1.0]]), "expected lists of uint32, int32 or int64"),
        (lists([[0], None], [[1.0], [1.0]]), "null"),
        (lists(pa.array([[None]], pa.list_(pa.int32())), [[1.0]]), "nulls"),
        (lists([[-1]], [[1.0]]), "negative"),
        (lists([[0]], [[float("nan")]]), "row 0, column 0: found NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            learned(table, [1] * table.num_rows)
    assert learned(lists([[3, 1, 1]], [[1.0, 2.0, 3.0]]), [1]).to_bytes() == learned([[0, 5.0, 0, 1.0]], [1]).to_bytes()


def test_a_null_is_absent_and_a_nan_is_refused():
    table = pa.table({"a": [1.0, None, 3.0], "b": ["x", None, ""]})
    dicts = [{"a": 1.0, "b": "x"}, {}, {"a": 3.0}]
    assert learned(table, [1, 0, 1]).to_bytes() == learned(dicts, [1, 0, 1], columns=["a", "b"]).to_bytes()
    learner = Learner()
    for bad in [pa.table({"a": [1.0, float("nan")]}), pl.DataFrame({"a": [1.0, float("inf")], "b": ["x", "y"]})]:
        with pytest.raises(ValueError, match="row 1, column `a`: found (NaN|inf)"):
            learner.learn_many(bad, [1, 0])
    with pytest.raises(ValueError, match="row 1, column `a`: found NaN"):
        Learner().learn_many(pd.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]}), [1, 0])


def test_columns_that_are_neither_numbers_nor_text_are_named():
    when = pa.table({"a": [1.0], "when": pa.array([0], pa.timestamp("s"))})
    for table in [when, pl.from_arrow(when), when.to_pandas()]:
        with pytest.raises(ValueError, match="column `when` has the type"):
            Learner().learn_many(table, [1])
    with pytest.raises(ValueError, match="two columns of one name"):
        Learner().learn_many(pa.table([[1.0], [2.0]], names=["a", "a"]), [1])


def test_nested_columns_are_nested_dicts():
    table = pa.table({"a": [{"b": 1.0, "c": "x"}], "d": [[1.0, 2.0]]})
    expected = learned([{"a": {"b": 1.0, "c": "x"}, "d": [1.0, 2.0]}], [1]).to_bytes()
    for other in [table, pl.from_arrow(table), table.to_pandas()]:
        assert learned(other, [1], columns=[]).to_bytes() == expected, type(other)


def test_values_of_several_kinds_in_one_column_are_as_in_dicts():
    frame = pd.DataFrame({"a": [1.0, "x", None], "b": [1, 2, 3]})
    dicts = [{"a": 1.0, "b": 1}, {"a": "x", "b": 2}, {"b": 3}]
    assert learned(frame, [1, 0, 1], columns=[]).to_bytes() == learned(dicts, [1, 0, 1]).to_bytes()


def test_an_index_of_pandas_is_no_column():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=["first", "second"])
    assert learned(frame, [1, 0]).to_bytes() == learned(frame.reset_index(drop=True), [1, 0]).to_bytes()


def test_labels_and_weights_may_be_columns_too():
    table = pa.table({"a": [1.0, 2.0, 3.0]})
    expected = Learner()
    expected.learn_many([{"a": 1.0}, {"a": 2.0}, {"a": 3.0}], [1, 0, 1], [1.0, 2.0, 0.5])
    for make in (pa.array, pl.Series, pd.Series, pa.chunked_array):
        wrap = (lambda values: [values]) if make is pa.chunked_array else list
        learner = Learner(columns=[])
        learner.learn_many(table, make(wrap([1, 0, 1])), make(wrap([1.0, 2.0, 0.5])))
        assert learner.to_bytes() == expected.to_bytes(), make
