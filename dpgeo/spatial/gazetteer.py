"""A gazetteer as a table: a row for each place, with its position and a column for every level.

Columns named longitude and latitude (or lon and lat) hold positions in degrees. Unless levels are
named, every other column but the keys' is one, from the widest to the finest as they stand.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpgeo.phrases import Phrase
from dpgeo.spatial.places import MOST_PLACES

LONGITUDE = ("longitude", "lon", "lng")
LATITUDE = ("latitude", "lat")
SEPARATORS = (",", ";", "\t")


def read_gazetteer(text: str, *, key: str = "", name: str = "") -> dict[str, Any]:
    """The table as a document that `Places.from_geojson` reads. Raises ValueError."""
    rows = _rows(text)
    header = [column.strip() for column in next(rows, [])]
    _check_header(header)
    longitude, latitude = _column(header, LONGITUDE), _column(header, LATITUDE)
    apart = {longitude, latitude, key or "key", name or "name"}
    features = [
        _feature(dict(zip(header, values, strict=True)), longitude, latitude, number)
        for number, values in enumerate(_even(rows, len(header)), 1)
    ]
    if not features:
        raise ValueError(Phrase("Has no row but the first line; give a row for each place."))
    levels = [column for column in header if column not in apart]
    return {"type": "FeatureCollection", "levels": levels, "features": features}


def _rows(text: str) -> Iterator[list[str]]:
    """Rows, of whichever separator the first line has most of; empty ones are left out."""
    first = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=first.count)
    try:
        for row in csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True):
            if any(cell.strip() for cell in row):
                yield row
    except csv.Error as error:
        raise ValueError(
            Phrase("Is not a CSV table: {problem}; export it anew.", problem=str(error))
        ) from None


def _even(rows: Iterator[list[str]], columns: int) -> Iterator[list[str]]:
    for number, row in enumerate(rows, 1):
        if number > MOST_PLACES:
            raise ValueError(
                Phrase("Has more than {most:,} places; give at most so many.", most=MOST_PLACES)
            )
        if len(row) != columns:
            raise ValueError(
                Phrase(
                    "Row {number} has {count} cells where the first line has {columns}; quote "
                    "cells that hold separators.",
                    number=number,
                    count=len(row),
                    columns=columns,
                )
            )
        yield row


def _check_header(header: Sequence[str]) -> None:
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise ValueError(
            Phrase("Two columns are named {name!r}; give each its own name.", name=twice[0])
        )
    if "" in header:
        raise ValueError(Phrase("A column has no name; name every column in the first line."))


def _column(header: Sequence[str], known: Sequence[str]) -> str:
    for column in header:
        if column.casefold() in known:
            return column
    listed = ", ".join(header[:20]) or "none"
    raise ValueError(
        Phrase(
            "Has no column {name}; name it so in the first line. It has: {listed}.",
            name=known[0],
            listed=listed,
        )
    )


def _feature(row: Mapping[str, str], longitude: str, latitude: str, number: int) -> dict[str, Any]:
    try:
        at = [float(row[longitude]), float(row[latitude])]
    except ValueError:
        raise ValueError(
            Phrase(
                "Row {number} has no position: {longitude} and {latitude} are numbers, in degrees "
                "and with a point.",
                number=number,
                longitude=longitude,
                latitude=latitude,
            )
        ) from None
    return {
        "type": "Feature",
        "properties": {column: value.strip() for column, value in row.items()},
        "geometry": {"type": "Point", "coordinates": at},
    }
