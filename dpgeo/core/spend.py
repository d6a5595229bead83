"""Spends: the measurements a mechanism declares, and the trace of those made."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.noise import Noise, noise_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One declared measurement: a label, unique in its plan, and its epsilon.

    An `unallocated` spend pays for several measurements instead of one. Its epsilon is divided
    among them exactly, in fractions computed from earlier noisy answers.
    """

    label: str
    epsilon: Fraction
    unallocated: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ValueError(f"The spend {self.label!r} needs a positive epsilon, exact.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the trace: the epsilon spent, and the noise it paid for.

    `noise` is None where the epsilon bought no noisy counts or points: it was charged unused, or it
    paid for random decisions to split boxes (`splits`) or random choices of places (`choices`).
    """

    label: str
    epsilon: Fraction
    noise: Noise | None
    splits: bool = False
    choices: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object, with epsilon as an exact fraction."""
        return {
            "label": self.label,
            "epsilon": str(self.epsilon),
            "noise": self.noise.to_json() if self.noise else None,
            "splits": self.splits,
            "choices": self.choices,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(
            label=document["label"],
            epsilon=Fraction(document["epsilon"]),
            noise=noise_from_json(document["noise"]) if document["noise"] else None,
            splits=bool(document["splits"]),
            choices=bool(document.get("choices", False)),
        )
