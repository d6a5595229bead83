"""Totals of a whole dataset: their cost, one person's contribution, and refused requests."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpgeo.core.counted import Counted
from dpgeo.core.domain import Domain
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import ZCDP, Bounding, Counting, Unit
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.slices import SlicedGrid, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.core.totals import Totals, TotalsPlan
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.mechanisms import private_clusters, uniform_grid
from dpgeo.privacy.bounding import PILOT, CountedRegions
from dpgeo.privacy.mechanism import checked_plan, run
from dpgeo.privacy.totals import SIGHTINGS, VISITS, WEIGHTS, split
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.randomness import SeededEntropy
from tests.unit.engine.canonical import AREA, Row, located, wanderers, write

PLAN = TotalsPlan(percent=10, sightings=5, visits=9)
PARAMS = uniform_grid.Params(cells=4)


def view_of(
    path: Path, *, unit: Unit = Unit.PERSON, counting: Counting = Counting.PEOPLE
) -> DuckDBView:
    return DuckDBView(
        path,
        domain=Domain(AREA, time_zone="UTC"),
        unit=unit,
        counting=counting,
        bound=1,
        salt=bytes(16),
    )


def totals_of(path: Path, regions: CountedRegions) -> list[int]:
    """Return the exact totals, which only tests may read."""
    private = view_of(path).totals(regions, sightings=PLAN.sightings, visits=PLAN.visits)
    each = (private.people, private.sightings, private.visits)
    assert [counts.sensitivity for counts in each] == [1, 5, 9]
    assert [counts.squared_sensitivity for counts in each] == [1, 25, 81]
    return [int(counts._read_by_meter()[0]) for counts in each]


@pytest.mark.parametrize(
    ("counting", "expected"), [(Counting.PEOPLE, [0, 1, 1, 1]), (Counting.VISITS, [0, 0, 1, 2])]
)
def test_contributions_are_counted_up_to_a_limit(
    tmp_path: Path, counting: Counting, expected: list[int]
) -> None:
    west, south, east, north = AREA.mercator_bounds
    width, height = (east - west) / 4, (north - south) / 4
    seen = {1: [0, 0], 2: [0, 1, 1], 3: [0, 1, 2, 3]}
    rows: list[Row] = [
        (person, west + (column + 0.5) * width, south + 0.5 * height, None)
        for person, columns in seen.items()
        for column in columns
    ]
    view = view_of(write(tmp_path / "rows.parquet", rows), counting=counting)
    people = view.contributions(Grid.over(AREA, 4), 2)
    assert people._read_by_meter().tolist() == expected


def clipped(rows: list[tuple[int, int]]) -> list[int]:
    """Return the numbers of people, sightings and visits in rows of (person, region).

    At most 5 sightings and 9 visits of each person count.
    """
    people = {person for person, _ in rows}
    seen = [sum(person == other for other, _ in set(rows)) for person in people]
    numbers = [sum(person == other for other, _ in rows) for person in people]
    return [len(people), sum(min(each, 5) for each in seen), sum(min(each, 9) for each in numbers)]


@pytest.mark.parametrize("counting", Counting)
def test_weights_and_shares_add_up(counting: Counting) -> None:
    assert sum(WEIGHTS[counting].values()) == 1
    spends, rest = split(Fraction(1, 3), PLAN, counting)
    assert sum(spend.amount for spend in spends) + rest == Fraction(1, 3)
    assert rest == Fraction(3, 10)
    assert split(Fraction(1), None, counting) == ([], Fraction(1))


@pytest.mark.parametrize(
    ("counting", "scaled"), [(Counting.PEOPLE, SIGHTINGS), (Counting.VISITS, VISITS)]
)
def test_the_total_that_maps_are_scaled_to_gets_most(counting: Counting, scaled: str) -> None:
    spends, _ = split(Fraction(1), PLAN, counting)
    assert max(spends, key=lambda spend: spend.epsilon).label == scaled


def test_a_plan_with_totals_costs_what_was_asked() -> None:
    plan = checked_plan(uniform_grid.MECHANISM, PARAMS, Fraction(1), Bounding.POPULAR, PLAN)
    assert [spend.label for spend in plan] == [*WEIGHTS[Counting.PEOPLE], PILOT, "cell counts"]
    assert sum(spend.amount for spend in plan) == 1
    with pytest.raises(PrivacyError, match="does not count in public places"):
        checked_plan(
            private_clusters.MECHANISM, private_clusters.Params(), Fraction(1), totals=PLAN
        )


def test_everybody_is_clipped_alone(tmp_path: Path) -> None:
    rows: list[Row] = wanderers(np.random.default_rng(1), 60, 500)
    path = write(tmp_path / "rows.parquet", rows)
    grid = Grid.over(AREA, 4)
    cells = located(grid, rows).tolist()
    of_rows = [(row[0], cell) for row, cell in zip(rows, cells, strict=True)]
    assert totals_of(path, grid) == clipped(of_rows)

    sliced = SlicedGrid(grid, Slicing(TIME_SLICES["6 hours"], "UTC"))
    timed = [
        (row[0], cell + grid.size * (row[3] % 86400 // 21600))
        for row, cell in zip(rows, cells, strict=True)
        if row[3] is not None
    ]
    assert totals_of(path, sliced) == clipped(timed)


def test_one_person_adds_no_more_than_the_limits(tmp_path: Path) -> None:
    rows = wanderers(np.random.default_rng(2), 30, 200)
    busy = [(99, *row[1:]) for row in wanderers(np.random.default_rng(3), 1, 400)]
    grid = Grid.over(AREA, 4)
    without = totals_of(write(tmp_path / "a.parquet", rows), grid)
    with_person = totals_of(write(tmp_path / "b.parquet", [*rows, *busy]), grid)
    assert np.subtract(with_person, without).tolist() == [1, 5, 9]


def test_rows_count_in_every_zone_that_contains_them(tmp_path: Path) -> None:
    whole = AREA.to_geojson()
    feature = {"type": "Feature", "geometry": whole, "properties": {"name": "a"}}
    zones = Zones.from_geojson(
        {
            "type": "FeatureCollection",
            "features": [feature, {**feature, "properties": {"name": "b"}}],
        }
    )
    rows = wanderers(np.random.default_rng(4), 7, 20)
    people = [row[0] for row in rows]
    twice = [(person, zone) for person in people for zone in (0, 1)]
    assert totals_of(write(tmp_path / "rows.parquet", rows), zones) == clipped(twice)


def test_a_release_states_its_totals_and_counts_their_cost(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", wanderers(np.random.default_rng(5), 50, 300))
    released = run(
        uniform_grid.MECHANISM,
        view_of(path),
        PARAMS,
        Fraction(1),
        SeededEntropy(1),
        {},
        totals=PLAN,
    )
    assert sum(line.amount for line in released.trace) == released.guarantee.epsilon == 1
    assert [line.label for line in released.trace] == [*WEIGHTS[Counting.PEOPLE], "cell counts"]
    assert released.totals is not None
    assert released.totals.plan(Fraction(1)) == PLAN
    assert released.totals.amount == Fraction(1, 10)
    each = released.totals.each()
    noise = [each[name].noise for name in Counted]
    assert [one.sensitivity for one in noise if isinstance(one, DiscreteLaplace)] == [1, 5, 9]
    assert [line.noise for line in released.trace[:3]] == [total.noise for total in each.values()]


@pytest.mark.parametrize("counting", Counting)
def test_under_zcdp_each_total_has_gaussian_noise_for_its_share_of_rho(
    counting: Counting, tmp_path: Path
) -> None:
    path = write(tmp_path / "rows.parquet", wanderers(np.random.default_rng(5), 50, 300))
    view = view_of(path, counting=counting)
    rho = Fraction(1, 50)
    released = run(
        uniform_grid.MECHANISM,
        view,
        PARAMS,
        rho,
        SeededEntropy(1),
        {},
        totals=PLAN,
        delta=Fraction(1, 10**9),
    )
    assert isinstance(released.guarantee, ZCDP)
    assert sum(line.amount for line in released.trace) == released.guarantee.rho == rho
    assert released.totals is not None
    assert released.totals.in_rho
    assert released.totals.plan(rho) == PLAN
    each = released.totals.each()
    assert [each[name].most for name in Counted] == [1, 5, 9]
    weights = WEIGHTS[counting].values()
    assert [each[name].noise for name in Counted] == [
        DiscreteGaussian(rho / 10 * weight, most**2)
        for weight, most in zip(weights, (1, 5, 9), strict=True)
    ]
    assert [line.noise for line in released.trace[:3]] == [total.noise for total in each.values()]
    assert Totals.from_json(released.totals.to_json()) == released.totals


def test_single_records_have_no_totals(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", wanderers(np.random.default_rng(6), 5, 20))
    with pytest.raises(PrivacyError, match="persons are the privacy unit"):
        view_of(path, unit=Unit.RECORD).totals(Grid.over(AREA, 4), sightings=1, visits=1)
