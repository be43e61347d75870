"""Files on whatever file system Spark knows by their address: written whole or not at all, by the driver."""

from __future__ import annotations

import uuid
from typing import Any


class Folder:
    """A folder on a file system of Hadoop's: local, HDFS, or an object store."""

    def __init__(self, spark: Any, path: str):
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            raise NotImplementedError(
                f"{path}: files of models are written and read by the driver's JVM, which Spark Connect does not reach; "
                "saveModel(path) writes the plain model file where this program runs"
            )
        self._gateway = spark.sparkContext._gateway
        self._jvm = spark.sparkContext._jvm
        self.path = path
        self._root = self._jvm.org.apache.hadoop.fs.Path(path)
        self._system = self._root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)

    def names(self) -> list[str]:
        """The files there are."""
        if not self._system.exists(self._root):
            return []
        return [status.getPath().getName() for status in self._system.listStatus(self._root)]

    def read(self, name: str) -> bytes:
        """All of a file."""
        stream = self._system.open(self._at(name))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """A file that was not there: first under another name, then renamed."""
        self._system.mkdirs(self._root)
        hidden = self._at(f".{name}.{uuid.uuid4().hex}")
        stream = self._system.create(hidden, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        if not self._system.rename(hidden, self._at(name)):
            self._system.delete(hidden, False)
            raise FileExistsError(f"{self.path}/{name} cannot be written: it exists, or the folder was taken away")

    def remove(self, name: str) -> None:
        """Takes a file away, if it is there."""
        self._system.delete(self._at(name), False)
