"""Checks of what an owner declares; each error names its field and the remedy."""

from __future__ import annotations

import unicodedata
import zoneinfo
from collections.abc import Mapping, Sequence
from typing import Any

from dpgeo.core.attributes import MOST_COMBINATIONS, OTHER, Attribute, combinations
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.phrases import Phrase, phrase_of
from dpgeo.spatial.area import StudyArea

MAX_CORNERS = 20_000
"""Corners of a study area; more would weigh on every public page."""

MOST_VALUES = 1000
"""Of one public attribute."""

LONGEST_NAME = 60
"""Of a public attribute."""

LONGEST_VALUE = 100

TAKEN = frozenset({"bbox", "fid", "geom", "geometry", "id", "latitude", "longitude", "time"})
"""Names that columns of points have in some format already."""

POSITIONS = frozenset(
    {
        *("coordinates", "easting", "geohash", "lat", "lng", "lon", "long", "northing"),
        *("point", "position", "wkb", "wkt", "x", "y"),
    }
)
"""Names by which columns say where something is, which nothing public beside it may."""


def clean_text(value: object, *, field: str, longest: int, required: bool = False) -> str:
    """A public text without surrounding blanks. Raises InvalidInput."""
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
    """A study area as GeoJSON geometry. Raises InvalidInput."""
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


def clean_time_zone(name: object) -> str:
    """A time zone of the IANA database. Raises InvalidInput."""
    text = str(name or "").strip()
    # Beside these a system knows names of its own, such as posix/UTC, which DuckDB does not.
    if text not in zoneinfo.available_timezones() - {"localtime"}:
        raise InvalidInput(
            "{text!r} is not a time zone; write it like Europe/Berlin or UTC.",
            text=text,
            field="time_zone",
        )
    return text


def clean_unit(unit: object) -> str:
    """A unit of privacy. Raises InvalidInput."""
    try:
        return Unit(str(unit)).value
    except ValueError:
        raise InvalidInput(
            "{unit!r} is not a unit of privacy; choose person or record.",
            unit=str(unit),
            field="unit",
        ) from None


def clean_attributes(declared: object) -> list[dict[str, Any]]:
    """Public attributes as they are stored: [{"column": "...", "values": ["...", ...]}, ...].

    Raises InvalidInput. A name may be no other column's of a file of points, and every combination
    has a number.
    """
    if not isinstance(declared, Sequence) or isinstance(declared, str):
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    found = [_clean_attribute(each) for each in declared]
    names = [attribute.column.lower() for attribute in found]
    for name in names:
        if name in TAKEN or names.count(name) > 1:
            raise InvalidInput(
                "{name!r} is the name of another column of the files; rename the attribute.",
                name=name,
                field=ATTRIBUTES,
            )
        if name in POSITIONS:
            raise InvalidInput(
                "{name!r} is what columns of positions are called, and would be published as it "
                "is; leave it out, or rename the column if it says nothing of where a report was "
                "made.",
                name=name,
                field=ATTRIBUTES,
            )
    if combinations(found) > MOST_COMBINATIONS:
        raise InvalidInput(
            "Their values make more than {most:,} combinations; declare fewer.",
            most=MOST_COMBINATIONS,
            field=ATTRIBUTES,
        )
    return [attribute.to_json() for attribute in found]


ATTRIBUTES = "public_attributes"

NOT_ATTRIBUTES = 'Must be a list like [{"column": "device", "values": ["phone", "tablet"]}].'


def _clean_attribute(declared: object) -> Attribute:
    """One attribute. Raises InvalidInput."""
    if not isinstance(declared, Mapping) or set(declared) != {"column", "values"}:
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    listed = declared["values"]
    texts = [declared["column"], *(listed if isinstance(listed, list | tuple) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    column = _clean_words(texts[0], LONGEST_NAME)
    # As ingestion compares them.
    values = [unicodedata.normalize("NFC", _clean_words(text, LONGEST_VALUE)) for text in texts[1:]]
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None or OTHER in values:
        raise InvalidInput(
            "{value!r} stands twice among the values of {column!r}; {other!r} is always one of "
            "them and not to be listed.",
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


def _clean_words(text: Any, longest: int) -> str:
    """A text of one line. Raises InvalidInput."""
    words = clean_text(text, field=ATTRIBUTES, longest=longest, required=True)
    if len(words.splitlines()) > 1 or "\t" in words:
        raise InvalidInput(
            "A name or value holds a line break; write it in one line.", field=ATTRIBUTES
        )
    return words


def clean_file_name(name: object) -> str:
    """The last part of a file's name, as a label: printable, at most 255 characters."""
    last = str(name or "").replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(sign for sign in last if sign.isprintable()).strip()
    return printable[-255:] or "upload"


def _count_corners(coordinates: Any) -> int:
    if coordinates and isinstance(coordinates[0], (int, float)):
        return 1
    return sum(_count_corners(part) for part in coordinates)
