"""Queries whose SQL Django writes once for each process.

Django takes several times as long to write the SQL of a wide row, and to convert the row, as the
database takes to find it. Whoever only asks whether anything has changed needs neither.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import QuerySet


class CompiledQuery:
    """A query whose rows are returned as the database sends them, without Django's conversions.

    The rows are for comparisons: equal rows mean that Django would read equal values.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]], *examples: str | int) -> None:
        """Make a query from `make`, which returns the queryset for given values.

        The SQL is written with `examples` in place of the values. They must have the types of the
        values, and differ from each other and from every other parameter of the query.
        """
        self._make = make
        self._examples = examples

    def rows(self, *values: str | int) -> list[tuple[Any, ...]]:
        """Return the rows that the query selects for `values`.

        The values are in the order of the constructor's `examples`.
        """
        sql, parameters = self._compiled
        given = dict(zip(self._examples, values, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(sql, [given.get(each, each) for each in parameters])
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    @cached_property
    def _compiled(self) -> tuple[str, tuple[Any, ...]]:
        return self._make(*self._examples).query.sql_with_params()
