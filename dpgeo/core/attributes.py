"""Public attributes: values of every report that are not secret.

A publisher declares a column whose values are public already and do not follow from a position,
such as the version of an app, and lists the few values to be distinguished. Any other value, or
none, becomes OTHER, so that a row can only have values of a public list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

OTHER = "other"
"""Stands for every value that is not declared, and for a missing one."""

MOST_COMBINATIONS = 1_000_000
"""Most combinations of attribute values; a report stores the index of its own combination."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that is declared public, and its values in order, without OTHER."""

    column: str
    values: tuple[str, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(str(document["column"]), tuple(str(value) for value in document["values"]))

    def to_json(self) -> dict[str, Any]:
        """Return {"column": ..., "values": [...]}."""
        return {"column": self.column, "values": list(self.values)}


def combinations(attributes: Sequence[Attribute]) -> int:
    """Count the combinations of all attributes' values; each attribute includes OTHER."""
    return math.prod(_shape(attributes))


def combine(
    codes: Sequence[NDArray[np.int64]], attributes: Sequence[Attribute]
) -> NDArray[np.int32]:
    """Return the number of each report's combination of attribute values, int32 (n,).

    `codes` holds, for each attribute, the reports' values as indices, int64 (n,); the last index
    stands for OTHER.
    """
    numbers = np.ravel_multi_index(tuple(codes), _shape(attributes))
    return np.asarray(numbers, dtype=np.int32)


def separate(
    numbers: NDArray[np.int32], attributes: Sequence[Attribute]
) -> dict[str, NDArray[np.object_]]:
    """Invert `combine`: return the values of each column as text (n,)."""
    codes = np.unravel_index(numbers, _shape(attributes))
    return {
        attribute.column: np.array([*attribute.values, OTHER], dtype=object)[code]
        for attribute, code in zip(attributes, codes, strict=True)
    }


def _shape(attributes: Sequence[Attribute]) -> tuple[int, ...]:
    return tuple(len(attribute.values) + 1 for attribute in attributes)
