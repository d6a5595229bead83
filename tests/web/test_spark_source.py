"""Folders counted by a local Spark session, from the declaration to a map.

Spark itself is started by `make audit` alone, since Java takes seconds to start. Otherwise, the
test itself does with each file what Spark's processes would do, and DuckDB combines the results as
Spark would.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.locations import locations
from dpgeo.datasets.models import Upload
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.snapshots import rows_in_place
from dpgeo.datasets.spark_folders import SparkCounter
from dpgeo.engine import spark
from dpgeo.engine.in_place import InPlaceView
from dpgeo.engine.source_sql import DUCKDB
from dpgeo.ingest.persons import rehashed
from dpgeo.jobs.models import JobState
from dpgeo.privacy.bounding import ValuedRegions
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.makers import make_release
from tests.requirements import need
from tests.unit.engine.test_category_slices import HALF_DAYS
from tests.web import test_sources as sources
from tests.web.test_sources import EXACT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

LOGGING = """
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/spark.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %m%n%ex
logger.sql.name = org.apache.spark.sql
logger.sql.level = trace
"""
"""Logging settings with which Spark logs as much as possible, including plans and generated code.
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Let Spark log and record all events; yield the folder of the logs.

    Spark reads these settings when Java starts.
    """
    if os.environ.get("DPGEO_AUDIT") != "1":
        pytest.skip("Spark is asked by make audit alone.")
    need(not spark.problem_with_spark(), "Spark: make .venv/done/spark; apt-get install openjdk-17")
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    (folder / "log4j2.properties").write_text(LOGGING.format(folder=folder))
    lines = ["spark.eventLog.enabled true", f"spark.eventLog.dir file://{folder}/events"]
    lines += ["spark.eventLog.compress false", "spark.sql.maxPlanStringLength 10000000"]
    (folder / "spark-defaults.conf").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(folder))
        yield folder


@pytest.fixture
def lake(tmp_path: Path, settings: Any) -> Path:
    path = tmp_path / "lake"
    path.mkdir()
    settings.DPGEO_SOURCES = [f"office/lake=spark:{path}"]
    settings.DPGEO_SPARK_MASTER = "local[2]"
    return path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let folders be registered as if Spark were installed; Spark itself is not started."""
    monkeypatch.setattr(spark, "problem_with_spark", lambda: "")


def wandering(lake: Path) -> Upload:
    """Register a folder of three files, with rows of 40 people whose names are hard to compare.

    Some people are in two files.
    """
    random = np.random.default_rng(5)
    for number, place in enumerate(("a", "day=1/b", "day=2/c")):
        who = random.integers(number * 10, number * 10 + 20, 300)
        names = [f"pe\u0301{one}" if one % 3 else f" p\xe9{one} " for one in who]
        names[:3] = ["null", "1.5E+11", "7.0"]
        longitudes = random.uniform(9.99, 10.11, 300).round(2)
        longitudes[3:5] = np.nan, np.inf
        hours = random.integers(0, 24, 300)
        sources.write(
            lake / f"{place}.parquet",
            range(300),
            who=names,
            lon=longitudes,
            lat=random.uniform(50.0, 50.1, 300).round(2),
            seen=[f"2026-01-{1 + one % 28:02}T{hour:02}:00:00Z" for one, hour in enumerate(hours)],
        )
    return sources.registered(sources.declared())


def regions_of(upload: Upload) -> dict[str, ValuedRegions]:
    grid = Grid.over(upload.dataset.area, 16)
    west, south, east, north = upload.dataset.area.bounds
    middle = (west + east) / 2
    halves = [shapely.box(west, south, middle, north), shapely.box(west, south, east, north)]
    zones = Zones(keys=("west", "all"), names=("West", "All"), shapes=np.array(halves))
    slices = Slicing(HALF_DAYS, "Europe/Berlin")
    return {
        "grid": grid,
        "hours": SlicedGrid(grid, slices),
        "zones": zones,
        "zones by hours": SlicedZones(zones, slices),
    }


def task_of(upload: Upload, regions: ValuedRegions, folder: Path, draw: int = 7) -> spark.Task:
    """Return the task that Spark's processes get, as it is sent to them."""
    counter = rows_in_place(upload).counter()
    assert isinstance(counter, SparkCounter)
    (part,) = counter.parts
    files = [
        spark.SparkFile(path=Path(part.location.root, file.path), named={}, schema=part.schema)
        for file in part.files
    ]
    task = spark.Task(
        files=files,
        domain=Domain(upload.dataset.area),
        regions=regions,
        key=spark.grouping_key(draw),
        between=None,
        memory_bytes=1 << 28,
        spill=folder,
    )
    copy = pickle.loads(pickle.dumps(task))  # noqa: S301
    assert isinstance(copy, spark.Task)
    return copy


