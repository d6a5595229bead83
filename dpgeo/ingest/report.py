"""Ingestion report on what became of an upload's rows; it is private to the owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpgeo.blanks import BLANKS
from dpgeo.phrases import translatable

EXAMPLES_PER_REASON = 5
MAX_EXAMPLE_LENGTH = 60
MAX_NUMBER = (1 << 63) - 1
MAX_LINE_BYTES = 65_536
MAX_FIELD_BYTES = 1_000


class Reason(StrEnum):
    """Reason why a row is refused. If several apply, the first one is used.

    Whether a reason applies depends only on the row and the declared schema, for PERSON_ERASED also
    on whether the row's person was erased, and for REGION_TWICE on earlier rows of the same person.
    """

    LINE_TOO_LONG = translatable("the line is longer than 65,536 bytes")
    UNDECODABLE = translatable("the text is not UTF-8; save the file with that encoding")
    UNCLOSED_QUOTE = translatable("an unclosed quote (a line break within quotes is not read)")
    STRAY_QUOTE = translatable(
        'a quotation mark inside a field; quote the whole field and write "" for each'
    )
    WRONG_FIELDS = translatable("more or fewer fields than the header has")
    NOT_JSON = translatable("the line is not JSON, or JSON nested too deeply")
    NOT_FEATURE = translatable("the record is not a GeoJSON feature")
    NOT_OBJECT = translatable("the record is not a JSON object")
    FEATURE_TOO_LONG = translatable("the feature is longer than 65,536 bytes")
    NOT_PLAIN = translatable(
        "a declared field is a list, an object, true or false, not text or a number"
    )
    FIELD_TOO_LONG = translatable("a declared field is longer than 1,000 bytes")
    PERSON_MISSING = translatable("the person is missing")
    PERSON_NOT_WHOLE = translatable(
        "the person is a number that is not whole or too large to be exact"
    )
    LATITUDE_MISSING = translatable("the latitude is missing")
    LATITUDE_COMMA = translatable("the latitude has a decimal comma; write it as 40.72")
    LATITUDE_NOT_FINITE = translatable("the latitude is NaN or infinite")
    LATITUDE_NOT_NUMBER = translatable("the latitude is not a number")
    LATITUDE_RANGE = translatable("the latitude is outside -90 to 90 degrees")
    LONGITUDE_MISSING = translatable("the longitude is missing")
    LONGITUDE_COMMA = translatable("the longitude has a decimal comma; write it as -73.99")
    LONGITUDE_NOT_FINITE = translatable("the longitude is NaN or infinite")
    LONGITUDE_NOT_NUMBER = translatable("the longitude is not a number")
    LONGITUDE_RANGE = translatable("the longitude is outside -180 to 180 degrees")
    GEOMETRY_MISSING = translatable("the geometry is missing or empty")
    GEOMETRY_UNREADABLE = translatable("the geometry cannot be read")
    GEOMETRY_NOT_POINT = translatable("the geometry is not a point")
    GEOMETRY_OTHER_SYSTEM = translatable(
        "the geometry states another coordinate system than the declared one"
    )
    NOT_A_PAIR = translatable("the position is not two numbers")
    REGION_MISSING = translatable("the region is missing")
    REGION_UNKNOWN = translatable("the region is not in the declared layer")
    NOT_PROJECTABLE = translatable("the position cannot be in the declared coordinate system")
    OUTSIDE_AREA = translatable("the position is outside the study area")
    TIME_MISSING = translatable("the time is missing")
    TIME_UNREADABLE = translatable("the time is neither ISO 8601 nor seconds since 1970")
    TIME_NOT_AS_DECLARED = translatable("the time is not written in the declared format")
    TIME_RANGE = translatable(
        "the time is outside the years 1000 to 2999 (numbers are seconds since 1970)"
    )
    PERIOD_CLOSED = translatable(
        "the time is in a period of a series whose data were said to be complete"
    )
    REGION_TWICE = translatable("another row has the same person, region and slice")
    PERSON_ERASED = translatable("the person was erased from this dataset")


@dataclass(frozen=True, slots=True)
class Example:
    """A refused row: its number, the reason, and the offending value, cut short.

    In formats with one row per line, `row` is the number of the line (the header is line 1). In
    others it is the number of the row, counted from 1.
    """

    row: int
    reason: str
    value: str


@dataclass(frozen=True, slots=True)
class Report:
    """Numbers of rows read, accepted, and refused for each reason, with examples."""

    read: int
    accepted: int
    refused: dict[str, int]
    examples: list[Example]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the report from JSON written by `to_json`. Raises ValueError for anything else.

        The sandbox's process writes it, and is not trusted: a file may have taken it over.
        """
        try:
            examples = [Example(**example) for example in document["examples"]]
            report = cls(**{**document, "examples": examples})
            if report._is_possible():
                return report
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("This is no report.") from error
        raise ValueError("This is no report.")

    def _is_possible(self) -> bool:
        """Return whether a tally could have made this report."""
        reasons = {reason.value for reason in Reason}
        shown = Counter(each.reason for each in self.examples)
        numbers = [self.read, self.accepted, *self.refused.values()]
        return (
            all(type(each) is int and 0 <= each <= MAX_NUMBER for each in numbers)
            and self.accepted + sum(self.refused.values()) == self.read
            and self.refused.keys() <= reasons
            and all(
                shown[each] <= min(EXAMPLES_PER_REASON, self.refused.get(each, 0)) for each in shown
            )
            and all(type(each.row) is int and 0 <= each.row <= MAX_NUMBER for each in self.examples)
            and all(each.value == shorten(each.value) for each in self.examples)
        )

    def with_refused(self, later: Tally) -> Report:
        """Return this report with the rows in `later` counted as refused, not as accepted."""
        refused = later.report()
        return Report(
            read=self.read,
            accepted=self.accepted - later.refused.total(),
            refused=self.refused | refused.refused,
            examples=[*self.examples, *refused.examples],
        )

    def without_examples(self) -> Report:
        """Return this report with its numbers alone."""
        return replace(self, examples=[])

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return asdict(self)


