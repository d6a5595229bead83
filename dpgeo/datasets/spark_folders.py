"""Folders that may be registered, and whose rows a local Spark session counts.

The setting DPGEO_SOURCES names one as `city-transport/lake=spark:/srv/trips`. It is registered,
recorded and read like any other local folder (`datasets.sources`); counts come from Spark
(`engine.spark`), which runs on the worker's own machine (DPGEO_SPARK_MASTER). Other masters are
refused, because they are not tested. The files are compared with the snapshot before Spark reads
them and afterwards.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.slices import SlicedZones
from dpgeo.datasets.sources import Location, SourceFile
from dpgeo.datasets.storage import work_folder
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.pushed_view import Asked
from dpgeo.engine.source_sql import Wanted
from dpgeo.ingest.schema import Schema
from dpgeo.spatial.zones import Zones

logger = logging.getLogger(__name__)

MASTER = re.compile(r"local\[(?:[1-9][0-9]{0,2}|\*)\]")


@dataclass(frozen=True, slots=True)
class SparkLocation(Location):
    """A local folder whose rows Spark counts."""

    def files(self, folder: str) -> list[SourceFile]:
        """Return the Parquet files below `folder`, as `Location.files` does.

        Raises InvalidInput also if Spark is not installed, and ValueError for a master that is not
        supported.
        """
        from dpgeo.engine.spark import problem_with_spark

        spark_master()
        if missing := problem_with_spark():
            raise InvalidInput(
                "This folder is counted by Spark, for which {missing} has to be installed.",
                missing=missing,
                field="location",
            )
        return Location.files(self, folder)


@dataclass(frozen=True, slots=True)
class SparkPart:
    """Files whose rows are read by the same `schema`.

    `erased` are the hashes, made with `key`, of persons whose rows are refused.
    """

    location: Location
    folder: str
    files: Sequence[SourceFile]
    schema: Schema
    key: bytes = field(repr=False)
    erased: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class SparkCounter:
    """Counts the rows of a snapshot with Spark (`engine.pushed_view.Counter`)."""

    parts: Sequence[SparkPart]
    between: tuple[int, int] | None

    def can_answer(self, asked: Asked) -> bool:
        """Return whether Spark can make the measurement `asked`.

        It can make plain counts, but not of records in zones, because zones may overlap and a
        record counts in only one of them.
        """
        if asked.wanted is not Wanted.COUNTS or asked.popularity is not None:
            return False
        regions = asked.regions
        whole = regions.zones if isinstance(regions, SlicedZones) else regions
        by_record = any(part.schema.unit is Unit.RECORD for part in self.parts)
        return not (by_record and isinstance(whole, Zones))

    def reports(self, bound: int, draw: int) -> None:
        """Return None: Spark only counts rows, so this process reads and chooses the reports."""

    def answer(self, asked: Asked) -> Iterator[Answer]:
        """Yield the bounded counts of the occupied regions.

        Raises Conflict if a file is not as it was recorded, or if Spark cannot count.
        """
        from dpgeo.engine.spark import (
            SparkError,
            SparkFile,
            Task,
            grouping_key,
            spark_counts,
            spark_session,
        )
        from dpgeo.ingest.source_rows import hive_columns

        memory = settings.DPGEO_COUNT_MEMORY_MIB << 20
        with ExitStack() as opened, work_folder() as scratch:
            files = [
                SparkFile(
                    path=opened.enter_context(part.location.opened(part.folder, file)),
                    named=hive_columns(file.path),
                    schema=part.schema,
                    erased=part.erased,
                )
                for part in self.parts
                for file in part.files
            ]
            if not files:
                return
            task = Task(
                files=files,
                domain=asked.domain,
                regions=asked.regions,
                key=grouping_key(asked.draw),
                between=self.between,
                memory_bytes=memory,
                spill=Path(scratch),
            )
            try:
                with spark_session(spark_master(), memory, Path(scratch)) as session:
                    yield from spark_counts(
                        session,
                        task,
                        secret=self.parts[0].key,
                        counting=asked.counting,
                        bound=asked.bound,
                        draw=asked.draw,
                    )
            except SparkError as error:
                logger.error("spark: %s", error)
                raise Conflict(
                    "Spark could not count the registered folder ({code}).", code=str(error)
                ) from None


def spark_master() -> str:
    """Return the address of the Spark master in the settings.

    Raises ValueError if it is on another machine.
    """
    master: str = settings.DPGEO_SPARK_MASTER
    if not MASTER.fullmatch(master):
        raise ValueError("DPGEO_SPARK_MASTER must be local[*], or local[2] for two threads.")
    return master
