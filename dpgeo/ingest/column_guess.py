"""Suggested columns, from their names, and warnings about the first rows.

Suggestions are shown to the owner before the schema is declared and have no effect by themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.number_text import number_text
from dpgeo.ingest.crs import WGS84, suggested_code
from dpgeo.ingest.schema import Columns
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea

WORDS = {
    "latitude": "latitude lat y",
    "longitude": "longitude lon lng long x",
    "person": (
        "person user userid username uid device deviceid subscriber member customer client "
        "patient rider passenger traveller traveler participant respondent imsi msisdn maid idfa "
        "card vehicle taxi"
    ),
    "time": "timestamp time datetime date when utc",
    "geometry": "geometry geom wkb wkt",
}
EARLY_NUMBER = 315_532_800
"""Seconds from 1970 to 1980; smaller numbers in a time column are rarely seconds since 1970."""


def suggest(names: Sequence[str], geometry: str = "", crs: str = "") -> Columns:
    """Return the likeliest column for each role, "" where none is likely.

    `geometry` is the column that the file itself declares as its geometry, and `crs` the coordinate
    system that it declares. A pair of coordinate columns is preferred to a geometry column, since
    people can read and check coordinates.
    """
    columns = {role: _likeliest(names, words.split()) for role, words in WORDS.items()}
    columns["geometry"] = geometry or columns["geometry"]
    if columns["longitude"] and columns["latitude"]:
        columns["geometry"] = ""
    elif columns["geometry"]:
        columns["longitude"] = columns["latitude"] = ""
    return Columns(**columns, crs=suggested_code(crs) if columns["geometry"] else WGS84)


def _likeliest(names: Sequence[str], words: list[str]) -> str:
    """Return the first name that contains a word of `words`; earlier words come first.

    A word of a single letter must be the whole name. Returns "" if no name contains any of them.
    """
    parts = [
        {name.lower(), *re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())}
        for name in names
    ]
    for word in words:
        for name, own in zip(names, parts, strict=True):
            if word in own and (len(word) > 1 or name.lower() == word):
                return name
    return ""


def hints(
    names: Sequence[str], rows: Sequence[Sequence[str]], columns: Columns, area: StudyArea | None
) -> list[Phrase]:
    """Return warnings about the header and the positions and times in the first rows."""
    if not rows:
        return []
    sentences = []
    if sum(map(_is_number, names)) > len(names) / 2:
        sentences.append(
            Phrase(
                "The first line looks like data. It is taken as the header: add a line with the "
                "columns' names above it."
            )
        )
    values = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    if columns.longitude and columns.latitude:
        sentences += _position_hints(values[columns.longitude], values[columns.latitude], area)
    if columns.time:
        sentences += _time_hints(columns.time, values[columns.time])
    return sentences


def _position_hints(
    longitudes: Sequence[str], latitudes: Sequence[str], area: StudyArea | None
) -> list[Phrase]:
    if any(re.fullmatch(r"-?[0-9]+,[0-9]+", text) for text in [*longitudes, *latitudes]):
        comma = Phrase(
            "The coordinates have a decimal comma. Rows with one are refused: export the numbers "
            "with a decimal point."
        )
        return [comma]
    lon, lat = _numbers(longitudes), _numbers(latitudes)
    both = np.isfinite(lon) & np.isfinite(lat)
    lon, lat = lon[both], lat[both]
    if not len(lon):
        return [Phrase("None of the first rows has a longitude and a latitude that are numbers.")]
    if np.median(np.abs(lon)) > 360 or np.median(np.abs(lat)) > 360:
        projected = Phrase(
            "The coordinates look projected (metres or feet), not degrees. Declare the code of "
            "their coordinate system, or reproject them to EPSG:4326 first."
        )
        return [projected]
    if _look_swapped(lon, lat, area):
        return [Phrase("Latitude and longitude look swapped. Swap the two columns.")]
    if (lon > 180).any():
        beyond = "Longitudes go beyond 180. Rows with one are refused: subtract 360 from those."
        return [Phrase(beyond)]
    if area is not None and not area.covers(lon, lat).any():
        return [Phrase("None of the first rows lies in the study area.")]
    return []


def _look_swapped(
    lon: NDArray[np.float64], lat: NDArray[np.float64], area: StudyArea | None
) -> bool:
    """Whether longitude and latitude look swapped.

    They do if only swapping makes them valid, or puts most of them into the study area.
    """
    if (np.abs(lat) > 90).sum() * 2 > len(lat):
        return bool((np.abs(lon) <= 90).all())
    return area is not None and bool(
        not area.covers(lon, lat).any() and area.covers(lat, lon).sum() * 2 > len(lat)
    )


def _time_hints(name: str, texts: Sequence[str]) -> list[Phrase]:
    numbers = _numbers(texts)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) or EARLY_NUMBER <= np.median(numbers) < 2**33:
        return []
    first = float(numbers[0])
    read_as = Phrase("which puts the first far in the future or past")
    if abs(first) < 2**33:
        moment = f"{datetime.fromtimestamp(first, UTC):%Y-%m-%d %H:%M}"
        read_as = Phrase("the first is {moment}", moment=moment)
    sentence = Phrase(
        "The numbers in {name!r} are read as seconds since 1970 ({read_as}). If they count "
        "something else, declare no time column or export the times as ISO 8601.",
        name=name,
        read_as=read_as,
    )
    return [sentence]


def _is_number(text: str) -> bool:
    return math.isfinite(_number(text))


def _number(text: str) -> float:
    try:
        return float(number_text(text))
    except ValueError:
        return math.nan


def _numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.array([_number(text) for text in texts], dtype=np.float64)
