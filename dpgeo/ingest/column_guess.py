"""Suggestions of columns, derived from column names, and warnings about the first rows.

Suggestions are shown to the owner before the schema is declared. They have no effect unless the
owner confirms them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.core.number_text import number_text
from dpgeo.ingest.column_words import (
    COLUMN_WORDS,
    DESTINATION_WORDS,
    KIND_WORDS,
    LINKS,
    NUMBER_WORDS,
    REGION_WORDS,
    SPAN_WORDS,
    UNIT_WORDS,
    words_of,
)
from dpgeo.ingest.crs import WGS84, suggested_code
from dpgeo.ingest.format_guess import guess_pair, guess_time
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.times import MIDNIGHT, read_formats
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea

CLOCK = re.compile(r"[0-2]?[0-9][:.h][0-5][0-9]([:.][0-5][0-9](\.[0-9]+)?)?( ?[aApP]\.?[mM]\.?)?")
"""Matches a time of day."""

SHORT_CLOCK = re.compile(r"[0-2]?[0-9][0-5][0-9]")
"""Matches a time of day without a colon."""

ZONE = re.compile(r"(?:UTC|GMT)?[+-][0-9]{2}:?[0-9]{2}|[A-Z]{3,5}|[A-Z][a-z]+/[A-Za-z_/]+")
"""Matches an offset from UTC, or the name of a time zone."""

EARLY_NUMBER = 315_532_800
"""Seconds from 1970 to 1980; smaller numbers in a time column are rarely seconds since 1970."""


def suggest(names: Sequence[str], geometry: str = "", crs: str = "") -> Columns:
    """Return the likeliest column for each role, "" where none is likely.

    `geometry` is the column that the file itself declares as its geometry, and `crs` the coordinate
    system that it declares. A pair of coordinate columns is preferred to a geometry column, since
    people can read and check coordinates.
    """
    ends = suggest_destination(names)
    names = [name for name in names if name not in ends.values()]
    columns = {role: _likeliest(names, words.split()) for role, words in COLUMN_WORDS.items()}
    columns["person"] = _person([name for name in names if not words_of(name) & KIND_WORDS])
    columns["geometry"] = geometry or columns["geometry"]
    if columns["longitude"] and columns["longitude"] == columns["latitude"]:
        # A column such as LatLng holds both.
        columns["geometry"] = columns["longitude"]
        columns["longitude"] = columns["latitude"] = ""
    if columns["longitude"] and columns["latitude"]:
        columns["geometry"] = ""
    elif columns["geometry"]:
        columns["longitude"] = columns["latitude"] = ""
    positioned = columns["geometry"] or (columns["longitude"] and columns["latitude"])
    if not positioned and (region := _likeliest(names, REGION_WORDS.split())):
        columns |= {"longitude": "", "latitude": "", "region": region}
        columns["person"] = columns["person"] or _likeliest(names, UNIT_WORDS.split())
    crs = suggested_code(crs) if columns["geometry"] else WGS84
    return Columns(**columns, **ends, crs=crs)


def suggest_destination(names: Sequence[str]) -> dict[str, str]:
    """Return the pair of columns that says where trips end, by role; {} if there is none.

    Returns {} too if the file has no other pair of position columns, for where the trips begin.
    """
    marked = [name for name in names if words_of(name) & DESTINATION_WORDS]
    others = [name for name in names if name not in marked]
    axes = ("longitude", "latitude")
    ends = {axis: _likeliest(marked, COLUMN_WORDS[axis].split()) for axis in axes}
    starts = [_likeliest(others, COLUMN_WORDS[axis].split()) for axis in axes]
    if not all(ends.values()) or not all(starts) or ends["longitude"] == ends["latitude"]:
        return {}
    return {f"destination_{axis}": name for axis, name in ends.items()}


def _likeliest(names: Sequence[str], words: list[str]) -> str:
    """Return the first name that contains a word of `words`, where earlier words take precedence.

    A word of one or two Latin letters, such as x or at, must be the whole name. Chinese and
    Japanese do not separate words, so in these languages a part of the name is enough. Returns ""
    if no name contains any of the words.
    """
    parts = [words_of(name) for name in names]
    for word in words:
        for name, own in zip(names, parts, strict=True):
            if not word.isascii() and any(word in each for each in own):
                return name
            if word in own and (len(word) > 2 or name.lower() == word):
                return name
    return ""


def _person(names: Sequence[str]) -> str:
    words = COLUMN_WORDS["person"].split()
    return _likeliest(names, words) or _compound(names, set(words))


def _compound(names: Sequence[str], persons: set[str]) -> str:
    """Return the first name that joins words for a person and a number, such as Kundennr."""
    for name in names:
        stems = {stem for word in words_of(name) for stem in _stems(word)}
        if stems & persons:
            return name
    return ""


def _stems(word: str) -> Iterator[str]:
    """Yield a word without its part for "number" and letters that join it.

    For example, "kundennr" gives "kunden" and "kunde".
    """
    for part in NUMBER_WORDS.split():
        rests = [word.removesuffix(part)] if word.endswith(part) else []
        rests += [word.removeprefix(part)] if word.startswith(part) else []
        for rest in filter(None, rests):
            yield from (rest[: len(rest) - len(link)] for link in LINKS if rest.endswith(link))


def suggest_time(
    columns: Columns, names: Sequence[str], rows: Sequence[Sequence[str]], time_zone: str
) -> Columns:
    """Replace the suggested time column by one whose values are times, if it has none itself.

    A name says "time" of many things: how long a trip took, in which zone it was, how exact the
    clock is. If no column's values are times, a suggested column of such things is dropped, and any
    other is kept, so that its owner is told what is wrong with its values.
    """
    if not columns.time:
        return columns
    words = set(COLUMN_WORDS["time"].split())
    others = [name for name in names if name != columns.time and words_of(name) & words]
    values = {name: [row[index] for row in rows if row[index]] for index, name in enumerate(names)}
    for name in (columns.time, *others):
        if _are_times(pa.array(values[name], pa.string()), time_zone):
            return replace(
                columns, time=name, person=columns.person if columns.person != name else ""
            )
    texts = values[columns.time]
    spans = words_of(columns.time) & SPAN_WORDS or all(map(ZONE.fullmatch, texts))
    return replace(columns, time="") if texts and spans else columns


def suggest_clock(columns: Columns, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Columns:
    """Add a date column and a time-of-day column to the suggested columns, if there are both.

    They are recognised by their values.
    """
    values = {name: [row[index] for row in rows if row[index]] for index, name in enumerate(names)}
    free = [name for name in names if name and name not in set(asdict(columns).values())]
    clocks = [name for name in (columns.time, *free) if name and _are_clocks(name, values[name])]
    if not clocks:
        return columns
    dates = [name for name in (columns.time, *free) if name and name not in clocks]
    dates = [name for name in dates if _are_days(values[name])]
    return replace(columns, time=dates[0], clock=clocks[0]) if dates else columns


def _are_clocks(name: str, texts: Sequence[str]) -> bool:
    """Return whether the values are times of day; without colons, the column's name must say so."""
    if words_of(name) & set(COLUMN_WORDS["time"].split()) and all(
        map(SHORT_CLOCK.fullmatch, texts)
    ):
        return bool(texts)
    return bool(texts) and all(map(CLOCK.fullmatch, texts))


