"""Public attributes: columns of reports with values that are not secret.

A publisher declares a column if its values are already public and do not depend on positions, such
as the version of an app, and lists the few values to distinguish. Every other value, and a missing
value, becomes OTHER, so a row can only have values from a public list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

OTHER = "other"
"""Value that replaces every undeclared value and every missing value."""

MAX_COMBINATIONS = 1_000_000
"""Largest number of combinations of attribute values. Each report stores the index of its
combination.
"""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that is declared public, and its declared values in order, without OTHER."""

    column: str
    values: tuple[str, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the attribute described by `document`, which `to_json` made."""
        return cls(str(document["column"]), tuple(str(value) for value in document["values"]))

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as a document: {"column": ..., "values": [...]}."""
        return {"column": self.column, "values": list(self.values)}


def combinations(attributes: Sequence[Attribute]) -> int:
    """Return the number of combinations of the attributes' values, including OTHER for each."""
    return math.prod(_shape(attributes))


def combine(
    codes: Sequence[NDArray[np.int64]], attributes: Sequence[Attribute]
) -> NDArray[np.int32]:
    """Return an int32 array (n,) with the index of each report's combination of values.

    `codes` has one int64 array (n,) per attribute, with the index of each report's value among the
    attribute's values. The index after the last value stands for OTHER.
    """
    numbers = np.ravel_multi_index(tuple(codes), _shape(attributes))
    return np.asarray(numbers, dtype=np.int32)


def separate(
    numbers: NDArray[np.int32], attributes: Sequence[Attribute]
) -> dict[str, NDArray[np.object_]]:
    """Return a mapping from each column's name to its values (n,) as text.

    This inverts `combine`. `numbers` (n,) holds the indices of combinations.
    """
    codes = np.unravel_index(numbers, _shape(attributes))
    return {
        attribute.column: np.array([*attribute.values, OTHER], dtype=object)[code]
        for attribute, code in zip(attributes, codes, strict=True)
    }


def _shape(attributes: Sequence[Attribute]) -> tuple[int, ...]:
    return tuple(len(attribute.values) + 1 for attribute in attributes)
