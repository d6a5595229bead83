"""Guesses at the formats of times and positions, for the file's owner to confirm.

Privacy argument. A guess is made from the values, so it must not take effect unconfirmed: if rows
decided how rows are read, one person's row could change how others' rows are read. A guess is
therefore only ever *shown*, to the owner alone, together with the first rows as they would be read
with it. The owner declares a format by confirming it, just as the owner declares which column is
the time, and the declaration is recorded and fixed with the columns. From then on, how a row is
read depends on the declaration and the row alone (`canonical`), and a later file of the same
dataset is read with the same declaration whatever the file contains. What the declaration says
("days come before months") is a public parameter like the column names: it describes how the file
was written, not who is in it. API keys see only guesses made from the header.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.ingest.coordinates import NUMBER
from dpgeo.ingest.position_formats import DEGREES, decimals, split_pairs
from dpgeo.ingest.text import mask
from dpgeo.ingest.times import EARLIEST, LATEST, read_formats

ORDERS = ("dmy", "mdy", "ymd")
CALENDARS = ("iso", "compact", *ORDERS, "words")
EPOCHS = ((2e4, 8e4, "excel"), (3e8, 5e9, "s"), (3e11, 5e12, "ms"), (3e14, 5e15, "us"))
"""For each numeric time format, the range in which the median of a column's values must lie.

The formats are the days of spreadsheets, and seconds, milliseconds and microseconds since 1970.
"""

NOT_DEGREES = r"^[+-]?(?:[0-9]{4,5}|[2-9][0-9]{2}|1[89][0-9])(?:[.,][0-9]+)? *,? *[NSEWnsew]?$"
"""Matches numbers with four digits or more before the point, or from 180 on."""

NANOSECONDS = 3e17
MAX_METRES = 18e6
"""Upper limit on projected coordinates in metres; scaled degrees (e7, e6) are mostly larger."""

MIN_SHARE = 0.005
"""Share of a column's values that a second or later format must add to be suggested too."""


@dataclass(frozen=True, slots=True)
class TimeGuess:
    """The likeliest declaration of a time column's formats, and others that fit equally well."""

    declared: str
    rivals: tuple[str, ...] = ()


def guess_time(texts: pa.Array, time_zone: str = "UTC") -> TimeGuess:
    """Guess the formats of a column of times, given some of its values as trimmed text.

    Abbreviations of time zones are read as `time_zone` (IANA name) explains them.
    """
    texts = texts.filter(pc.fill_null(pc.not_equal(texts, ""), False))
    if not len(texts):
        return TimeGuess("")
    fitting = {code: _fits(texts, code, time_zone) for code in CALENDARS}
    epoch = _epoch(texts)
    if epoch:
        fitting[epoch] = _fits(texts, epoch, time_zone)
    chosen: list[str] = []
    left = np.ones(len(texts), dtype=bool)
    while left.any():
        shares = {code: (fits & left).sum() for code, fits in fitting.items()}
        best = max(shares, key=lambda code: shares[code])
        if shares[best] <= MIN_SHARE * len(texts):
            break
        chosen.append(best)
        left &= ~fitting[best]
    first = next((code for code in chosen if code in ORDERS), "")
    return TimeGuess(_declaration(chosen), _rivals(chosen, first, fitting))


def _rivals(
    chosen: Sequence[str], first: str, fitting: dict[str, NDArray[np.bool_]]
) -> tuple[str, ...]:
    """Return declarations that fit as well as `chosen` but order day, month and year otherwise."""
    if not first:
        return ()
    return tuple(
        _declaration([code if each == first else each for each in chosen])
        for code in ORDERS
        if code not in chosen and fitting[code][fitting[first]].all()
    )


def _declaration(chosen: Sequence[str]) -> str:
    return "" if set(chosen) <= {"iso", "s"} else " ".join(chosen)


def _fits(texts: pa.Array, code: str, time_zone: str) -> NDArray[np.bool_]:
    formats_read = read_formats(texts, time_zone, (code,))
    return formats_read.fits & (formats_read.seconds >= EARLIEST) & (formats_read.seconds <= LATEST)


