"""Privacy guarantees, one type per notion of privacy.

Guarantees of the same notion and privacy unit add up; guarantees of different notions never do. A
ledger for zero-concentrated differential privacy (zCDP) also pays for pure guarantees, since these
imply zCDP; `units_in` gives the price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from dpgeo.core.zcdp import NANO, epsilon_at, nano_rho_of_pure
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
    ZCDP = "zcdp"
    GEO_IND = "geo-ind"


SCALE = {Notion.PURE_DP: 10**6, Notion.ZCDP: NANO, Notion.GEO_IND: 10**12}
"""Number of ledger units in an amount of 1, by notion of privacy.

The amount is an epsilon for pure differential privacy, a rho for zCDP, and an epsilon per metre for
geo-indistinguishability.
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

    @property
    def amount(self) -> Fraction:
        """What adds up: epsilon."""
        return self.epsilon

    def of_changes(self, number: int) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta for datasets that differ by `number` privacy units.

        The epsilon is `number` times as large as for one unit, and delta is 0.
        """
        return number * self.epsilon, Fraction(0)


@dataclass(frozen=True, slots=True)
class ZCDP:
    """Zero-concentrated differential privacy for adding or removing one privacy unit.

    Rho is what is spent and added up. `delta` is declared for the dataset; it only says at which
    delta rho is converted to an epsilon for readers (`core.zcdp`).
    """

    notion: ClassVar[Notion] = Notion.ZCDP

    rho: Fraction
    delta: Fraction
    unit: Unit

    @property
    def epsilon(self) -> Fraction:
        """The epsilon at `delta`, rounded up to a whole millionth; such epsilons do not add up."""
        return epsilon_at(self.rho, self.delta)

    @property
    def amount(self) -> Fraction:
        """What adds up: rho."""
        return self.rho

    def of_changes(self, number: int) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta for `number` units added or removed.

        For k units, a rho-zCDP mechanism is (k^2 rho)-zCDP (Bun and Steinke 2016, proposition 1.9).
        So moving a unit, which is removed in one place and added in another, counts as 4 rho.
        """
        return epsilon_at(number**2 * self.rho, self.delta), self.delta

    def __add__(self, other: object) -> ZCDP:
        if not isinstance(other, ZCDP) or (other.unit, other.delta) != (self.unit, self.delta):
            return NotImplemented
        return ZCDP(self.rho + other.rho, self.delta, self.unit)


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

    @property
    def amount(self) -> Fraction:
        """The amount that adds up over releases: epsilon per metre."""
        return self.epsilon

    def __add__(self, other: object) -> GeoInd:
        if not isinstance(other, GeoInd) or other.unit != self.unit:
            return NotImplemented
        return GeoInd(self.pico_epsilon_per_metre + other.pico_epsilon_per_metre, self.unit)


Guarantee = PureDP | ZCDP | GeoInd


def protected_at(cost: PureDP | ZCDP, people: int) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta at which a household is protected if `cost` is a person's share.

    A share of a pure epsilon is rounded down to a whole millionth, so several epsilons have the
    same share. All of them bound what the household loses, and the one with the fewest decimals is
    returned: 1 for three people with 0.333333 each, who lose 0.999999.
    """
    epsilon, delta = cost.of_changes(people)
    if delta:
        return epsilon, delta
    most = epsilon + Fraction(people - 1, SCALE[Notion.PURE_DP])
    steps = (Fraction(1, 10**decimals) for decimals in range(6))
    rounder = (step * math.ceil(epsilon / step) for step in steps)
    return next((each for each in rounder if each <= most), epsilon), delta


def guarantee(
    notion: Notion, amount: Fraction, unit: Unit, delta: Fraction | None = None
) -> Guarantee:
    """Return the guarantee for a notion of privacy, an amount (see `SCALE`) and a privacy unit.

    `delta` is needed for zCDP alone. Raises ValueError if it is missing, or if an epsilon per metre
    is not an integer number of pico-epsilon.
    """
    if notion is Notion.PURE_DP:
        return PureDP(amount, unit)
    if notion is Notion.ZCDP:
        if delta is None:
            raise ValueError("A rho has a meaning for readers only at a delta.")
        return ZCDP(amount, delta, unit)
    return GeoInd(whole_units(notion, amount), unit)


def whole_units(notion: Notion, amount: Fraction) -> int:
    """Convert an amount to ledger units. Raises ValueError if the result is not an integer."""
    units = amount * SCALE[notion]
    if units.denominator != 1:
        raise ValueError(f"{amount} is not a whole number of the ledger's units")
    return units.numerator


def from_units(notion: Notion, units: int) -> Fraction:
    """Convert ledger units to an amount; this inverts `whole_units`."""
    return Fraction(units, SCALE[notion])


def units_in(notion: Notion, cost: Guarantee) -> int:
    """Return what a guarantee costs in a ledger that counts in `notion`, in that ledger's units.

    A pure epsilon costs a rho of epsilon^2/2 in a ledger for zCDP, rounded up. Raises TypeError for
    any other pair of different notions.
    """
    if notion is Notion.ZCDP and isinstance(cost, PureDP):
        return nano_rho_of_pure(cost.epsilon)
    if notion is not cost.notion:
        raise TypeError(f"A {cost.notion.value} cost cannot be paid from a {notion.value} ledger.")
    return whole_units(notion, cost.amount)
