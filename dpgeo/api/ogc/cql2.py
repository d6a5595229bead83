"""Filters in the text form of CQL2 (OGC 21-065r2): comparisons, AND, OR and NOT.

A filter is translated into Arrow's compute expressions, which treat missing values as CQL2 does: a
comparison with a missing value is neither true nor false, and a feature is left out unless the
filter is true for it. A filter reads only released values.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from dpgeo.core.errors import InvalidInput

MAX_LENGTH = 1_000
"""Largest number of characters in a filter."""

MAX_DEPTH = 20
"""Greatest depth to which parentheses and NOTs may be nested."""

MAX_COMPARISONS = 20

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"
    r"|(?P<text>'(?:[^']|'')*')"
    r"|(?P<quoted>\"[^\"]+\")"
    r"|(?P<word>[A-Za-z_][\w.]*)"
    r"|(?P<sign><>|<=|>=|[<>=(),]))",
    re.ASCII,
)

_COMPARED = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    ">": "greater",
    "<=": "less_equal",
    ">=": "greater_equal",
}

Kind = str
"""The kind of a value: "number", "text", "truth", "date" or "timestamp"."""

_MOMENTS: Mapping[str, Callable[[str], date]] = {
    "DATE": date.fromisoformat,
    "TIMESTAMP": datetime.fromisoformat,
}
"""Functions that parse the text of a date or timestamp literal, such as DATE('2026-01-31')."""

_FORMS = {
    "DATE": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "TIMESTAMP": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter: the columns that it reads, and its `pyarrow.compute` expression."""

    columns: tuple[str, ...]
    expression: Any


def within(where: Filter | None, first: date | None, last: date | None) -> Filter | None:
    """Return the filter `where`, limited further to periods that overlap an interval of days.

    `first` and `last` are the first and the last day of the interval; None means that the interval
    is open on that side. Returns None if nothing is filtered.
    """
    import pyarrow.compute as pc

    parts = [] if where is None else [where.expression]
    if first:
        parts.append(pc.field("to_day") >= first.isoformat())
    if last:
        parts.append(pc.field("from_day") <= last.isoformat())
    if not parts:
        return None
    columns = () if where is None else where.columns
    return Filter(tuple({*columns, "from_day", "to_day"}), functools.reduce(operator.and_, parts))


def parse(text: str, kinds: Mapping[str, Kind]) -> Filter:
    """Parse a filter on columns of the given kinds. Raises InvalidInput if it is malformed."""
    if len(text) > MAX_LENGTH:
        raise InvalidInput("A filter has at most {most} characters.", most=MAX_LENGTH)
    return _Parser(_tokens(text), kinds).read_filter()


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidInput("Cannot be read from character {at} on.", at=at + 1)
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    return tokens