def _are_days(texts: Sequence[str]) -> bool:
    """Return whether the values are dates, none of which has a time of day."""
    plain = [re.sub(MIDNIGHT, "", text) for text in texts]
    return bool(plain) and not any(":" in text for text in plain) and _are_times(pa.array(plain))


def suggest_by_values(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Columns:
    """Return the likeliest columns of a file without a header, judged by its first rows.

    The position is taken from the first two columns of fractional numbers that can be degrees, with
    the latitude first unless only the other order is possible. The time is a column of dates, and
    the person is one of the other columns in which values recur.
    """
    values = [pa.array([row[index] for row in rows], pa.string()) for index in range(len(names))]
    left = dict(zip(names, values, strict=True))
    columns: dict[str, str] = {}
    places = [name for name, texts in left.items() if _are_degrees(texts)][:2]
    if len(places) == 2:
        first, second = (np.abs(_numbers(left[name].to_pylist())) for name in places)
        beyond = bool((first > 90).any() and not (second > 90).any())
        columns["latitude"], columns["longitude"] = reversed(places) if beyond else places
    elif points := [name for name, texts in left.items() if _is_geometry(texts)]:
        columns["geometry"] = points[0]
    left = {name: texts for name, texts in left.items() if name not in columns.values()}
    if times := [name for name, texts in left.items() if _are_times(texts)]:
        columns["time"] = times[0]
    others = [name for name in left if name not in times]
    recurring = [name for name in others if len(set(left[name].to_pylist())) < len(rows)]
    if others:
        columns["person"] = (recurring or others)[0]
    return Columns(**columns)


def _are_degrees(texts: pa.Array) -> bool:
    numbers = _numbers([text.replace(",", ".") for text in texts.to_pylist()])
    finite = numbers[np.isfinite(numbers)]
    if len(finite) * 2 <= len(numbers):
        return False
    return bool((np.abs(finite) <= 180).mean() > 0.9 and (finite != np.floor(finite)).mean() > 0.5)


def _is_geometry(texts: pa.Array) -> bool:
    start = pc.starts_with(pc.utf8_upper(texts), "POINT")
    return bool(pc.sum(start).as_py() or 0) or bool(guess_pair(texts))


def _are_times(texts: pa.Array, time_zone: str = "UTC") -> bool:
    """Return whether most values are dates, or seconds, milliseconds or the like since 1970."""
    guess = guess_time(texts, time_zone)
    if not len(texts) or guess.declared == "excel":
        return False
    formats = guess.declared.split() or ["iso", "s"]
    formats_read = read_formats(texts, time_zone, formats)
    recent = (
        formats_read.fits & (formats_read.seconds > EARLY_NUMBER) & (formats_read.seconds < 2**32)
    )
    return bool(recent.mean() > 0.5)


def hints(
    names: Sequence[str], rows: Sequence[Sequence[str]], columns: Columns, area: StudyArea | None
) -> list[Phrase]:
    """Return warnings about the positions and times in a file's first rows."""
    if not rows:
        return []
    sentences = []
    values = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    if columns.longitude and columns.latitude and not columns.position_format:
        sentences += _position_hints(values[columns.longitude], values[columns.latitude], area)
    if columns.time and not columns.time_format:
        sentences += _time_hints(columns.time, values[columns.time])
    return sentences


def _position_hints(
    longitudes: Sequence[str], latitudes: Sequence[str], area: StudyArea | None
) -> list[Phrase]:
    if any(re.fullmatch(r"-?[0-9]+,[0-9]+", text) for text in [*longitudes, *latitudes]):
        comma = Phrase(
            "The coordinates have a decimal comma. Rows with one are left out: export the numbers "
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
        return [Phrase("Longitudes go beyond 180. Such rows are left out: subtract 360 from them.")]
    if area is not None and not area.covers(lon, lat).any():
        return [Phrase("None of the first rows lies in the study area.")]
    return []


def _look_swapped(
    lon: NDArray[np.float64], lat: NDArray[np.float64], area: StudyArea | None
) -> bool:
    """Return whether longitude and latitude look swapped.

    They look swapped if only swapping makes them valid, or if swapping moves most positions into
    the study area.
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


def _number(text: str) -> float:
    try:
        return float(number_text(text))
    except ValueError:
        return math.nan


def _numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.array([_number(text) for text in texts], dtype=np.float64)
