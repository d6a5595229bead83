"""Privacy guarantees, one type per notion of privacy.

Guarantees of the same notion and privacy unit add up; guarantees of different notions never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from dpgeo.phrases import shown_by_scripts, translatable


class Unit(StrEnum):
    """Privacy unit; neighbouring datasets differ by one privacy unit, added or removed."""

    PERSON = translatable("person")
    RECORD = translatable("record")


class Counting(StrEnum):
    """What a cell counts: distinct people, or visits (rows)."""

    PEOPLE = shown_by_scripts("people")
    VISITS = shown_by_scripts("visits")


class Bounding(StrEnum):
    """Contribution bounding: how to choose the places to keep for a person who has too many."""

    RANDOM = "random"
    POPULAR = "popular"


class Notion(StrEnum):
    """Notion of privacy. The epsilons of different notions cannot be compared."""

    PURE_DP = "pure-dp"
    GEO_IND = "geo-ind"


SCALE = {Notion.PURE_DP: 10**6, Notion.GEO_IND: 10**12}
"""Number of ledger units in an epsilon of 1, by notion of privacy.

For geo-indistinguishability, that is an epsilon of 1 per metre.
"""


@dataclass(frozen=True, slots=True)
class PureDP:
    """Pure epsilon-differential privacy for adding or removing one privacy unit."""

    notion: ClassVar[Notion] = Notion.PURE_DP

    epsilon: Fraction
    unit: Unit

    def __add__(self, other: object) -> PureDP:
        if not isinstance(other, PureDP) or other.unit != self.unit:
            return NotImplemented
        return PureDP(self.epsilon + other.epsilon, self.unit)


@dataclass(frozen=True, slots=True)
class GeoInd:
    """Geo-indistinguishability: the odds of an output change by at most exp(epsilon * distance).

    That holds if every report of one privacy unit is moved by at most that distance, in metres. So
    if each of n reports of a privacy unit is perturbed with epsilon e, the reports cost n e
    together. The guarantee hides the positions of reports, but not that there are reports or how
    many. Epsilon is stored as an integer number of pico-epsilon per metre.
    """

    notion: ClassVar[Notion] = Notion.GEO_IND

    pico_epsilon_per_metre: int
    unit: Unit

    @property
    def epsilon(self) -> Fraction:
        """Exact epsilon per metre."""
        return Fraction(self.pico_epsilon_per_metre, SCALE[Notion.GEO_IND])

    def __add__(self, other: object) -> GeoInd:
        if not isinstance(other, GeoInd) or other.unit != self.unit:
            return NotImplemented
        return GeoInd(self.pico_epsilon_per_metre + other.pico_epsilon_per_metre, self.unit)


Guarantee = PureDP | GeoInd


def guarantee(notion: Notion, epsilon: Fraction, unit: Unit) -> Guarantee:
    """Return the guarantee for a notion of privacy, an epsilon and a privacy unit.

    Raises ValueError if an epsilon per metre is not an integer number of pico-epsilon.
    """
    if notion is Notion.PURE_DP:
        return PureDP(epsilon, unit)
    return GeoInd(whole_units(notion, epsilon), unit)


def whole_units(notion: Notion, epsilon: Fraction) -> int:
    """Convert an epsilon to ledger units. Raises ValueError if the result is not an integer."""
    units = epsilon * SCALE[notion]
    if units.denominator != 1:
        raise ValueError(f"{epsilon} is not a whole number of the ledger's units")
    return units.numerator


def from_units(notion: Notion, units: int) -> Fraction:
    """Convert ledger units to an epsilon; this inverts `whole_units`."""
    return Fraction(units, SCALE[notion])
