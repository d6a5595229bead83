"""Folders that may be registered, and whose rows Spark counts.

The setting DPGEO_SOURCES names one as `city-transport/lake=spark:/srv/trips` or
`city-transport/lake=spark:s3://lake/trips`. It is registered and recorded like any other folder
(`datasets.sources`); counts come from Spark (`engine.spark`), on the worker's own machine or on the
cluster of DPGEO_SPARK_MASTER, whose executors open the files at the same addresses and compare each
with the snapshot before and after reading.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.sources import Location, SourceFile, changed
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.spark import Cluster, SparkView, grouping_key, problem_with_spark, public_draw
from dpgeo.engine.spark_tasks import Question, SparkError, SparkFile
from dpgeo.ingest.source_rows import hive_columns

if TYPE_CHECKING:
    from dpgeo.datasets.snapshots import PartReader, SourceRows

logger = logging.getLogger(__name__)

MASTER = re.compile(
    r"local\[(?:[1-9][0-9]{0,2}|\*)\]"
    r"|spark://[\w.-]+:[0-9]+(?:,[\w.-]+:[0-9]+)*"
    r"|k8s://https?://[\w.:/-]+"
)


@dataclass(frozen=True, slots=True)
class SparkLocation(Location):
    """A folder whose rows Spark counts."""

    def files(self, folder: str) -> list[SourceFile]:
        """Return the Parquet files below `folder`, as `Location.files` does.

        Raises InvalidInput also if Spark is not installed, and ValueError for a master that is not
        supported.
        """
        spark_master()
        if missing := problem_with_spark():
            raise InvalidInput(
                "This folder is counted by Spark, for which {missing} has to be installed.",
                missing=missing,
                field="location",
            )
        return Location.files(self, folder)


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


def spark_master() -> str:
    """Return the address of the Spark master in the settings. Raises ValueError for another."""
    master: str = settings.DPGEO_SPARK_MASTER
    if not MASTER.fullmatch(master):
        raise ValueError(
            "DPGEO_SPARK_MASTER must be local[*], local[2] for two threads, spark://host:7077 or "
            "k8s://https://host:443."
        )
    return master
