"""Empirical audit of epsilon, from releases of neighbouring datasets.

The datasets differ in one person with ten records, all in one cell or each in a different cell. The
attack uses the whole output: values, structure, order and labels. The same tests must detect
planted faults.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.categories import Category
from dpgeo.core.guarantees import Bounding
from dpgeo.core.measures import Measure
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import GridRelease, Released
from dpgeo.core.time_slices import HOURS_A_WEEK
from dpgeo.core.totals import TotalsPlan
from dpgeo.mechanisms import prilocation, uniform_grid
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy import meter as meter_module
from dpgeo.privacy import sampler
from dpgeo.privacy.bounding import (
    PILOT_SHARE,
    CountedRegions,
)
from dpgeo.privacy.counts import PrivateCounts, PrivateTotals
from dpgeo.privacy.mechanism import Mechanism, run
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.randomness import RandomWords
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones
from tests.conformance.cases import sides
from tests.randomness import SeededEntropy
from tests.statistical.audit import Counted, Difference, proven_epsilon
from tests.statistical.bounds import EFFORT, seed
from tests.views import ArrayView

pytestmark = pytest.mark.statistical

AREA = StudyArea.from_bounds(0, 0, 0.1, 0.1)
BOUND = 10
SIDE = 4
EPSILON = Fraction(2)

ONE_CELL = np.full(10, 6)
TEN_CELLS = np.array([0, 1, 3, 5, 6, 8, 10, 11, 13, 15])


def _tiles() -> Zones:
    """Return zones with the shapes of the grid's cells, in the same order."""
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    west, south = 0.1 * column / SIDE, 0.1 * (SIDE - 1 - row) / SIDE
    keys = tuple(str(cell) for cell in range(SIDE**2))
    shapes = shapely.box(west, south, west + 0.1 / SIDE, south + 0.1 / SIDE)
    return Zones(keys=keys, names=keys, shapes=shapes)


TILES = _tiles()

SPOTS = Places.of_cells(AREA, SIDE)
"""The centres of the cells as places, in the same order; every record is within 2 km of one."""

HALF = Measure("half", "Half", "", 0.0, 1.0)
"""A measure from 0 to 1: the added person has the value 1, and everybody else 0.5."""

SIDES = Category("side", "Side", ("left", "right"))
"""A category with two values: "left" and "right", the halves of the area."""

CHOSEN: dict[str, dict[str, object]] = {
    "auto-by-time": {"slices": "12 hours"},
    "zones": {"zones": "tiles"},
    "quartiles": {"bins": 8},
    "places": {"places": "spots", "reach": 2000},
    "profile": {"parts": "days of the week"},
    "sparse-grid": {"threshold": 4},
    "private-clusters": {"clusters": 1, "rounds": 1},
    "prilocation": {"clusters": 1, "rounds": 1, "people": 22, "hidden": 3},
}
"""Parameters with which releases reveal most, by mechanism: a threshold that half of the counts
reach, and a single cluster, because the count of a single cluster always covers the same records.
"""

TOO_LITTLE = {"auto-by-time": 3, "private-clusters": 4, "prilocation": 8}
"""Factor by which the planted fault divides the noise of mechanisms for which a factor of 2 would
not be detected.

Automatic by time measures in several phases, each of which reveals a part of the epsilon. Private
clusters spend half of epsilon on centres, and PriLocation half on the rows of virtual users;
neither reveals much to the attack.
"""

COUNTING = [mechanism for mechanism in MECHANISMS.values() if mechanism.price is None]
"""Mechanisms that hide presence. Moved points do not, so `test_moved_points` audits them."""

SLOW = {"auto-by-time", "prilocation", "private-clusters"}
"""Mechanisms audited with half as many releases, because each release takes several times as long.
"""

every_mechanism = pytest.mark.parametrize("mechanism", COUNTING, ids=lambda each: each.key)


def view_of(
    visited: NDArray[np.int64], persons: NDArray[np.int64], *, bound: int = BOUND, salt: int = 1
) -> ArrayView:
    """Return a private view of people's records, which are placed at the centres of cells.

    Each record is also a trip to the next cell.
    """
    row, column = np.divmod(visited, SIDE)
    to_row, to_column = np.divmod((visited + 1) % SIDE**2, SIDE)
    return ArrayView(
        area=AREA,
        longitude=0.1 * (column + 0.5) / SIDE,
        latitude=0.1 * (SIDE - row - 0.5) / SIDE,
        persons=persons,
        hours=(column * 60 + row) % HOURS_A_WEEK,
        bound=bound,
        salt=salt,
        declared={"tiles": TILES, "spots": SPOTS},
        measures=(HALF,),
        categories=(SIDES,),
        codes=column // (SIDE // 2),
        values=np.where(persons == 1000, 1.0, 0.5),
        destinations=(0.1 * (to_column + 0.5) / SIDE, 0.1 * (SIDE - to_row - 0.5) / SIDE),
    )


