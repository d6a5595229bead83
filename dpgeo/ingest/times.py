"""Times as whole seconds since 1970 in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.blanks import BLANKS
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.declared_formats import NUMERIC, USUAL
from dpgeo.ingest.report import Reason
from dpgeo.ingest.text import is_ascii, is_text, lenient_text, mask, readable_text
from dpgeo.ingest.time_formats import DAY, Read, TimeZone, read_numbers, read_text

EARLIEST = int(datetime(1000, 1, 1, tzinfo=UTC).timestamp())
LATEST = int(datetime(3000, 1, 1, tzinfo=UTC).timestamp()) - 1


def seconds(
    values: Any, time_zone: str, sieve: Sieve, formats: Sequence[str] = USUAL
) -> NDArray[np.int64]:
    """Parse times to seconds, int64 (n,), rounded down.

    Text and numbers are read in the declared formats (`time_formats`), by default as ISO 8601
    (`2024-03-31`, `2024-03-31T02:30`, `2024-03-31 02:30:00.5+02:00`) or seconds since 1970;
    Parquet's dates and timestamps are used directly. The values of refused rows have no meaning.
    Times without an offset are read in `time_zone` by `local_to_utc`. A row whose declared time is
    missing or unreadable is refused: a release for a time window must know for every row whether it
    lies in the window.
    """
    sieve.refuse(mask(pc.is_null(values)), Reason.TIME_MISSING)
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moments, local = _from_calendar(values)
        moments = _bounded(moments, sieve, values)
        return local_to_utc(moments, time_zone) if local else moments
    numeric = [code for code in formats if code in NUMERIC]
    if not is_text(kind) and numeric:
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        sieve.refuse(~np.isfinite(numbers), Reason.TIME_UNREADABLE, values)
        return _bounded(read_numbers(numbers, numeric[0], known_zone(time_zone)), sieve, values)
    text = readable_text(values, sieve) if is_text(kind) else values.cast(pa.string())
    return _from_text(text, time_zone, sieve, formats)


MIDNIGHT = r"[T ]00:00(:00(\.0+)?)?$"
"""Matches the time of day that programs add when they store a date without a time."""


DIGITS = r"^([0-9]{1,2})([0-9]{2})$"
"""Matches a time of day without a colon, such as 1651 or 905."""


def with_clock(dates: Any, clocks: Any) -> pa.Array:
    """Join dates and times of day from two columns as text, with null if either is missing."""
    days = lenient_text(dates) if is_text(dates.type) else dates.cast(pa.string())
    hours = lenient_text(clocks) if is_text(clocks.type) else clocks.cast(pa.string())
    hours = pc.replace_substring_regex(hours, DIGITS, r"\1:\2")
    days = pc.replace_substring_regex(days, MIDNIGHT, "")
    empty = pc.or_(pc.equal(days, ""), pc.equal(hours, ""))
    return pc.if_else(empty, None, pc.binary_join_element_wise(days, hours, " "))


def local_to_utc(local: NDArray[np.int64], time_zone: str) -> NDArray[np.int64]:
    """Convert seconds, int64 (n,), of local time in `time_zone` to UTC.

    When clocks change, a time that occurs twice is taken as the first of the two, and a skipped
    time is read with the offset from before the change: 02:30 in the night when summer time begins
    is read as 03:30. This is `fold=0` of Python's `datetime` (PEP 495). The offset is computed only
    once for a day without a change.
    """
    zone = ZoneInfo(time_zone)
    day = local // DAY
    first = int(day.min(initial=0))
    # All times lie within a few thousand years. So it is quicker to mark the days that occur, in a
    # table of all days from the first to the last, than to sort them.
    occurs = np.zeros(int(day.max(initial=0)) - first + 2, dtype=bool)
    occurs[day - first] = True
    starts, ends = np.zeros((2, len(occurs)), dtype=np.int64)
    for index in np.flatnonzero(occurs):
        starts[index] = _offset((first + int(index)) * DAY, zone)
        ends[index] = _offset((first + int(index) + 1) * DAY, zone)
    offset = starts[day - first]
    changing = np.flatnonzero((starts != ends)[day - first])
    moments, moment_of = np.unique(local[changing], return_inverse=True)
    exact = np.array([_offset(int(moment), zone) for moment in moments], dtype=np.int64)
    offset[changing] = exact[moment_of]
    return local - offset


OTHER_NAMES = {"CET": "MEZ", "CEST": "MESZ", "EET": "OEZ", "EEST": "OESZ"}
"""German abbreviations of time zones, by the English ones."""


@cache
def known_zone(time_zone: str) -> TimeZone:
    """Return a time zone (IANA name) with the abbreviations that have had one meaning since 2000.

    An abbreviation such as IST means different things in different countries, so only those of the
    declared zone are read.
    """
    zone = ZoneInfo(time_zone)
    offsets: dict[str, set[int]] = {}
    for year in range(2000, 2038):
        for month in (1, 7):
            moment = datetime(year, month, 1, tzinfo=zone)
            name, offset = moment.tzname() or "", moment.utcoffset() or timedelta()
            for each in {name, OTHER_NAMES.get(name, name)}:
                offsets.setdefault(each, set()).add(round(offset.total_seconds()))
    meanings = {name: seen.pop() for name, seen in offsets.items() if len(seen) == 1}
    return TimeZone(partial(local_to_utc, time_zone=time_zone), meanings)


def _with_plain_blanks(text: Any) -> Any:
    """Replace each blank of any kind within texts, such as U+202F before PM, by a space."""
    if is_ascii(text):
        return text
    return pc.replace_substring_regex(text, f"[{re.escape(BLANKS)}]", " ")


@lru_cache(maxsize=1 << 14)
def _offset(local: int, zone: ZoneInfo) -> int:
    moment = (datetime(1970, 1, 1) + timedelta(seconds=local)).replace(tzinfo=zone)
    offset = moment.utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def _bounded(
    numeric: NDArray[np.float64] | NDArray[np.int64], sieve: Sieve, values: Any
) -> NDArray[np.int64]:
    """Round down to whole seconds; refuse rows outside the supported years."""
    fits = (numeric >= EARLIEST) & (numeric <= LATEST)
    sieve.refuse(~fits, Reason.TIME_RANGE, values)
    return np.floor(np.where(fits, numeric, 0)).astype(np.int64)


def _from_calendar(values: Any) -> tuple[NDArray[np.int64], bool]:
    """Return a Parquet column's times in seconds since 1970, and whether these are local time."""
    kind = values.type
    if pa.types.is_date(kind):
        days = values.cast(pa.date32(), safe=False).cast(pa.int32()).fill_null(0)
        return days.to_numpy().astype(np.int64) * DAY, True
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    numeric = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // ticks
    return numeric, kind.tz is None


def _from_text(
    text: Any, time_zone: str, sieve: Sieve, formats: Sequence[str]
) -> NDArray[np.int64]:
    sieve.refuse(mask(pc.equal(text, "")), Reason.TIME_MISSING)
    result = read_formats(text, time_zone, formats)
    usual = tuple(formats) == USUAL
    unreadable = Reason.TIME_UNREADABLE if usual else Reason.TIME_NOT_AS_DECLARED
    sieve.refuse(~result.fits, unreadable, text)
    return _bounded(result.seconds, sieve, text)


def read_formats(text: Any, time_zone: str, formats: Sequence[str]) -> Read:
    """Read each text in the first of the formats that it fits."""
    zone, text = known_zone(time_zone), _with_plain_blanks(text)
    result = read_text(text, formats[0], zone)
    for code in formats[1:]:
        if result.fits.all():
            break
        further = read_text(text, code, zone)
        fresh = further.fits & ~result.fits
        result.seconds[fresh] = further.seconds[fresh]
        result.fits[fresh] = True
    return result
