"""Spends (the measurements that a mechanism declares) and the trace of actual measurements."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.noise import Noise, noise_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One declared measurement: its epsilon, and a label that is unique in its plan.

    In a plan under zCDP, `epsilon` is a rho. That of an `unallocated` spend is later divided
    exactly among several measurements, by fractions that may follow from earlier noisy answers.
    """

    label: str
    epsilon: Fraction
    unallocated: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ValueError(f"The spend {self.label!r} needs a positive epsilon, exact.")

    @property
    def amount(self) -> Fraction:
        """What the spend adds to the cost of its plan."""
        return self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the trace: an epsilon or a rho that was spent, and the noise drawn for it.

    Under zCDP, `rho` is set and `epsilon` is None, since a rho has an epsilon only at a delta, and
    epsilons of lines would not add up. Otherwise, `epsilon` is set and `rho` is None.

    `noise` is None if there are no noisy counts or points: either the epsilon was charged but not
    used, or it paid for random decisions to split boxes (`splits`), for random choices of places
    (`choices`), or for a private choice of the contribution bound, which is then `bound`.
    """

    label: str
    epsilon: Fraction | None
    noise: Noise | None
    splits: bool = False
    choices: bool = False
    rho: Fraction | None = None
    bound: int | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError(f"The line {self.label!r} needs an epsilon or a rho.")

    @property
    def amount(self) -> Fraction:
        """What this trace line adds to its release's cost: its epsilon, or its rho under zCDP."""
        return self.epsilon or self.rho or Fraction(0)

    def to_json(self) -> dict[str, Any]:
        """Return the trace line as a JSON object, with epsilon or rho as an exact fraction."""
        return {
            "label": self.label,
            **({"rho": str(self.rho)} if self.rho else {"epsilon": str(self.epsilon)}),
            "noise": self.noise.to_json() if self.noise else None,
            "splits": self.splits,
            "choices": self.choices,
            **({} if self.bound is None else {"bound": self.bound}),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the trace line (what was spent, its noise) that `to_json` wrote as `document`."""
        return cls(
            label=document["label"],
            epsilon=Fraction(document["epsilon"]) if "epsilon" in document else None,
            rho=Fraction(document["rho"]) if "rho" in document else None,
            noise=noise_from_json(document["noise"]) if document["noise"] else None,
            splits=bool(document["splits"]),
            choices=bool(document.get("choices", False)),
            bound=int(document["bound"]) if "bound" in document else None,
        )
