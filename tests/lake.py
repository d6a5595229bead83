"""A folder of Parquet files for tests of Spark, and the same rows as DuckDB counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from numpy.typing import NDArray

from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.engine.duckdb_view import Answer, DuckDBView
from dpgeo.engine.spark import KEYS, SparkView, grouping_key, public_draw, write_rows
from dpgeo.engine.spark_tasks import Question, SparkFile, Task
from dpgeo.ingest.canonical import declared_schema
from dpgeo.ingest.recorded_files import RecordedFile, footer_checksum
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.source_rows import hive_columns, source_rows
from dpgeo.privacy.bounding import Popularity
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones
from tests.unit.engine.test_category_slices import HALF_DAYS

PARTITIONS = 3

AREA = StudyArea.from_bounds(10.0, 50.0, 10.1, 50.1)
SALT = bytes(range(16))
GRID = Grid.over(AREA, 16)
FARE = Measure("fare", "Fare", "EUR", 0.0, 20.0)
MODE = Category("mode", "Mode", ("bus", "tram"))
ZONES = Zones(
    keys=("west", "all"),
    names=("West", "All"),
    shapes=shapely.box([10.0, 10.0], 50.0, [10.05, 10.1], 50.1),
)
PLACES = Places(
    levels=("city",),
    keys=("a", "b"),
    units=(("x",), ("y",)),
    longitude=np.array([10.03, 10.07]),
    latitude=np.array([50.05, 50.05]),
)
NEAR = NearPlaces(PLACES, 3000)
HOURS = Slicing(HALF_DAYS, "Europe/Berlin")
DOMAIN = Domain(
    AREA,
    {"zones": ZONES, "places": PLACES},
    time_zone="Europe/Berlin",
    measures=(FARE,),
    categories=(MODE,),
)


@dataclass(frozen=True)
class Lake:
    """Files below `folder`; the rows of the person whose hash is in `erased` are left out."""

    folder: Path
    unit: Unit = Unit.PERSON
    erased: frozenset[bytes] = frozenset()

    @property
    def schema(self) -> Schema:
        """The declaration by which the files are read."""
        return Schema(
            columns=Columns(longitude="lon", latitude="lat", person="who", time="seen"),
            unit=self.unit,
            area=AREA,
            measures=(FARE,),
            categories=(MODE,),
        )

    @property
    def files(self) -> list[SparkFile]:
        """The files as a snapshot records them now."""
        return [
            SparkFile(
                recorded=recorded(self.folder, path),
                named=hive_columns(path.relative_to(self.folder).as_posix()),
                schema=self.schema,
                erased=self.erased,
            )
            for path in sorted(self.folder.rglob("*.parquet"))
        ]

    def view(self, count: Any, scratch: Path, **changes: Any) -> SparkView:
        """Return a view of which `count` answers the questions."""
        rows = LakeRows(self, b"k" * 32)
        return SparkView(rows, count, folder=scratch, **self._settings(SALT, changes))

    def duckdb_view(self, scratch: Path, **changes: Any) -> DuckDBView:
        """Return DuckDB's view of the same rows, with the key and the draw that Spark is given."""
        draw = public_draw(SALT)
        path = scratch / f"canonical-{self.unit}.parquet"
        write_rows(LakeRows(self, grouping_key(draw)), path)
        return DuckDBView(path, folder=scratch, **self._settings(draw, changes))

    def _settings(self, salt: bytes, changes: dict[str, Any]) -> dict[str, Any]:
        bound = 3 if self.unit is Unit.PERSON else 1
        facts = {"domain": DOMAIN, "unit": self.unit, "counting": Counting.PEOPLE}
        return {**facts, "bound": bound, "salt": salt, "threads": 1, **changes}


