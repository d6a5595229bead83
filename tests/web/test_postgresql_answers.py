"""Counts that PostgreSQL bounds and adds up itself equal those of the same rows read in this
process.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import shapely
from dpgeo.engine.in_place import InPlaceView
from dpgeo.engine.pushed_view import PushedView

from dpgeo.core.domain import Domain
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.snapshots import SourceRows, rows_in_place
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.privacy.bounding import Popularity, ValuedRegions
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones
from tests.web import test_postgresql_source as tables
from tests.web.test_postgresql_source import server, sql

__all__ = ["server", "sql"]

pytestmark = [pytest.mark.django_db, pytest.mark.on_servers]

ALL = 10**6
"""A contribution bound so large that nothing is left out."""

OUTLINE = {
    "type": "Polygon",
    "coordinates": [
        [[10.0, 50.0], [10.1, 50.0], [10.1, 50.06], [10.05, 50.1], [10.0, 50.1], [10.0, 50.0]]
    ],
}
"""A study area with a slanted edge; some rows lie outside it, and some on that edge."""

WANDERING = """
CREATE TABLE trips AS
SELECT who::text AS who,
    10 + round((0.1 * u)::numeric, 3)::float8 AS lon,
    50 + round((0.1 * v)::numeric, 3)::float8 AS lat,
    '2026-01-15'::timestamptz + w * interval '40 hours' AS seen,
    (ARRAY['walk', ' walk ', 'bike', 'boat', NULL, 'BIKE'])[1 + floor(6 * w)] AS mode,
    (ARRAY[-5, 'NaN', 'Infinity', NULL, 49.975, 50, 12.3456, 7.5, 1e9])[1 + floor(9 * u)] AS speed,
    (ARRAY['NaN', 0, 12.5, 1e-320, NULL, 200])[1 + floor(6 * v)]::numeric AS weight
FROM (
    SELECT i % 37 AS who, sin(i * 1.7) / 2 + 0.5 AS u, cos(i * 2.3) / 2 + 0.5 AS v,
        sin(i * 0.9) / 2 + 0.499 AS w
    FROM generate_series(1, 1500) AS i
) AS numbers
"""
"""SQL that makes rows at rounded coordinates, some of which lie on borders of zones."""


def wandering(sql: psycopg.Connection, **changes: Any) -> tuple[Dataset, Upload]:
    sql.execute(WANDERING)
    dataset = tables.declared(
        measures=[
            {"column": name, "title": name, "unit": "", "low": 0, "high": 50}
            for name in ("speed", "weight")
        ],
        categories=[{"column": "mode", "values": ["walk", "bike"]}],
        **changes,
    )
    return dataset, tables.registered(dataset)


def domain_of(upload: Upload) -> Domain:
    schema = rows_in_place(upload).readers[0].schema
    return Domain(schema.area, measures=schema.measures, categories=schema.categories)


def zones() -> Zones:
    """Return zones that overlap, with a slanted border and borders on round numbers."""
    shapes = [
        shapely.box(10.0, 50.0, 10.05, 50.1),
        shapely.box(10.05, 50.0, 10.1, 50.1),
        shapely.Polygon([(10.01, 50.01), (10.09, 50.02), (10.05, 50.08)]),
    ]
    keys = ("west", "east", "triangle")
    return Zones(keys=keys, names=keys, shapes=np.array(shapes))


def stops(*, by_key: bool = False) -> NearPlaces:
    """Return places, two at the same position; some positions between them are out of reach."""
    keys = ("a", "b", "c", "b again")
    return NearPlaces(
        Places(
            levels=("stop",),
            keys=keys,
            units=tuple((key,) for key in keys),
            longitude=np.array([10.02, 10.05, 10.07, 10.05]),
            latitude=np.array([50.02, 50.04, 50.07, 50.04]),
        ),
        3000,
        by_key,
    )


def regions_of(upload: Upload) -> dict[str, ValuedRegions]:
    domain = domain_of(upload)
    grid, slices = Grid.over(domain.area, 16), Slicing(TIME_SLICES["12 hours"], "Europe/Berlin")
    (mode,) = domain.categories
    both = Slicing(TIME_SLICES["12 hours"], "Europe/Berlin", mode)
    return {
        "grid": grid,
        "grid by hour": SlicedGrid(grid, slices),
        "grid by category": SlicedGrid(grid, Slicing(category=mode)),
        "zones": zones(),
        "zones by hour and category": SlicedZones(zones(), both),
        "places": stops(),
    }


class Both:
    """Two views of the same rows: one counted by PostgreSQL (`there`), one in this process
    (`here`).
    """

    def __init__(self, upload: Upload, folder: Path | None = None, **settings: Any) -> None:
        rows = rows_in_place(upload)
        counter = rows.counter()
        assert counter is not None
        given: dict[str, Any] = {
            "domain": domain_of(upload),
            "unit": Unit.PERSON,
            "counting": Counting.VISITS,
            "bound": ALL,
            "salt": bytes(range(16)),
            "folder": folder,
        } | settings
        self.there: Any = PushedView(_Unread(rows), counter, **given)
        self.here: Any = InPlaceView(rows, **given)

    def same(self, name: str, *given: Any, **named: Any) -> Any:
        """Call a method of `there` and of `here`, check that the results are equal; return one."""
        expected = getattr(self.here, name)(*given, **named)._read_by_meter()
        found = getattr(self.there, name)(*given, **named)._read_by_meter()
        np.testing.assert_array_equal(found, expected)
        return expected


class _Unread:
    """Rows that PostgreSQL has to count: reading them into this process raises an error."""

    def __init__(self, rows: SourceRows) -> None:
        self.number, self.people, self.schema = rows.number, rows.people, rows.schema

    def batches(self, first: int, last: int) -> Any:
        raise AssertionError("Rows came here.")


def counts(regions: ValuedRegions) -> str:
    if isinstance(regions, SlicedGrid | SlicedZones):
        return "sliced_histogram"
    return "histogram" if isinstance(regions, Grid) else "zone_counts"


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rasters so coarse that this process has to test many positions near borders exactly."""
    monkeypatch.setattr("dpgeo.engine.source_zones.CELLS", 40)
    monkeypatch.setattr("dpgeo.spatial.place_raster.CELLS", 40)


