"""Times as whole seconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import Reason
from dpgeo.ingest.text import is_text, mask, readable_text

EARLIEST = int(datetime(1000, 1, 1, tzinfo=UTC).timestamp())
LATEST = int(datetime(3000, 1, 1, tzinfo=UTC).timestamp()) - 1
EPOCH = r"^[+-]?[0-9]{1,15}(?:\.[0-9]+)?$"
ISO_8601 = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"(?: ?(?P<zone>[Zz]|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?$"
)
DAY = 86_400


def seconds(values: Any, time_zone: str, sieve: Sieve) -> NDArray[np.int64]:
    """Parse times to seconds, int64 (n,), rounded down.

    Text is ISO 8601 (`2024-03-31`, `2024-03-31T02:30`, `2024-03-31 02:30:00.5+02:00`) or seconds
    since 1970, numbers are seconds since 1970, and Parquet's dates and timestamps are used
    directly. The values of refused rows have no meaning. Times without an offset are read in
    `time_zone` by `local_to_utc`. A row whose declared time is missing or unreadable is refused: a
    release for a time window must know of every row whether it lies in the window.
    """
    sieve.refuse(mask(pc.is_null(values)), Reason.TIME_MISSING)
    if is_text(values.type):
        result = _from_text(readable_text(values, sieve), time_zone, sieve)
    else:
        numeric, local = _from_numbers(values)
        sieve.refuse(~np.isfinite(numeric), Reason.TIME_UNREADABLE, values)
        result = _bounded(numeric, sieve, values)
        if local:
            result = local_to_utc(result, time_zone)
    return result


def local_to_utc(local: NDArray[np.int64], time_zone: str) -> NDArray[np.int64]:
    """Convert seconds, int64 (n,), of local time in `time_zone` to UTC.

    When clocks change, a time that occurs twice is taken as the first of the two, and a time that
    is skipped is read with the offset from before the change: 02:30 in the night when summer time
    begins is 03:30. This is `fold=0` of Python's `datetime` (PEP 495). On a day without a change
    the offset is computed only once.
    """
    zone = ZoneInfo(time_zone)
    days, day_of = np.unique(local // DAY, return_inverse=True)
    starts = np.array([_offset(int(day) * DAY, zone) for day in days], dtype=np.int64)
    ends = np.array([_offset(int(day + 1) * DAY, zone) for day in days], dtype=np.int64)
    offset = starts[day_of]
    changing = np.flatnonzero((starts != ends)[day_of])
    moments, moment_of = np.unique(local[changing], return_inverse=True)
    exact = np.array([_offset(int(moment), zone) for moment in moments], dtype=np.int64)
    offset[changing] = exact[moment_of]
    return local - offset


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


def _from_numbers(values: Any) -> tuple[NDArray[np.float64] | NDArray[np.int64], bool]:
    """Return a Parquet column's times in seconds, and whether they are local time."""
    kind = values.type
    if pa.types.is_date(kind):
        return values.cast(pa.date32(), safe=False).cast(pa.int32()).fill_null(0).to_numpy().astype(
            np.int64
        ) * DAY, True
    if pa.types.is_timestamp(kind):
        ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        numeric = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // ticks
        return numeric, kind.tz is None
    numbers = values.cast(pa.float64(), safe=False).fill_null(0)
    return numbers.to_numpy(zero_copy_only=False), False


def _from_text(text: Any, time_zone: str, sieve: Sieve) -> NDArray[np.int64]:
    sieve.refuse(mask(pc.equal(text, "")), Reason.TIME_MISSING)
    epoch = pc.match_substring_regex(text, EPOCH)
    numeric = mask(epoch)
    if numeric.any():
        numbers = pc.if_else(epoch, text, pa.scalar(None, text.type)).cast(pa.float64())
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        result = _bounded(values, sieve, text)
    else:
        result = np.zeros(len(text), dtype=np.int64)
    if not numeric.all():
        iso, readable = _from_iso(text, time_zone)
        sieve.refuse(~readable & ~numeric, Reason.TIME_UNREADABLE, text)
        iso = _bounded(np.where(readable, iso, 0), sieve, text)
        result = np.where(numeric, result, iso)
    return result


def _from_iso(text: Any, time_zone: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    parts = pc.extract_regex(text, ISO_8601)
    readable = mask(pc.is_valid(parts))
    year, month, day, hour, minute, second = (
        _whole(parts.field(name)) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    readable &= (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    length = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    readable &= (day >= 1) & (day <= length)
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    clock = np.where(readable, days * DAY + hour * 3600 + minute * 60 + second, 0)
    clock = clock.clip(EARLIEST - 2 * DAY, LATEST + 2 * DAY)  # `_bounded` refuses times so far off
    zone = parts.field("zone")
    offset, known = _zone_offsets(zone)
    local = mask(pc.equal(zone, ""))
    readable &= known
    result = clock - offset
    result[local] = local_to_utc(clock[local], time_zone)
    return result, readable


def _whole(digits: Any) -> NDArray[np.int64]:
    """Parse texts of digits as int64; a missing or empty text gives 0."""
    filled = pc.if_else(pc.equal(digits, ""), "0", digits).fill_null("0")
    whole: NDArray[np.int64] = filled.cast(pa.int64()).to_numpy()
    return whole


def _zone_offsets(zone: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each written offset from UTC in seconds, and whether it can be one."""
    encoded = zone.fill_null("").dictionary_encode()
    offsets = [_written_offset(name) for name in encoded.dictionary.to_pylist()]
    which = encoded.indices.to_numpy()
    seconds_east = np.array([offset or 0 for offset in offsets], dtype=np.int64)
    possible = np.array([offset is not None for offset in offsets], dtype=bool)
    return seconds_east[which], possible[which]


def _written_offset(name: str) -> int | None:
    if name in {"", "Z", "z", "UTC"}:
        return 0
    digits = name[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if name[0] == "-" else 1)
