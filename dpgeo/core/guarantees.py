"""What is promised to a person, one type per notion of privacy.

Guarantees of one notion and one privacy unit add up; different notions never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from dpgeo.phrases import shown_by_scripts, translatable


class Unit(StrEnum):
    """Whose presence is hidden: what neighbouring datasets differ in."""

    PERSON = translatable("person")
    RECORD = translatable("record")


class Counting(StrEnum):
    """What a cell counts."""

    PEOPLE = shown_by_scripts("people")
    VISITS = shown_by_scripts("visits")


class Bounding(StrEnum):
    """Which of a person's places enter a measurement, where there are more than the bound."""

    RANDOM = "random"
    POPULAR = "popular"


class Notion(StrEnum):
    """What kind of promise a guarantee is. Amounts of different notions have nothing in common."""

    PURE_DP = "pure-dp"
    GEO_IND = "geo-ind"


SCALE = {Notion.PURE_DP: 10**6, Notion.GEO_IND: 10**12}
"""Whole units, as the ledger keeps them, in one epsilon (per metre where points are moved)."""


@dataclass(frozen=True, slots=True)
class PureDP:
    """epsilon-differential privacy for adding or removing one privacy unit."""

    notion: ClassVar[Notion] = Notion.PURE_DP

    epsilon: Fraction
    unit: Unit

    def __add__(self, other: object) -> PureDP:
        if not isinstance(other, PureDP) or other.unit != self.unit:
            return NotImplemented
        return PureDP(self.epsilon + other.epsilon, self.unit)


@dataclass(frozen=True, slots=True)
class GeoInd:
    """Geo-indistinguishability: odds change by at most exp(epsilon * metres moved).

    epsilon is held in whole pico-epsilon per metre and is that of all reports of one unit
    together, each moved by so many metres: n reports at e each make n e. What it hides is where a
    report was made, neither that it was made nor how many there are.
    """

    notion: ClassVar[Notion] = Notion.GEO_IND

    pico_epsilon_per_metre: int
    unit: Unit

    @property
    def epsilon(self) -> Fraction:
        """Per metre, exact."""
        return Fraction(self.pico_epsilon_per_metre, SCALE[Notion.GEO_IND])

    def __add__(self, other: object) -> GeoInd:
        if not isinstance(other, GeoInd) or other.unit != self.unit:
            return NotImplemented
        return GeoInd(self.pico_epsilon_per_metre + other.pico_epsilon_per_metre, self.unit)


Guarantee = PureDP | GeoInd


def guarantee(notion: Notion, epsilon: Fraction, unit: Unit) -> Guarantee:
    """The guarantee of a notion. Raises ValueError where GeoInd cannot hold epsilon exactly."""
    if notion is Notion.PURE_DP:
        return PureDP(epsilon, unit)
    return GeoInd(whole_units(notion, epsilon), unit)


def whole_units(notion: Notion, epsilon: Fraction) -> int:
    """An epsilon as the ledger keeps it. Raises ValueError when it is not whole."""
    units = epsilon * SCALE[notion]
    if units.denominator != 1:
        raise ValueError(f"{epsilon} is not a whole number of the ledger's units")
    return units.numerator


def from_units(notion: Notion, units: int) -> Fraction:
    """Invert `whole_units`."""
    return Fraction(units, SCALE[notion])