def by_duckdb(
    task: spark.Task, counting: Counting, bound: int, without: str = ""
) -> dict[int, int]:
    """Return the counts that DuckDB computes from a task's rows, without the person `without`."""
    batches = list(task.grouped([pa.record_batch({"id": range(len(task.files))})]))
    grouped = pa.Table.from_batches(batches)
    with duckdb.connect() as connection:
        connection.register("everybody", grouped)
        connection.execute(
            f"CREATE VIEW located AS SELECT * FROM everybody WHERE person <> '{without}'"
        )
        query = spark.merging_query(
            DUCKDB, "located", Unit.PERSON, counting=counting, bound=bound, draw=7
        )
        return dict(connection.execute(query).fetchall())


def by_spark(
    session: Any, task: spark.Task, counting: Counting, bound: int, secret: bytes = b""
) -> dict[int, int]:
    (found,) = spark.spark_counts(
        session, task, secret=secret, counting=counting, bound=bound, draw=7
    )
    return dict(zip(found["cell"].tolist(), found["amount"].tolist(), strict=True))


def array_of(counts: dict[int, int], size: int) -> NDArray[np.int64]:
    found = np.zeros(size, dtype=np.int64)
    found[list(counts)] = list(counts.values())
    return found


def here(upload: Upload, regions: ValuedRegions, counting: Counting, bound: int) -> Any:
    view = InPlaceView(
        rows_in_place(upload),
        domain=Domain(upload.dataset.area),
        unit=Unit.PERSON,
        counting=counting,
        bound=bound,
        salt=bytes(16),
    )
    if isinstance(regions, SlicedGrid | SlicedZones):
        return view.sliced_histogram(regions)._read_by_meter()
    counts = view.histogram(regions) if isinstance(regions, Grid) else view.zone_counts(regions)
    return counts._read_by_meter()


@pytest.mark.parametrize("counting", Counting)
def test_its_tasks_accept_and_locate_exactly_the_rows_that_are_accepted_here(
    lake: Path, installed: None, tmp_path: Path, counting: Counting
) -> None:
    upload = wandering(lake)
    for regions in regions_of(upload).values():
        expected = here(upload, regions, counting, 10**6).ravel()
        found = by_duckdb(task_of(upload, regions, tmp_path), counting, 10**6)
        np.testing.assert_array_equal(array_of(found, expected.size), expected)
        assert expected.sum() > 50


def test_removing_a_person_changes_at_most_bound_counts(
    lake: Path, installed: None, tmp_path: Path
) -> None:
    upload = wandering(lake)
    changes = []
    for regions in regions_of(upload).values():
        task = task_of(upload, regions, tmp_path)
        (first, *_) = task.grouped([pa.record_batch({"id": [0]})])
        for counting in Counting:
            whole = array_of(by_duckdb(task, counting, 3), 10**4)
            for person in sorted(set(first["person"].to_pylist()))[:3]:
                change = whole - array_of(by_duckdb(task, counting, 3, person), 10**4)
                assert change.min() >= 0
                changes.append(change.sum())
    assert max(changes) == 3


def test_spark_counts_every_cell_as_duckdb_does(lake: Path, logs: Path, tmp_path: Path) -> None:
    upload = wandering(lake)
    with spark.spark_session("local[2]", 1 << 29, tmp_path) as session:
        for regions in regions_of(upload).values():
            task = task_of(upload, regions, tmp_path)
            for counting in Counting:
                for bound in (1, 3, 10**6):
                    found = by_spark(session, task, counting, bound)
                    assert found == by_duckdb(task, counting, bound)


