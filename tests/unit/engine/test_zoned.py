"""Counts of zones by position, where the contribution bound also holds across overlapping zones."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine import zoned
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.privacy.bounding import Popularity, Regions
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees
from dpgeo.spatial.zones import Zones
from tests.unit.engine.canonical import AREA, Row, located, wanderers, write

SALT = bytes(range(16))
BOTH = pytest.mark.parametrize("counting", list(Counting))


def ring(x: float, y: float, radius: float) -> shapely.Polygon:
    return shapely.Point(x, y).buffer(radius, quad_segs=5)


ZONES = Zones(
    keys=("west", "east", "round", "ring", "far"),
    names=("West", "East", "Round", "Ring", "Far"),
    shapes=np.array(
        [
            shapely.box(13.0, 52.0, 13.1, 52.1),
            shapely.box(13.1, 52.0, 13.2, 52.1),
            ring(13.1, 52.05, 0.03),
            ring(13.05, 52.05, 0.04).difference(ring(13.05, 52.05, 0.02)),
            shapely.box(13.19, 52.09, 13.2, 52.1),
        ]
    ),
)
"""Two halves of the area, and three zones that overlap the halves and each other."""


def view(path: Path, **changes: object) -> DuckDBView:
    facts: dict[str, object] = {
        "domain": Domain(AREA, {"zones": ZONES}),
        "unit": Unit.PERSON,
        "counting": Counting.PEOPLE,
        "bound": 3,
        "salt": SALT,
        "threads": 2,
    }
    return DuckDBView(path, **{**facts, **changes})  # type: ignore[arg-type]


def count(path: Path, **changes: object) -> NDArray[np.int64]:
    counts = view(path, **changes).zone_counts(ZONES)
    assert counts.sensitivity == changes.get("bound", 3)
    return counts._read_by_meter()


def pairs(rows: list[Row]) -> list[tuple[int, int]]:
    """Return (person, zone) for every row and every zone that contains it, tested one by one."""
    longitude, latitude = to_degrees([row[1] for row in rows], [row[2] for row in rows])
    return [
        (row[0], zone)
        for row, lon, lat in zip(rows, longitude, latitude, strict=True)
        for zone, shape in enumerate(ZONES.shapes)
        if shape.intersects(shapely.Point(lon, lat))
    ]


@BOTH
def test_a_bound_above_all_contributions_counts_everything(
    tmp_path: Path, counting: Counting
) -> None:
    rows = wanderers(np.random.default_rng(1), 20, 500)
    counted = pairs(rows)
    amounts = Counter(
        zone for _, zone in (set(counted) if counting == Counting.PEOPLE else counted)
    )
    counts = count(write(tmp_path / "rows.parquet", rows), counting=counting, bound=10_000)
    assert counts.tolist() == [amounts[zone] for zone in range(len(ZONES))]


@BOTH
@pytest.mark.parametrize("unit", list(Unit))
def test_counts_do_not_depend_on_how_the_file_is_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counting: Counting, unit: Unit
) -> None:
    bound = 3 if unit is Unit.PERSON else 1
    path = write(tmp_path / "rows.parquet", wanderers(np.random.default_rng(2), 30, 700))
    whole = count(path, counting=counting, unit=unit, bound=bound)
    write_zoned = zoned.write_zoned
    for size in (1, 7, 100):
        monkeypatch.setattr(zoned, "write_zoned", functools.partial(write_zoned, pairs=size * 5))
        assert count(path, counting=counting, unit=unit, bound=bound).tolist() == whole.tolist()


@BOTH
def test_removing_a_person_takes_away_at_most_the_bound_and_changes_nothing_else(
    tmp_path: Path, counting: Counting
) -> None:
    rows = wanderers(np.random.default_rng(3), 15, 200)
    whole = count(write(tmp_path / "whole.parquet", rows), counting=counting)
    for person in range(15):
        others = [row for row in rows if row[0] != person]
        alone = [row for row in rows if row[0] == person]
        without = count(write(tmp_path / "without.parquet", others), counting=counting)
        of_one = count(write(tmp_path / "alone.parquet", alone), counting=counting)
        np.testing.assert_array_equal(whole - without, of_one)
        assert of_one.sum() <= 3


def test_a_record_in_several_zones_counts_in_one_that_no_other_record_chooses(
    tmp_path: Path,
) -> None:
    rows = wanderers(np.random.default_rng(4), 1, 300)
    changes: dict[str, object] = {"unit": Unit.RECORD, "counting": Counting.VISITS, "bound": 1}
    whole = count(write(tmp_path / "whole.parquet", rows), **changes)
    assert whole.sum() == len(rows)  # each row counts: the halves cover the area
    assert whole[2] > 0
    # A record's zone must not depend on its row number, which changes if the records before it are
    # removed.
    for first in (1, 2, 150):
        rest = count(write(tmp_path / "rest.parquet", rows[first:]), **changes)
        gone = count(write(tmp_path / "gone.parquet", rows[:first]), **changes)
        np.testing.assert_array_equal(whole, rest + gone)


# Tests of bounding that prefers popular places


def test_popularity_counts_one_place_of_each_person(tmp_path: Path) -> None:
    rows = wanderers(np.random.default_rng(5), 40, 600)
    seen = view(write(tmp_path / "rows.parquet", rows))
    for regions in (Grid.over(AREA, 8), ZONES):
        looked = seen.popularity(regions)
        assert looked.sensitivity == 1
        assert looked._read_by_meter().sum() == len({row[0] for row in rows})
        assert looked._read_by_meter().ndim == 1


def places(rows: list[Row], regions: Grid | Zones) -> set[tuple[int, int]]:
    if isinstance(regions, Zones):
        return set(pairs(rows))
    return set(zip((row[0] for row in rows), located(regions, rows).tolist(), strict=True))


@pytest.mark.parametrize("cells", [1, 4, 8, 12, 64, 4096])
@BOTH
def test_the_most_popular_places_of_each_person_are_kept(
    tmp_path: Path, cells: int, counting: Counting
) -> None:
    """The most popular of each person's places are kept.

    Each person is in a file of their own, and no two places are equally popular, so it is known
    which places should be kept.
    """
    random = np.random.default_rng(cells)
    regions: Grid | Zones = Grid.over(AREA, cells) if cells > 1 else ZONES
    measured: Regions = Grid.over(AREA, 8) if cells > 1 else ZONES
    size = 64 if cells > 1 else len(ZONES)
    popularity = Popularity(measured, random.permutation(size).astype(np.int64) * 1000)
    table = popularity.table(regions)
    rows = wanderers(random, 6, 60)
    for person in range(6):
        own = [row for row in rows if row[0] == person]
        visited = np.array(sorted({place for _, place in places(own, regions)}))
        ranks = table.of_cells(visited, regions)
        seen = view(write(tmp_path / "rows.parquet", own), counting=counting, bound=2)
        seen = seen.preferring(popularity)
        counts = (
            seen.zone_counts(regions)
            if isinstance(regions, Zones)
            else seen.histogram(regions).flat()
        )._read_by_meter()
        kept = table.of_cells(np.flatnonzero(counts), regions)
        if counting is Counting.PEOPLE:
            assert sorted(kept) == sorted(ranks)[:2]
        else:
            assert kept.max() <= sorted(ranks)[1]
        assert counts.sum() == min(2, len(own))


def test_with_given_ranks_a_person_does_not_affect_other_samples(tmp_path: Path) -> None:
    grid = Grid.over(AREA, 16)
    popularity = Popularity(Grid.over(AREA, 4), np.arange(16) // 4)
    rows = wanderers(np.random.default_rng(6), 12, 300)

    def counts(name: str, some: list[Row]) -> NDArray[np.int64]:
        seen = view(write(tmp_path / name, some)).preferring(popularity)
        return seen.histogram(grid)._read_by_meter()

    whole = counts("whole.parquet", rows)
    for person in range(12):
        without = counts("without.parquet", [row for row in rows if row[0] != person])
        of_one = counts("alone.parquet", [row for row in rows if row[0] == person])
        np.testing.assert_array_equal(whole - without, of_one)
        assert of_one.sum() <= 3
