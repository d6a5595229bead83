"""Noisy totals of all the data, which a release can measure in addition to its map.

There are totals of people, of visits (rows), and of sightings (a person counted once in each place
and time).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.counted import Counted
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import CountNoise, DiscreteGaussian, count_noise_from_json

DEFAULT_PERCENT = 10

MAX_PERCENT = 50

DEFAULT_SIGHTINGS = 100

DEFAULT_VISITS = 400

MAX_TOTAL_PER_PERSON = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsPlan:
    """What a request spends on totals, and the most that one person adds to each.

    All totals together get `percent` per cent of the request's epsilon, or of its rho. One person
    adds 1 to people, at most `sightings` to sightings and at most `visits` to visits. Raises
    InvalidInput (fields "totals", "most_sightings" or "most_visits") for values out of range.
    """

    percent: int = DEFAULT_PERCENT
    sightings: int = DEFAULT_SIGHTINGS
    visits: int = DEFAULT_VISITS

    def __post_init__(self) -> None:
        if not 1 <= self.percent <= MAX_PERCENT:
            raise InvalidInput(
                "Must be a whole number of per cent from 1 to {most}, or 0 to buy no totals.",
                most=MAX_PERCENT,
                field="totals",
            )
        for field, value in (("most_sightings", self.sightings), ("most_visits", self.visits)):
            if not 1 <= value <= MAX_TOTAL_PER_PERSON:
                raise InvalidInput(
                    "Must be from 1 to {most:,}: the most that one person adds to the total.",
                    most=MAX_TOTAL_PER_PERSON,
                    field=field,
                )

    def to_json(self) -> dict[str, int]:
        """Return the plan as a JSON object."""
        return {"percent": self.percent, "sightings": self.sightings, "visits": self.visits}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the plan described by `document`, which `to_json` made."""
        return cls(**{name: int(value) for name, value in document.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class BoughtTotal:
    """A noisy total as drawn, which may be negative.

    Noise may not be the only error: a person's contributions beyond `most` are not counted.
    """

    count: int
    noise: CountNoise

    @property
    def most(self) -> int:
        """The most that one person adds to the total; its square is the squared sensitivity."""
        if isinstance(self.noise, DiscreteGaussian):
            return math.isqrt(self.noise.squared_sensitivity)
        return self.noise.sensitivity

    @property
    def amount(self) -> Fraction:
        """What the total cost: a rho if the noise is Gaussian, otherwise an epsilon."""
        return self.noise.rho if isinstance(self.noise, DiscreteGaussian) else self.noise.epsilon

    @property
    def margin(self) -> int:
        """Half-width of the total's 95 % interval."""
        return self.noise.margin()

    @property
    def noisy(self) -> bool:
        """Whether the margin is at least as large as the total, so that the total says nothing."""
        return self.count <= self.margin

    def to_json(self) -> dict[str, Any]:
        """Return the total as a JSON object."""
        return {"count": self.count, "noise": self.noise.to_json()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the total described by `document`, which `to_json` made."""
        noise = count_noise_from_json(document["noise"])
        return cls(count=int(document["count"]), noise=noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The totals that one release paid for, each with noise of its own."""

    people: BoughtTotal
    sightings: BoughtTotal
    visits: BoughtTotal

    @property
    def amount(self) -> Fraction:
        """What all totals cost together, an epsilon or a rho."""
        return sum((each.amount for each in self.each().values()), Fraction(0))

    @property
    def in_rho(self) -> bool:
        """Whether the totals have Gaussian noise, which a rho paid for."""
        return isinstance(self.people.noise, DiscreteGaussian)

    def each(self) -> dict[Counted, BoughtTotal]:
        """Return a mapping from what is counted (people, sightings, visits) to its total."""
        return {
            Counted.PEOPLE: self.people,
            Counted.SIGHTINGS: self.sightings,
            Counted.VISITS: self.visits,
        }

    def plan(self, amount: Fraction) -> TotalsPlan:
        """Return the plan with which these totals were bought.

        `amount` is the epsilon or rho that the whole release cost.
        """
        return TotalsPlan(
            percent=int(100 * self.amount / amount),
            sightings=self.sightings.most,
            visits=self.visits.most,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the totals as a JSON object."""
        return {name.value: total.to_json() for name, total in self.each().items()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the totals described by `document`, which `to_json` made."""
        return cls(**{name: BoughtTotal.from_json(total) for name, total in document.items()})