def test_everything_is_counted_there_as_it_is_here(sql: psycopg.Connection) -> None:
    _, upload = wandering(sql)
    speed, weight = domain_of(upload).measures
    regions = regions_of(upload)
    for counting in Counting:
        views = Both(upload, counting=counting)
        for each in regions.values():
            assert views.same(counts(each), each).sum() > 90
            assert views.same("value_shares", each, speed).sum() > 90
        assert views.same("value_shares", regions["zones"], weight).sum() > 90
        assert views.same("value_histogram", regions["zones"], speed, 7).sum() > 50
        for each in (regions["grid by hour"], regions["zones"]):
            both = [view.contributions(each, 20) for view in (views.there, views.here)]
            np.testing.assert_array_equal(*(one._read_by_meter() for one in both))
            totals = [
                view.totals(each, sightings=12, visits=20) for view in (views.there, views.here)
            ]
            for name in ("people", "sightings", "visits"):
                there, here = (getattr(one, name)._read_by_meter() for one in totals)
                assert there == here > 30


def test_a_study_area_that_is_no_rectangle_ends_at_its_outline(sql: psycopg.Connection) -> None:
    _, upload = wandering(sql, study_area=OUTLINE)
    views, regions = Both(upload), regions_of(upload)
    for name in ("grid", "zones by hour and category", "places"):
        assert 200 < views.same(counts(regions[name]), regions[name]).sum() < 1500


