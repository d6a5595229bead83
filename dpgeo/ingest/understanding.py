"""Results shown to a file's owner: each column, and a trial of the declaration.

`format_guess` gives the privacy argument for guesses. A trial reads a file's first rows and, if
possible, a sample of the rest, under a declaration, exactly as ingestion would. Its figures are
exact and private: they are shown to the owner while the owner declares how the file is read, and to
nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dpgeo.ingest.schema import Columns
from dpgeo.phrases import Phrase

ASK_BELOW = 0.9
"""Share of usable rows below which the owner is asked whether to continue."""

STOP, ASK, GOOD = "stop", "ask", "good"


@dataclass(frozen=True, slots=True)
class ColumnUnderstood:
    """One column: its role ("" for none), its format in words, and some of its values."""

    name: str
    role: str
    format: Phrase
    examples: list[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to declare the columns, described in words, and how many sampled rows it accepts.

    `example` says what one value of the file means under the declaration ("" if that is clear).
    """

    label: Phrase
    columns: Columns
    accepted: int
    example: Phrase = field(default_factory=lambda: Phrase(""))


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the owner that the file leaves open; each answer is a declaration to try next.

    `kind` is "encoding", "day_or_month", "early_times", "east_or_west", "hemisphere", "swapped" or
    "missing". A question of kind "missing" usually offers no answers; the owner then has to name
    the column with the role `field`, such as "person".
    """

    kind: str
    field: str
    text: Phrase
    answers: list[Reading]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why some rows of a trial cannot be used, how many they are, and the first one's value."""

    reason: str
    rows: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """The result of a trial. It is private, for the owner alone.

    Of the `rows` tried, `accepted` would be used; `readable` have a readable position, even if it
    is outside the study area, and whatever their times. `whole` says whether the `rows` tried are
    all rows of the file. `alternatives` are other declarations that accept more rows, best first.
    `points` are some positions, longitude first, both inside and outside the study area.
    """

    columns: Columns
    understood: list[ColumnUnderstood]
    projection: Phrase
    time_zone: str
    rows: int
    readable: int
    accepted: int
    whole: bool
    left_out: list[LeftOut]
    questions: list[Question]
    alternatives: list[Reading]
    points: list[list[float]]

    @property
    def share(self) -> float:
        """Return the share of rows that would be accepted; 1 for a file without rows."""
        return self.accepted / self.rows if self.rows else 1.0

    @property
    def verdict(self) -> str:
        """Return "stop", "ask" or "good".

        The verdict is "stop" if no row is usable. It is "ask" if less than 90 % are, or if the file
        leaves a question open.
        """
        if self.rows and not self.accepted:
            return STOP
        return ASK if self.questions or self.share < ASK_BELOW else GOOD

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the understanding from JSON written by `to_json`."""
        read = {
            "columns": Columns.from_json(document["columns"]),
            "projection": Phrase.from_json(document["projection"]),
            "understood": [
                ColumnUnderstood(**{**each, "format": Phrase.from_json(each["format"])})
                for each in document["understood"]
            ],
            "left_out": [LeftOut(**each) for each in document["left_out"]],
            "questions": [
                Question(
                    **{
                        **each,
                        "text": Phrase.from_json(each["text"]),
                        "answers": list(map(_reading, each["answers"])),
                    }
                )
                for each in document["questions"]
            ],
            "alternatives": list(map(_reading, document["alternatives"])),
        }
        return cls(**{**document, **read})

    def to_json(self) -> dict[str, Any]:
        """Return the understanding as plain JSON."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def _reading(document: Mapping[str, Any]) -> Reading:
    return Reading(
        Phrase.from_json(document["label"]),
        Columns.from_json(document["columns"]),
        int(document["accepted"]),
        Phrase.from_json(document["example"]),
    )


def _plain(value: Any) -> Any:
    """Return a value as plain JSON, with every `Phrase` in it replaced by its own JSON."""
    if isinstance(value, Phrase):
        return value.to_json()
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value
