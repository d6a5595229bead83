"""Gazetteer tables: CSV files with a row for each place.

The columns longitude and latitude (or lon and lat) are positions in degrees. All other columns,
except the key and the name, are levels of the hierarchy, in order from the widest to the finest.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpgeo.blanks import trim
from dpgeo.phrases import InvalidValue
from dpgeo.spatial.places import MAX_PLACES

LONGITUDE = ("longitude", "lon", "lng")
LATITUDE = ("latitude", "lat")
SEPARATORS = (",", ";", "\t")


def read_gazetteer(text: str, *, key: str = "", name: str = "") -> dict[str, Any]:
    """Convert a gazetteer table to a GeoJSON document for `Places.from_geojson`.

    `key` and `name` are the names of the columns with the places' keys and names. If they
    are empty, the columns "key" and "name" are used. Raises ValueError for an invalid
    table.
    """
    rows = _rows(text)
    header = [trim(column) for column in next(rows, [])]
    _check_header(header)
    longitude, latitude = _column(header, LONGITUDE), _column(header, LATITUDE)
    other_columns = {longitude, latitude, key or "key", name or "name"}
    features = [
        _feature(dict(zip(header, map(trim, values), strict=True)), longitude, latitude, number)
        for number, values in enumerate(_checked_rows(rows, len(header)), 1)
    ]
    if not features:
        raise InvalidValue("Has only a header; give a row for each place.")
    levels = [column for column in header if column not in other_columns]
    return {"type": "FeatureCollection", "levels": levels, "features": features}


def _rows(text: str) -> Iterator[list[str]]:
    """Yield the non-empty rows of a table.

    The separator is the one that is most frequent in the first line.
    """
    first = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=first.count)
    try:
        for row in csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True):
            if any(trim(cell) for cell in row):
                yield row
    except csv.Error as error:
        raise InvalidValue(
            "Is not a CSV table: {problem}; export it again.", problem=str(error)
        ) from None


def _checked_rows(rows: Iterator[list[str]], columns: int) -> Iterator[list[str]]:
    for number, row in enumerate(rows, 1):
        if number > MAX_PLACES:
            raise InvalidValue("Has more than {most:,} places; give fewer.", most=MAX_PLACES)
        if len(row) != columns:
            raise InvalidValue(
                "Row {number} has {count} cells where the first line has {columns}; quote "
                "cells that hold separators.",
                number=number,
                count=len(row),
                columns=columns,
            )
        yield row


def _check_header(header: Sequence[str]) -> None:
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise InvalidValue("Two columns are named {name!r}; give each its own name.", name=twice[0])
    if "" in header:
        raise InvalidValue("A column has no name; name every column in the first line.")


def _column(header: Sequence[str], known: Sequence[str]) -> str:
    for column in header:
        if column.casefold() in known:
            return column
    listed = ", ".join(header[:20]) or "none"
    raise InvalidValue(
        "Has no column {name}; name it so in the first line. It has: {listed}.",
        name=known[0],
        listed=listed,
    )


def _feature(row: Mapping[str, str], longitude: str, latitude: str, number: int) -> dict[str, Any]:
    try:
        at = [float(row[longitude]), float(row[latitude])]
    except ValueError:
        raise InvalidValue(
            "Row {number} has no position: {longitude} and {latitude} must be numbers in "
            "degrees, with a decimal point.",
            number=number,
            longitude=longitude,
            latitude=latitude,
        ) from None
    return {
        "type": "Feature",
        "properties": dict(row),
        "geometry": {"type": "Point", "coordinates": at},
    }
