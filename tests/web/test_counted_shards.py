"""Registered folders counted in shards of persons, which several workers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.released import GridRelease
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage
from dpgeo.engine import in_place
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases import sharding
from dpgeo.releases.models import Release, ReleaseShard
from dpgeo.releases.reconciliation import releases_sweep
from dpgeo.releases.selectors import released_of
from dpgeo.releases.services import release_run
from tests.makers import make_release, make_request
from tests.web import test_sources as sources
from tests.web.test_sources import EXACT, folder

__all__ = ["folder"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

SHARDS = 4


@pytest.fixture
def dataset(folder: Path, settings: Any) -> Dataset:
    """Return a dataset with 80 rows of 60 people in two files, to be counted in four shards."""
    found = sources.declared()
    for name, people, place in (("a", range(40), 0.01), ("b", range(20, 60), 0.09)):
        spread = [50.01 + place / 2 * (who % 2) for who in people]
        sources.write(folder / f"{name}.parquet", people, lat=spread, lon=[10.0 + place] * 40)
    sources.registered(found)
    settings.DPGEO_ROWS_PER_SHARD = 20
    return found


def counts_of(release: Release) -> NDArray[np.int64]:
    release.refresh_from_db()
    assert release.job.state == JobState.DONE, release.job.failure
    content = released_of(release).content
    assert isinstance(content, GridRelease)
    return content.counts


def part_files() -> list[str]:
    return list(stored_names(private_storage(), sharding.FOLDER))


def watch_commits(
    monkeypatch: pytest.MonkeyPatch, after: Callable[[list[int]], None] = lambda _: None
) -> list[int]:
    """Return a list to which the number of each shard is added when it is committed.

    After each commit, `after` is called with the list.
    """
    write, numbers = sharding._commit_shard, list[int]()

    def watched(shard: ReleaseShard, data: bytes) -> None:
        write(shard, data)
        numbers.append(shard.number)
        after(numbers)

    monkeypatch.setattr(sharding, "_commit_shard", watched)
    return numbers


def stop_after(number: int) -> Callable[[list[int]], None]:
    """Return a function that stops the worker when `number` shards have just been committed."""

    def stop(numbers: list[int]) -> None:
        if len(numbers) == number:
            raise SystemExit

    return stop


@pytest.mark.parametrize("counting", ["visits", "people"])
def test_counts_in_shards_are_those_of_one_worker(
    dataset: Dataset, settings: Any, monkeypatch: pytest.MonkeyPatch, counting: str
) -> None:
    """Counts in shards equal those of one worker.

    The noise is 0, so the maps show the counts. With a bound of 2, all rows of everybody count.
    """
    changes = {**EXACT, "counting": counting, "bound": 2}
    numbers = watch_commits(monkeypatch)
    shared = counts_of(make_release(dataset, **changes))
    assert numbers == list(range(SHARDS))
    settings.DPGEO_ROWS_PER_SHARD = 1000
    np.testing.assert_array_equal(shared, counts_of(make_release(dataset, **changes)))
    assert len(numbers) == SHARDS
    assert shared.sum() == 80
    assert not ReleaseShard.objects.exists()
    assert not Job.objects.filter(task=sharding.SHARD_TASK).exists()
    assert part_files() == []


def test_a_killed_worker_leaves_shards_that_are_not_counted_again(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_request(dataset, **EXACT, publish_when_done=False)
    numbers = watch_commits(monkeypatch, stop_after(2))
    with pytest.raises(SystemExit):
        release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.job.drawing, ReleaseShard.objects.count()) == (False, SHARDS)
    assert release_run(release_id=release.pk)
    assert numbers == list(range(SHARDS))
    assert counts_of(release).sum() == 60
    assert dataset.ledger.entries.count() == 1
    assert part_files() == []


def test_an_answer_that_comes_late_is_not_added(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two workers count the same shard, the counts that are stored second are not added.

    Here, every shard's counts are stored a second time, doubled.
    """
    write = sharding._commit_shard

    def twice(shard: ReleaseShard, data: bytes) -> None:
        answer = in_place.answer_from_bytes(data)
        write(shard, data)
        write(shard, in_place.answer_to_bytes({**answer, "amount": 2 * answer["amount"]}))

    monkeypatch.setattr(sharding, "_commit_shard", twice)
    assert counts_of(make_release(dataset, **EXACT)).sum() == 60
    assert part_files() == []


def test_each_measurement_asks_a_question_of_its_own(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each measurement of a release asks for counts of its own.

    Popular bounding measures twice, and what is counted for the second measurement depends on the
    noise of the first. Here, the worker is stopped during the second, and the noise of the first,
    which was only in its memory, is lost. The next attempt draws that noise anew, so it asks for
    other counts, and everybody is counted again.
    """
    numbers = watch_commits(monkeypatch, stop_after(SHARDS + 2))
    changes = {**EXACT, "bounding": "popular", "epsilon": "1"}
    release = make_request(dataset, **changes, publish_when_done=False)
    with pytest.raises(SystemExit):
        release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.job.drawing
    assert all(shard.job.drawing for shard in ReleaseShard.objects.all())
    assert release_run(release_id=release.pk)
    counts_of(release)
    assert numbers[SHARDS + 2 :] == [*range(SHARDS), *range(SHARDS)]
    assert dataset.ledger.entries.count() == 1
    assert part_files() == []


def test_a_release_begins_again_if_a_person_is_erased_while_shards_are_counted(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def erase(numbers: list[int]) -> None:
        if len(numbers) == 2:
            version = person_erase(dataset=dataset, person="p7", by=None)
            assert upload_ingest(upload_id=version.pk)

    numbers = watch_commits(monkeypatch, erase)
    release = make_request(dataset, **EXACT, publish_when_done=False)
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.job.state == JobState.QUEUED
    assert release_run(release_id=release.pk)
    assert counts_of(release).sum() == 59
    assert numbers == [0, 1, *range(SHARDS)]
    assert dataset.ledger.entries.count() == 1


def test_a_shard_that_fails_before_noise_costs_nothing(dataset: Dataset, folder: Path) -> None:
    release = make_request(dataset, **EXACT, publish_when_done=False)
    sources.write(folder / "b.parquet", range(3))
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.job.state == JobState.FAILED
    assert "was changed or removed" in str(release.job.failure)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 0
    releases_sweep()
    assert not ReleaseShard.objects.exists()
    assert part_files() == []


def test_a_shard_that_cannot_be_counted_at_all_ends_the_release(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_place.InPlaceView, "answer", Mock(side_effect=MemoryError))
    release = make_release(dataset, **EXACT)
    assert (release.job.state, release.job.drawing) == (JobState.FAILED, False)
    assert "nothing was charged" in str(release.job.failure)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 0