def test_an_erased_person_is_left_out_by_a_public_hash(
    lake: Path, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bytes] = []
    mapped = spark._mapped

    def seen(session: object, files: Any, work: Any, columns: str) -> Any:
        given.append(pickle.dumps(work))
        return mapped(session, files, work, columns)

    monkeypatch.setattr(spark, "_mapped", seen)
    upload = wandering(lake)
    grid = Grid.over(upload.dataset.area, 16)
    key = bytes(range(64))
    names = ["p\xe911", "7"]
    hashes = {name: next(iter(rehashed([name], key, _Every(), key))) for name in names}
    task = task_of(upload, grid, tmp_path)
    files = [replace(file, erased=frozenset(hashes.values())) for file in task.files]
    with spark.spark_session("local[2]", 1 << 29, tmp_path) as session:
        found = by_spark(session, replace(task, files=files), Counting.PEOPLE, 1, key)
    whole = by_duckdb(task, Counting.PEOPLE, 1)
    assert sum(whole.values()) - sum(found.values()) == 2
    assert len(given) == 2
    assert not any(one in sent for sent in given for one in hashes.values())


class _Every(frozenset[bytes]):
    def __contains__(self, _: object) -> bool:
        return True


def test_a_folder_is_counted_by_spark_from_its_declaration_to_a_map(
    lake: Path, logs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sources.write(lake / "a.parquet", range(30))
    sources.write(lake / "b.parquet", range(20, 50))
    dataset = sources.declared()
    upload = sources.registered(dataset)
    counter = rows_in_place(upload).counter()
    assert isinstance(counter, SparkCounter)
    assert sources.exactly(dataset, bound=2) == 60
    person_erase(dataset=dataset, person="p25", by=None)
    release = make_release(dataset, **EXACT | {"bound": 2, "counting": "people"})
    assert sources.counted(release) == 49
    planted = 7_316_717_653_133_062_491
    with spark.spark_session("local[2]", 1 << 29, logs) as session:
        session.sql(f"SELECT id + {planted} FROM range(2)").collect()
    written = (logs / "spark.log").read_text(errors="replace")
    for path in (logs / "events").rglob("*"):
        written += path.read_text(errors="replace") if path.is_file() else ""
    # The search of the logs works: a number that is in a query or a plan is found.
    assert str(planted) in written
    assert "row_number" in written
    assert "MapInArrow" in written
    salt, key = bytes(release.salt), hashing_key(dataset)
    (erased,) = (bytes(each.person) for each in dataset.suppressions.all())
    for secret in (salt, key, key[32:], erased):
        for start in range(0, 16, 8):
            half = secret[start : start + 8]
            assert str(int.from_bytes(half)) not in written
            assert str(int.from_bytes(half, "little")) not in written
            assert half.hex() not in written.lower()
    assert "p25" not in written
    sources.write(lake / "b.parquet", range(10))
    release = make_release(dataset, **EXACT)
    assert release.job.state == JobState.FAILED
    assert "b.parquet" in str(release.job.failure)
    assert not release.job.drawing


def test_errors_in_a_task_do_not_quote_values(lake: Path, logs: Path, tmp_path: Path) -> None:
    upload = wandering(lake)
    task = task_of(upload, Grid.over(upload.dataset.area, 4), tmp_path)
    (lake / "a.parquet").write_bytes(b"secret row")
    with spark.spark_session("local[2]", 1 << 29, tmp_path) as session:
        # These settings keep other users of the machine from reading Spark's ports and files.
        for door in ("authenticate", "network.crypto.enabled", "io.encryption.enabled"):
            assert session.conf.get(f"spark.{door}") == "true"
        with pytest.raises(spark.SparkError, match="PythonException"):
            by_spark(session, task, Counting.PEOPLE, 1)
    assert "secret row" not in (logs / "spark.log").read_text(errors="replace")


def test_a_folder_is_refused_where_spark_is_missing(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources.write(lake / "a.parquet", range(3))
    dataset = sources.declared()
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyspark" else known(name)
    )
    with pytest.raises(InvalidInput, match=r"dpgeo\[spark\] has to be installed"):
        source_register(dataset=dataset, location="lake", folder="", by=None)


@pytest.mark.parametrize("master", ["spark://cluster.example:7077", "yarn", "local[2]:x", "local"])
def test_only_sparks_own_threads_are_supported(
    lake: Path, settings: Any, installed: None, master: str
) -> None:
    settings.DPGEO_SPARK_MASTER = master
    with pytest.raises(ValueError, match="DPGEO_SPARK_MASTER must be local"):
        locations()[0].files("")


@pytest.mark.parametrize("root", ["spark:s3://bucket/trips", "spark:trips"])
def test_spark_reads_local_folders_alone(settings: Any, root: str) -> None:
    settings.DPGEO_SOURCES = [f"office/lake={root}"]
    with pytest.raises(ValueError, match="DPGEO_SOURCES"):
        locations()
