"""Declared formats of times, each read by one pattern.

The owner chooses the formats of a whole column, once. If a column has several formats, each value
is read in the first format that it fits. In either case, how a value is read depends on the
declaration and the value alone; no value decides how another is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.ingest.declared_formats import NUMERIC, TICKS
from dpgeo.ingest.month_names import MONTHS
from dpgeo.ingest.text import cut_text, mask, text_bytes

DAY = 86_400
EXCEL_EPOCH = (date(1899, 12, 30) - date(1970, 1, 1)).days
PIVOT = 69
"""Smallest two-digit year in the 1900s; smaller ones are in the 2000s, as in POSIX.

Two-digit years therefore stand for 1969 to 2068.
"""

MAX_HOUR = 48
"""Hours from 24 on belong to the next day, as in timetables and in 24:00 of ISO 8601."""

FARTHEST = 3.4e10
"""Seconds from 1970 to a time after every supported year; numbers are clipped to plus or minus
this.
"""

NUMBER = r"^[+-]?[0-9]{1,19}(?:\.[0-9]+)?$"
ZONE = (
    r"(?: ?(?P<zone>[Zz]|(?:UTC|GMT)?[+-][0-9]{2}(?::?[0-9]{2})?|[A-Z]{3,5})"
    r"(?: ?\[[A-Za-z0-9_/+-]+\]| ?\([^()]*\))?)?"
)
"""Matches an offset from UTC or the abbreviation of a time zone.

Programs add the zone's name, as Java's [Europe/Berlin] and JavaScript's (Central European Time). It
follows an offset or an abbreviation, so it says nothing more.
"""

CLOCK = (
    r"(?:(?:,? +|[Tt])(?P<hour>[0-9]{1,2})[:.h时時](?P<minute>[0-9]{2})[分]?"
    r"(?:[:.]?(?P<second>[0-9]{2})秒?(?:[.,][0-9]+)?)?"
    rf"(?: ?(?P<half>[AaPp])\.? ?[Mm]\.?)?{ZONE}(?: Uhr)?)?$"
)
ISO_8601 = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    rf"{ZONE})?$"
)
TAIL = rf"^(?:[.,][0-9]+)?{ZONE}$"
"""Pattern of what may follow the seconds of a time in ISO 8601."""

DATE, MOMENT = len("2024-03-31"), len("2024-03-31T02:30:00")
MARKS = {4: b"-", 7: b"-", 10: b"Tt ", 13: b":", 16: b":"}
"""Characters allowed between the digits of an ISO 8601 time to the second, by position."""

COMPACT = (
    r"^(?P<year>[12][0-9]{3})(?P<month>[0-9]{2})(?P<day>[0-9]{2})"
    r"(?:[Tt _-]?(?P<hour>[0-9]{2}):?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    rf"{ZONE})?$"
)
YEAR = r"(?P<year>[0-9]{4}|[0-9]{2})"
ONE, TWO = r"(?P<day>[0-9]{1,2})", r"(?P<month>[0-9]{1,2})"
GAP = r"[./ -]"
WORD = r"(?P<month>\p{L}{3,})\.?"
WEEKDAY = r"^(?:\p{L}{2,10}\.?,? +)?"

PATTERNS = {
    "iso": [ISO_8601],
    "ymd": [
        rf"^(?P<year>[0-9]{{4}})[年./ -]{TWO}[月./ -]{ONE}日?{CLOCK}",
        rf"^(?P<year>[0-9]{{2}})[/-]{TWO}[/-]{ONE}{CLOCK}",
    ],
    "dmy": [rf"^{ONE}{GAP}{TWO}{GAP}{YEAR}{CLOCK}"],
    "mdy": [rf"^{TWO}{GAP}{ONE}{GAP}{YEAR}{CLOCK}"],
    "words": [
        rf"{WEEKDAY}{ONE}\.?(?:st|nd|rd|th)?[ -]*(?:de +)?{WORD}(?: de|,)?[ -]+{YEAR}{CLOCK}",
        rf"{WEEKDAY}{WORD} *{ONE}(?:st|nd|rd|th)?,? +{YEAR}{CLOCK}",
        rf"{WEEKDAY}{WORD} +{ONE} +(?P<hour>[0-9]{{2}}):(?P<minute>[0-9]{{2}}):"
        rf"(?P<second>[0-9]{{2}}){ZONE} +(?P<year>[0-9]{{4}})$",
    ],
    "compact": [COMPACT],
}


@dataclass(frozen=True, slots=True)
class TimeZone:
    """The declared time zone.

    `to_utc` converts seconds of local time to UTC. `abbreviations` are the offsets from UTC, in
    seconds, by the abbreviations in use there, such as CET.
    """

    to_utc: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    abbreviations: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Seconds since 1970, float64 (n,), and a mask, bool (n,), of values that fit the format."""

    seconds: NDArray[np.float64]
    fits: NDArray[np.bool_]


