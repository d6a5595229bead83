"""What a mechanism declares it will spend, and the published trace of what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.noise import Noise, noise_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One declared measurement: a label, unique in its plan, and its share of epsilon.

    A `rest` is not measured itself: it is divided, by shares computed from what was paid for
    before, into measurements that add up to it exactly.
    """

    label: str
    epsilon: Fraction
    rest: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ValueError(f"The spend {self.label!r} needs a positive epsilon, exact.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the trace: what was spent, and the noise that the counts it bought carry.

    `noise` is None where there are no such counts: the spend was waived (charged, not drawn), or
    it paid for `splits`, decisions where to cut boxes, or `choices` of places, which are drawn and
    show no count.
    """

    label: str
    epsilon: Fraction
    noise: Noise | None
    splits: bool = False
    choices: bool = False

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object, epsilon as an exact fraction."""
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
