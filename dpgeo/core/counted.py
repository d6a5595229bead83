"""What a count or a sum of counts refers to: people, sightings or visits.

A count or a sum refers to people only if nobody is counted twice in it. A sum over places or times,
in which one person may be counted several times, refers to sightings. Visits are rows; pages use
the owner's noun for them.
"""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.phrases import shown_by_scripts


class Counted(StrEnum):
    """What a figure counts: people, sightings or visits."""

    PEOPLE = shown_by_scripts("people")
    SIGHTINGS = shown_by_scripts("sightings")
    VISITS = shown_by_scripts("visits")


def counted_once(counting: Counting) -> Counted:
    """Return whether the count of a single place and time counts people or visits."""
    return Counted.PEOPLE if counting is Counting.PEOPLE else Counted.VISITS


def counted_in_sum(counting: Counting, bound: int) -> Counted:
    """Return what a sum of counts over places or times refers to: people, sightings or visits.

    `bound` is the contribution bound.
    """
    if counting is Counting.VISITS:
        return Counted.VISITS
    return Counted.PEOPLE if bound == 1 else Counted.SIGHTINGS


def people_between(low: float, high: float, unit: Unit, bound: int) -> tuple[int, int] | None:
    """Return the smallest and largest possible number of people in a sum of counts.

    `low` and `high` are the limits of the sum's interval. A counted person adds at least 1 and at
    most `bound`, the contribution bound, to the sum. The results are rounded outwards, so they hold
    whenever the interval does. Returns None if the privacy unit is a record.
    """
    if unit is Unit.RECORD:
        return None
    return max(0, math.floor(Fraction(low) / bound)), max(0, math.ceil(high))
