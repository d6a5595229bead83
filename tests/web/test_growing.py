"""Datasets to which files are added, and releases of a window of days."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from dpgeo.accounts.models import ApiKey
from dpgeo.artefacts.statement import statement
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.levels import make_level
from dpgeo.core.released import GridRelease, PointsRelease
from dpgeo.datasets.declaration import NewFiles
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import check_new, upload_ingest
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.services import dataset_update
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm, upload_receive
from dpgeo.datasets.versions import rows_of, version_files
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from dpgeo.releases.blobs import is_from_release
from dpgeo.releases.models import Release
from dpgeo.releases.private_draw import store_draw
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_publish, release_run
from tests.makers import make_dataset, make_received, make_release, make_request, quote_release
from tests.web.api import DECLARATION, program_of
from tests.web.desk import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

COLUMNS = Columns(longitude="lon", latitude="lat", person="who", time="seen")

EXACT: dict[str, Any] = {"epsilon": "100", "bound": 1, "counting": "visits"}
"""A request whose noise is 0 in each cell, except with probability e^-99."""

JANUARY = ("2026-01-01", "2026-01-31")


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset(budget=1000, new_files="append")


def month(number: int, people: range, hour: int = 12) -> bytes:
    lines = [f"p{who},50.01,10.01,2026-{number:02}-15T{hour:02}:00:00Z" for who in people]
    return "\n".join(["who,lat,lon,seen", *lines, ""]).encode()


def confirm(dataset: Dataset, content: bytes) -> Upload:
    upload = make_received(dataset, content)
    return upload_confirm(upload=upload, columns=COLUMNS)


def add(dataset: Dataset, content: bytes) -> Upload:
    upload = confirm(dataset, content)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY, upload.job and upload.job.failure
    dataset.refresh_from_db()
    return upload


def counted(release: Release) -> int:
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    return int(content.counts.sum())


def exactly(dataset: Dataset, **changes: Any) -> int:
    release = make_release(dataset, **{**EXACT, **changes})
    assert release.job.state == JobState.DONE, release.job.failure
    return counted(release)


def test_a_release_counts_all_files_of_a_dataset_that_grows(dataset: Dataset) -> None:
    first = add(dataset, month(1, range(30)))
    assert exactly(dataset) == 30
    second = add(dataset, month(2, range(20, 60)))
    assert (first.version, second.version) == (1, 2)
    assert exactly(dataset) == 60  # twenty people are in both months, and count once each
    assert exactly(dataset, bound=2) == 70
    assert rows_of(second) == 70


def test_without_the_declaration_a_new_file_replaces_the_data() -> None:
    dataset = make_dataset(budget=1000)
    add(dataset, month(1, range(30)))
    second = add(dataset, month(2, range(10)))
    assert (second.version, exactly(dataset)) == (0, 10)


def test_a_release_keeps_the_files_that_it_was_requested_from(dataset: Dataset) -> None:
    add(dataset, month(1, range(30)))
    late = confirm(dataset, month(2, range(30, 50)))
    waiting = make_request(dataset, **EXACT)
    add(dataset, month(3, range(50, 60)))
    # The file was confirmed before the release was requested, but its rows are read after it.
    assert upload_ingest(upload_id=late.pk)
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert counted(waiting) == 30
    assert exactly(dataset) == 60
    late.refresh_from_db()
    assert (late.version, ready_upload(dataset)) == (3, late)


def test_a_window_is_filtered_before_contributions_are_bounded(dataset: Dataset) -> None:
    add(dataset, month(1, range(30)))
    add(dataset, month(2, range(30)))
    days = {"from_day": "2026-02-01", "to_day": "2026-02-28"}
    # The bound is 1: rows of January must not take the place of the same person's rows of February.
    assert exactly(dataset, **days) == 30
    assert exactly(dataset, from_day="2026-01-01", to_day="2026-02-28") == 30
    assert exactly(dataset, from_day="2026-02-15", to_day="2026-02-15") == 30
    assert exactly(dataset, from_day="2026-02-16", to_day="2026-03-31") == 0


def test_days_are_those_of_the_datasets_time_zone(dataset: Dataset) -> None:
    # The rows are of 23:00 UTC or later on the 15th: in Berlin, already the 16th.
    add(dataset, month(1, range(30), hour=23))
    assert exactly(dataset, from_day="2026-01-15", to_day="2026-01-15") == 0
    assert exactly(dataset, from_day="2026-01-16", to_day="2026-01-16") == 30


def test_disjoint_windows_cost_the_sum_of_their_epsilons(dataset: Dataset) -> None:
    add(dataset, month(1, range(30)))
    for days in (("2026-01-01", "2026-01-15"), ("2026-01-16", "2026-01-31")):
        make_request(dataset, epsilon="3", from_day=days[0], to_day=days[1])
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 6_000_000


def test_a_window_is_stated_and_belongs_to_the_request(dataset: Dataset) -> None:
    add(dataset, month(1, range(30)))
    release = make_release(dataset, from_day=JANUARY[0], to_day=JANUARY[1])
    released = load_released(release)
    document: Any = statement(released)
    window = document["window"]
    assert [window[name] for name in ("from_day", "to_day", "time_zone")] == [
        *JANUARY,
        "Europe/Berlin",
    ]
    assert "2026-01-01 to 2026-01-31" in window["meaning"].replace("from ", "")
    assert is_from_release(release, released)
    other = make_request(dataset, from_day="2026-01-02", to_day="2026-01-31")
    whole = make_release(dataset)
    assert not is_from_release(other, released)
    assert not is_from_release(whole, released)
    assert "window" not in statement(load_released(whole))


def test_a_window_needs_times() -> None:
    dataset = make_dataset()
    upload = make_received(dataset)
    upload_confirm(upload=upload, columns=Columns(longitude="lon", latitude="lat", person="who"))
    dataset.refresh_from_db()
    with pytest.raises(InvalidInput) as refusal:
        quote_release(
            dataset,
            mechanism="uniform-grid",
            parameters={},
            epsilon="1",
            bound=1,
            counting="people",
            from_day=JANUARY[0],
            to_day=JANUARY[1],
        )
    assert refusal.value.field == "from_day"


def test_erasing_a_person_removes_them_from_all_files(
    dataset: Dataset, django_capture_on_commit_callbacks: Any
) -> None:
    files = [add(dataset, month(number, range(10))) for number in (1, 2, 3)]
    waiting = make_request(dataset, **EXACT)
    with django_capture_on_commit_callbacks(execute=True):
        version = person_erase(dataset=dataset, person="p3", by=None)
        assert upload_ingest(upload_id=version.pk)
    version.refresh_from_db()
    assert version.report is not None
    assert (version.report["accepted"], version.report["erased"]) == (27, 3)
    assert (version.version, list(version_files(version))) == (4, [version])
    assert set(stored_names(private_storage(), "canonical")) == {version.canonical_name}
    for file in files:
        file.refresh_from_db()
        assert (file.state, file.canonical_name) == (UploadState.ERASED, "")
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert counted(waiting) == 9
    add(dataset, month(4, range(12)))
    assert exactly(dataset) == 11  # rows of the erased person are refused in later files, too


def test_a_draw_from_files_of_an_erased_person_is_not_committed(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(dataset, month(1, range(10)))
    add(dataset, month(2, range(10)))
    release = make_request(dataset, **EXACT, title="Both months")
    erased: list[Upload] = []

    def erase_first(*stored: Any) -> str:
        if not erased:
            erased.append(person_erase(dataset=dataset, person="p3", by=None))
            assert upload_ingest(upload_id=erased[0].pk)
        return store_draw(*stored)

    monkeypatch.setattr("dpgeo.releases.release_job.store_draw", erase_first)
    release_run(release_id=release.pk)  # the draw is deleted, and the job is queued again
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert counted(release) == 9
    assert release.upload == erased[0]


def test_the_same_file_is_not_added_twice(dataset: Dataset) -> None:
    add(dataset, month(1, range(10)))
    again = confirm(dataset, month(1, range(10)))
    upload_ingest(upload_id=again.pk)
    again.refresh_from_db()
    assert again.job is not None
    assert (again.state, str(again.job.failure)) == (
        UploadState.FAILED,
        "This file was added to the data before; choose another.",
    )
    assert exactly(dataset) == 10


def test_a_file_that_is_gone_with_an_erasure_is_not_added_again(dataset: Dataset) -> None:
    """A file that was deleted by an erasure is not added again.

    Otherwise a program that sends its files again would double the visits of everybody else.
    """
    add(dataset, month(1, range(10)))
    upload_ingest(upload_id=person_erase(dataset=dataset, person="p3", by=None).pk)
    again = confirm(dataset, month(1, range(10)))
    upload_ingest(upload_id=again.pk)
    again.refresh_from_db()
    assert again.state == UploadState.FAILED
    assert exactly(dataset) == 9


def test_of_two_equal_files_read_at_once_one_is_added(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (confirm(dataset, month(1, range(10))) for _ in range(2))
    checked: list[Upload] = []

    def check(upload: Upload) -> None:
        checked.append(upload)
        if len(checked) == 1:  # Add the second file while the first one is being read.
            upload_ingest(upload_id=second.pk)
        else:
            check_new(upload)

    monkeypatch.setattr("dpgeo.datasets.ingest_job.check_new", check)
    upload_ingest(upload_id=first.pk)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == (UploadState.FAILED, UploadState.READY)
    assert stored_canonical() == [second.canonical_name]
    assert exactly(dataset) == 10


def stored_canonical() -> list[str]:
    """Return the names of all canonical files in the storage."""
    storage = private_storage()
    return [f"canonical/{name}" for name in storage.listdir("canonical")[1]]


def test_no_key_learns_whether_somebody_else_added_the_rows_that_it_guesses(desk: Desk) -> None:
    program = program_of(desk)
    declared = program.ask(
        "POST", "/api/v1/datasets", {**DECLARATION, "new_files": "append"}, status=201
    )
    dataset = Dataset.objects.get(slug=declared["slug"])
    add(dataset, month(1, range(3)))
    key = ApiKey.objects.get()
    outcomes = []
    for content in (month(1, range(3)), month(1, range(4)), month(1, range(3))):
        sent = upload_receive(
            dataset=dataset,
            file=io.BytesIO(content),
            file_name="trips.csv",
            created_by=desk.user,
            key=key,
        )
        upload_ingest(upload_id=upload_confirm(upload=sent, columns=COLUMNS).pk)
        sent.refresh_from_db()
        outcomes.append(sent.state)
    # A key may learn that a file repeats one of its own, so only the third file is refused.
    assert outcomes == [UploadState.READY, UploadState.READY, UploadState.FAILED]


def test_invented_people_are_not_mixed_with_real_ones(dataset: Dataset) -> None:
    add(dataset, month(1, range(10)))
    file = io.BytesIO(month(2, range(10)))
    invented = upload_receive(
        dataset=dataset, file=file, file_name="trips.csv", created_by=None, invented=True
    )
    with pytest.raises(Conflict, match="must not be mixed"):
        upload_confirm(upload=invented, columns=COLUMNS)


def test_what_further_files_do_is_fixed_by_the_first_confirmation(dataset: Dataset) -> None:
    dataset_update(dataset=dataset, changes={"new_files": "replace"})
    dataset_update(dataset=dataset, changes={"new_files": "append"})
    add(dataset, month(1, range(10)))
    with pytest.raises(Conflict, match="fixed"):
        dataset_update(dataset=dataset, changes={"new_files": NewFiles.REPLACE.value})
    with pytest.raises(InvalidInput, match="choose from replace, append"):
        make_dataset(new_files="merge")


def test_points_of_many_files_have_every_record_once() -> None:
    points = make_level("ln 16", 200)
    dataset = make_dataset(new_files="append", unit="record", points_budget=points)
    for number in (1, 2, 3):
        upload = make_received(dataset, month(number, range(10 * number)))
        columns = Columns(longitude="lon", latitude="lat", time="seen")
        upload_confirm(upload=upload, columns=columns)
        assert upload_ingest(upload_id=upload.pk)
        dataset.refresh_from_db()
    release = make_release(
        dataset,
        mechanism="planar-laplace",
        parameters={"level": "ln(2)", "radius": 200, "cells": 16},
        epsilon=None,
        bound=1,
        from_day="2026-02-01",
        to_day="2026-03-31",
    )
    assert release.job.state == JobState.DONE, release.job.failure
    content = load_released(release).content
    assert isinstance(content, PointsRelease)
    assert len(content.longitude) == 50


def test_the_number_of_files_is_not_public(desk: Desk) -> None:
    """What strangers see of a release is the same after more files were added."""
    dataset = desk.declare(new_files="append", budget=1000)
    add(dataset, month(1, range(30)))
    release = make_release(dataset, from_day=JANUARY[0], to_day=JANUARY[1])
    release_publish(release=release, by=None)
    addresses = [
        reverse("api:dataset", args=[dataset.slug]),
        reverse("api:release", args=[release.pk]),
        reverse("release-privacy", args=[release.pk]),
    ]
    before = [Client().get(each).content for each in addresses]
    add(dataset, month(2, range(20)))
    assert [Client().get(each).content for each in addresses] == before


def test_an_empty_window_looks_like_any_other(dataset: Dataset) -> None:
    add(dataset, month(1, range(30)))
    release = make_release(dataset, from_day="1999-01-01", to_day="1999-01-02")
    assert release.job.state == JobState.DONE
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    assert np.any(content.counts)  # Empty windows get noise, too.
