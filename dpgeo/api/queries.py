"""Query parameters, each declared once for both strict parsing and OpenAPI."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter

from dpgeo.core.declared import unknown
from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text
from dpgeo.datasets.selectors import Box

SLUG = r"[A-Za-z0-9_-]{1,80}"

MAX_LIMIT = 100
DEFAULT_LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query parameter. `read` parses its text and raises InvalidInput for malformed text."""

    name: str
    description: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    default: Any = None


def read_queries(given: QueryDict, declared: Sequence[Query]) -> dict[str, Any]:
    """Return the value of every declared parameter by name; absent ones get their defaults.

    Raises InvalidInput, which names the parameter, if one is unknown, given twice or malformed.
    """
    known = {query.name: query for query in declared}
    for name in given:
        if name not in known:
            raise unknown(
                "parameter", name, list(known), none="this address takes none.", field=name
            )
        if len(given.getlist(name)) > 1:
            raise InvalidInput("Is given more than once; give it once.", field=name)
    return {query.name: _read(query, given) for query in declared}


def openapi(declared: Sequence[Query]) -> list[OpenApiParameter]:
    """Return the declared query parameters as parameters of the OpenAPI schema."""
    return [
        OpenApiParameter(query.name, dict(query.schema), description=query.description)
        for query in declared
    ]


def _read(query: Query, given: QueryDict) -> Any:
    if query.name not in given:
        return query.default
    try:
        return query.read(str(given[query.name]))
    except InvalidInput as error:
        raise InvalidInput(error.phrase, field=query.name) from None


def read_slug(text: str) -> str:
    """Parse a slug, the short name used in URLs. Raises InvalidInput."""
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
    """Parse a whole number from 1 to `most`. Raises InvalidInput."""
    if not _is_count(text, most):
        raise InvalidInput("Must be a whole number from 1 to {most}.", most=most)
    return int(text)


def _is_count(text: str, most: int) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,9}", text)) and 1 <= int(text) <= most


def read_box(text: str) -> Box:
    """Parse a bounding box west,south,east,north in degrees. Raises InvalidInput."""
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
    """Parse a calendar day such as 2026-03-31. Raises InvalidInput."""
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidInput("Must be a calendar day, such as 2026-03-31.") from None


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """Return a parser that returns any of the texts `choices` and raises InvalidInput otherwise."""

    def read(text: str) -> str:
        if text not in choices:
            raise InvalidInput(
                "Is not a choice; choose from {choices}.", choices=", ".join(choices)
            )
        return text

    return read


LIMIT = Query(
    name="limit",
    description=f"Results on a page, at most {MAX_LIMIT}.",
    read=read_limit,
    schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    default=DEFAULT_LIMIT,
)

BBOX = Query(
    name="bbox",
    description="Only results whose study area's bounding box touches this box: "
    "west,south,east,north in degrees.",
    read=read_box,
)

ORGANISATION = Query(
    name="organisation", description="Only results of this publisher, by its slug.", read=read_slug
)
