"""Parsing of coordinates from numbers, text or points."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from numpy.typing import NDArray

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.crs import IN_DEGREES, WGS84, Bounds, Pair, to_wgs84
from dpgeo.ingest.declared_formats import PAIRS, SCALES
from dpgeo.ingest.position_formats import decimals, split_pairs
from dpgeo.ingest.report import Reason
from dpgeo.ingest.text import bounded, is_text, is_words, mask, readable_text, text_bytes

NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"
COMMA_NUMBER = r"^[+-]?[0-9]*,[0-9]+$"
SRID = r"(?:SRID=(?P<srid>[0-9]{1,6}); ?)?"
ORDINATE = r"[^\s()]+"
WKT_POINT = (
    rf"(?i)^{SRID}POINT\s*(?:Z|M|ZM)?"
    rf"\s*\(\s*(?P<x>{ORDINATE})\s+(?P<y>{ORDINATE})(?:\s+{ORDINATE}){{0,2}}\s*\)$"
)
WKT_EMPTY = rf"(?i)^{SRID}POINT\s*(?:Z|M|ZM)?\s+EMPTY$"
WKT_OTHER = (
    rf"(?i)^{SRID}"
    r"(?:LINESTRING|LINEARRING|POLYGON|TRIANGLE|MULTI[A-Z]+|GEOMETRYCOLLECTION|CIRCULARSTRING)\b"
)
IN_NUMBERS: NDArray[np.bool_] = np.isin(np.arange(256), list(b"0123456789.+-"))
OTHER_NOTATION = (
    r"(?i)^(?:0[01][0-9a-f]{40,}|\{.*\}|"
    r"(?:SRID=[0-9]{1,6}; ?)?MULTIPOINT\s*(?:Z|M|ZM)?\s*\([^,]*\))$"
)
NOT_FINITE = r"(?i)^[+-]?(?:nan|inf|infinity)$"


@dataclass(frozen=True, slots=True)
class Axis:
    """Latitude or longitude: its largest absolute value, and the reasons for refusing a row."""

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


EASTING, NORTHING = replace(LONGITUDE, limit=inf), replace(LATITUDE, limit=inf)


def numbers(values: Any, axis: Axis, sieve: Sieve, form: str = "") -> NDArray[np.float64]:
    """Parse coordinates as float64 (n,); the values of refused rows have no meaning.

    Text must be a number in the declared format `form` (`position_formats`), which is by default a
    plain decimal number with a point. It is rounded to the nearest double, so a number and its
    shortest text give the same position.
    """
    parsed = _parsed(values, axis, sieve, form) if is_text(values.type) else values
    result: NDArray[np.float64] = (
        parsed.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    )
    if form in SCALES:
        result = result / SCALES[form]
    sieve.refuse(mask(pc.is_null(parsed)), axis.missing, values)
    sieve.refuse(~np.isfinite(result), axis.not_finite, values)
    sieve.refuse(np.abs(result) > axis.limit, axis.out_of_range, values)
    return result


def _parsed(values: Any, axis: Axis, sieve: Sieve, form: str) -> Any:
    """Parse text as float64, with null for values that are missing or refused."""
    written = text = readable_text(values, sieve)
    if form and form not in SCALES:
        text = decimals(written, form, axis.limit)
    plain = plain_numbers(text)
    if plain is not None:
        return plain
    number = pc.match_substring_regex(text, NUMBER)
    if not pc.all(number, skip_nulls=False).as_py():
        sieve.refuse(mask(pc.is_null(text)) | mask(pc.equal(text, "")), axis.missing)
        sieve.refuse(mask(pc.match_substring_regex(text, COMMA_NUMBER)), axis.comma, written)
        sieve.refuse(mask(pc.match_substring_regex(text, NOT_FINITE)), axis.not_finite, written)
        sieve.refuse(~mask(number), axis.not_number, written)
        text = pc.if_else(number, text, pa.scalar(None, text.type))
    return text.cast(pa.float64())


def plain_numbers(text: Any) -> Any:
    """Parse texts as float64 if all consist of digits, points and signs alone, else return None.

    Of such texts, Arrow's parser reads exactly those that match NUMBER, in a third of the time that
    matching the pattern takes.
    """
    characters, _ = text_bytes(text)
    if text.null_count or not IN_NUMBERS[characters].all():
        return None
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


@dataclass(frozen=True, slots=True)
class PointsAs:
    """How a column of points is declared: axes, coordinate system, and position format."""

    x_axis: Axis
    y_axis: Axis
    crs: str = WGS84
    form: str = ""


def points(values: Any, declared: PointsAs, sieve: Sieve) -> Pair:
    """Parse points to coordinates, float64 (n,) each.

    A column of text is read as WKT, or as two numbers if that is declared. A column of bytes is
    read as WKB. The values of refused rows have no meaning.
    """
    if declared.form in PAIRS and is_text(values.type):
        return _number_pairs(values, declared, sieve)
    if is_words(values.type):
        return _text_points(values, declared, sieve)
    words, codes, too_long = bounded(values)
    sieve.refuse(too_long, Reason.GEOMETRY_NOT_POINT)
    binary = words if codes is None else words.take(codes)
    sieve.refuse(mask(pc.is_null(binary)), Reason.GEOMETRY_MISSING)
    shapes = shapely.from_wkb(binary.to_numpy(zero_copy_only=False), on_invalid="ignore")
    shapes = _single(shapes)
    kind = shapely.get_type_id(shapes)
    empty = shapely.is_empty(shapes)
    sieve.refuse(kind < 0, Reason.GEOMETRY_UNREADABLE)
    sieve.refuse(kind != shapely.GeometryType.POINT, Reason.GEOMETRY_NOT_POINT, shapes)
    sieve.refuse(empty, Reason.GEOMETRY_MISSING)
    # Shapely returns x and y of points only. Everything else becomes None, whose x and y are NaN.
    shapes[empty | (kind != shapely.GeometryType.POINT)] = None
    x, y = shapely.get_x(shapes), shapely.get_y(shapes)
    for coordinate, axis in ((y, declared.y_axis), (x, declared.x_axis)):
        sieve.refuse(~np.isfinite(coordinate), axis.not_finite, coordinate)
        sieve.refuse(np.abs(coordinate) > axis.limit, axis.out_of_range, coordinate)
    return x, y


def _single(shapes: NDArray[np.object_]) -> NDArray[np.object_]:
    """Replace each MultiPoint of one point, as some programs write points, by its point."""
    several = shapely.get_type_id(shapes) == shapely.GeometryType.MULTIPOINT
    alone = several & (shapely.get_num_geometries(shapes) == 1)
    return np.where(alone, shapely.get_geometry(shapes, 0), shapes) if alone.any() else shapes


def _as_wkt(text: Any) -> Any:
    """Rewrite points in other notations as WKT; texts in none of them stay as they are.

    The notations are WKB in hexadecimal digits, as databases export it, GeoJSON, and a MultiPoint
    of one point.
    """
    other = mask(pc.match_substring_regex(text, OTHER_NOTATION))
    if not other.any():
        return text
    which = np.flatnonzero(other)
    rewritten = [_point_wkt(each) for each in text.take(pa.array(which)).to_pylist()]
    result = np.array(text.to_pylist(), dtype=object)
    result[which] = rewritten
    return pa.array(result.tolist(), pa.string())


def _point_wkt(text: str) -> str:
    read = shapely.from_geojson if text.startswith("{") else shapely.from_wkb
    if text[0] in "mMsS":
        read = shapely.from_wkt
    try:
        (shape,) = _single(np.array([read(text.partition(";")[2] or text)], dtype=object))
    except (shapely.GEOSException, ValueError, TypeError):
        return text
    if not isinstance(shape, shapely.Point) or shape.is_empty:
        return text
    stated = re.match("(?i)SRID=([0-9]{1,6});", text)
    srid = stated[1] if stated else shapely.get_srid(shape)
    return f"SRID={srid};POINT ({shape.x!r} {shape.y!r})"


def _text_points(values: Any, declared: PointsAs, sieve: Sieve) -> Pair:
    """Parse texts such as `POINT (x y)`; a height or measure is ignored.

    A text that states a coordinate system (EWKT) other than the declared one is refused.
    """
    text = _as_wkt(readable_text(values, sieve))
    sieve.refuse(mask(pc.is_null(text)) | mask(pc.equal(text, "")), Reason.GEOMETRY_MISSING)
    sieve.refuse(mask(pc.match_substring_regex(text, WKT_OTHER)), Reason.GEOMETRY_NOT_POINT, text)
    sieve.refuse(mask(pc.match_substring_regex(text, WKT_EMPTY)), Reason.GEOMETRY_MISSING, text)
    parts = pc.extract_regex(text, WKT_POINT)
    sieve.refuse(mask(pc.is_null(parts)), Reason.GEOMETRY_UNREADABLE, text)
    code = WGS84 if declared.crs in IN_DEGREES else declared.crs
    stated = pa.array(["", "0", code.partition(":")[2]])
    known = mask(pc.is_in(parts.field("srid"), stated))
    sieve.refuse(~known, Reason.GEOMETRY_OTHER_SYSTEM, text)
    y = numbers(parts.field("y"), declared.y_axis, sieve)
    return numbers(parts.field("x"), declared.x_axis, sieve), y


def _number_pairs(values: Any, declared: PointsAs, sieve: Sieve) -> Pair:
    """Parse texts such as "52.5, 13.4"; degrees may have hemispheres (N, E) or minutes."""
    text = readable_text(values, sieve)
    sieve.refuse(mask(pc.is_null(text)) | mask(pc.equal(text, "")), Reason.GEOMETRY_MISSING)
    first, second = split_pairs(text)
    sieve.refuse(mask(pc.is_null(first)), Reason.NOT_A_PAIR, text)
    x, y = (second, first) if declared.form == "lat-lon" else (first, second)
    form = "degrees" if np.isfinite(declared.x_axis.limit) else "comma"
    latitude = numbers(y, declared.y_axis, sieve, form)
    return numbers(x, declared.x_axis, sieve, form), latitude


def project(pair: Pair, crs: str, bounds: Bounds, sieve: Sieve) -> Pair:
    """Convert coordinates in `crs` to degrees; refuse rows where this is impossible."""
    longitude, latitude = to_wgs84(*pair, crs, bounds)
    lost = ~(np.isfinite(longitude) & np.isfinite(latitude))
    sieve.refuse(lost, Reason.NOT_PROJECTABLE)
    return longitude, latitude
