"""Query parameters: declared once, read strictly, documented from the same lines."""

from __future__ import annotations

import datetime
import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.selectors import Box

SLUG = r"[A-Za-z0-9_-]{1,80}"

MAX_LIMIT = 100
DEFAULT_LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query parameter. `read` turns its text into a value or raises ValueError(remedy)."""

    name: str
    description: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    default: Any = None


def read_queries(given: QueryDict, declared: Sequence[Query]) -> dict[str, Any]:
    """The value of every declared parameter; what is absent takes its default.

    Raises InvalidInput that names the parameter: unknown, given twice, or not to be understood.
    """
    known = {query.name: query for query in declared}
    for name in given:
        if name not in known:
            raise InvalidInput(_unknown(name, list(known)), field=name)
        if len(given.getlist(name)) > 1:
            raise InvalidInput("Was given more than once; give it once.", field=name)
    return {query.name: _read(query, given) for query in declared}


def openapi(declared: Sequence[Query]) -> list[OpenApiParameter]:
    """The same parameters for the OpenAPI schema."""
    return [
        OpenApiParameter(query.name, dict(query.schema), description=query.description)
        for query in declared
    ]


def _read(query: Query, given: QueryDict) -> Any:
    if query.name not in given:
        return query.default
    try:
        return query.read(str(given[query.name]))
    except ValueError as error:
        raise InvalidInput(str(error), field=query.name) from None


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"There is no parameter {name!r}; this address takes none."
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}."
    return f"There is no parameter {name!r}; {hint}"


def read_slug(text: str) -> str:
    """A short name as it stands in addresses."""
    if not re.fullmatch(SLUG, text):
        raise ValueError("Must be letters, digits, - and _, as in the addresses of this API.")
    return text


def read_limit(text: str) -> int:
    """How many results a page holds."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_LIMIT:
        raise ValueError(
            f"Must be a whole number from 1 to {MAX_LIMIT}; follow `next` for further pages."
        )
    return int(text)


def read_box(text: str) -> Box:
    """A bounding box in degrees."""
    parts = text.split(",")
    if len(parts) != 4:
        raise ValueError("Must be four numbers: west,south,east,north in degrees.")
    try:
        west, south, east, north = (float(part) for part in parts)
    except ValueError:
        raise ValueError("Must be four numbers: west,south,east,north in degrees.") from None
    if not all(map(math.isfinite, (west, south, east, north))):
        raise ValueError("Has a side that is not a number; correct it.")
    if abs(west) > 180 or abs(east) > 180 or abs(south) > 90 or abs(north) > 90:
        raise ValueError(
            "Longitudes lie between -180 and 180 and latitudes between -90 and 90; give "
            "west,south,east,north, longitude first."
        )
    if west > east:
        raise ValueError(
            "The west side lies east of the east side. For a box across the antimeridian ask "
            "twice: once up to 180, once from -180."
        )
    if south > north:
        raise ValueError("The south side lies north of the north side; exchange them.")
    return west, south, east, north


def read_date(text: str) -> datetime.date:
    """A calendar day."""
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            raise ValueError
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError("Must be a day of the calendar, such as 2026-03-31.") from None


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """A reader of one of a few words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"Is not a choice; choose from {', '.join(choices)}.")
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
    description="Only what lies near this box: west,south,east,north in degrees. The bounding box "
    "of the study area has to touch it.",
    read=read_box,
)

ORGANISATION = Query(
    name="organisation", description="Only of this publisher, by its slug.", read=read_slug
)
