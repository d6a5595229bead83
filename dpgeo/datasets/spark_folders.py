"""Folders that may be registered, and whose rows Spark counts.

The setting DPGEO_SOURCES names one as `city-transport/lake=spark:/srv/trips` or
`city-transport/lake=spark:s3://lake/trips`. It is registered and recorded like any other folder
(`datasets.sources`); counts come from Spark (`datasets.spark_counts`), on the worker's own machine
or on the cluster of DPGEO_SPARK_MASTER.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.conf import settings

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.sources import Location, SourceFile

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
        from dpgeo.engine.spark import problem_with_spark

        spark_master()
        if missing := problem_with_spark():
            raise InvalidInput(
                "This folder is counted by Spark, for which {missing} has to be installed.",
                missing=missing,
                field="location",
            )
        return Location.files(self, folder)


def spark_master() -> str:
    """Return the address of the Spark master in the settings. Raises ValueError for another."""
    master: str = settings.DPGEO_SPARK_MASTER
    if not MASTER.fullmatch(master):
        raise ValueError(
            "DPGEO_SPARK_MASTER must be local[*], local[2] for two threads, spark://host:7077 or "
            "k8s://https://host:443."
        )
    return master