@dataclass(slots=True)
class _Parser:
    """A recursive-descent parser; each `read_` method reads one rule of the grammar.

    `accept` skips the next token if it is the given word. `expect` does so too, and raises
    InvalidInput if the next token is another one.
    """

    tokens: list[tuple[str, str]]
    kinds: Mapping[str, Kind]
    at: int = 0
    depth: int = 0
    comparisons: int = 0
    columns: dict[str, None] = field(default_factory=dict)

    def read_filter(self) -> Filter:
        expression = self.read_or()
        if self.at < len(self.tokens):
            raise self.unexpected()
        return Filter(tuple(self.columns), expression)

    def read_or(self) -> Any:
        expression = self.read_and()
        while self.accept("OR"):
            expression = expression | self.read_and()
        return expression

    def read_and(self) -> Any:
        expression = self.read_not()
        while self.accept("AND"):
            expression = expression & self.read_not()
        return expression

    def read_not(self) -> Any:
        if self.accept("NOT"):
            return ~self.read_nested(self.read_not)
        if self.accept("("):
            expression = self.read_nested(self.read_or)
            self.expect(")")
            return expression
        return self.read_comparison()

    def read_nested(self, rule: Callable[[], Any]) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidInput("A filter has at most {most} nested parts.", most=MAX_DEPTH)
        expression = rule()
        self.depth -= 1
        return expression

    def read_comparison(self) -> Any:
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            raise InvalidInput("A filter has at most {most} comparisons.", most=MAX_COMPARISONS)
        left, kind = self.read_value()
        sign = self.peek()
        if sign in _COMPARED:
            self.at += 1
            return self.read_right_side(sign, left, kind)
        if self.accept("IS"):
            negated = self.accept("NOT")
            self.expect("NULL")
            return left.is_valid() if negated else left.is_null()
        negated = self.accept("NOT")
        if self.accept("BETWEEN"):
            lowest = self.read_right_side(">=", left, kind)
            self.expect("AND")
            condition = lowest & self.read_right_side("<=", left, kind)
        elif self.accept("IN"):
            condition = self.read_list(left, kind)
        elif self.accept("LIKE"):
            condition = self.read_like(left, kind)
        elif kind == "truth" and not negated:
            condition = left
        else:
            raise self.unexpected()
        return ~condition if negated else condition

    def read_right_side(self, sign: str, left: Any, kind: Kind) -> Any:
        right, other = self.read_value()
        if kind != other:
            raise InvalidInput("Compares {one} with {other}.", one=kind, other=other)
        return _call(_COMPARED[sign], left, right)

    def read_list(self, left: Any, kind: Kind) -> Any:
        self.expect("(")
        expression = self.read_right_side("=", left, kind)
        while self.accept(","):
            expression = expression | self.read_right_side("=", left, kind)
        self.expect(")")
        return expression

    def read_like(self, left: Any, kind: Kind) -> Any:
        import pyarrow.compute

        if kind != "text" or self.at >= len(self.tokens) or self.tokens[self.at][0] != "text":
            raise InvalidInput("LIKE compares a column of texts with a text in quotes.")
        pattern = self.tokens[self.at][1][1:-1].replace("''", "'")
        self.at += 1
        return pyarrow.compute.match_like(left, pattern)

    def read_value(self) -> tuple[Any, Kind]:
        import pyarrow.compute

        if self.at >= len(self.tokens):
            raise self.unexpected()
        group, text = self.tokens[self.at]
        self.at += 1
        scalar = pyarrow.compute.scalar
        if group == "number":
            return scalar(float(text)), "number"
        if group == "text":
            return scalar(text[1:-1].replace("''", "'")), "text"
        name = text[1:-1] if group == "quoted" else text
        if group in {"quoted", "word"} and name in self.kinds:
            self.columns[name] = None
            return pyarrow.compute.field(name), self.kinds[name]
        if group == "word" and text.upper() in {"TRUE", "FALSE"}:
            return scalar(text.upper() == "TRUE"), "truth"
        if group == "word" and text.upper() in _MOMENTS and self.accept("("):
            return scalar(self.read_moment(text.upper())), text.lower()
        if group in {"quoted", "word"}:
            known = ", ".join(self.kinds)
            raise InvalidInput("There is no {name!r}; choose from {known}.", name=name, known=known)
        self.at -= 1
        raise self.unexpected()

    def read_moment(self, form: str) -> date:
        group, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        self.at += 1
        try:
            if group != "text" or not _FORMS[form].fullmatch(text[1:-1]):
                raise ValueError
            moment = _MOMENTS[form](text[1:-1])
        except ValueError:
            raise InvalidInput(
                "Write DATE('2026-01-31') or TIMESTAMP('2026-01-31T12:00:00Z'), in UTC."
            ) from None
        self.expect(")")
        return moment

    def peek(self) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] in {"text", "quoted"}:
            return ""
        return self.tokens[self.at][1].upper()

    def accept(self, word: str) -> bool:
        matches = self.peek() == word
        self.at += matches
        return matches

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.unexpected()

    def unexpected(self) -> InvalidInput:
        if self.at >= len(self.tokens):
            return InvalidInput("The filter ends too early.")
        return InvalidInput("Has {word!r} where it cannot stand.", word=self.tokens[self.at][1])


def _call(name: str, left: Any, right: Any) -> Any:
    import pyarrow.compute

    return getattr(pyarrow.compute, name)(left, right)
