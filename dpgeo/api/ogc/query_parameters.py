"""Query parameters of OGC API - Features, parsed as strictly as the REST API's."""

from __future__ import annotations

import datetime
import math
import re
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, PlainValidator

from dpgeo.api.ogc.systems import CRS84, SYSTEMS, degrees_of, read_system
from dpgeo.api.queries import choice, parsed, query_schemas, schema
from dpgeo.artefacts.feature_pages import Box
from dpgeo.core.declared import Declared, fact
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


def limit_reader(most: int) -> PlainValidator:
    """Return the validator of a number of items on a page, of which there are at most `most`."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
            raise InvalidInput("Must be a whole number from 1; follow the link next for more.")
        return min(int(text), most)

    return parsed(read)


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


def local_days(text: str, time_zone: str) -> Days:
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


System = Annotated[str, parsed(read_system), schema(format="uri", enum=list(SYSTEMS))]


class FormQuery(Declared):
    f: Annotated[str, choice(["json", "html"]), schema(enum=["json", "html"])] = fact(
        "json or html; by default what the Accept header prefers, else json.", None
    )


class ItemQuery(FormQuery):
    crs: System = fact("The coordinate system of the answer; by default CRS84.", CRS84)


class ItemsQuery(ItemQuery):
    limit: Annotated[
        int, limit_reader(MAX_ITEMS), schema("integer", minimum=1, maximum=MAX_ITEMS)
    ] = fact(
        f"How many results a page holds, at most {MAX_ITEMS}, or {MAX_ON_A_PAGE} with f=html.",
        DEFAULT_ITEMS,
    )
    bbox: Annotated[
        str,
        parsed(read_numbers),
        schema("array", items={"type": "number"}, minItems=4, maxItems=6),
    ] = fact(
        "Only features that touch this box: west,south,east,north in degrees, or as "
        "bbox-crs has it.",
        None,
    )
    bbox_crs: System = Field(
        default=CRS84,
        alias="bbox-crs",
        description="The coordinate system of bbox; by default CRS84.",
    )
    filter: str = fact(
        "Only features for which this is true, in CQL2 text, such as estimate >= "
        "threshold AND margin < 50: comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT.",
        None,
    )
    filter_lang: Annotated[str, choice(["cql2-text"]), schema(enum=["cql2-text"])] = Field(
        default="cql2-text",
        alias="filter-lang",
        description="The language of filter: cql2-text.",
    )
    filter_crs: System = Field(
        default=CRS84,
        alias="filter-crs",
        description="The coordinate system of geometries in filter, which has none.",
    )
    datetime: Annotated[str, parsed(read_interval), schema()] = fact(
        "A date-time or an interval: in a series, only features of periods with a day "
        "of it. Features of single maps have no date, so all of them match.",
        None,
    )
    start: Annotated[int, parsed(read_row), schema("integer", minimum=0)] = fact(
        "Where the page starts; part of the address in the link next.", 0
    )


class CollectionsQuery(FormQuery):
    limit: Annotated[
        int, limit_reader(MAX_COLLECTIONS), schema("integer", minimum=1, maximum=MAX_COLLECTIONS)
    ] = fact(f"How many results a page holds, at most {MAX_COLLECTIONS}.", DEFAULT_COLLECTIONS)
    cursor: str = fact(
        "Where the page starts; part of the address `next` on the page before.", None
    )


def openapi_parameters(model: type[Declared]) -> list[dict[str, Any]]:
    """Return these query parameters as the OpenAPI 3.0 description lists them."""
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": facts.pop("description"),
            "schema": facts,
            "style": "form",
            "explode": False,
        }
        for name, facts in query_schemas(model).items()
    ]