def test_too_many_positions_beside_borders_end_a_count(
    sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, upload = wandering(sql)
    views = Both(upload)
    monkeypatch.setattr("dpgeo.datasets.postgresql.counting.MOST_POSITIONS", 10)
    with pytest.raises(Conflict, match="beside borders of the regions; choose"):
        views.there.zone_counts(zones())
    assert views.there.histogram(regions_of(upload)["grid"])._read_by_meter().sum() > 90


def test_persons_keep_the_same_popular_places_there_as_here(sql: psycopg.Connection) -> None:
    """Popular bounding keeps the same places in a PostgreSQL table and in an upload of its rows.

    No two places are equally popular, so no hash decides between them.
    """
    _, upload = wandering(sql)
    area = domain_of(upload).area
    fine, coarse = Grid.over(area, 32), Grid.over(area, 8)
    order = np.random.default_rng(3).permutation
    for counting, bound in ((Counting.PEOPLE, 3), (Counting.VISITS, 1)):
        views = Both(upload, counting=counting, bound=bound)
        for regions in (zones(), fine, Grid.over(area, 16)):
            listed = fine if isinstance(regions, Grid) else regions
            size = fine.size if isinstance(regions, Grid) else len(regions)
            preferred = _preferring(views, Popularity(listed, order(size) ** 2))
            kept = preferred.same(counts(regions), regions).sum()
            assert kept in range(90, 37 * bound + 1) if bound > 1 else kept == 37
        # Cells of `fine` in the same cell of `coarse` are equally popular. PostgreSQL and this
        # process may keep different ones of them, but only within the same cell of `coarse`.
        preferred = _preferring(views, Popularity(coarse, order(coarse.size)))
        sums = [
            view.histogram(fine)._read_by_meter().reshape(8, 4, 8, 4).sum(axis=(1, 3))
            for view in (preferred.there.with_bound(1), preferred.here.with_bound(1))
        ]
        np.testing.assert_array_equal(*sums)


def _preferring(views: Both, popularity: Popularity) -> Any:
    return _changed(views, lambda view: view.preferring(popularity))


def _changed(views: Both, change: Any) -> Any:
    changed = Both.__new__(Both)
    changed.there, changed.here = change(views.there), change(views.here)
    return changed


def test_persons_cells_are_paired_there_as_here(
    sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows of a person get one number, even if PostgreSQL returns them in several batches."""
    monkeypatch.setattr("dpgeo.datasets.postgresql.counting.ROWS", 10)
    _, upload = wandering(sql)
    grid = Grid.over(domain_of(upload).area, 8)
    for counting in Counting:
        views = Both(upload, counting=counting)
        found = []
        for view in (views.there, views.here):
            persons, cells = view.visits(grid)._read_by_meter()
            found.append(sorted(sorted(cells[persons == one]) for one in range(37)))
            assert len(persons) > 400
        assert found[0] == found[1]
        few = _changed(views, lambda view: view.with_bound(2)).there.visits(grid)
        persons, _ = few._read_by_meter()
        assert np.bincount(persons).tolist() == [2] * 37


def test_bounded_reports_alone_come_here(sql: psycopg.Connection, tmp_path: Path) -> None:
    dataset, upload = wandering(sql)
    views = Both(upload, tmp_path)
    everything = [_reports(view) for view in (views.there, views.here)]
    assert everything[0] == everything[1]
    assert len(everything[0]) > 1000
    few = Both(upload, tmp_path, bound=4).there
    chosen = _reports(few)
    assert len(chosen) == 4 * 37
    assert set(chosen) <= set(everything[0])
    positions = few.positions(time_step=1)
    assert positions._count_missing() == 0
    assert views.there.positions(time_step=1)._count_missing() == ALL * 37 - len(everything[0])
    # Which reports are kept depends on their times, not on their positions: if all are moved, the
    # same ones are kept.
    sql.execute("UPDATE trips SET lon = 10.05, lat = 50.05")
    (folder := tmp_path / "moved").mkdir()
    moved = _reports(Both(tables.registered(dataset), folder, bound=4).there)
    assert [report[0] for report in moved] == [report[0] for report in chosen]
    assert moved != chosen


def _reports(view: Any) -> list[tuple[float, ...]]:
    """Return the time, the longitude and the latitude of all reports, in order."""
    chunks = list(view.positions(time_step=1)._read_by_meter())
    columns = [
        np.concatenate([getattr(chunk, name) for chunk in chunks])
        for name in ("time", "longitude", "latitude")
    ]
    return sorted(zip(*map(np.ndarray.tolist, columns), strict=True))


def test_removing_a_person_changes_no_more_than_was_promised(sql: psycopg.Connection) -> None:
    dataset, upload = wandering(sql)
    answers = [bounded_answers(upload)]
    for who in ("5", "11"):
        sql.execute("DELETE FROM trips WHERE who = %s", [who])
        answers.append(bounded_answers(tables.registered(dataset)))
    for before, after in pairwise(answers):
        for (most, one), (_, other) in zip(before, after, strict=True):
            change = one - other
            assert change.min() >= 0
            assert 0 < change.sum() <= most


def bounded_answers(upload: Upload) -> list[tuple[int, Any]]:
    """Return pairs: the most that a person may add to an array of counts or sums, and the array."""
    measure = domain_of(upload).measures[0]
    popularity = Popularity(zones(), np.array([5, 9, 7]))
    found: list[tuple[int, Any]] = []
    for counting in Counting:
        view = Both(upload, counting=counting, bound=3).there
        for regions in regions_of(upload).values():
            found.append((3, getattr(view, counts(regions))(regions)._read_by_meter()))
            shares = view.value_shares(regions, measure)
            found.append((3 * measure.steps, shares._read_by_meter()))
        totals = view.totals(zones(), sightings=2, visits=4)
        found += [(2, totals.sightings._read_by_meter()), (4, totals.visits._read_by_meter())]
        popular = view.with_bound(2).preferring(popularity)
        found.append((2, popular.zone_counts(zones())._read_by_meter()))
    return found


def test_no_secret_stands_in_the_databases_log_of_any_measurement(
    sql: psycopg.Connection, server: tuple[str, Path], tmp_path: Path
) -> None:
    dataset, upload = wandering(sql)
    dataset.suppressions.create(person=bytes(range(40, 56)))
    salt = bytes(range(130, 146))
    domain = domain_of(upload)
    view = Both(upload, tmp_path, salt=salt, bound=3).there
    before = server[1].stat().st_size
    for regions in regions_of(upload).values():
        view.value_shares(regions, domain.measures[0])
    view.totals(zones(), sightings=2, visits=3)
    view.preferring(Popularity(zones(), np.array([5, 9, 7]))).zone_counts(zones())
    assert _reports(view)
    log = server[1].read_text(errors="replace")[before // 2 :]
    for part in ("unnest", "gen_random_uuid", "least(sightings", "WindowAgg"):
        assert part in log
    key = hashing_key(dataset)
    for secret in (salt, key, key[16:], bytes(range(40, 56))):
        for half in (secret[:8], secret[8:16]):
            assert str(int.from_bytes(half)) not in log
            assert str(int.from_bytes(half, "little")) not in log
            assert half.hex() not in log.lower()


def test_a_record_is_counted_in_one_of_the_zones_that_contain_it(
    sql: psycopg.Connection,
) -> None:
    sql.execute(WANDERING)
    upload = source_register(
        dataset=tables.declared(unit="record"), location="warehouse", folder="trips", by=None
    )
    upload_confirm(upload=upload, columns=replace(tables.COLUMNS, person=""))
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    views = Both(upload, unit=Unit.RECORD, bound=1)
    assert views.same("histogram", Grid.over(domain_of(upload).area, 8)).sum() == 1500
    assert views.same("zone_counts", stops()).sum() > 500
    found, here = (view.zone_counts(zones())._read_by_meter() for view in (views.there, views.here))
    assert found.sum() == here.sum() > 1400
    # The triangle lies within another zone; a record in both counts in one, chosen at random.
    inside = views.same("zone_counts", Zones(keys=("t",), names=("t",), shapes=zones().shapes[2:]))
    assert abs(found[2] - inside.sum() / 2) < 6 * np.sqrt(inside.sum() / 4)


def test_no_number_is_too_small_for_the_database(sql: psycopg.Connection) -> None:
    """Tiny numbers are counted, although PostgreSQL's own arithmetic fails below float64's
    range.
    """
    sql.execute(
        "CREATE TABLE trips AS SELECT who::text, lon, lat, '2026-01-15'::timestamptz AS seen,"
        " small AS speed FROM generate_series(1, 2) AS who,"
        " unnest(ARRAY[0, 5e-324, -1e-200, 1e-170, 0.01]::float8[]) AS lon,"
        " unnest(ARRAY[0, -5e-324, 1e-200, 1e-160, 0.01]::float8[]) AS lat,"
        " unnest(ARRAY[5e-324, 1e-310, 50]::float8[]) AS small"
    )
    upload = tables.registered(
        tables.declared(
            study_area=shapely.geometry.mapping(shapely.box(-0.1, -0.1, 0.1, 0.1)),
            measures=[{"column": "speed", "title": "speed", "unit": "", "low": 0, "high": 50}],
        )
    )
    domain, views, corners = domain_of(upload), Both(upload), np.array([0, 0.04, -0.04, 1e-200])
    near = replace(stops(), places=replace(stops().places, longitude=corners, latitude=corners))
    grid = Grid.over(domain.area, 8)
    for regions in (grid, near):
        assert views.same(counts(regions), regions).sum() == 150
        assert views.same("value_shares", regions, domain.measures[0]).any()


def test_what_the_database_cannot_tell_is_counted_here(sql: psycopg.Connection) -> None:
    _, upload = wandering(sql)
    view = Both(upload).there
    with pytest.raises(AssertionError, match="Rows came here"):
        view.zone_counts(stops(by_key=True))
    local = Slicing(TIME_SLICES["12 hours"], "Europe/Berlin")
    sql.execute("ALTER TABLE trips ALTER seen TYPE timestamp")
    other = Both(tables.registered(upload.dataset)).there
    with pytest.raises(AssertionError, match="Rows came here"):
        other.sliced_histogram(SlicedZones(zones(), local))
    assert other.zone_counts(zones())._read_by_meter().sum() > 500
