"""Towns of the world with their alternative names, from a table of GeoNames.

GeoNames (CC BY 4.0) publishes tables such as cities15000.zip: a line for each place, with 19
tab-separated columns, among them the names that the place has in other languages.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.ground.names import Place
from dpgeo.ground.world_search import city_box
from dpgeo.spatial.projection import MAX_LATITUDE

SUFFIXES = (".txt", ".zip")

COLUMNS = 19

NAME, OTHERS, LATITUDE, LONGITUDE, CLASS, CODE, COUNTRY, POPULATION = 1, 3, 4, 5, 6, 7, 8, 14

SETTLEMENT = "P"

CAPITAL = "PPLC"

MIN_CITY_PEOPLE = 15_000
"""Smallest population of a city; smaller places are towns. Capitals are a kind of their own."""


def towns(table: Path, countries: Mapping[str, str]) -> Iterator[Place]:
    """Yield the settlements of a table (.txt, or .zip with one), with all of their names.

    `countries` are the names of countries by their ISO 3166 codes. Raises InvalidInput if the file
    is not such a table.
    """
    try:
        with _lines(table) as lines:
            for number, line in enumerate(lines, 1):
                fields = line.rstrip("\r\n").split("\t")
                if len(fields) != COLUMNS:
                    raise ValueError(number)
                if fields[CLASS] == SETTLEMENT:
                    yield _town(fields, countries)
    except (ValueError, OSError, EOFError, LookupError, zipfile.BadZipFile) as error:
        raise InvalidInput(
            "This is not a table of GeoNames such as cities15000.zip, with {columns} columns.",
            columns=COLUMNS,
            field="extract",
        ) from error


def _town(fields: list[str], countries: Mapping[str, str]) -> Place:
    longitude, latitude = float(fields[LONGITUDE]), float(fields[LATITUDE])
    if not (abs(longitude) <= 180 and abs(latitude) <= MAX_LATITUDE and fields[NAME]):
        raise ValueError(fields[NAME])
    people = float(fields[POPULATION] or 0)
    kind = "city" if people >= MIN_CITY_PEOPLE else "town"
    return Place(
        name=fields[NAME],
        kind="capital" if fields[CODE] == CAPITAL else kind,
        shape=shapely.box(*city_box(longitude, latitude)),
        others=[name for name in fields[OTHERS].split(",") if name],
        within=countries.get(fields[COUNTRY], fields[COUNTRY]),
        population=people,
    )


@contextmanager
def _lines(table: Path) -> Iterator[IO[str]]:
    """Open a table, or the only table in a zip archive, as text."""
    if table.suffix != ".zip":
        with table.open(encoding="utf-8", newline="\n") as file:
            yield file
        return
    with zipfile.ZipFile(table) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(".txt"))
        with archive.open(member) as packed:
            yield io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
