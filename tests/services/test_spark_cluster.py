"""Counts on a real standalone cluster of Spark, whose machines fail, are DuckDB's counts."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.datasets.erasure import person_erase
from dpgeo.engine import spark
from dpgeo.engine.spark import Cluster, grouping_key, problem_with_spark, public_draw, start_session
from dpgeo.engine.spark_tasks import SparkError
from dpgeo.ingest.persons import rehashed
from dpgeo.jobs.models import JobState
from tests import lake
from tests.disks import small_disk
from tests.lake import GRID, SALT, Lake, write_lake
from tests.makers import make_release
from tests.requirements import need
from tests.services.spark_cluster import SparkCluster, running_cluster, wait_for
from tests.storages import use_empty_storages
from tests.web import test_sources as sources

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

KEY = bytes(range(100, 164))
"""The key with which a dataset's persons are hashed, and which Spark must not know."""

MEMORY = 512 << 20

FILES = 40
"""Number of files in the larger folder, each of which is a task."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    need(not problem_with_spark(), "Spark: make .venv/done/spark; apt-get install openjdk-17-jre")
    folder = tmp_path_factory.mktemp("cluster")
    with running_cluster(folder) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment("driver").items():
            patch.setenv(name, value)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield running


@pytest.fixture(scope="module")
def session(
    cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Any]]:
    """Return a function that returns a session, and starts what an earlier test has ended."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("driver")

    def running() -> Any:
        cluster.keep_workers(2)
        return SparkSession.getActiveSession() or start_session(cluster.master, MEMORY, folder)

    yield running
    end_java()


