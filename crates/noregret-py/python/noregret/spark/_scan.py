"""DataFrames that are nothing but Parquet files: tasks read those by themselves.

Spark decodes a file into its own rows, writes these anew for Python, and learning them costs less than either. Where a
DataFrame is a plain scan of Parquet files that executors open as paths of their own (a local disk, a share that all of them have mounted), the
driver asks Spark's plan which part of which file makes each partition, and a task reads these parts in Rust. They are the partitions
that Spark planned, their rows in the same order, so the result is the same to the last bit.

It must be certain that nothing is done to rows or values on the way. So the plan has to be made of a few kinds of nodes
that are known by name, and a file has to hold the columns with exactly the expected names and types. Whatever is not understood here goes
the way through Spark; and what a task cannot read (it was changed since, it is damaged, its columns are others) makes the
driver begin again on that way, where it is Spark's to say what is wrong.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from .. import _noregret
from ._columns import Columns, _quoted

SWITCH = "spark.noregret.readFiles"

LOG = logging.getLogger("noregret.spark")

_SQL = "org.apache.spark.sql"
_PROJECT = f"{_SQL}.catalyst.plans.logical.Project"
_RELATION = f"{_SQL}.execution.datasources.LogicalRelation"
_FILES = f"{_SQL}.execution.datasources.HadoopFsRelation"
_FORMAT = f"{_SQL}.execution.datasources.parquet.ParquetFileFormat"
_INDICES = (f"{_SQL}.execution.datasources.InMemoryFileIndex", f"{_SQL}.execution.datasources.CatalogFileIndex")
_ATTRIBUTE = f"{_SQL}.catalyst.expressions.AttributeReference"
_ALIAS = f"{_SQL}.catalyst.expressions.Alias"
_STEPS = tuple(f"{_SQL}.execution.{step}Exec" for step in ("WholeStageCodegen", "Project", "ColumnarToRow"))
_STEPS = (*_STEPS, f"{_SQL}.execution.InputAdapter")
_SCAN = f"{_SQL}.execution.FileSourceScanExec"
_ROWS = f"{_SQL}.execution.datasources.FileScanRDD"

# About how many bytes tasks hold at once.
BYTES = 64 << 20

# How many rows are learned at once: few enough that they are still in the processor's cache.
FEW = 4096


class Unread(ValueError):
    """Why a plan or a file is not read here."""


@dataclass(frozen=True)
class Piece:
    """A range of a file's bytes; its size, and when it was changed (milliseconds since 1970), as planned."""

    path: str
    size: int
    modified: int
    begin: int
    end: int


@dataclass(frozen=True)
class Scan:
    """How a DataFrame is read: its partitions, and the columns' names in the files with their types in Spark."""

    partitions: tuple[tuple[Piece, ...], ...]
    columns: tuple[tuple[str, str], ...]
    features: int
    rows: int

    def only(self) -> Scan:
        """What a task must know beside its own partition."""
        return replace(self, partitions=())

    def batches(self, pieces: tuple[Piece, ...], rows: int) -> Iterator[Any]:
        """The rows of a partition as what Spark would hand over: features, label, weight; up to so many at once."""
        import pyarrow as pa

        names = [name for name, _ in self.columns]
        for piece in pieces:
            try:
                part = _noregret.Part(
                    piece.path, (piece.size, piece.modified), (piece.begin, piece.end), sorted(set(names)), rows
                )
                schema = part.schema
                for name, kind in self.columns:
                    if not _is_type(schema.field(name).type, kind):
                        raise Unread(f"column `{name}` is {schema.field(name).type} in the file, expected {kind}")
                for batch in part:
                    arrays = [batch.column(name) for name in names]
                    for k in range(self.features, len(arrays)):
                        if self.columns[k][1] != "string":
                            arrays[k] = arrays[k].cast(pa.float64(), safe=False)
                    yield pa.RecordBatch.from_arrays(arrays, [str(k) for k in range(len(arrays))])
            except ValueError as error:
                raise Unread(f"{piece.path}: {error}") from error

    def cut(self, pieces: tuple[Piece, ...]) -> Iterator[Any]:
        """The same rows, cut where Spark cuts them: sums over batches are rounded alike."""
        import pyarrow as pa

        held: list[Any] = []
        count = size = 0
        for batch in self.batches(pieces, self.rows):
            while batch.num_rows:
                piece = batch.slice(0, self.rows - count)
                batch = batch.slice(piece.num_rows)
                held.append(piece)
                count, size = count + piece.num_rows, size + piece.nbytes
                if count == self.rows or size >= BYTES:
                    yield _joined(pa, held)
                    held, count, size = [], 0, 0
        if held:
            yield _joined(pa, held)


def _joined(pa: Any, held: list[Any]) -> Any:
    return held[0] if len(held) == 1 else pa.Table.from_batches(held).combine_chunks().to_batches()[0]