def read_text(text: pa.Array, code: str, zone: TimeZone) -> Read:
    """Read texts in the format `code`; times without a UTC offset are read in `zone`."""
    if code in NUMERIC:
        numeric = pc.match_substring_regex(text, NUMBER)
        numbers = pc.if_else(numeric, text, pa.scalar(None, text.type)).cast(pa.float64())
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        return Read(read_numbers(values, code, zone), mask(numeric))
    if code != "iso":
        return _by_patterns(text, code, zone)
    result, plain = _plain_iso(text, zone)
    if not plain.all():
        others = np.flatnonzero(~plain)
        rest = _by_patterns(text.take(pa.array(others)), code, zone)
        result.seconds[others], result.fits[others] = rest.seconds, rest.fits
    return result


def _by_patterns(text: pa.Array, code: str, zone: TimeZone) -> Read:
    """Read texts by the patterns of a format, each text by the first pattern that it fits."""
    result = Read(np.zeros(len(text)), np.zeros(len(text), dtype=bool))
    for pattern in PATTERNS[code]:
        times = _calendar(pc.extract_regex(text, pattern), zone)
        fresh = times.fits & ~result.fits
        result.seconds[fresh] = times.seconds[fresh]
        result.fits[fresh] = True
    return result


def _plain_iso(text: pa.Array, zone: TimeZone) -> tuple[Read, NDArray[np.bool_]]:
    """Read the usual texts of ISO 8601 from the fixed positions of their digits.

    The usual texts are dates, and dates with a time to the second, with or without a fraction and
    an offset. Returns their times, and a mask (n,) of the texts that are usual. The caller matches
    all others with a regular expression, which would give the same times here, but takes ten times
    as long.
    """
    characters, starts = text_bytes(text)
    lengths = np.diff(starts)
    result = Read(np.zeros(len(text)), np.zeros(len(text), dtype=bool))
    plain = np.zeros(len(text), dtype=bool)
    for width, chosen in ((DATE, lengths == DATE), (MOMENT, lengths >= MOMENT)):
        which = np.flatnonzero(chosen & mask(pc.is_valid(text)))
        if not len(which):
            continue
        windows = np.lib.stride_tricks.sliding_window_view(characters, width)
        signs = np.ascontiguousarray(windows[starts[which]].T)
        well_formed = _well_formed(signs)
        which, signs = which[well_formed], signs[:, well_formed]
        year, month, day, hour, minute, second = _digits(signs)
        clock, fits = _clock((year, month, day, hour, minute, second))
        offset, local = np.zeros(len(which), dtype=np.int64), np.ones(len(which), dtype=bool)
        if width == MOMENT and (lengths[which] > MOMENT).any():
            tails = cut_text(characters, starts[which] + MOMENT, starts[which + 1])
            offset, local, known = _tails(tails, zone)
            fits &= known
        seconds = np.where(fits, clock - offset, 0)
        local &= fits
        seconds[local] = zone.to_utc(clock[local])
        result.seconds[which], result.fits[which], plain[which] = seconds, fits, True
    return result, plain