def dataset(cells: NDArray[np.int64] | None) -> Counted:
    """Return a dataset of twenty people, plus one with records in `cells` if these are given."""
    others = np.random.default_rng(3).integers(0, SIDE**2, 60)
    visited = others if cells is None else np.concatenate([others, cells])
    persons = np.arange(others.size) // 3
    if cells is not None:
        persons = np.concatenate([persons, np.full(cells.size, 1000)])
    return Counted(view_of(visited, persons))


def chosen_of(mechanism: Mechanism) -> dict[str, object]:
    """Return a mechanism's parameters: those of `CHOSEN`, and a grid with the data's own cells."""
    return sides(mechanism.params, SIDE) | CHOSEN.get(mechanism.key, {})


def audited(
    mechanism: Mechanism,
    cells: NDArray[np.int64],
    first_seed: int,
    *,
    runs: int,
    totals: TotalsPlan | None = None,
    **chosen: object,
) -> float:
    """Return a lower bound on epsilon, from releases with and without the added person.

    `runs` releases of either dataset are drawn. `totals` is a plan for totals, if they are audited,
    and `chosen` are parameters that replace those of `chosen_of`.
    """
    params = parse_parameters(mechanism.params, chosen_of(mechanism) | chosen)

    def draws(view: Counted, entropy: SeededEntropy) -> Callable[[], Released]:
        return lambda: run(mechanism, view, params, EPSILON, entropy, {}, totals=totals)

    without = draws(dataset(None), SeededEntropy(seed(first_seed)))
    with_person = draws(dataset(cells), SeededEntropy(seed(first_seed + 1)))
    runs = runs // 2 if mechanism.key in SLOW else runs
    known = dataset(None).histogram(Grid.over(AREA, SIDE))._read_by_meter()
    return proven_epsilon(without, with_person, Difference(np.unique(cells), known), runs * EFFORT)


def torn(mechanism: Mechanism, params: Any) -> tuple[ArrayView, ArrayView]:
    """Return two datasets that differ in one person, who breaks a tie between two places.

    Each of twenty people has two places, only one of which is kept. Both places are equally popular
    in the pilot measurement until one more person is added. If that measurement had no noise,
    everybody's choice would reveal the added person.
    """
    assert mechanism.regions is not None
    places = np.tile([6, 9], 20)
    for salt in range(1, 200):
        without, with_person = (
            view_of(visited, np.arange(visited.size) // 2, bound=1, salt=salt)
            for visited in (places, np.concatenate([places, [9, 9]]))
        )
        regions = mechanism.regions(params, without.domain)
        popular = without.popularity(regions)._read_by_meter()
        if popular[popular > 0].tolist() == [10, 10]:
            return without, with_person
    raise AssertionError("No salt makes both places as popular.")


def audited_choice(mechanism: Mechanism, first_seed: int, *, runs: int) -> float:
    """Return a lower bound on epsilon, from releases that keep each person's popular places.

    The two datasets are those of `torn`, which differ in one person.
    """
    params = parse_parameters(mechanism.params, chosen_of(mechanism))
    views = torn(mechanism, params)

    def draws(view: ArrayView, entropy: SeededEntropy) -> Callable[[], Released]:
        return lambda: run(mechanism, view, params, EPSILON, entropy, {}, Bounding.POPULAR)

    known = views[0].histogram(Grid.over(AREA, SIDE))._read_by_meter()
    without, with_person = (
        draws(view, SeededEntropy(seed(first_seed + number))) for number, view in enumerate(views)
    )
    difference = Difference(np.array([6, 9]), known)
    return proven_epsilon(without, with_person, difference, runs * EFFORT)


def plant(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[DiscreteLaplace], Any]) -> None:
    """Make the Meter draw noise of the distribution that `wrong` returns, not the declared one."""

    def sample(noise: DiscreteLaplace, size: int, random: RandomWords) -> NDArray[np.int64]:
        return sampler.sample(wrong(noise), size, random)

    monkeypatch.setattr(meter_module, "sample", sample)


@pytest.mark.parametrize("cells", [ONE_CELL, TEN_CELLS], ids=["one cell", "ten cells"])
@every_mechanism
def test_it_keeps_its_epsilon(mechanism: Mechanism, cells: NDArray[np.int64]) -> None:
    assert audited(mechanism, cells, 10, runs=3000) <= EPSILON