@dataclass
class LakeRows:
    """The canonical rows of a lake (`engine.spark.Rows`)."""

    lake: Lake
    key: bytes
    number: int = 1
    people: int = 1

    @property
    def schema(self) -> pa.Schema:
        """The schema of the canonical rows."""
        return declared_schema(self.lake.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files."""
        for file in self.lake.files:
            path = Path(file.recorded.root, file.recorded.path)
            yield from source_rows(path, file.named, file.schema, self.key, Tally())


def recorded(folder: Path, path: Path) -> RecordedFile:
    """Return the facts by which a snapshot recognises a file."""
    stat = path.stat()
    return RecordedFile(
        root=str(folder),
        path=path.relative_to(folder).as_posix(),
        size=stat.st_size,
        stamp=str(stat.st_mtime_ns),
        footer=footer_checksum(path),
    )


def write_lake(folder: Path, *, files: int = 3, rows: int = 300, people: int = 40) -> Lake:
    """Write files with rows of people whose names are hard to compare; some are in many files."""
    random = np.random.default_rng(5)
    for number in range(files):
        who = random.integers(0, people, rows)
        names = [f"pe\u0301{one}" if one % 3 else f" p\xe9{one} " for one in who]
        names[:3] = ["null", "1.5E+11", "7.0"]
        longitude = random.uniform(9.99, 10.11, rows).round(3)
        longitude[3:5] = np.nan, np.inf
        path = folder / f"day={number}" / "a.parquet"
        path.parent.mkdir(parents=True)
        table = {
            "who": names,
            "lon": longitude,
            "lat": random.uniform(50.0, 50.1, rows).round(3),
            "seen": 1_767_225_600 + random.integers(0, 10**7, rows),
            "fare": random.uniform(0, 25, rows),
            "mode": random.choice(["bus", "tram", "boat"], rows),
        }
        pq.write_table(pa.table(table), path)
    return Lake(folder)


def count_by_tasks(task: Task, *, order: int = 1) -> Iterator[Answer]:
    """Answer a task's question by what executors do, file by file in the given order."""
    question = task.question
    numbers = range(len(task.files))[::order]
    batches = [list(task.located([pa.record_batch({"id": [each]})])) for each in numbers]
    if question.by_person:
        batches = [_divided(batches, number) for number in range(PARTITIONS)]
    yield from added([next(task.counted(part)) for part in batches], question)


def _divided(batches: list[list[pa.RecordBatch]], number: int) -> list[pa.RecordBatch]:
    return [
        batch.filter(pa.array(batch["person_low"].to_numpy() % PARTITIONS == number))
        for part in batches
        for batch in part
    ]


def added(parts: list[pa.RecordBatch], question: Question) -> Iterator[Answer]:
    """Add up the partitions' answers, as Spark does; yield them one by one if they have persons."""
    if "person" in question.names:
        yield from ({name: part[name].to_numpy() for name in question.names} for part in parts)
        return
    keys = [name for name in question.names if name in KEYS]
    sums = [(name, "sum") for name in question.names if name not in KEYS]
    found = pa.Table.from_batches(parts).group_by(keys).aggregate(sums)
    yield {name.removesuffix("_sum"): found[name].to_numpy() for name in found.column_names}


def counted(view: DuckDBView, names: Iterable[str] = ()) -> dict[str, NDArray[Any]]:
    """Return the results of some measurements, or else of all that the privacy unit allows."""
    allowed = MEASUREMENTS if view.unit is Unit.PERSON else FOR_RECORDS
    return {name: np.asarray(allowed[name](view)) for name in names or allowed}


def _popular(view: DuckDBView, regions: Any) -> DuckDBView:
    return view.preferring(Popularity(regions, view.popularity(regions)._read_by_meter()))


def _total(view: DuckDBView, name: str) -> NDArray[Any]:
    total = getattr(view.totals(GRID, sightings=4, visits=5), name)
    return np.asarray(total._read_by_meter())


def sets_of_cells(person: NDArray[np.int64], cell: NDArray[np.int64]) -> NDArray[Any]:
    """Return each person's cells, whatever the persons' numbers, in an order of their own."""
    sets: dict[int, list[int]] = {}
    for one, where in zip(person.tolist(), cell.tolist(), strict=True):
        sets.setdefault(one, []).append(where)
    return np.array(sorted(str(sorted(each)) for each in sets.values()))


BY_MODE = Slicing(HALF_DAYS, "Europe/Berlin", MODE)

FOR_RECORDS: dict[str, Callable[[DuckDBView], Any]] = {
    "grid": lambda view: view.histogram(GRID)._read_by_meter(),
    "hours": lambda view: view.sliced_histogram(SlicedGrid(GRID, HOURS))._read_by_meter(),
    "zones": lambda view: view.zone_counts(ZONES)._read_by_meter(),
    "places": lambda view: view.zone_counts(NEAR)._read_by_meter(),
    "fares": lambda view: view.value_shares(ZONES, FARE)._read_by_meter(),
}
"""Measurements where records are the privacy unit, which need no rows of one person together."""

MEASUREMENTS = FOR_RECORDS | {
    "modes": lambda view: view.sliced_histogram(SlicedGrid(GRID, BY_MODE))._read_by_meter(),
    "zones by hours": lambda view: view.sliced_histogram(
        SlicedZones(ZONES, HOURS)
    )._read_by_meter(),
    "bins": lambda view: view.value_histogram(GRID, FARE, 4)._read_by_meter(),
    "popular": lambda view: _popular(view, GRID).histogram(GRID)._read_by_meter(),
    "popular zones": lambda view: _popular(view, ZONES).zone_counts(ZONES)._read_by_meter(),
    "sparse": lambda view: np.concatenate(view.sparse_histogram(GRID)._read_by_meter()),
    "pairs": lambda view: sets_of_cells(*view.visits(GRID)._read_by_meter()),
    "people": lambda view: _total(view, "people"),
    "sightings": lambda view: _total(view, "sightings"),
    "visits": lambda view: _total(view, "visits"),
    "contributions": lambda view: view.contributions(GRID, 5)._read_by_meter(),
    "other bound": lambda view: view.with_bound(1).histogram(GRID)._read_by_meter(),
}
"""All measurements that are sums over people."""


def assert_equal(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]]) -> None:
    """Check that two results agree number by number, and that none is empty."""
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        assert numbers.size, name
        np.testing.assert_array_equal(found[name], numbers, err_msg=name)
