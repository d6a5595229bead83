"""Query parameters, declared once for each address as a model, for both parsing and OpenAPI."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from pydantic import PlainValidator, WithJsonSchema

from dpgeo.core.declared import Declared, fact, schema_of, unknown, without_field
from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text
from dpgeo.datasets.selectors import Box

SLUG = r"[A-Za-z0-9_-]{1,80}"

MAX_LIMIT = 100
DEFAULT_LIMIT = 20

Q = TypeVar("Q", bound=Declared)


def read_query(given: QueryDict, model: type[Q]) -> Q:
    """Return the query parameters of a request; absent ones have their defaults.

    Raises InvalidInput, which names the parameter, if one is unknown, given twice or malformed.
    """
    if not given:
        return model()
    known = [field.alias or name for name, field in model.model_fields.items()]
    for name in given:
        if name not in known:
            raise unknown("parameter", name, known, none="this address takes none.", field=name)
        if len(given.getlist(name)) > 1:
            raise InvalidInput("Is given more than once; give it once.", field=name)
    return model.read(given.dict(), strict=True)


def query_schemas(model: type[Declared]) -> dict[str, dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = schema_of(model)["properties"]
    return schemas


def openapi(model: type[Declared]) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(name, schema, description=schema.pop("description"))
        for name, schema in query_schemas(model).items()
    ]


def parsed(read: Callable[[str], Any]) -> PlainValidator:
    """Return the validator of a parameter whose text `read` parses; it raises InvalidInput."""
    return PlainValidator(lambda text: without_field(read, text))


def schema(kind: str = "string", **facts: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": kind, **facts})


def read_slug(text: str) -> str:
    if not re.fullmatch(SLUG, text):
        raise InvalidInput("Must be letters, digits, - and _, as in the addresses of this API.")
    return text


def read_limit(text: str) -> int:
    """Return the largest number of results on a page, parsed from `text`. Raises InvalidInput."""
    if not _is_count(text, MAX_LIMIT):
        raise InvalidInput(
            "Must be a whole number from 1 to {most}; follow `next` for further pages.",
            most=MAX_LIMIT,
        )
    return int(text)


def read_count(text: str, *, most: int) -> int:
    if not _is_count(text, most):
        raise InvalidInput("Must be a whole number from 1 to {most}.", most=most)
    return int(text)


def _is_count(text: str, most: int) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,9}", text)) and 1 <= int(text) <= most


def read_box(text: str) -> Box:
    parts = text.split(",")
    if len(parts) != 4:
        raise InvalidInput("Must be four numbers: west,south,east,north in degrees.")
    try:
        west, south, east, north = (float(number_text(part)) for part in parts)
    except ValueError:
        raise InvalidInput("Must be four numbers: west,south,east,north in degrees.") from None
    if not all(map(math.isfinite, (west, south, east, north))):
        raise InvalidInput("Has a side that is not a finite number; correct it.")
    if abs(west) > 180 or abs(east) > 180 or abs(south) > 90 or abs(north) > 90:
        raise InvalidInput(
            "Longitudes lie between -180 and 180 and latitudes between -90 and 90; give "
            "west,south,east,north, longitude first."
        )
    if west > east:
        raise InvalidInput(
            "The west side lies east of the east side. For a box across the antimeridian, send two "
            "requests: one up to 180, one from -180."
        )
    if south > north:
        raise InvalidInput("The south side lies north of the north side; swap them.")
    return west, south, east, north


def read_date(text: str) -> datetime.date:
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidInput("Must be a calendar day, such as 2026-03-31.") from None


def choice(choices: Sequence[str]) -> PlainValidator:
    def read(text: str) -> str:
        if text not in choices:
            raise InvalidInput(
                "Is not a choice; choose from {choices}.", choices=", ".join(choices)
            )
        return text

    return parsed(read)


SlugText = Annotated[str, parsed(read_slug), schema()]
BoxText = Annotated[Box, parsed(read_box), schema()]
DayText = Annotated[datetime.date, parsed(read_date), schema(format="date")]
Limit = Annotated[int, parsed(read_limit), schema("integer", minimum=1, maximum=MAX_LIMIT)]


class PageQuery(Declared):
    limit: Limit = fact(f"Results on a page, at most {MAX_LIMIT}.", DEFAULT_LIMIT)
    cursor: str = fact(
        "Where the page starts; part of the address `next` on the page before.", None
    )


class FoundQuery(PageQuery):
    organisation: SlugText = fact("Only results of this publisher, by its slug.", None)
    bbox: BoxText = fact(
        "Only results whose study area's bounding box touches this box: "
        "west,south,east,north in degrees.",
        None,
    )
