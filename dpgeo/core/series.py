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
from dpgeo.core.window import Window

MICRO = 10**6

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
    """What an epsilon hides: a person in the whole series, in any w periods in a row, or in one."""

    PERSON = "person"
    ANY = "any"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Terms:
    """The privacy terms of a series, which each of its releases states.

    `each` is the most that one person adds to a single map. `most` depends on the protection: for
    `PERSON` it is the most that one person adds to all maps together, for `ANY` the number w of
    consecutive periods that are protected, and for `ONE` it is 1. `epsilon` is charged once for the
    series (`PERSON`), for any w consecutive periods (`ANY`) or for each period (`ONE`).
    """

    period: Period
    protection: Protection
    each: int
    most: int
    epsilon: Fraction

    @property
    def bound(self) -> int:
        """The sensitivity of each map's counts."""
        return self.most if self.protection is Protection.PERSON else self.each

    @property
    def epsilon_of_map(self) -> Fraction:
        """The epsilon with which each map is drawn, a multiple of one millionth.

        It is rounded down, so that any w consecutive periods cost at most epsilon.
        """
        if self.protection is not Protection.ANY:
            return self.epsilon
        return Fraction(int(self.epsilon * MICRO) // self.most, MICRO)

    @property
    def epsilon_of_year(self) -> Fraction:
        """The most that all maps of one year spend together on a person."""
        if self.protection is Protection.PERSON:
            return self.epsilon
        return self.epsilon_of_map * self.period.in_a_year


def window_of(period: Period, first: date, number: int) -> Window:
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
        """Return the position that the public description `about` of a release states.

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
            ),
        )

    def facts(self) -> dict[str, str]:
        """Return the entries of `Released.about` from which `read` restores this object."""
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
        }
