"""Checks of what an owner declares; each error names its field and the remedy."""

from __future__ import annotations

import unicodedata
import zoneinfo
from collections.abc import Mapping
from typing import Any

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.spatial.area import StudyArea

MAX_CORNERS = 20_000
"""Corners of a study area; more would weigh on every public page."""


def clean_text(value: object, *, field: str, longest: int, required: bool = False) -> str:
    """A public text without surrounding blanks. Raises InvalidInput."""
    text = str(value or "").strip()
    if required and not text:
        raise InvalidInput("Must not be empty; write a few words.", field=field)
    if len(text) > longest:
        raise InvalidInput(
            f"Has {len(text)} characters; shorten it to at most {longest}.", field=field
        )
    if any(unicodedata.category(sign) in {"Cc", "Cs"} and sign not in "\n\r\t" for sign in text):
        raise InvalidInput("Contains a control character; remove it.", field=field)
    return text


def clean_area(geometry: object) -> dict[str, Any]:
    """A study area as GeoJSON geometry. Raises InvalidInput."""
    if not isinstance(geometry, Mapping):
        raise InvalidInput(
            "Must be a GeoJSON Polygon or MultiPolygon with longitude first.", field="study_area"
        )
    try:
        area = StudyArea.from_geojson(geometry).to_geojson()
    except (ValueError, TypeError, AttributeError) as error:
        message = str(error) if isinstance(error, ValueError) else "Must be a GeoJSON geometry."
        raise InvalidInput(message, field="study_area") from None
    corners = _count_corners(area["coordinates"])
    if corners > MAX_CORNERS:
        raise InvalidInput(
            f"Has {corners:,} corners; simplify it to at most {MAX_CORNERS:,}.", field="study_area"
        )
    return area


def clean_time_zone(name: object) -> str:
    """A time zone of the IANA database. Raises InvalidInput."""
    text = str(name or "").strip()
    try:
        zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"{text!r} is not a time zone; write it like Europe/Berlin or UTC.", field="time_zone"
        ) from None
    return text


def clean_unit(unit: object) -> str:
    """A unit of privacy. Raises InvalidInput."""
    try:
        return Unit(str(unit)).value
    except ValueError:
        raise InvalidInput(
            f"{str(unit)!r} is not a unit of privacy; choose person or record.", field="unit"
        ) from None


def clean_file_name(name: object) -> str:
    """The last part of a file's name, as a label: printable, at most 255 characters."""
    last = str(name or "").replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(sign for sign in last if sign.isprintable()).strip()
    return printable[-255:] or "upload"


def _count_corners(coordinates: Any) -> int:
    if coordinates and isinstance(coordinates[0], (int, float)):
        return 1
    return sum(_count_corners(part) for part in coordinates)