@pytest.fixture(scope="module")
def people(cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return write_lake(tmp_path_factory.mktemp("lake"), files=4)


@pytest.fixture(scope="module")
def many_files(cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return write_lake(tmp_path_factory.mktemp("many"), files=FILES, rows=20_000, people=5000)


@pytest.fixture
def fresh_java() -> Iterator[None]:
    """End this process's Java, in which a master on this machine would leave its own secret."""
    end_java()
    yield
    end_java()


def end_java() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if active := SparkSession.getActiveSession():
        active.stop()
    if gateway := SparkContext._gateway:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None


def counting_by(session: Any, lake: Lake, folder: Path) -> Cluster:
    return Cluster(
        master="",
        files=lake.files,
        secret=KEY,
        key=grouping_key(public_draw(SALT)),
        between=None,
        memory_bytes=MEMORY,
        folder=folder,
        _session=session,
    )


def test_counts_averages_pairs_and_totals_are_duckdbs(
    session: Callable[[], Any], people: Lake, tmp_path: Path
) -> None:
    """Count by one query of each form; `tests/unit/engine/test_spark.py` tries all of them."""
    names = ("hours", "zones", "fares", "bins", "popular", "pairs", "sightings", "contributions")
    for data, asked in ((people, names), (replace(people, unit=Unit.RECORD), ("grid", "zones"))):
        counts = counting_by(session(), data, tmp_path).count
        expected = lake.counted(data.duckdb_view(tmp_path), asked)
        lake.assert_equal(lake.counted(data.view(counts, tmp_path), asked), expected)


@dataclass
class Recorded:
    """Rows of Spark; the functions that are applied to them are kept as they are sent."""

    rows: Any
    sent: list[bytes]

    def mapInArrow(self, work: Any, schema: Any) -> Any:  # noqa: N802 - Spark's name
        self.sent.append(pickle.dumps(work))
        return self.rows.mapInArrow(work, schema)


def test_an_erased_person_is_left_out_and_no_secret_reaches_the_cluster(
    cluster: SparkCluster,
    session: Callable[[], Any],
    people: Lake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []
    each_file = Cluster._each_file
    monkeypatch.setattr(Cluster, "_each_file", lambda *both: Recorded(each_file(*both), sent))
    # No row has the name "p999".
    names = ["p\xe912", "p999"]
    hashes = frozenset(next(iter(rehashed([name], KEY, _Every(), KEY))) for name in names)
    erased = replace(people, erased=hashes)
    counts = counting_by(session(), erased, tmp_path).count
    found = erased.view(counts, tmp_path, bound=10**6).histogram(GRID)._read_by_meter()
    whole = people.duckdb_view(tmp_path, bound=10**6).histogram(GRID)._read_by_meter()
    assert 0 < whole.sum() - found.sum() < 30

    assert len(sent) == 2
    written = [(path, path.read_bytes()) for path in cluster.written()]
    text = b"".join(content for path, content in written if path.suffix in {".log", ".out"})
    # The logs are as full as they can be: plans and public numbers are in them.
    for word in (b"MapInArrow", b"person_high", b"dpgeo.zip"):
        assert word in text
    assert any("work/app-" in str(path) for path, _ in written)
    tasks = [(Path(f"task-{number}"), task) for number, task in enumerate(sent)]
    for path, content in [*written, *tasks]:
        for secret in (SALT, KEY, KEY[32:], *hashes):
            for start in range(0, 16, 8):
                half = secret[start : start + 8]
                assert half not in content, path
                assert half.hex().encode() not in content.lower(), path
                for order in ("big", "little"):
                    number = str(int.from_bytes(half, order)).encode()
                    assert number not in content, path
        assert "p\xe9".encode() not in content, path
        assert b"pe\xcc\x81" not in content, path


class _Every(frozenset[bytes]):
    def __contains__(self, _: object) -> bool:
        return True


@pytest.mark.parametrize("lost", ["executor", "machine"])
def test_what_is_lost_is_counted_again_and_changes_no_count(
    cluster: SparkCluster,
    session: Callable[[], Any],
    many_files: Lake,
    tmp_path: Path,
    lost: str,
) -> None:
    running = session()
    expected = many_files.duckdb_view(tmp_path, counting=Counting.VISITS, bound=5)
    worker = next(each for each in cluster.workers if each.process.poll() is None)
    killed: list[int] = []
    log = cluster.folder / "driver.log"
    before = log.stat().st_size

    def kill() -> None:
        wait_for(lambda: 4 <= tasks_done(running) < FILES - 4, "a task for each file")
        killed.extend(worker.executors())
        if lost == "machine":
            worker.kill()
        else:
            os.kill(worker.executors()[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    counts = counting_by(running, many_files, tmp_path).count
    view = many_files.view(counts, tmp_path, counting=Counting.VISITS, bound=5)
    found = view.histogram(GRID)._read_by_meter()
    killer.join()
    assert killed
    np.testing.assert_array_equal(found, expected.histogram(GRID)._read_by_meter())
    said = log.read_text(errors="replace")[before:]
    assert re.search(r"Lost executor|Lost task", said)


def tasks_done(session: Any) -> int:
    """Return the number of finished tasks of the stage that runs."""
    tracker = session.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return max(
        (info.numCompletedTasks for info in infos if info and info.numTasks == 40), default=0
    )


def test_a_file_that_changed_or_vanished_is_named(
    session: Callable[[], Any], tmp_path: Path
) -> None:
    shrinking = write_lake(tmp_path / "lake")
    counts = counting_by(session(), shrinking, tmp_path).count
    path = tmp_path / "lake/day=1/a.parquet"
    for change in (lambda: path.write_bytes(b"secret row"), path.unlink):
        change()
        with pytest.raises(SparkError) as caught:
            shrinking.view(counts, tmp_path).histogram(GRID)
        assert (caught.value.kind, caught.value.file) == ("changed", 1)


@pytest.mark.django_db
@pytest.mark.parametrize("local", [True, False])
def test_a_folder_is_counted_from_its_declaration_to_a_map(
    cluster: SparkCluster, fresh_java: None, tmp_path: Path, settings: Any, local: bool
) -> None:
    cluster.keep_workers(2)
    use_empty_storages(settings, tmp_path)
    folder = tmp_path / "lake"
    settings.DPGEO_SOURCES = [f"office/lake=spark:{folder}"]
    settings.DPGEO_SPARK_MASTER = "local[2]" if local else cluster.master
    sources.write(folder / "a.parquet", range(30))
    sources.write(folder / "day=2/b.parquet", range(20, 50))
    dataset = sources.declared()
    sources.registered(dataset)
    person_erase(dataset=dataset, person="p25", by=None)
    assert sources.exactly(dataset, bound=2) == 58
    sources.write(folder / "day=2/b.parquet", range(10))
    release = make_release(dataset, **sources.EXACT)
    assert release.job.state == JobState.FAILED
    assert "'day=2/b.parquet'" in str(release.job.failure)
    assert not release.job.drawing


def test_a_full_disk_and_a_cluster_without_workers_are_named(
    cluster: SparkCluster,
    fresh_java: None,
    many_files: Lake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for worker in cluster.workers:
        worker.kill()
    with small_disk(tmp_path / "small", 2 << 20) as disk:
        small = cluster.add_worker(disk.folder)
        session = start_session(cluster.master, MEMORY, tmp_path)
        assert failure(session, many_files, tmp_path) == "disk"
        monkeypatch.setattr(spark, "ALONE_SECONDS", 6.0)
        small.kill()
        assert failure(session, many_files, tmp_path) == "executors"


def failure(session: Any, many_files: Lake, folder: Path) -> str:
    counts = counting_by(session, many_files, folder).count
    with pytest.raises(SparkError) as caught:
        many_files.view(counts, folder, counting=Counting.VISITS).histogram(GRID)
    return caught.value.kind
