"""What a figure is a number of: people, sightings or visits.

People are heads, each once. Sightings are people added up over places or times, where somebody may
count in several. Visits are rows, by the owner's own word. A figure is called people only where
nobody counts in it twice.
"""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.phrases import shown_by_scripts


class Counted(StrEnum):
    """What a figure is a number of."""

    PEOPLE = shown_by_scripts("people")
    SIGHTINGS = shown_by_scripts("sightings")
    VISITS = shown_by_scripts("visits")


def counted_once(counting: Counting) -> Counted:
    """Return what the count of one place and time is a number of."""
    return Counted.PEOPLE if counting is Counting.PEOPLE else Counted.VISITS


def counted_in_sum(counting: Counting, bound: int) -> Counted:
    """Return what a sum over places or times is a number of."""
    if counting is Counting.VISITS:
        return Counted.VISITS
    return Counted.PEOPLE if bound == 1 else Counted.SIGHTINGS


def people_between(low: float, high: float, unit: Unit, bound: int) -> tuple[int, int] | None:
    """Return the fewest and most people in a sum from `low` to `high`; None if rows have no person.

    Whoever is counted adds at least 1 to the sum and at most the contribution bound. Rounded
    outwards, so that both hold wherever the sum's interval does.
    """
    if unit is Unit.RECORD:
        return None
    return max(0, math.floor(Fraction(low) / bound)), max(0, math.ceil(high))
