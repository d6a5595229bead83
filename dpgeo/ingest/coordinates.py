"""Coordinates in degrees, out of numbers, text or points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from numpy.typing import NDArray

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import Reason
from dpgeo.ingest.text import bounded, is_text, mask, readable_text

NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"
COMMA_NUMBER = r"^[+-]?[0-9]*,[0-9]+$"
NOT_FINITE = r"(?i)^[+-]?(?:nan|inf|infinity)$"


@dataclass(frozen=True, slots=True)
class Axis:
    """One of the two coordinates: its limit in degrees and what is said when it is unusable."""

    limit: float
    missing: Reason
    comma: Reason
    not_finite: Reason
    not_number: Reason
    out_of_range: Reason


LATITUDE = Axis(
    90,
    Reason.LATITUDE_MISSING,
    Reason.LATITUDE_COMMA,
    Reason.LATITUDE_NOT_FINITE,
    Reason.LATITUDE_NOT_NUMBER,
    Reason.LATITUDE_RANGE,
)
LONGITUDE = Axis(
    180,
    Reason.LONGITUDE_MISSING,
    Reason.LONGITUDE_COMMA,
    Reason.LONGITUDE_NOT_FINITE,
    Reason.LONGITUDE_NOT_NUMBER,
    Reason.LONGITUDE_RANGE,
)


def degrees(values: Any, axis: Axis, sieve: Sieve) -> NDArray[np.float64]:
    """One coordinate of every row as float64 (n,); NaN where the row is refused.

    Text must be a plain decimal number with a point. The nearest double is taken, so a number
    and its shortest text give the same position.
    """
    numbers = _parsed(values, axis, sieve) if is_text(values.type) else values
    result: NDArray[np.float64] = (
        numbers.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    )
    sieve.refuse(mask(pc.is_null(numbers)), axis.missing, values)
    sieve.refuse(~np.isfinite(result), axis.not_finite, values)
    sieve.refuse(np.abs(result) > axis.limit, axis.out_of_range, values)
    return result


def _parsed(values: Any, axis: Axis, sieve: Sieve) -> Any:
    """Text as float64; null where it is missing or refused."""
    text = readable_text(values, sieve)
    number = pc.match_substring_regex(text, NUMBER)
    if not pc.all(number, skip_nulls=False).as_py():
        sieve.refuse(mask(pc.is_null(text)) | mask(pc.equal(text, "")), axis.missing)
        sieve.refuse(mask(pc.match_substring_regex(text, COMMA_NUMBER)), axis.comma, text)
        sieve.refuse(mask(pc.match_substring_regex(text, NOT_FINITE)), axis.not_finite, text)
        sieve.refuse(~mask(number), axis.not_number, text)
        text = pc.if_else(number, text, pa.scalar(None, text.type))
    return text.cast(pa.float64())


def points(values: Any, sieve: Sieve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitude and latitude, float64 (n,) each, of WKB points; NaN where the row is refused."""
    words, codes, too_long = bounded(values)
    sieve.refuse(too_long, Reason.GEOMETRY_NOT_POINT)
    binary = words if codes is None else words.take(codes)
    sieve.refuse(mask(pc.is_null(binary)), Reason.GEOMETRY_MISSING)
    shapes = shapely.from_wkb(binary.to_numpy(zero_copy_only=False), on_invalid="ignore")
    kind = shapely.get_type_id(shapes)
    empty = shapely.is_empty(shapes)
    sieve.refuse(kind < 0, Reason.GEOMETRY_UNREADABLE)
    sieve.refuse(kind != shapely.GeometryType.POINT, Reason.GEOMETRY_NOT_POINT, shapes)
    sieve.refuse(empty, Reason.GEOMETRY_MISSING)
    shapes[empty | (kind != shapely.GeometryType.POINT)] = None  # GEOS raises for these
    longitude, latitude = shapely.get_x(shapes), shapely.get_y(shapes)
    for found, axis in ((latitude, LATITUDE), (longitude, LONGITUDE)):
        sieve.refuse(~np.isfinite(found), axis.not_finite, found)
        sieve.refuse(np.abs(found) > axis.limit, axis.out_of_range, found)
    return longitude, latitude