def _epoch(texts: pa.Array) -> str:
    """Return the numeric time format that a column of mostly numbers may have, or "" if none."""
    numeric = mask(pc.match_substring_regex(texts, r"^[0-9]+(?:\.[0-9]+)?$"))
    if numeric.sum() * 100 < len(texts):
        return ""
    middle = float(np.median(texts.filter(pa.array(numeric)).cast(pa.float64()).to_numpy()))
    if middle > NANOSECONDS:
        return "ns"
    return next((code for low, high, code in EPOCHS if low <= middle < high), "")


def guess_numbers(latitudes: pa.Array, longitudes: pa.Array) -> str:
    """Guess the format of two columns of coordinates, given some values as trimmed text."""
    counts = {"": _numbers(latitudes, longitudes, "", 90)}
    if _are_packed(latitudes, longitudes):
        return "packed"
    if counts[""] == len(latitudes):
        return _scale(latitudes, longitudes)
    letters = _letters(latitudes, longitudes)
    if "o" in letters:
        return "degrees-ouest" if "e" in letters else "degrees-ost"
    in_degrees = {form: _numbers(latitudes, longitudes, form, 90) for form in ("comma", "degrees")}
    projected = {form: _numbers(latitudes, longitudes, form, inf) for form in ("comma", "grouped")}
    counts |= {form: max(in_degrees.get(form, 0), count) for form, count in projected.items()}
    counts["degrees"] = in_degrees["degrees"]
    return max(counts, key=lambda form: counts[form])


def _are_packed(latitudes: pa.Array, longitudes: pa.Array) -> bool:
    """Return whether all values are degrees and minutes of receivers, and none can be degrees.

    Receivers write at least four digits before the point; numbers above 180 are no degrees either.
    """
    both = len(latitudes) and _numbers(latitudes, longitudes, "packed", 90) == len(latitudes)
    return bool(both) and all(
        pc.all(pc.match_substring_regex(texts, NOT_DEGREES)).as_py()
        for texts in (latitudes, longitudes)
    )


def _letters(latitudes: pa.Array, longitudes: pa.Array) -> set[str]:
    """Return the letters, in lower case, with which coordinates begin or end."""
    parts = [pc.extract_regex(texts, DEGREES) for texts in (latitudes, longitudes)]
    found = [pc.utf8_lower(each.field(name)) for each in parts for name in ("before", "after")]
    return {letter for texts in found for letter in pc.unique(texts).to_pylist() if letter}


def _numbers(latitudes: pa.Array, longitudes: pa.Array, form: str, limit: float) -> int:
    """Count the pairs in which both texts are numbers in the format `form` and within range.

    Latitudes are at most `limit` and longitudes at most twice that. Plain numbers (`form` "") have
    no range.
    """
    both = np.ones(len(latitudes), dtype=bool)
    for texts, most in ((latitudes, limit), (longitudes, 2 * limit)):
        plain = decimals(texts, form, most) if form else texts
        number = pc.match_substring_regex(plain, NUMBER)
        values = pc.if_else(number, plain, None).cast(pa.float64()).fill_null(np.nan).to_numpy()
        with np.errstate(invalid="ignore"):
            both &= np.abs(values) <= (most if form else inf)
    return int(both.sum())


def _scale(latitudes: pa.Array, longitudes: pa.Array) -> str:
    """Return "e6" or "e7" if pairs of whole numbers seem to be degrees in that format, else "".

    The medians of their absolute values decide. Below MAX_METRES they may be metres. Otherwise
    the format is "e6" if that gives valid degrees, or else "e7" if that does.
    """
    pairs = [texts.cast(pa.float64()).to_numpy() for texts in (latitudes, longitudes)]
    if not len(pairs[0]) or any((values != np.floor(values)).any() for values in pairs):
        return ""
    latitude, longitude = (float(np.median(np.abs(values))) for values in pairs)
    if max(latitude, longitude) < MAX_METRES or latitude > 90e7 or longitude > 180e7:
        return ""
    return "e6" if latitude <= 90e6 and longitude <= 180e6 else "e7"


def guess_pair(texts: pa.Array) -> str:
    """Guess whether a column of text holds two numbers, and which of them comes first.

    Latitude comes first, as is usual, unless only the other order gives valid degrees.
    """
    first, second = split_pairs(texts)
    if first.null_count * 2 > len(texts):
        return ""
    usual = _numbers(first, second, "degrees", 90)
    other = _numbers(second, first, "degrees", 90)
    if not usual and not other:
        return ""
    return "lat-lon" if usual >= other else "lon-lat"
