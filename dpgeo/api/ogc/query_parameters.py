"""Query parameters of OGC API - Features, parsed as strictly as the REST API's."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any
from zoneinfo import ZoneInfo

from dpgeo.api.ogc.systems import CRS84, SYSTEMS, degrees_of, read_system
from dpgeo.api.paging import CURSOR
from dpgeo.api.queries import Query, one_of
from dpgeo.artefacts.feature_pages import Box
from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text

MAX_ITEMS = 10_000
MAX_ON_A_PAGE = 1_000
"""Maximum number of features on an HTML page. A table takes several times as long to make as JSON.
"""
DEFAULT_ITEMS = 100
MAX_COLLECTIONS = 200
"""Maximum number of collections in a response.

Each collection contains about twenty URLs; 500 collections take 0.8 s of CPU time.
"""
DEFAULT_COLLECTIONS = 100

FORM = Query(
    name="f",
    description="json or html; by default what the Accept header prefers, else json.",
    read=one_of(("json", "html")),
    schema={"type": "string", "enum": ["json", "html"]},
)


def read_numbers(text: str) -> str:
    """Return `text` if it is a box of four or six numbers. Raises InvalidInput otherwise."""
    _sides(text)
    return text


def _sides(text: str) -> tuple[float, float, float, float]:
    """Return the west, south, east and north sides of a box given by four or six numbers.

    Raises InvalidInput if the box is malformed.
    """
    try:
        numbers = [float(number_text(part)) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (4, 6) or not all(map(math.isfinite, numbers)):
        raise InvalidInput("Must be four or six numbers: west,south,east,north in degrees.")
    half = len(numbers) // 2
    return numbers[0], numbers[1], numbers[half], numbers[half + 1]


def read_boxes(text: str, system: str = CRS84) -> list[Box]:
    """Parse a bounding box in the coordinate system `system`.

    A box across the antimeridian is split into two. Six numbers include the lowest and the highest
    height. The heights are ignored, because features have none. Raises InvalidInput if the box is
    malformed.
    """
    west, south, east, north = degrees_of(_sides(text), system)
    if abs(west) > 180 or abs(east) > 180 or abs(south) > 90 or abs(north) > 90:
        raise InvalidInput(
            "Longitudes lie between -180 and 180 and latitudes between -90 and 90; give "
            "west,south,east,north, longitude first."
        )
    if south > north:
        raise InvalidInput("The south side lies north of the north side; swap them.")
    if west > east:
        return [(west, south, 180.0, north), (-180.0, south, east, north)]
    return [(west, south, east, north)]


def limit_of(most: int, default: int, more: str = "") -> Query:
    """Return the parameter `limit`, the number of items on a page.

    A page has at most `most` items, and `default` if the parameter is absent. `more` is added to
    the parameter's description.
    """

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
            raise InvalidInput("Must be a whole number from 1; follow the link next for more.")
        return min(int(text), most)

    return Query(
        name="limit",
        description=f"How many results a page holds, at most {most}{more}.",
        read=read,
        schema={"type": "integer", "minimum": 1, "maximum": most, "default": default},
        default=default,
    )


def read_interval(text: str) -> str:
    """Return `text` if it is a day, an RFC 3339 date-time, or an interval with at most one open
    end.

    Raises InvalidInput if the text is malformed.
    """
    ends = text.split("/")
    if len(ends) > 2 or (len(ends) == 1 and ends[0] in OPEN):
        raise InvalidInput(MOMENT)
    moments = [_moment(end) for end in ends if end not in OPEN]
    if not moments:
        raise InvalidInput(MOMENT)
    if len(moments) == 2 and moments[0] > moments[1]:
        raise InvalidInput("The interval ends before it begins; swap its ends.")
    return text


Days = tuple[datetime.date | None, datetime.date | None]
"""The first and the last day of an interval, each None if that end is open."""


def days_of(text: str, time_zone: str) -> Days:
    """Return the first and last day, in `time_zone`, of an interval or a date-time.

    `text` is one that `read_interval` accepts. A date without a time means the whole of that day in
    the time zone.
    """
    ends = text.split("/")
    first, last = ends[0], ends[-1]
    return _day(first, time_zone), _day(last, time_zone)


def _day(text: str, time_zone: str) -> datetime.date | None:
    if text in OPEN:
        return None
    if len(text) == len("2026-03-31"):
        return datetime.date.fromisoformat(text)
    return _moment(text).astimezone(ZoneInfo(time_zone)).date()


OPEN = ("", "..")
"""Texts that mean an open end of an interval of time."""


MOMENT = (
    "Must be a date-time such as 2026-03-31T12:00:00Z, a day, or two of them separated by a "
    "slash; .. leaves one end of an interval open."
)


def _moment(text: str) -> datetime.datetime:
    shape = r"\d{4}-\d{2}-\d{2}([Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2}))?"
    if not re.fullmatch(shape, text, re.ASCII):
        raise InvalidInput(MOMENT)
    try:
        moment = datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper()))
        return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    except ValueError:
        raise InvalidInput(MOMENT) from None


def read_row(text: str) -> int:
    """Return the number of the row at which a page starts.

    Raises InvalidInput if the text is not such a number.
    """
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise InvalidInput("Must be as in a link next; start without it.")
    return int(text)


SYSTEM = {"type": "string", "format": "uri", "enum": list(SYSTEMS), "default": CRS84}

OUTPUT = Query(
    name="crs",
    description="The coordinate system of the answer; by default CRS84.",
    read=read_system,
    schema=SYSTEM,
    default=CRS84,
)

ITEM: tuple[Query, ...] = (OUTPUT, FORM)

ITEMS: tuple[Query, ...] = (
    limit_of(MAX_ITEMS, DEFAULT_ITEMS, f", or {MAX_ON_A_PAGE} with f=html"),
    Query(
        name="bbox",
        description="Only features that touch this box: west,south,east,north in degrees, or as "
        "bbox-crs has it.",
        read=read_numbers,
        schema={
            "type": "array",
            "items": {"type": "number"},
            "minItems": 4,
            "maxItems": 6,
        },
    ),
    Query(
        name="bbox-crs",
        description="The coordinate system of bbox; by default CRS84.",
        read=read_system,
        schema=SYSTEM,
        default=CRS84,
    ),
    OUTPUT,
    Query(
        name="filter",
        description="Only features for which this is true, in CQL2 text, such as estimate >= "
        "threshold AND margin < 50: comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT.",
        read=str,
    ),
    Query(
        name="filter-lang",
        description="The language of filter: cql2-text.",
        read=one_of(("cql2-text",)),
        schema={"type": "string", "enum": ["cql2-text"], "default": "cql2-text"},
        default="cql2-text",
    ),
    Query(
        name="filter-crs",
        description="The coordinate system of geometries in filter, which has none.",
        read=read_system,
        schema=SYSTEM,
        default=CRS84,
    ),
    Query(
        name="datetime",
        description="A date-time or an interval: in a series, only features of periods with a day "
        "of it. Features of single maps have no date, so all of them match.",
        read=read_interval,
    ),
    Query(
        name="start",
        description="Where the page starts; part of the address in the link next.",
        read=read_row,
        schema={"type": "integer", "minimum": 0, "default": 0},
        default=0,
    ),
    FORM,
)

COLLECTIONS: tuple[Query, ...] = (limit_of(MAX_COLLECTIONS, DEFAULT_COLLECTIONS), CURSOR, FORM)


def openapi_parameters(queries: tuple[Query, ...]) -> list[dict[str, Any]]:
    """Return these query parameters as the OpenAPI 3.0 description lists them."""
    return [
        {
            "name": query.name,
            "in": "query",
            "required": False,
            "description": query.description,
            "schema": dict(query.schema),
            "style": "form",
            "explode": False,
        }
        for query in queries
    ]
