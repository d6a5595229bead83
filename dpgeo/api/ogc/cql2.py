"""Filters in the text form of CQL2 (OGC 21-065r2): comparisons, AND, OR and NOT.

A filter is translated into Arrow's compute expressions, which treat missing values as CQL2 does: a
comparison with a missing value is neither true nor false, and a feature is left out unless the
filter is true for it. A filter reads only released values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from dpgeo.core.errors import InvalidInput

LONGEST = 1_000
"""The most characters that a filter may have."""

DEEPEST = 20
"""The most levels of parentheses and NOTs that may be nested."""

MOST_COMPARISONS = 20

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
"""The functions that read the text of a date or time: DATE('2026-01-31')."""

_FORMS = {
    "DATE": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "TIMESTAMP": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter: the columns that it reads, and its `pyarrow.compute` expression."""

    columns: tuple[str, ...]
    expression: Any


def parse(text: str, kinds: Mapping[str, Kind]) -> Filter:
    """Parse a filter on columns of the given kinds. Raises InvalidInput if it is malformed."""
    if len(text) > LONGEST:
        raise InvalidInput("A filter has at most {most} characters.", most=LONGEST)
    return _Parser(_tokens(text), kinds).whole()


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise InvalidInput("Cannot be read from character {at} on.", at=at + 1)
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        at = found.end()
    return tokens


@dataclass(slots=True)
class _Parser:
    """A recursive-descent parser; each method reads one rule of the grammar."""

    tokens: list[tuple[str, str]]
    kinds: Mapping[str, Kind]
    at: int = 0
    depth: int = 0
    comparisons: int = 0
    read: dict[str, None] = field(default_factory=dict)

    def whole(self) -> Filter:
        expression = self.either()
        if self.at < len(self.tokens):
            raise self.unexpected()
        return Filter(tuple(self.read), expression)

    def either(self) -> Any:
        found = self.both()
        while self.takes("OR"):
            found = found | self.both()
        return found

    def both(self) -> Any:
        found = self.single()
        while self.takes("AND"):
            found = found & self.single()
        return found

    def single(self) -> Any:
        if self.takes("NOT"):
            return ~self.nested(self.single)
        if self.takes("("):
            found = self.nested(self.either)
            self.expects(")")
            return found
        return self.comparison()

    def nested(self, rule: Callable[[], Any]) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InvalidInput("A filter has at most {most} nested parts.", most=DEEPEST)
        found = rule()
        self.depth -= 1
        return found

    def comparison(self) -> Any:
        self.comparisons += 1
        if self.comparisons > MOST_COMPARISONS:
            raise InvalidInput("A filter has at most {most} comparisons.", most=MOST_COMPARISONS)
        left, kind = self.value()
        sign = self.peek()
        if sign in _COMPARED:
            self.at += 1
            return self.compared(sign, left, kind)
        if self.takes("IS"):
            negated = self.takes("NOT")
            self.expects("NULL")
            return left.is_valid() if negated else left.is_null()
        negated = self.takes("NOT")
        if self.takes("BETWEEN"):
            found = self.compared(">=", left, kind)
            self.expects("AND")
            found = found & self.compared("<=", left, kind)
        elif self.takes("IN"):
            found = self.listed(left, kind)
        elif self.takes("LIKE"):
            found = self.like(left, kind)
        elif kind == "truth" and not negated:
            found = left
        else:
            raise self.unexpected()
        return ~found if negated else found

    def compared(self, sign: str, left: Any, kind: Kind) -> Any:
        right, other = self.value()
        if kind != other:
            raise InvalidInput("Compares {one} with {other}.", one=kind, other=other)
        return _call(_COMPARED[sign], left, right)

    def listed(self, left: Any, kind: Kind) -> Any:
        self.expects("(")
        found = self.compared("=", left, kind)
        while self.takes(","):
            found = found | self.compared("=", left, kind)
        self.expects(")")
        return found

    def like(self, left: Any, kind: Kind) -> Any:
        import pyarrow.compute

        if kind != "text" or self.at >= len(self.tokens) or self.tokens[self.at][0] != "text":
            raise InvalidInput("LIKE compares a column of texts with a text in quotes.")
        pattern = self.tokens[self.at][1][1:-1].replace("''", "'")
        self.at += 1
        return pyarrow.compute.match_like(left, pattern)

    def value(self) -> tuple[Any, Kind]:
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
            self.read[name] = None
            return pyarrow.compute.field(name), self.kinds[name]
        if group == "word" and text.upper() in {"TRUE", "FALSE"}:
            return scalar(text.upper() == "TRUE"), "truth"
        if group == "word" and text.upper() in _MOMENTS and self.takes("("):
            return scalar(self.moment(text.upper())), text.lower()
        if group in {"quoted", "word"}:
            known = ", ".join(self.kinds)
            raise InvalidInput("There is no {name!r}; choose from {known}.", name=name, known=known)
        self.at -= 1
        raise self.unexpected()

    def moment(self, form: str) -> date:
        group, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        self.at += 1
        try:
            if group != "text" or not _FORMS[form].fullmatch(text[1:-1]):
                raise ValueError
            found = _MOMENTS[form](text[1:-1])
        except ValueError:
            raise InvalidInput(
                "Write DATE('2026-01-31') or TIMESTAMP('2026-01-31T12:00:00Z'), in UTC."
            ) from None
        self.expects(")")
        return found

    def peek(self) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] in {"text", "quoted"}:
            return ""
        return self.tokens[self.at][1].upper()

    def takes(self, word: str) -> bool:
        found = self.peek() == word
        self.at += found
        return found

    def expects(self, word: str) -> None:
        if not self.takes(word):
            raise self.unexpected()

    def unexpected(self) -> InvalidInput:
        if self.at >= len(self.tokens):
            return InvalidInput("The filter ends too early.")
        return InvalidInput("Has {word!r} where it cannot stand.", word=self.tokens[self.at][1])


def _call(name: str, left: Any, right: Any) -> Any:
    import pyarrow.compute

    return getattr(pyarrow.compute, name)(left, right)
