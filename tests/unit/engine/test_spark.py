"""What executors of Spark compute adds up to what DuckDB counts; Spark itself is not started."""

from __future__ import annotations

import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.spark import Cluster, grouping_key, public_draw, zipped_package
from dpgeo.engine.spark_tasks import Question, SparkError, Task
from tests import lake
from tests.lake import GRID, SALT, ZONES, Lake, added, count_by_tasks, write_lake

Count = Callable[[Question], Iterator[Answer]]


def task_of(lake: Lake, question: Question) -> Task:
    """Return the task that executors get, as it is sent to them."""
    task = Task(
        files=lake.files,
        question=question,
        key=grouping_key(public_draw(SALT)),
        between=None,
        memory_bytes=1 << 28,
    )
    copy = pickle.loads(pickle.dumps(task))  # noqa: S301
    assert isinstance(copy, Task)
    return copy


def by_tasks(lake: Lake, *, order: int = 1) -> Count:
    return lambda question: count_by_tasks(task_of(lake, question), order=order)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return write_lake(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize(("counting", "order"), [(Counting.PEOPLE, -1), (Counting.VISITS, 1)])
def test_every_measurement_is_duckdbs(
    people: Lake, tmp_path: Path, counting: Counting, order: int
) -> None:
    view = people.view(by_tasks(people, order=order), tmp_path, counting=counting)
    expected = lake.counted(people.duckdb_view(tmp_path, counting=counting))
    lake.assert_equal(lake.counted(view), expected)
    assert expected["grid"].sum() > 50


def test_a_window_without_files_is_measured_as_usual(people: Lake, tmp_path: Path) -> None:
    found = lake.counted(people.view(lambda _: iter(()), tmp_path))
    assert found.keys() == lake.counted(people.view(by_tasks(people), tmp_path)).keys()
    for name in found.keys() - {"pairs", "sparse"}:
        assert not found[name].any()
    assert not found["pairs"].size
    assert not found["sparse"].size


def test_records_are_counted_once_in_overlapping_zones(people: Lake, tmp_path: Path) -> None:
    records = Lake(people.folder, Unit.RECORD)
    view = records.view(by_tasks(records), tmp_path)
    expected = lake.counted(records.duckdb_view(tmp_path))
    lake.assert_equal(lake.counted(view), expected)
    assert 0 < expected["zones"].sum() <= expected["grid"].sum()


def test_removing_a_person_changes_at_most_bound_counts(people: Lake, tmp_path: Path) -> None:
    changes = []

    def without(person: int) -> Count:
        def count(question: Question) -> Iterator[Answer]:
            task = task_of(people, question)
            rows = list(task.located([pa.record_batch({"id": range(len(task.files))})]))
            everybody = sorted(set(pa.Table.from_batches(rows)["person_low"].to_pylist()))
            kept = [row.filter(pc.not_equal(row["person_low"], everybody[person])) for row in rows]
            yield from added([next(task.counted(kept))], question)

        return count

    for counting in Counting:
        whole = people.view(by_tasks(people), tmp_path, counting=counting, bound=3)
        for person in range(3):
            less = people.view(without(person), tmp_path, counting=counting, bound=3)
            for regions in (GRID, ZONES):
                change = counts(whole, regions) - counts(less, regions)
                assert change.min() >= 0
                changes.append(change.sum())
    assert max(changes) == 3


def counts(view: Any, regions: Any) -> Any:
    made = view.histogram(regions) if regions is GRID else view.zone_counts(regions)
    return made._read_by_meter()


def test_trips_and_points_come_from_a_copy_under_the_secret_salt(
    people: Lake, tmp_path: Path
) -> None:
    view = people.view(by_tasks(people), tmp_path)
    reports = list(view.positions(time_step=None)._read_by_meter())
    assert sum(len(each.longitude) for each in reports) > 50
    copy = view._copied()
    assert copy._file.path == tmp_path / "copy.parquet"
    assert copy._file.salt == SALT


def test_no_secret_is_in_what_executors_get(people: Lake, tmp_path: Path) -> None:
    sent: list[bytes] = []

    def count(question: Question) -> Iterator[Answer]:
        sent.append(pickle.dumps(task_of(people, question)))
        yield from by_tasks(people)(question)

    lake.counted(people.view(count, tmp_path))
    assert len(sent) > 15
    for task in sent:
        for half in (SALT[:8], SALT[8:]):
            assert half not in task
            assert half[::-1] not in task


def test_a_file_that_changed_is_named_by_its_index(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    changed = write_lake(folder)
    questions: list[Question] = []

    def count(question: Question) -> Iterator[Answer]:
        questions.append(question)
        return by_tasks(changed)(question)

    changed.view(count, tmp_path).histogram(GRID)
    task = task_of(changed, questions[0])
    (folder / "day=1/a.parquet").write_bytes(b"secret row")
    with pytest.raises(SparkError) as caught:
        list(task.located([pa.record_batch({"id": [0, 1]})]))
    assert (caught.value.kind, caught.value.file) == ("changed", 1)
    (folder / "day=2/a.parquet").unlink()
    with pytest.raises(SparkError) as caught:
        list(task.located([pa.record_batch({"id": [2]})]))
    assert (caught.value.kind, caught.value.file) == ("changed", 2)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(28, "secret"), "disk"),
        (RuntimeError("IO Error: secret: No space left on device"), "disk"),
        (ValueError("secret"), "ValueError"),
    ],
)
def test_errors_in_a_task_do_not_quote_values(
    people: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: str
) -> None:
    def fail(*_: object, **__: object) -> Iterator[Any]:
        raise error
        yield

    monkeypatch.setattr("dpgeo.engine.spark_tasks.source_rows", fail)
    with pytest.raises(SparkError) as caught:
        people.view(by_tasks(people), tmp_path).histogram(GRID)
    assert caught.value.kind == kind
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_session_that_fails_at_its_end_discards_no_draw(people: Lake, tmp_path: Path) -> None:
    stopped = []

    class Session:
        def stop(self) -> None:
            stopped.append(1)
            raise RuntimeError

    cluster = Cluster(
        master="",
        files=people.files,
        secret=b"",
        key=b"",
        between=None,
        memory_bytes=1,
        folder=tmp_path,
        _session=Session(),
    )
    with cluster:
        drawn = "noise"
    assert (drawn, stopped) == ("noise", [1])


def test_executors_get_the_modules_that_they_import_and_no_others(tmp_path: Path) -> None:
    package = tmp_path / "dpgeo.zip"
    package.write_bytes(zipped_package())
    code = "import dpgeo.engine.spark_tasks as tasks; print(tasks.__file__)"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(package)!r}); {code}"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith(str(package))
    names = {name.split("/")[1] for name in zipfile.ZipFile(package).namelist()}
    assert not names & {"config", "datasets", "releases", "privacy", "mechanisms"}
