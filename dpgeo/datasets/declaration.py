"""Validation of a dataset's declaration; errors name the field and the remedy."""

from __future__ import annotations

import unicodedata
import zoneinfo
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dpgeo.core.attributes import MOST_COMBINATIONS, OTHER, Attribute, combinations
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.nouns import NOUNS
from dpgeo.phrases import Phrase, phrase_of
from dpgeo.spatial.area import StudyArea

MAX_CORNERS = 20_000
"""Most corners of a study area; more would slow down every public page."""

MOST_VALUES = 1000
"""Most values of one public attribute."""

LONGEST_NAME = 60
"""Longest name of a public attribute, in characters."""

LONGEST_VALUE = 100

TAKEN = frozenset({"bbox", "fid", "geom", "geometry", "id", "latitude", "longitude", "time"})
"""Column names that some output format of points already uses."""

POSITIONS = frozenset(
    {
        *("coordinates", "easting", "geohash", "lat", "lng", "lon", "long", "northing"),
        *("point", "position", "wkb", "wkt", "x", "y"),
    }
)
"""Usual names of location columns, which no public attribute may have."""


def clean_text(value: object, *, field: str, longest: int, required: bool = False) -> str:
    """Return a public text without surrounding blanks. Raises InvalidInput."""
    text = str(value or "").strip()
    if required and not text:
        raise InvalidInput("Must not be empty; write a few words.", field=field)
    if len(text) > longest:
        raise InvalidInput(
            "Has {size} characters; shorten it to at most {longest}.",
            size=len(text),
            longest=longest,
            field=field,
        )
    if any(unicodedata.category(sign) in {"Cc", "Cs"} and sign not in "\n\r\t" for sign in text):
        raise InvalidInput("Contains a control character; remove it.", field=field)
    return text


def clean_area(geometry: object) -> dict[str, Any]:
    """Validate a study area and return it as a GeoJSON geometry. Raises InvalidInput."""
    if not isinstance(geometry, Mapping):
        raise InvalidInput(
            "Must be a GeoJSON Polygon or MultiPolygon with longitude first.", field="study_area"
        )
    try:
        area = StudyArea.from_geojson(geometry).to_geojson()
    except (ValueError, TypeError, AttributeError) as error:
        plain = Phrase("Must be a GeoJSON geometry.")
        problem = phrase_of(error) if isinstance(error, ValueError) else plain
        raise InvalidInput(problem, field="study_area") from None
    corners = _count_corners(area["coordinates"])
    if corners > MAX_CORNERS:
        raise InvalidInput(
            "Has {corners:,} corners; simplify it to at most {most:,}.",
            corners=corners,
            most=MAX_CORNERS,
            field="study_area",
        )
    return area


@cache
def time_zones() -> frozenset[str]:
    """Return the names of the known time zones."""
    # Python may also list "localtime", the machine's own zone, which DuckDB does not know.
    return frozenset(zoneinfo.available_timezones() - {"localtime"})


def clean_time_zone(name: object) -> str:
    """Validate the name of an IANA time zone. Raises InvalidInput."""
    text = str(name or "").strip()
    if text not in time_zones():
        raise InvalidInput(
            "{text!r} is not a time zone; write it like Europe/Berlin or UTC.",
            text=text,
            field="time_zone",
        )
    return text


def clean_unit(unit: object) -> str:
    """Validate a privacy unit. Raises InvalidInput."""
    try:
        return Unit(str(unit)).value
    except ValueError:
        raise InvalidInput(
            "{unit!r} is not a privacy unit; choose person or record.",
            unit=str(unit),
            field="unit",
        ) from None


def clean_row_noun(noun: object) -> str:
    """Validate the owner's word for a row; "" leaves it open. Raises InvalidInput."""
    text = str(noun or "").strip()
    if text and text not in NOUNS:
        raise InvalidInput(
            "{text!r} is not among the words for rows; choose one of these, or none: {words}.",
            text=text,
            words=", ".join(NOUNS),
            field="row_noun",
        )
    return text


def clean_attributes(declared: object) -> list[dict[str, Any]]:
    """Validate public attributes: [{"column": "...", "values": ["...", ...]}, ...].

    An attribute's name must not be the name of another column of the published points, and the
    number of combinations of values is limited. Raises InvalidInput.
    """
    if not isinstance(declared, Sequence) or isinstance(declared, str):
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    attributes = [_clean_attribute(each) for each in declared]
    names = [attribute.column.lower() for attribute in attributes]
    for name in names:
        if name in TAKEN or names.count(name) > 1:
            raise InvalidInput(
                "{name!r} is the name of another column of the files; rename the attribute.",
                name=name,
                field=ATTRIBUTES,
            )
        if name in POSITIONS:
            raise InvalidInput(
                "{name!r} is a usual name for a column of positions, which would be published "
                "unchanged; leave it out, or rename the column if it says nothing about where "
                "a report was made.",
                name=name,
                field=ATTRIBUTES,
            )
    if combinations(attributes) > MOST_COMBINATIONS:
        raise InvalidInput(
            "Their values make more than {most:,} combinations; declare fewer.",
            most=MOST_COMBINATIONS,
            field=ATTRIBUTES,
        )
    return [attribute.to_json() for attribute in attributes]


ATTRIBUTES = "public_attributes"

NOT_ATTRIBUTES = 'Must be a list like [{"column": "device", "values": ["phone", "tablet"]}].'


def _clean_attribute(declared: object) -> Attribute:
    """Validate one public attribute. Raises InvalidInput."""
    if not isinstance(declared, Mapping) or set(declared) != {"column", "values"}:
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    listed = declared["values"]
    texts = [declared["column"], *(listed if isinstance(listed, list | tuple) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    column = _clean_line(texts[0], LONGEST_NAME)
    # Normalize as ingestion does before it compares values.
    values = [unicodedata.normalize("NFC", _clean_line(text, LONGEST_VALUE)) for text in texts[1:]]
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None or OTHER in values:
        raise InvalidInput(
            "{value!r} is listed twice among the values of {column!r}; {other!r} is always "
            "included and must not be listed.",
            value=twice or OTHER,
            column=column,
            other=OTHER,
            field=ATTRIBUTES,
        )
    if not 1 <= len(values) <= MOST_VALUES:
        raise InvalidInput(
            "List from 1 to {most:,} values of {column!r}; every other one is published as "
            "{other!r}.",
            most=MOST_VALUES,
            column=column,
            other=OTHER,
            field=ATTRIBUTES,
        )
    return Attribute(column, tuple(values))


def _clean_line(text: Any, longest: int) -> str:
    """Validate a text of one line. Raises InvalidInput."""
    line = clean_text(text, field=ATTRIBUTES, longest=longest, required=True)
    if len(line.splitlines()) > 1 or "\t" in line:
        raise InvalidInput(
            "A name or value contains a line break; write it on one line.", field=ATTRIBUTES
        )
    return line


def clean_file_name(name: object) -> str:
    """Return a file's name without folders: printable, at most 255 characters."""
    last = str(name or "").replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(sign for sign in last if sign.isprintable()).strip()
    return printable[-255:] or "upload"


def _count_corners(coordinates: Any) -> int:
    if coordinates and isinstance(coordinates[0], (int, float)):
        return 1
    return sum(_count_corners(part) for part in coordinates)
