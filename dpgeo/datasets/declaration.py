"""Validation of a dataset's declaration; each error names the field and how to fix it."""

from __future__ import annotations

import datetime
import json
import unicodedata
import zoneinfo
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from dpgeo.blanks import trim
from dpgeo.core.attributes import MOST_COMBINATIONS, OTHER, Attribute, combinations
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.nouns import NOUNS
from dpgeo.core.themes import THEMES
from dpgeo.datasets.models import NewFiles
from dpgeo.phrases import InvalidValue, Phrase, phrase_of
from dpgeo.spatial.area import StudyArea

MAX_CORNERS = 20_000
"""Maximum number of vertices of a study area; more would slow down every public page."""

MOST_VALUES = 1000
"""Maximum number of values of one public attribute."""

LONGEST_NAME = 60
"""Maximum length of a public attribute's name, in characters."""

LONGEST_VALUE = 100

TAKEN = frozenset({"bbox", "fid", "geom", "geometry", "id", "latitude", "longitude", "time"})
"""Column names that at least one output format for points already uses."""

POSITIONS = frozenset(
    {
        *("coordinates", "easting", "geohash", "lat", "lng", "lon", "long", "northing"),
        *("point", "position", "wkb", "wkt", "x", "y"),
    }
)
"""Usual names of location columns, which public attributes must not have."""


def clean_text(value: object, *, field: str, longest: int, required: bool = False) -> str:
    """Return a public text of at most `longest` characters, without surrounding blanks.

    Raises InvalidInput, which names `field`, for longer texts, for control characters, and for an
    empty text that is `required`.
    """
    text = trim(str(value or ""))
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


MOST_KEYWORDS = 20

LONGEST_KEYWORD = 50


def clean_keywords(words: object) -> list[str]:
    """Return public keywords without duplicates. Raises InvalidInput for an invalid keyword."""
    listed = _texts(words, field="keywords")
    each = [clean_text(word, field="keywords", longest=LONGEST_KEYWORD) for word in listed]
    unique = list({word.casefold(): word for word in reversed(each) if word}.values())[::-1]
    if len(unique) > MOST_KEYWORDS:
        raise InvalidInput(
            "Has {count} keywords; keep the {most} that matter most.",
            count=len(unique),
            most=MOST_KEYWORDS,
            field="keywords",
        )
    return unique


def clean_themes(codes: object) -> list[str]:
    """Return theme codes without duplicates, in the order of the vocabulary.

    Raises InvalidInput for an unknown code.
    """
    chosen = {code.strip() for code in _texts(codes, field="themes")}
    for code in sorted(chosen - set(THEMES)):
        raise InvalidInput(
            "{code!r} is not a theme; choose from {known}.",
            code=code,
            known=", ".join(THEMES),
            field="themes",
        )
    return [code for code in THEMES if code in chosen]


def clean_contact(address: object) -> str:
    """Return an e-mail address, or "" for an empty one. Raises InvalidInput if it is invalid."""
    text = clean_text(address, field="contact", longest=254)
    try:
        if text:
            validate_email(text)
    except ValidationError:
        raise InvalidInput(
            "{text!r} is not an e-mail address.", text=text, field="contact"
        ) from None
    return text


def clean_day(day: object, *, field: str) -> datetime.date | None:
    """Return a calendar day, such as "2026-03-31", or None if none is given.

    Raises InvalidInput, which names `field`, for an invalid day.
    """
    if day is None or isinstance(day, datetime.date):
        return day
    text = str(day).strip()
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%d").date() if text else None
    except ValueError:
        raise InvalidInput("Must be a calendar day, such as 2026-03-31.", field=field) from None


def _texts(values: object, *, field: str) -> list[str]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidInput("Must be a list of texts.", field=field)
    if not all(isinstance(value, str) for value in values):
        raise InvalidInput("Must be a list of texts.", field=field)
    return list(values)


def clean_area(geometry: object) -> dict[str, Any]:
    """Return a study area as a GeoJSON geometry. Raises InvalidInput if it is invalid."""
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
    """Return the names of the IANA time zones that a dataset can have."""
    # Python may also list "localtime", the machine's own zone, which DuckDB does not know.
    return frozenset(zoneinfo.available_timezones() - {"localtime"})


