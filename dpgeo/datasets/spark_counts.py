"""Counts that Spark makes of the rows of a registered folder, in their place.

Executors open the files at the addresses that DPGEO_SOURCES has for this process, and compare each
with the snapshot before and after reading.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dpgeo.core.errors import Conflict
from dpgeo.datasets.snapshots import PartReader, SourceRows
from dpgeo.datasets.sources import SourceFile, changed
from dpgeo.datasets.spark_folders import spark_master
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.spark import Cluster, SparkView, grouping_key, public_draw
from dpgeo.engine.spark_tasks import Question, SparkError, SparkFile
from dpgeo.ingest.source_rows import hive_columns

logger = logging.getLogger(__name__)


@contextmanager
def spark_view(rows: SourceRows, *, salt: bytes, **view: Any) -> Iterator[SparkView]:
    """Yield a view whose counts Spark makes; the arguments are those of `DuckDBView`.

    Its measurements raise Conflict if a file is not as it was recorded, or if Spark cannot count.
    """
    files = rows.files
    cluster = Cluster(
        master=spark_master(),
        files=[_spark_file(reader, file) for reader, file in files],
        secret=rows.readers[0].key,
        key=grouping_key(public_draw(salt)),
        between=rows.between,
        memory_bytes=view["memory_bytes"],
        folder=view["folder"],
    )

    def count(question: Question) -> Iterator[Answer]:
        try:
            yield from cluster.count(question)
        except SparkError as error:
            logger.error("spark: %s", error.kind)
            raise _conflict(error, [file for _, file in files]) from None

    with cluster:
        yield SparkView(rows, count, salt=salt, **view)


def _spark_file(reader: PartReader, file: SourceFile) -> SparkFile:
    return SparkFile(
        recorded=reader.location.recorded(reader.folder, file),
        named=hive_columns(file.path),
        schema=reader.schema,
        erased=frozenset(reader.erased),
    )


def _conflict(error: SparkError, files: Sequence[SourceFile]) -> Conflict:
    if error.kind == "changed" and error.file is not None:
        return changed(files[error.file])
    if error.kind == "disk":
        return Conflict(
            "A machine of the Spark cluster has no disk space left. Free some there, and request "
            "the map again."
        )
    if error.kind == "session":
        return Conflict(
            "The Spark cluster in DPGEO_SPARK_MASTER did not start a session. Check its address, "
            "its master and its secret, and request the map again."
        )
    if error.kind == "executors":
        return Conflict(
            "The Spark cluster has no worker left. Start its workers, and request the map again."
        )
    return Conflict("Spark could not count the registered folder ({code}).", code=error.kind)
