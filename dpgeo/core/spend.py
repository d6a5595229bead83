"""Spends (the measurements that a mechanism declares) and the trace of actual measurements."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.noise import Noise, noise_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One declared measurement: its epsilon, and a label that is unique in its plan.

    The epsilon of an `unallocated` spend is later divided exactly among several measurements, by
    fractions that may be computed from earlier noisy answers.
    """

    label: str
    epsilon: Fraction
    unallocated: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ValueError(f"The spend {self.label!r} needs a positive epsilon, exact.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the trace: an epsilon that was spent, and the noise that was drawn for it.

    `noise` is None if there are no noisy counts or points: either the epsilon was charged but not
    used, or it paid for random decisions to split boxes (`splits`) or for random choices of places
    (`choices`).
    """

    label: str
    epsilon: Fraction
    noise: Noise | None
    splits: bool = False
    choices: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the trace line as a JSON object, with epsilon as an exact fraction."""
        return {
            "label": self.label,
            "epsilon": str(self.epsilon),
            "noise": self.noise.to_json() if self.noise else None,
            "splits": self.splits,
            "choices": self.choices,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the trace line described by `document`, which `to_json` made."""
        return cls(
            label=document["label"],
            epsilon=Fraction(document["epsilon"]),
            noise=noise_from_json(document["noise"]) if document["noise"] else None,
            splits=bool(document["splits"]),
            choices=bool(document.get("choices", False)),
        )