@dataclass(slots=True)
class Tally:
    """Counts the rows of a file that are read and refused, and keeps examples of refused ones."""

    read: int = 0
    refused: Counter[Reason] = field(default_factory=Counter)
    examples: dict[Reason, list[Example]] = field(default_factory=dict)

    def refuse(
        self, reason: Reason, rows: NDArray[np.int64], value: Callable[[int], object]
    ) -> None:
        """Count rows, given by their numbers in `rows`, as refused for a reason.

        `value(i)` returns the offending value of the i-th of these rows. It is called only for the
        few rows that become examples.
        """
        self.refused[reason] += len(rows)
        examples = self.examples.setdefault(reason, [])
        for index in range(min(len(rows), EXAMPLES_PER_REASON - len(examples))):
            examples.append(Example(int(rows[index]), reason.value, shorten(value(index))))

    def add(self, later: Tally) -> None:
        """Add what another tally counted in later rows."""
        self.read += later.read
        self.refused.update(later.refused)
        for reason, examples in later.examples.items():
            shown = self.examples.setdefault(reason, [])
            shown += examples[: EXAMPLES_PER_REASON - len(shown)]

    def report(self) -> Report:
        """Return the finished report; its reasons for refusals are in the order of `Reason`."""
        reasons = [reason for reason in Reason if self.refused[reason]]
        return Report(
            read=self.read,
            accepted=self.read - self.refused.total(),
            refused={reason.value: self.refused[reason] for reason in reasons},
            examples=[example for reason in reasons for example in self.examples.get(reason, [])],
        )


def shorten(value: object) -> str:
    """Return a value as text of at most `MAX_EXAMPLE_LENGTH` characters.

    Blanks other than spaces are written as their code points, since nobody sees them. Control
    characters and others that cannot be printed are replaced.
    """
    if isinstance(value, bytes):
        value = value[: 4 * MAX_EXAMPLE_LENGTH].decode(errors="replace")
    text = "" if value is None else str(value)
    if len(text) > MAX_EXAMPLE_LENGTH:
        text = text[: MAX_EXAMPLE_LENGTH - 1] + "…"
    return "".join(letter if letter.isprintable() else _written(letter) for letter in text)


def _written(letter: str) -> str:
    if letter in BLANKS and letter not in "\t\n\r\v\f":
        return f"[U+{ord(letter):04X}]"
    return "\N{REPLACEMENT CHARACTER}"
