"""Measures: declared columns of numbers whose averages may be published.

A publisher types the limits of a measure, its unit and its title; none of them is taken from the
data. A value is clipped to the limits and rounded to one of K + 1 evenly spaced steps, K = 1000 for
numbers and K = 1 for answers of yes or no. The step of a value depends on the value's own row
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import listed

NUMBER_STEPS = 1000
"""Number of steps K between the limits of a measure whose values are numbers."""

ANSWER_STEPS = 1
"""Number of steps K of a measure whose values are answers: no is 0 and yes is 1."""

MAX_MEASURES = 20
"""Largest number of measures that a dataset can have."""

MAX_LIMIT = 1e12
"""Largest absolute value that a measure's limit can have."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of numbers between `low` and `high`, or of yes-or-no answers if `steps` is 1.

    `unit` is the text after its values, such as "km/h"; it may be empty. `steps` is K, the number
    of steps from `low` to `high`.
    """

    column: str
    title: str
    unit: str
    low: float
    high: float
    steps: int = NUMBER_STEPS

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the measure described by `document`, which `to_json` made."""
        return cls(
            column=str(document["column"]),
            title=str(document["title"]),
            unit=str(document["unit"]),
            low=float(document["low"]),
            high=float(document["high"]),
            steps=int(document["steps"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the measure as a JSON object."""
        return {
            "column": self.column,
            "title": self.title,
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "steps": self.steps,
        }

    @property
    def is_answer(self) -> bool:
        """Whether the column holds yes-or-no answers, for which the share of yes is published."""
        return self.steps == ANSWER_STEPS

    @property
    def shown_unit(self) -> str:
        """The unit shown after values: "%" for answers, otherwise the measure's own unit."""
        return "%" if self.is_answer else self.unit

    @property
    def heading(self) -> str:
        """The title with its unit, such as "Speed, km/h"."""
        return ", ".join(filter(None, (self.title, self.shown_unit)))

    def to_values(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert values (n,) on a scale from 0 (`low`) to 1 (`high`) to the shown unit; NaN stays
        NaN.
        """
        if self.is_answer:
            return 100 * shares
        return self.low + (self.high - self.low) * shares

    def to_steps(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the steps nearest to finite values (n,) after clipping: int32 (n,), 0 to K."""
        share = (np.clip(values, self.low, self.high) - self.low) / (self.high - self.low)
        return np.asarray(np.rint(self.steps * share), dtype=np.int32)

    def to_bins(self, steps: NDArray[np.integer[Any]], bins: int) -> NDArray[np.int64]:
        """Divide the range into `bins` equal bins; return the index of each step's bin, int64 (n,).

        A step on the edge between two bins is in the upper one; the last bin includes both of its
        edges.
        """
        return np.minimum(steps.astype(np.int64) * bins // self.steps, bins - 1)


def measure_column(index: int) -> str:
    """Return the name of the canonical file's column that holds the steps of a dataset's measure.

    `index` is the position of the measure among the dataset's measures.
    """
    return f"measure_{index}"


def find_measure(measures: Sequence[Measure], column: str) -> Measure:
    """Return the measure with this column name, or the first measure if the name is "".

    Raises InvalidInput if there is none.
    """
    for each in measures:
        if column in ("", each.column):
            return each
    if not measures:
        raise InvalidInput(
            "This dataset declares no column to average; declare one before its first file is "
            "confirmed.",
            field="measure",
        )
    raise InvalidInput(
        "{column!r} is not declared as a column to average; choose from {known}.",
        column=column,
        known=listed(each.column for each in measures),
        field="measure",
    )
