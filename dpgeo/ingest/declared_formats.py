"""Codes and names of the formats that times and positions can be declared in."""

from __future__ import annotations

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase, listed

TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
NUMERIC = {*TICKS, "excel"}
"""Time formats that are plain numbers."""

USUAL = ("iso", "s")
"""The time formats of a column without a declared format."""

TIME_SENTENCES = {
    "iso": Phrase("year-month-day (ISO 8601)"),
    "ymd": Phrase("year, month, day"),
    "dmy": Phrase("day, month, year"),
    "mdy": Phrase("month, day, year"),
    "words": Phrase("the month as a word"),
    "compact": Phrase("digits without separators (20240331)"),
    "s": Phrase("seconds since 1970"),
    "ms": Phrase("milliseconds since 1970"),
    "us": Phrase("microseconds since 1970"),
    "ns": Phrase("nanoseconds since 1970"),
    "excel": Phrase("days as spreadsheets count them"),
}
"""Names of the time formats, as people know them."""

USUAL_TIMES = Phrase("year-month-day (ISO 8601), or seconds since 1970")
"""Words for the formats (USUAL) in which times are read if no format is declared."""

SCALES = {"e7": 1e7, "e6": 1e6}
"""Formats of whole numbers that count ten-millionths or millionths of a degree."""

POSITION_SENTENCES = {
    "": Phrase("decimal numbers"),
    "comma": Phrase("numbers with a decimal comma"),
    "grouped": Phrase("numbers with separators of thousands"),
    "degrees": Phrase("degrees, minutes and seconds, or with N, S, E, W"),
    "degrees-ost": Phrase("degrees, minutes and seconds, with O for east"),
    "degrees-ouest": Phrase("degrees, minutes and seconds, with O for west"),
    "packed": Phrase("degrees and minutes without a gap (5230.1)"),
    "e7": Phrase("whole numbers of ten millionths of a degree"),
    "e6": Phrase("whole numbers of millionths of a degree"),
    "lat-lon": Phrase("latitude and longitude in one column"),
    "lon-lat": Phrase("longitude and latitude in one column"),
}
"""Names of the position formats, as people know them."""

LETTER_O = {"degrees-ost": "e", "degrees-ouest": "w"}
"""What the letter O means in a format: east (as in German) or west (as in French or Spanish)."""

PAIRS = {"lat-lon", "lon-lat"}
"""Formats of a geometry column that holds both coordinates as text."""


def split_time_formats(declared: str) -> tuple[str, ...]:
    """Return the codes of a declaration such as "dmy iso". Raises InvalidInput."""
    codes = tuple(declared.split()) or USUAL
    unknown = [code for code in codes if code not in TIME_SENTENCES]
    if unknown:
        raise InvalidInput(
            "There is no time format {name!r}; the formats are {known}.",
            name=unknown[0][:20],
            known=listed(sorted(TIME_SENTENCES)),
            field="columns.time_format",
        )
    return codes


def check_position_format(code: str, *, geometry: bool) -> None:
    """Raise InvalidInput (field "columns.position_format") for an unknown format.

    If `geometry` is true, positions are in one column, otherwise in a pair of columns.
    """
    known = {"", *PAIRS} if geometry else POSITION_SENTENCES.keys() - PAIRS
    if code not in known:
        raise InvalidInput(
            "There is no format {name!r} of positions here; the formats are {known}.",
            name=code[:20],
            known=listed(sorted(known - {""})),
            field="columns.position_format",
        )
