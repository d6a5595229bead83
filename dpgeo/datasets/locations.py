"""Folders and databases that the setting DPGEO_SOURCES names, each for one organisation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.postgresql.location import TableLocation
from dpgeo.datasets.sources import Location
from dpgeo.datasets.spark_folders import SparkLocation
from dpgeo.ingest.recorded_files import OBJECT_STORE

DATABASES = ("postgresql://", "postgres://")
"""Beginnings of the URLs of databases (`datasets.postgresql`); a URL may hold a password."""


SPARK = "spark:"
"""Beginning of the path of a folder whose rows Spark counts (`datasets.spark_folders`)."""

NO_COPY = "nocopy:"
"""Beginning of an address whose rows are read anew for every map, and never kept."""


def locations() -> Sequence[Location]:
    """Return all folders and databases in DPGEO_SOURCES. Raises ValueError if it is invalid."""
    entries: Sequence[str] = settings.DPGEO_SOURCES
    return [_parse(entry, number) for number, entry in enumerate(entries, start=1)]


def list_locations(organisation: str) -> list[Location]:
    """Return the folders and databases in DPGEO_SOURCES for the organisation with this slug."""
    return [each for each in locations() if each.organisation == organisation]


def find_location(organisation: str, name: str) -> Location:
    """Return an organisation's folder or database by its name in DPGEO_SOURCES.

    Raises InvalidInput if there is none.
    """
    for each in list_locations(organisation):
        if each.name == name:
            return each
    raise InvalidInput(
        "The settings of this site name no folder {name!r} for your organisation.",
        name=name,
        field="location",
    )


def _parse(entry: str, number: int) -> Location:
    """Read the `number`-th entry of DPGEO_SOURCES.

    An error names only this number: a comma in a password splits an entry in two, so that quoting
    one would reveal a part of the password.
    """
    names, equals, root = entry.partition("=")
    organisation, slash, name = names.strip().partition("/")
    root = root.strip().rstrip("/")
    if not (equals and slash and organisation and name and root):
        raise ValueError(f"DPGEO_SOURCES: entry {number} is not like organisation/name=/folder.")
    is_copied, root = not root.startswith(NO_COPY), root.removeprefix(NO_COPY)
    if root.startswith(DATABASES):
        return TableLocation(organisation, name, root, is_copied)
    is_spark, root = root.startswith(SPARK), root.removeprefix(SPARK)
    if not root.startswith(OBJECT_STORE) and not Path(root).is_absolute():
        raise ValueError(f"DPGEO_SOURCES: the path of entry {number} is not absolute.")
    if is_spark:
        return SparkLocation(organisation, name, root, is_copied=False)
    return Location(organisation, name, root, is_copied)