@pytest.mark.parametrize(("people", "cells"), [(1, ONE_CELL), (4, TEN_CELLS)])
def test_it_keeps_its_epsilon_with_more_people_than_made_up_ones(
    people: int, cells: NDArray[np.int64]
) -> None:
    assert audited(prilocation.MECHANISM, cells, 50, runs=2000, people=people) <= EPSILON


def test_one_record_changes_odds_by_its_share_of_the_bound() -> None:
    proven = audited(prilocation.MECHANISM, ONE_CELL[:1], 60, runs=3000)
    assert proven <= EPSILON / BOUND


def test_too_little_noise_is_caught_with_more_people_than_made_up_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, lambda noise: DiscreteLaplace(noise.epsilon * 8, noise.sensitivity))
    assert audited(prilocation.MECHANISM, ONE_CELL, 70, runs=2000, people=1) > EPSILON


@every_mechanism
def test_too_little_noise_is_caught(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    less = TOO_LITTLE.get(mechanism.key, 2)
    plant(monkeypatch, lambda noise: DiscreteLaplace(noise.epsilon * less, noise.sensitivity))
    assert audited(mechanism, ONE_CELL, 20, runs=8000) > EPSILON


@pytest.mark.parametrize("cells", [ONE_CELL, TEN_CELLS], ids=["one cell", "ten cells"])
@every_mechanism
def test_a_dropped_bound_is_caught(
    mechanism: Mechanism, cells: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, lambda noise: DiscreteLaplace(noise.epsilon, 1))
    # `audited` halves the number of runs of slow mechanisms, so ask for more: with too few, the
    # lower bound on epsilon would be too low to show the fault for a person in ten cells.
    runs = 4000 if mechanism.key in SLOW else 1500
    assert audited(mechanism, cells, 30, runs=runs) > EPSILON


TOTALS = TotalsPlan(percent=50, sightings=BOUND, visits=BOUND)
"""Limits for the totals. One person reaches them, so that all three totals reveal as much as
possible.
"""


@pytest.mark.parametrize("cells", [ONE_CELL, TEN_CELLS], ids=["one cell", "ten cells"])
def test_totals_and_map_keep_their_epsilon_together(cells: NDArray[np.int64]) -> None:
    assert audited(uniform_grid.MECHANISM, cells, 80, runs=3000, totals=TOTALS) <= EPSILON


def test_totals_that_are_not_clipped_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ArrayView.totals

    def unclipped(
        self: ArrayView, regions: CountedRegions, *, sightings: int, visits: int
    ) -> PrivateTotals:
        whole = real(self, regions, sightings=100, visits=100)
        return PrivateTotals(
            people=whole.people,
            sightings=PrivateCounts(whole.sightings._read_by_meter(), sensitivity=sightings),
            visits=PrivateCounts(whole.visits._read_by_meter(), sensitivity=visits),
        )

    monkeypatch.setattr(ArrayView, "totals", unclipped)
    small = TotalsPlan(percent=50, sightings=1, visits=1)
    assert audited(uniform_grid.MECHANISM, TEN_CELLS, 90, runs=2000, totals=small) > EPSILON


choosing = pytest.mark.parametrize("key", ["uniform-grid", "zones", "places"])


@choosing
def test_choosing_popular_places_keeps_its_epsilon(key: str) -> None:
    assert audited_choice(MECHANISMS[key], 50, runs=800) <= EPSILON


@choosing
def test_the_audit_catches_popularity_without_noise(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, exact = EPSILON * PILOT_SHARE, DiscreteLaplace(Fraction(1000), 1)
    plant(monkeypatch, lambda noise: exact if noise.epsilon == look else noise)
    assert audited_choice(MECHANISMS[key], 60, runs=500) > EPSILON


def test_structure_that_follows_the_data_is_caught() -> None:
    empty = int(dataset(None).histogram(Grid.over(AREA, SIDE))._read_by_meter().sum())

    def telltale(view: Any, params: Any, meter: Meter) -> GridRelease:
        content = uniform_grid.release(view, params, meter)
        crowd = view.histogram(content.grid)._read_by_meter().sum()
        return dataclasses.replace(content, noise=DiscreteLaplace(EPSILON, 1 + int(crowd > empty)))

    mechanism = dataclasses.replace(uniform_grid.MECHANISM, release=telltale)
    assert audited(mechanism, ONE_CELL, 40, runs=1000) > EPSILON
