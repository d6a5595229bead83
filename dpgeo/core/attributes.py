"""Public attributes: what anybody may know of every report beside where it was made.

A publisher declares a column whose values are public already and follow from no position, such as
the version of an app, together with the few values that are told apart. Whatever else stands in a
row, or nothing, is OTHER: so a row can only say one of a public list of things.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

OTHER = "other"
"""What is said of a report whose value is not declared."""

MOST_COMBINATIONS = 1_000_000
"""Of all attributes' values together, each of which is one number."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that is declared public, and its values in their order, without OTHER."""

    column: str
    values: tuple[str, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(str(document["column"]), tuple(str(value) for value in document["values"]))

    def to_json(self) -> dict[str, Any]:
        """As it is declared: {"column": ..., "values": [...]}."""
        return {"column": self.column, "values": list(self.values)}


def combinations(attributes: Sequence[Attribute]) -> int:
    """How many combinations of values there are, OTHER among them."""
    return math.prod(_shape(attributes))


def combine(
    codes: Sequence[NDArray[np.int64]], attributes: Sequence[Attribute]
) -> NDArray[np.int32]:
    """The number, int32 (n,), of each report's combination.

    `codes` are int64 (n,) for each attribute: places among its values, OTHER coming last.
    """
    numbers = np.ravel_multi_index(tuple(codes), _shape(attributes))
    return np.asarray(numbers, dtype=np.int32)


def separate(
    numbers: NDArray[np.int32], attributes: Sequence[Attribute]
) -> dict[str, NDArray[np.object_]]:
    """The values, as text (n,) by column, of numbered combinations (n,)."""
    codes = np.unravel_index(numbers, _shape(attributes))
    return {
        attribute.column: np.array([*attribute.values, OTHER], dtype=object)[code]
        for attribute, code in zip(attributes, codes, strict=True)
    }


def _shape(attributes: Sequence[Attribute]) -> tuple[int, ...]:
    return tuple(len(attribute.values) + 1 for attribute in attributes)
