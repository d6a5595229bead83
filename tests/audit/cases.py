"""Cases of the audit: what is audited, with how many releases, and which fault must be caught."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.totals import TotalsPlan
from dpgeo.mechanisms.registry import MECHANISMS
from tests.audit.attack import Case, possible
from tests.audit.datasets import PAIRS, TORN, Floats, Ints, Pair
from tests.statistical.test_empirical_epsilon import BOUND

GRID, TREE = Fraction(11, 10), Fraction(5, 4)

HALF_FOR_TOTALS = TotalsPlan(percent=50, sightings=8, visits=8)

IN_TEN_CELLS = tuple(pair for pair in PAIRS if pair.name == "among twenty, ten cells")

IN_ONE_CELL = tuple(pair for pair in PAIRS if pair.name == "among twenty, ten records in a cell")

PEOPLE: dict[str, object] = {"counting": Counting.PEOPLE, "pairs": IN_TEN_CELLS}

ONCE: dict[str, object] = {"counting": Counting.PEOPLE, "pairs": IN_ONE_CELL, "bound": 1}
"""Fields for the cases with zones and flows: the added person has records in one cell only.

If records were in ten cells, the rho would be divided among as many zones or flows, whose counts
the attacker cannot add up. With one cell, the whole rho is spent on one zone, or on one flow and
its two ends.
"""

VISITS: dict[str, object] = {"pairs": IN_ONE_CELL}

IN_RHO: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("uniform-grid, people counted", "uniform-grid", PEOPLE),
    ("uniform-grid", "uniform-grid", VISITS),
    ("zones, people counted", "zones", ONCE),
    ("averages", "averages", VISITS),
    ("flows, people counted", "flows", ONCE),
    (
        "uniform-grid, people counted, totals",
        "uniform-grid",
        PEOPLE | {"totals": TotalsPlan(percent=10, sightings=8, visits=8)},
    ),
)
"""Names, mechanisms and other fields of the cases that a rho pays for.

