"""Cursor pagination, which keeps pages stable while objects are added.

Every page takes equally long to fetch, however far down the list it is.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from dpgeo.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Order:
    """A sort order: fields, all sorted in the same direction. The last field is unique."""

    fields: tuple[str, ...]
    descending: bool


def page(
    queryset: QuerySet[Any], order: Order, *, limit: int, cursor: str | None
) -> tuple[list[Any], str | None]:
    """Return a page of at most `limit` rows, and the cursor of the next page.

    The page begins after the position `cursor`, or with the first row if `cursor` is None. The next
    page's cursor is None if this is the last page. Raises InvalidInput if `cursor` is malformed.
    """
    sign = "-" if order.descending else ""
    ordered = queryset.order_by(*(sign + name for name in order.fields))
    if cursor is not None:
        ordered = ordered.filter(_beyond(order, read_cursor(cursor, order)))
    rows = list(ordered[: limit + 1])
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], write_cursor([getattr(last, name) for name in order.fields])


def next_url(request: HttpRequest, cursor: str | None) -> str | None:
    """Return the URL of the next page, which starts at `cursor`, or None if that is None."""
    if cursor is None:
        return None
    query = request.GET.copy()
    query["cursor"] = cursor
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def write_cursor(values: Sequence[Any]) -> str:
    """Encode the values of a row's sort fields as text for URLs."""
    texts = [value.isoformat() if isinstance(value, date) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(texts).encode()).decode().rstrip("=")


def read_cursor(text: str, order: Order) -> list[Any]:
    """Return the values that `write_cursor` encoded. Raises InvalidInput if `text` is malformed."""
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        values = json.loads(packed)
        if not isinstance(values, list) or len(values) != len(order.fields):
            raise ValueError
        return [_value(name, each) for name, each in zip(order.fields, values, strict=True)]
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidInput(
            "This cursor is invalid; start without one and follow `next`.", field="cursor"
        ) from None


def _value(name: str, value: object) -> Any:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    value.encode()  # encode() raises ValueError for a lone surrogate, which no database stores
    return date.fromisoformat(value) if name == "day" else value


def _beyond(order: Order, values: Sequence[Any]) -> Q:
    """Return the filter for the rows that follow the row with these values of the sort fields.

    Rows are compared field by field: (a, b) > (x, y) if a > x, or if a = x and b > y.
    """
    compare = "lt" if order.descending else "gt"
    beyond = Q()
    equal = Q()
    for name, value in zip(order.fields, values, strict=True):
        beyond |= equal & Q(**{f"{name}__{compare}": value})
        equal &= Q(**{name: value})
    return beyond
