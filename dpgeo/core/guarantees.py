"""What is promised to a person, one type per notion of privacy.

Guarantees of one notion and one privacy unit add up; different notions never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Unit(StrEnum):
    """Whose presence is hidden: what neighbouring datasets differ in."""

    PERSON = "person"
    RECORD = "record"


class Counting(StrEnum):
    """What a cell counts."""

    PEOPLE = "people"
    VISITS = "visits"


@dataclass(frozen=True, slots=True)
class PureDP:
    """epsilon-differential privacy for adding or removing one privacy unit."""

    epsilon: Fraction
    unit: Unit

    def __add__(self, other: object) -> PureDP:
        if not isinstance(other, PureDP) or other.unit != self.unit:
            return NotImplemented
        return PureDP(self.epsilon + other.epsilon, self.unit)


@dataclass(frozen=True, slots=True)
class GeoInd:
    """Geo-indistinguishability: odds change by at most exp(epsilon * metres moved).

    epsilon is held in whole pico-epsilon per metre.
    """

    pico_epsilon_per_metre: int

    def __add__(self, other: object) -> GeoInd:
        if not isinstance(other, GeoInd):
            return NotImplemented
        return GeoInd(self.pico_epsilon_per_metre + other.pico_epsilon_per_metre)