def clean_time_zone(name: object) -> str:
    """Return `name` if it names an IANA time zone. Raises InvalidInput otherwise."""
    text = str(name or "").strip()
    if text not in time_zones():
        raise InvalidInput(
            "{text!r} is not a time zone; write it like Europe/Berlin or UTC.",
            text=text,
            field="time_zone",
        )
    return text


def clean_unit(unit: object) -> str:
    """Return the privacy unit. Raises InvalidInput if it is unknown."""
    try:
        return Unit(str(unit)).value
    except ValueError:
        raise InvalidInput(
            "{unit!r} is not a privacy unit; choose person or record.",
            unit=str(unit),
            field="unit",
        ) from None


def clean_new_files(value: object) -> str:
    """Return whether a further file replaces the data or is added. Raises InvalidInput."""
    text = str(value or NewFiles.REPLACE.value)
    if text not in NewFiles.values:
        raise InvalidInput(
            "{text!r} is not a way to treat further files; choose replace or append.",
            text=text,
            field="new_files",
        )
    return text


def clean_row_noun(noun: object) -> str:
    """Return the owner's noun for a row, or "" if none was chosen.

    Raises InvalidInput for a noun that is not on the list.
    """
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
    """Return valid public attributes: [{"column": "...", "values": ["...", ...]}, ...].

    An attribute must not have the name of another column of the published points, and the number of
    combinations of values is limited. Raises InvalidInput for invalid attributes.
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
    """Return one public attribute. Raises InvalidInput if it is invalid."""
    if not isinstance(declared, Mapping) or set(declared) != {"column", "values"}:
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    listed = declared["values"]
    texts = [declared["column"], *(listed if isinstance(listed, list | tuple) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(NOT_ATTRIBUTES, field=ATTRIBUTES)
    column = clean_line(texts[0], field=ATTRIBUTES, longest=LONGEST_NAME)
    # Normalise the values in the same way as ingestion does before it compares them.
    lines = [clean_line(text, field=ATTRIBUTES, longest=LONGEST_VALUE) for text in texts[1:]]
    values = [unicodedata.normalize("NFC", line) for line in lines]
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


def clean_line(text: str, *, field: str, longest: int, required: bool = True) -> str:
    """Return a valid text that has a single line. Raises InvalidInput, which names `field`."""
    line = clean_text(text, field=field, longest=longest, required=required)
    if len(line.splitlines()) > 1 or "\t" in line:
        raise InvalidInput(
            "A name or value contains a line break; write it on one line.", field=field
        )
    return line


def clean_file_name(name: object) -> str:
    """Return a file's name without folders, printable and at most 255 characters long."""
    last = str(name or "").replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(sign for sign in last if sign.isprintable()).strip()
    return printable[-255:] or "upload"


def _count_corners(coordinates: Any) -> int:
    if coordinates and isinstance(coordinates[0], (int, float)):
        return 1
    return sum(_count_corners(part) for part in coordinates)


def read_outline(text: str) -> StudyArea:
    """Return a study area parsed from GeoJSON text. Raises ValueError if it is invalid."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidValue("This is not JSON; paste the whole GeoJSON text.") from None
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        features = document.get("features")
        if not isinstance(features, list) or len(features) != 1:
            raise InvalidValue("A collection must hold exactly one feature: the outline.")
        document = features[0]
    if not isinstance(document, dict):
        raise InvalidValue("The study area is not a GeoJSON geometry; give a Polygon.")
    return StudyArea.from_geojson(document)


def read_attribute(line: str) -> dict[str, Any]:
    """Return a public attribute parsed from a line such as "app: 1.4, 2.0".

    Raises ValueError if the line is invalid.
    """
    column, colon, values = line.rpartition(":")
    if not colon:
        raise InvalidValue(
            "{line} has no colon; write a column and its values, like app: 1.4, 2.0.",
            line=repr(line[:60]),
        )
    listed = [trim(value) for value in values.split(",")]
    return {"column": trim(column), "values": [value for value in listed if value]}