def _well_formed(signs: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask (n,) of the texts with digits and marks where ISO 8601 has them.

    `signs`, uint8, has a column of bytes for each text.
    """
    good = np.ones(signs.shape[1], dtype=bool)
    for place, row in enumerate(signs):
        if place in MARKS:
            good &= (
                np.isin(row, list(MARKS[place]))
                if len(MARKS[place]) > 1
                else (row == MARKS[place][0])
            )
        else:
            good &= row - np.uint8(ord("0")) <= 9
    return good


def _digits(signs: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
    """Return year, month, day, hour, minute and second, int64 (n,) each; 0 for what is missing."""
    numbers = []
    for first, last in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)):
        value = np.zeros(signs.shape[1], dtype=np.int64)
        for row in signs[first:last]:
            value = value * 10 + (row - np.uint8(ord("0")))
        numbers.append(value)
    return numbers


def _tails(
    tails: pa.Array, zone: TimeZone
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Read what follows the seconds: a fraction, which is dropped, and an offset from UTC.

    Returns the offsets in seconds, and masks of the times without offset and of valid tails.
    """
    encoded = tails.dictionary_encode()
    parts = pc.extract_regex(encoded.dictionary, TAIL)
    written, which = parts.field("zone"), encoded.indices.to_numpy()
    offset, known = _offsets(written, zone)
    known &= mask(pc.is_valid(parts))
    return offset[which], mask(pc.equal(written, ""))[which], known[which]


def read_numbers(
    values: NDArray[np.float64] | NDArray[np.int64], code: str, zone: TimeZone
) -> NDArray[np.float64]:
    """Convert numbers to seconds since 1970; `code` (of NUMERIC) says what the numbers count."""
    if code != "excel":
        return np.clip(values / TICKS[code], -FARTHEST, FARTHEST)
    local = np.clip((values + EXCEL_EPOCH) * DAY, -FARTHEST, FARTHEST)
    finite = np.where(np.isfinite(local), local, 0)
    # A fraction of a day is rarely exact in binary, so the seconds are rounded, not cut off.
    return zone.to_utc(np.round(finite).astype(np.int64)).astype(np.float64)


def _calendar(parts: pa.Array, zone: TimeZone) -> Read:
    """Return the times in seconds, given a struct of their written parts ("year" to "zone")."""
    fits = mask(pc.is_valid(parts))
    names = {field.name for field in parts.type}
    year, day, hour, minute, second = (
        _whole(parts.field(name)) for name in ("year", "day", "hour", "minute", "second")
    )
    short = mask(pc.equal(pc.utf8_length(parts.field("year")), 2))
    year = np.where(short, year + np.where(year < PIVOT, 2000, 1900), year)
    month = _months(parts.field("month"))
    if "half" in names:
        half = pc.utf8_lower(parts.field("half"))
        evening, halved = mask(pc.equal(half, "p")), mask(pc.is_in(half, pa.array(["a", "p"])))
        fits &= ~halved | ((hour >= 1) & (hour <= 12))
        hour = np.where(halved, hour % 12 + 12 * evening, hour)
    clock, possible = _clock((year, month, day, hour, minute, second))
    fits &= possible
    offset, known = _offsets(parts.field("zone"), zone)
    local = mask(pc.equal(parts.field("zone"), "")) & fits
    fits &= known
    result = np.where(fits, clock - offset, 0)
    local &= fits
    result[local] = zone.to_utc(clock[local])
    return Read(result.astype(np.float64), fits)


def _clock(parts: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return dates and times as seconds since 1970, and a mask (n,) of those that exist.

    `parts` are year, month, day, hour, minute and second; an hour from 24 on is one of the next
    day. No offset from UTC is applied yet. Seconds of times that do not exist, such as 30 February,
    have no meaning.
    """
    year, month, day, hour, minute, second = parts
    fits = (month >= 1) & (month <= 12) & (hour < MAX_HOUR) & (minute < 60) & (second < 60)
    first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    after = (first + np.timedelta64(1, "M")).astype("datetime64[D]")
    length = (after - first.astype("datetime64[D]")).astype(np.int64)
    fits &= (day >= 1) & (day <= length)
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    clock = np.where(fits, days * DAY + hour * 3600 + minute * 60 + second, 0)
    return clock.clip(int(-FARTHEST), int(FARTHEST)), fits


def _whole(digits: pa.Array) -> NDArray[np.int64]:
    """Parse texts of digits as int64; a missing or empty text gives 0."""
    filled = pc.if_else(pc.equal(digits, ""), "0", digits).fill_null("0")
    whole: NDArray[np.int64] = filled.cast(pa.int64()).to_numpy()
    return whole


def _months(texts: pa.Array) -> NDArray[np.int64]:
    """Return the number of each month, written in digits or as a word; 0 for other words."""
    encoded = texts.fill_null("").dictionary_encode()
    numbers = [
        int(text) if text.isdecimal() else MONTHS.get(text.casefold(), 0)
        for text in encoded.dictionary.to_pylist()
    ]
    months: NDArray[np.int64] = np.array([*numbers, 0])[encoded.indices.to_numpy()]
    return months


def _offsets(written: pa.Array, zone: TimeZone) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the written offsets from UTC in seconds, and a mask of the known ones."""
    encoded = written.fill_null("").dictionary_encode()
    offsets = [_written_offset(name, zone) for name in encoded.dictionary.to_pylist()]
    which = encoded.indices.to_numpy()
    seconds_east = np.array([offset or 0 for offset in offsets], dtype=np.int64)
    possible = np.array([offset is not None for offset in offsets], dtype=bool)
    return seconds_east[which], possible[which]


def _written_offset(name: str, zone: TimeZone) -> int | None:
    if name in {"", "Z", "z", "UTC", "GMT"}:
        return 0
    if name.isalpha():
        return zone.abbreviations.get(name)
    digits = re.sub("[^0-9]", "", name).ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if "-" in name else 1)