def _is_type(found: Any, kind: str) -> bool:
    """Whether a column of a file is what Spark would read as this type without changing anything."""
    import pyarrow as pa

    if kind == "vector":
        parts = {"type": "tinyint", "size": "int", "indices": "array<int>", "values": "array<double>"}
        if not pa.types.is_struct(found) or sorted(field.name for field in found) != sorted(parts):
            return False
        return all(_is_type(field.type, parts[field.name]) for field in found)
    if kind.startswith("array<"):
        return pa.types.is_list(found) and _is_type(found.value_type, kind[6:-1])
    return kind in _TYPES and found == getattr(pa, _TYPES[kind])()


_TYPES = {
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "boolean": "bool_",
    "string": "string",
}


def plan(data: Any, columns: Columns) -> Scan | None:
    """How tasks can read the DataFrame by themselves; None where its rows must come through Spark."""
    try:
        return _plan(data, columns)
    except Exception as error:  # whatever a future Spark, or a plugin, does differently
        LOG.info("rows come through Spark: %s", error)
        return None


def _plan(data: Any, columns: Columns) -> Scan:
    from pyspark.sql import functions as f

    conf = data.sparkSession.conf
    if conf.get(SWITCH, "true").lower() != "true":
        raise Unread(f"{SWITCH} is not true")
    if conf.get("spark.sql.parquet.fieldId.read.enabled") != "false":
        raise Unread("columns are found by their numbers")
    rows = int(conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))
    if rows < 1:
        raise Unread("batches have any number of rows")
    wanted = [*columns.features, *(name for name in (columns.label, columns.weight) if name is not None)]
    kinds = [data.schema[name].dataType.simpleString() for name in wanted]
    for name, kind in zip(wanted, kinds):
        if kind != "vector" and kind.removeprefix("array<").removesuffix(">") not in _TYPES:
            raise Unread(f"column `{name}` has the type {kind}")
    execution = data.select(*(f.col(_quoted(name)) for name in wanted))._jdf.queryExecution()
    names = _names(execution.optimizedPlan())
    if len(names) != len(wanted):
        raise Unread("the plan has other columns")
    partitions = _partitions(execution.executedPlan(), names)
    return Scan(partitions, tuple(zip(names, kinds)), len(columns.features), rows)


def _class(node: Any) -> str:
    return node.getClass().getName()


def _items(sequence: Any) -> Iterator[Any]:
    each = sequence.iterator()
    while each.hasNext():
        yield each.next()


def _names(node: Any) -> list[str]:
    """What the columns are called in the files, where the plan chooses columns and does nothing else."""
    output = node.output()
    if _class(node) == _PROJECT:
        output, node = node.projectList(), node.child()
    if _class(node) != _RELATION:
        raise Unread(f"there is a {_class(node)} in the plan")
    names = []
    for column in _items(output):
        if _class(column) == _ALIAS:
            column = column.child()
        if _class(column) != _ATTRIBUTE:
            raise Unread("a column is computed")
        names.append(column.name())
    return names


def _partitions(node: Any, names: list[str]) -> tuple[tuple[Piece, ...], ...]:
    """The parts of files of each partition, where they are read and nothing else is done."""
    while _class(node) in _STEPS:
        node = node.child()
    if _class(node) != _SCAN:
        raise Unread(f"there is a {_class(node)} in the plan")
    relation = node.relation()
    for found, known in ((relation, (_FILES,)), (relation.fileFormat(), (_FORMAT,)), (relation.location(), _INDICES)):
        if _class(found) not in known:
            raise Unread(f"files are read by {_class(found)}")
    if not relation.partitionSchema().isEmpty() or not relation.bucketSpec().isEmpty() or node.bucketedScan():
        raise Unread("files are partitioned by columns, or bucketed")
    if not node.partitionFilters().isEmpty() or not node.dataFilters().isEmpty():
        raise Unread("there is a filter")
    known = list(relation.dataSchema().fieldNames())
    if len({name.lower() for name in known}) != len(known) or not set(names) <= set(known):
        raise Unread("columns are not told apart by their names")
    rows = node.inputRDD()
    if _class(rows) != _ROWS:
        raise Unread(f"rows are read by {_class(rows)}")
    partitions = []
    for number, partition in enumerate(_items(rows.filePartitions())):
        if partition.index() != number:
            raise Unread("partitions have other numbers")
        partitions.append(tuple(map(_piece, partition.files())))
    if not partitions:
        raise Unread("there are no files")
    return tuple(partitions)


def _piece(file: Any) -> Piece:
    address = file.filePath().urlEncoded()
    if not address.startswith("file:///"):
        raise Unread(f"{address} is no path")
    if not file.otherConstantMetadataColumnValues().isEmpty():
        raise Unread("files bring columns of their own")
    begin = file.start()
    path = unquote(address.removeprefix("file://"), errors="strict")
    return Piece(path, file.fileSize(), file.modificationTime(), begin, begin + file.length())