Each is audited on the pair of datasets whose counts differ as much as the claim allows.
"""


def _crowded() -> tuple[Floats, Floats, Ints]:
    """Return the records of the last pair in PAIRS a hundred times, all in one cell.

    No two of the hundred copies have a person in common.
    """
    longitude, latitude, persons = PAIRS[-1].others()
    return np.tile(longitude, 100), np.tile(latitude, 100), np.arange(100 * persons.size)


BUSY = Pair("beside 40,000 in the cell", _crowded, PAIRS[0].added)
"""Two neighbouring datasets with so many people that the mechanism `auto` first counts equal
squares, and chooses from these counts what to measure later.
"""

CASES = (
    Case(name="uniform-grid", key="uniform-grid", wanted=GRID, most=24_000),
    Case(name="sparse-grid", key="sparse-grid", wanted=GRID, most=48_000),
    Case(name="zones", key="zones", wanted=GRID, most=24_000),
    Case(name="averages", key="averages", wanted=GRID, most=24_000),
    Case(
        name="averages, people counted",
        key="averages",
        wanted=GRID,
        most=24_000,
        counting=Counting.PEOPLE,
        bound=1,  # each person counts in one zone only, whose noise is that of the whole epsilon
        chosen={"zones": "tiles"},
    ),
    Case(name="quartiles", key="quartiles", wanted=GRID, most=24_000),
    Case(
        name="quartiles, people counted",
        key="quartiles",
        wanted=GRID,
        most=24_000,
        counting=Counting.PEOPLE,
        bound=1,
        chosen={"zones": "tiles", "bins": 8},
    ),
    Case(name="time-slices", key="time-slices", wanted=GRID, most=24_000),
    Case(
        name="flows",
        key="flows",
        wanted=TREE,
        most=20_000,
    ),
    Case(
        name="flows, chains of rows",
        key="flows",
        wanted=TREE,
        most=20_000,
        bound=BOUND - 1,  # the added person's BOUND records make BOUND - 1 trips
        chosen={"trips": "consecutive rows", "within": True, "gap_hours": 168},
    ),
    Case(
        name="trips",
        key="trips",
        wanted=TREE,
        most=20_000,
    ),
    Case(
        name="places",
        key="places",
        wanted=GRID,
        most=24_000,
        chosen={"places": "spots", "reach": 2000},
    ),
    Case(
        name="places by day of the week, people counted",
        key="places",
        wanted=TREE,
        most=24_000,
        counting=Counting.PEOPLE,
        # With a bound of 1, the added person adds to one count of all days and to one of a single
        # day. To each of these two measurements, that is as much as any person can add.
        bound=1,
        chosen={"places": "spots", "reach": 2000, "slices": "days of the week"},
    ),
    Case(name="category-slices", key="category-slices", wanted=GRID, most=24_000),
    Case(
        name="profile",
        key="profile",
        wanted=GRID,
        most=24_000,
        chosen={"parts": "days of the week"},
    ),
    Case(name="contours", key="contours", wanted=GRID, most=24_000, seconds=300),
    Case(name="quadtree", key="quadtree", wanted=TREE, most=10_000),
    Case(name="adaptive-grid", key="adaptive-grid", wanted=TREE, most=10_000),
    Case(
        name="privtree",
        key="privtree",
        wanted=TREE,
        catch=Fraction(3, 2),
        most=20_000,
        note="Its splits rarely reveal as much as their proof allows: that takes a path on which "
        "several noisy counts are just at the threshold.",
    ),
    Case(name="dpcube", key="dpcube", wanted=TREE, most=10_000),
    Case(name="auto", key="auto", wanted=TREE, most=24_000, seconds=600),
    Case(
        name="auto, phases chosen twice",
        key="auto",
        wanted=TREE,
        most=24_000,
        seconds=600,
        pairs=(BUSY,),
    ),
    Case(
        name="auto-by-time",
        key="auto-by-time",
        wanted=TREE,
        catch=Fraction(3, 2),
        most=24_000,
        seconds=600,
        note="Its phases measure boxes that the earlier ones chose, in every slice; an attacker "
        "who weighs single numbers uses only some of what they show together.",
    ),
    Case(
        name="private-clusters",
        key="private-clusters",
        wanted=TREE,
        catch=Fraction(4),
        most=10_000,
        note="A centre is the quotient of noisy sums, so a release shows two of the three noisy "
        "numbers that each round pays for.",
    ),
    Case(
        name="prilocation (virtual users)",
        key="prilocation",
        wanted=TREE,
        catch=Fraction(8),
        most=8_000,
        note="Half of its epsilon goes into the places of virtual users, which are replaced within "
        "a bin: hardly any event shows what that half would allow.",
    ),
    Case(
        name="uniform-grid, totals",
        key="uniform-grid",
        wanted=TREE,
        catch=Fraction(2),
        most=10_000,
        totals=HALF_FOR_TOTALS,
        note="Half of its epsilon buys three totals, each with a part of that half; each "
        "is audited by itself, too.",
    ),
    *(
        Case(
            name=f"total of {total} alone",
            key="uniform-grid",
            wanted=GRID,
            most=24_000,
            learned=16_000,
            epsilon=epsilon,
            totals=HALF_FOR_TOTALS,
            total=total,
        )
        for total, epsilon in (
            ("people", Fraction(20)),
            ("sightings", Fraction(20)),
            ("visits", Fraction(20, 3)),
        )
    ),
    *(
        Case(
            name=f"{name} in rho",
            key=key,
            wanted=Fraction(4),
            most=24_000,
            learned=2000,
            rho=Fraction(1, 8),
            **more,  # type: ignore[arg-type]
        )
        for name, key, more in IN_RHO
    ),
    Case(
        name="uniform-grid, popular bounding",
        key="uniform-grid",
        wanted=TREE,
        catch=Fraction(3, 2),
        most=3_000,
        learned=800,
        seconds=300,
        bounding=Bounding.POPULAR,
        pairs=(TORN,),
        note="Each release is counted anew by the engine, so few can be drawn.",
    ),
)

FACTORS = tuple(map(Fraction, ("1.1", "1.15", "1.25", "1.5", "2", "3", "4", "6", "8")))
"""The planted factors on epsilon; those above 2 are only for cases that cannot catch smaller ones.
"""

EXEMPT = {"planar-laplace"}
"""Mechanisms that `tests.audit.points` audits: they hide places, not presence."""


def factors_of(wanted: Fraction, catch: Fraction) -> tuple[Fraction, ...]:
    """Return 1 (no fault) and the factors to plant: FACTORS from `wanted` to 2 or, if `catch` is
    larger, to `catch`.
    """
    return (Fraction(1), *(each for each in FACTORS if wanted <= each <= max(catch, Fraction(2))))


def check_complete() -> None:
    """Raise AssertionError unless the audit is complete and has enough power.

    Every mechanism needs a case unless it is exempt, and every case must be able to detect the
    fault that is planted in it.
    """
    missing = MECHANISMS.keys() - {case.key for case in CASES} - EXEMPT
    assert not missing, f"Add cases for {missing} to the audit."
    for case in CASES:
        assert case.note or case.catch == case.wanted, f"Say why {case.name} catches less."
        assert possible(case, case.catch) >= 0.95, f"{case.name} needs more draws."
