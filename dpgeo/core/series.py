"""Series of releases: the calendar of their periods, and their privacy protection.

Periods follow from a declared first day alone, so that no row decides where a period begins.
"""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from fractions import Fraction

from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Guarantee, Notion, Unit, from_units, guarantee, whole_units
from dpgeo.core.window import Window
from dpgeo.core.zcdp import delta_text, epsilon_at, exponent_delta, parse_delta

LAST_MONTH_DAY = 28
"""Latest day of a month on which monthly periods may begin; every month has it."""


class Period(StrEnum):
    """Length of a series' periods."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    @property
    def in_a_year(self) -> int:
        """Largest number of periods that begin within a year, which may have 366 days."""
        return {Period.DAY: 366, Period.WEEK: 53, Period.MONTH: 12}[self]


class Protection(StrEnum):
    """In which periods of a series an epsilon hides a person: all, any w in a row, or a single one.

    `PERSON` and `ALL` hide a person in the whole series: with `PERSON`, what one person adds to all
    maps is limited; with `ALL`, the number of maps is declared instead. `ANY` is for w periods in a
    row, and `ONE` for one period.
    """

    PERSON = "person"
    ANY = "any"
    ONE = "one"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Terms:
    """The privacy terms of a series, which each of its releases states.

    `each` is the most that one person adds to a single map. `most` depends on the protection: for
    `PERSON` it is the most that one person adds to all maps together, for `ALL` the number of maps,
    for `ANY` the number w of consecutive periods that are protected, and for `ONE` it is 1.
    `epsilon` is charged once for the series (`PERSON`), for all maps (`ALL`), for any w consecutive
    periods (`ANY`) or for each period (`ONE`).

    If `rho` and `delta` are set, maps have Gaussian noise, and rho is charged instead of epsilon,
    by the same rules. `epsilon`, and every epsilon that a property returns, is then converted from
    a rho at this delta.
    """

    period: Period
    protection: Protection
    each: int
    most: int
    epsilon: Fraction
    rho: Fraction | None = None
    delta: Fraction | None = None

    @property
    def maps(self) -> int | None:
        """How many maps the series has; None if it goes on until it is ended."""
        return self.most if self.protection is Protection.ALL else None

    @property
    def bound(self) -> int:
        """The sensitivity of a map's counts: the most that one person adds to them.

        With the protection `PERSON`, it is instead the most that one person adds to all maps
        together.
        """
        return self.most if self.protection is Protection.PERSON else self.each

    @property
    def cost(self) -> Guarantee:
        """The guarantee for a person: the epsilon or rho of these terms.

        As `protection` says, it is charged for the whole series, for all maps, for any `most`
        consecutive periods, or for each period.
        """
        if self.rho is None:
            return guarantee(Notion.PURE_DP, self.epsilon, Unit.PERSON)
        return guarantee(Notion.ZCDP, self.rho, Unit.PERSON, self.delta)

    @property
    def amount_of_map(self) -> Fraction:
        """The epsilon or rho with which each map is drawn, in whole units of a ledger.

        It is rounded down, so that all maps, or any w consecutive ones, cost at most `cost`.
        """
        cost = self.cost
        shared = self.protection in (Protection.ALL, Protection.ANY)
        units = whole_units(cost.notion, cost.amount) // (self.most if shared else 1)
        return from_units(cost.notion, units)

    @property
    def epsilon_of_map(self) -> Fraction:
        """The epsilon with which each map is drawn; 0 if `amount_of_map` was rounded down to 0."""
        return self._epsilon(self.amount_of_map)

    @property
    def epsilon_of_year(self) -> Fraction:
        """The most epsilon that the maps of one year together cost a person."""
        if self.protection is Protection.PERSON:
            return self.epsilon
        return self._epsilon(self.amount_of_map * self.maps_of_year)

    @property
    def maps_of_year(self) -> int:
        """The largest number of maps whose periods can begin within any one year."""
        return min(self.maps or self.period.in_a_year, self.period.in_a_year)

    def _epsilon(self, amount: Fraction) -> Fraction:
        if self.delta is None or amount == 0:
            return amount
        return epsilon_at(amount, self.delta)


def period_window(period: Period, first: date, number: int) -> Window:
    """Return the days of period `number`, counted from 1, of a series that begins on `first`."""
    start = _start(period, first, number - 1)
    return Window(start, _start(period, first, number) - timedelta(days=1))


def _start(period: Period, first: date, after: int) -> date:
    """Return the first day of the period that begins `after` periods after the first period."""
    if period is Period.DAY:
        return first + timedelta(days=after)
    if period is Period.WEEK:
        return first + timedelta(weeks=after)
    months = first.month - 1 + after
    year, month = first.year + months // 12, months % 12 + 1
    return date(year, month, min(first.day, calendar.monthrange(year, month)[1]))


@dataclass(frozen=True, slots=True)
class Part:
    """The position of a release in its series: it is map `number`, counted from 1."""

    series: str
    title: str
    number: int
    first_day: date
    terms: Terms

    @classmethod
    def read(cls, about: Mapping[str, str]) -> Part | None:
        """Return a release's position in its series, as its public description `about` states it.

        Returns None if the release is in no series.
        """
        if not about.get("series"):
            return None
        return cls(
            series=about["series"],
            title=about["series_title"],
            number=int(about["series_number"]),
            first_day=date.fromisoformat(about["series_first_day"]),
            terms=Terms(
                period=Period(about["series_period"]),
                protection=Protection(about["series_protection"]),
                each=int(about["series_each"]),
                most=int(about["series_most"]),
                epsilon=Fraction(about["series_epsilon"]),
                **_rho(about),
            ),
        )

    def facts(self) -> dict[str, str]:
        """Return this position as public facts for `Released.about`; `read` restores it."""
        return {
            "series": self.series,
            "series_title": self.title,
            "series_number": str(self.number),
            "series_first_day": self.first_day.isoformat(),
            "series_period": self.terms.period.value,
            "series_protection": self.terms.protection.value,
            "series_each": str(self.terms.each),
            "series_most": str(self.terms.most),
            "series_epsilon": format_epsilon(self.terms.epsilon),
            **self._rho_facts(),
        }

    def _rho_facts(self) -> dict[str, str]:
        rho, delta = self.terms.rho, self.terms.delta
        if rho is None or delta is None:
            return {}
        return {"series_rho": format_epsilon(rho), "series_delta": delta_text(delta)}


def _rho(about: Mapping[str, str]) -> dict[str, Fraction]:
    """Return the fields `rho` and `delta` of `Terms`, read from a release's `about`.

    Returns {} if the release has no Gaussian noise.
    """
    if "series_rho" not in about:
        return {}
    delta = exponent_delta(parse_delta(about["series_delta"], 1))
    return {"rho": Fraction(about["series_rho"]), "delta": delta}
