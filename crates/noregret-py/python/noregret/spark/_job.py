"""A map over partitions and a reduction in a fixed tree.

A task is a function of its partition alone, so that one that is repeated, because an executor was lost or for speed, changes
nothing. What comes out carries the partition's number; results are put together in that order, eight at a time, on executors
until no more than eight are left. So the same partitions give the same bits, on however many machines.

Rows come through Spark as Arrow batches, or, where the DataFrame is nothing but files, a task reads its part of them.

A row that cannot be learned is not an exception in a worker, which Spark would repeat three times and show as a trace; it
is a result, and the driver raises it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ._columns import BadRow, Columns
from ._scan import FEW, LOG, Piece, Scan, Unread, plan

FAN_IN = 8

_ROW = re.compile(r"^row (\d+)(?:: |, )(.*)$", re.DOTALL)


class Task(Protocol):
    """What is done with a partition. `by_batch` says whether its sums are rounded by where batches are cut."""

    by_batch: bool

    def take(self, features: Any, labels: Any, weights: Any) -> None:
        """Takes some rows."""

    def result(self) -> bytes:
        """What came of all of them."""


# A partition's number, what is wrong with it, and what came of it.
Result = tuple[int, "str | Unread | None", bytes]

# What is wrong with all of them together, and what came of them.
Outcome = tuple["str | Unread | None", bytes]


class Rows:
    """The examples of a DataFrame, for one job or several. How they come is decided once, so that all jobs meet the same."""

    def __init__(self, data: Any, columns: Columns):
        self._data, self._columns = data, columns
        self._scan = plan(data, columns)

    def run(self, begin: Callable[[], Task], merge: Callable[[list[bytes]], bytes]) -> bytes:
        """Begins a task on each partition and merges the results."""
        if self._scan is not None:
            problem, result = self._read(self._scan, begin, merge)
            if not isinstance(problem, Unread):
                return _told(problem, result)
            LOG.info("rows come through Spark: %s", problem)
            self._scan = None
        return _told(*self._through(begin, merge))

    def _read(self, scan: Scan, begin: Callable[[], Task], merge: Callable[[list[bytes]], bytes]) -> Outcome:
        parts = self._data.sparkSession.sparkContext.parallelize(scan.partitions, len(scan.partitions))
        return _reduce(parts.mapPartitionsWithIndex(_reader(self._columns, scan.only(), begin)), merge)

    def _through(self, begin: Callable[[], Task], merge: Callable[[list[bytes]], bytes]) -> Outcome:
        columns = self._columns
        partials = columns.select(self._data).mapInArrow(
            _mapper(columns, begin), "part long, problem string, result binary"
        )
        # Spark Connect has no RDDs; and few results need no tree on executors. They are put together in the same one.
        remote = type(self._data).__module__.startswith("pyspark.sql.connect")
        if remote or partials.rdd.getNumPartitions() <= FAN_IN:
            return _gathered([_result(row) for row in partials.collect()], merge)
        return _reduce(partials.rdd.map(_result), merge)


def _result(row: Any) -> Result:
    return row.part, row.problem, bytes(row.result)


def _told(problem: str | Unread | None, result: bytes) -> bytes:
    if problem is not None:
        raise ValueError(problem)
    return result


def _reduce(results: Any, merge: Callable[[list[bytes]], bytes]) -> Outcome:
    """Puts the results of all partitions together, in the fixed tree."""
    count, fan_in = results.getNumPartitions(), FAN_IN
    while count > fan_in:
        count = -(-count // fan_in)
        keyed = results.map(lambda each: (each[0] // fan_in, each))
        grouped = keyed.groupByKey(count, lambda key: key)
        results = grouped.map(lambda group: (group[0], *_merge(list(group[1]), merge)))
    return _merge(results.collect(), merge)


def _gathered(results: list[Result], merge: Callable[[list[bytes]], bytes]) -> Outcome:
    """The same tree, in one place."""
    count = max((number for number, _, _ in results), default=0) + 1
    while count > FAN_IN:
        count = -(-count // FAN_IN)
        groups: dict[int, list[Result]] = {}
        for each in results:
            groups.setdefault(each[0] // FAN_IN, []).append(each)
        results = [(number, *_merge(group, merge)) for number, group in groups.items()]
    return _merge(results, merge)


def _merge(results: list[Result], merge: Callable[[list[bytes]], bytes]) -> Outcome:
    results.sort(key=lambda each: each[0])
    problems = [problem for _, problem, _ in results if problem is not None]
    if problems:
        # What could not be read counts before all else: on the other way it may come first.
        return next((each for each in problems if isinstance(each, Unread)), problems[0]), b""
    if not results:
        raise ValueError("the DataFrame has no rows, expected at least one example")
    try:
        return None, merge([result for _, _, result in results])
    except ValueError as error:
        return str(error), b""


def _mapper(columns: Columns, begin: Callable[[], Task]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def each(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()  # type: ignore[union-attr]
        problem, result = _learn(columns, begin(), batches, part)
        names = ["part", "problem", "result"]
        yield pa.RecordBatch.from_arrays(
            [pa.array([part], pa.int64()), pa.array([problem], pa.string()), pa.array([result], pa.binary())], names
        )

    return each


def _reader(
    columns: Columns, scan: Scan, begin: Callable[[], Task]
) -> Callable[[int, Iterator[tuple[Piece, ...]]], Iterator[Result]]:
    def each(part: int, partition: Iterator[tuple[Piece, ...]]) -> Iterator[Result]:
        # There is one, and asking for another ends the stream: a worker that has not read its stream to the end is not used again.
        for pieces in partition:
            task = begin()
            batches = scan.cut(pieces) if task.by_batch else scan.batches(pieces, FEW)
            try:
                yield (part, *_learn(columns, task, batches, part))
            except Unread as error:
                yield part, error, b""

    return each


def _learn(columns: Columns, task: Task, batches: Iterator[Any], part: int) -> tuple[str | None, bytes]:
    position = 0
    for batch in batches:
        features, labels, weights, bad = columns.rows(batch)
        try:
            if batch.num_rows and (bad is None or bad.row > 0):
                task.take(features, labels, weights)
            if bad is not None:
                raise bad
        except ValueError as error:
            return placed(error, part, position), b""
        position += batch.num_rows
    return None, task.result()


def placed(error: ValueError, part: int, position: int) -> str:
    """Where the bad row is: its partition, and its position there, from 0."""
    if isinstance(error, BadRow):
        return f"partition {part}, row {position + error.row} (from 0): {error.message}"
    text = str(error).replace(" (rows from 0)", "").replace(" (rows and columns from 0)", "")
    found = _ROW.match(text)
    if found is None:
        return f"partition {part}, in the batch that begins at row {position} (from 0): {text}"
    return f"partition {part}, row {position + int(found[1])} (from 0): {found[2]}"
