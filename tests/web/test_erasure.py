"""Erasing a person, deleting uploaded files, and exporting the ledger."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dpgeo.accounts.models import Role
from dpgeo.budgets.models import Ledger
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.datasets.erasure import _digest as person_digest
from dpgeo.datasets.erasure import digest_erase, person_erase, person_readmit
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.selectors import canonical_path, ready_upload
from dpgeo.datasets.services import dataset_update
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm, uploads_forget_old_raw
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.blobs import FOLDER, commit_blob
from dpgeo.releases.models import Release
from dpgeo.releases.reconciliation import releases_sweep
from dpgeo.releases.services import release_run
from tests.makers import (
    make_dataset,
    make_organisation,
    make_received,
    make_release,
    make_request,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

COLUMNS = Columns(longitude="lon", latitude="lat", person="who")


def ingest(dataset: Dataset) -> Upload:
    upload = make_received(dataset)
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY
    return upload


def erase(dataset: Dataset, person: str) -> Upload:
    version = person_erase(dataset=dataset, person=person, by=None)
    assert upload_ingest(upload_id=version.pk)
    version.refresh_from_db()
    return version


def rows(upload: Upload) -> int:
    with canonical_path(upload) as path:
        return int(pq.read_metadata(path).num_rows)


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset(keep_raw=True)


def test_an_erased_person_is_in_no_file_any_more(
    dataset: Dataset, django_capture_on_commit_callbacks: object
) -> None:
    first, second = ingest(dataset), ingest(dataset)
    waiting = make_received(dataset)
    names = [first.raw_name, second.raw_name, waiting.raw_name]
    names += [first.canonical_name, second.canonical_name]
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        version = erase(dataset, " ann ")
    assert (version.state, rows(version), version.erasing) == (UploadState.READY, 1, None)
    assert version.report is not None
    assert (version.report["erased"], version.report["examples"]) == (2, [])
    assert ready_upload(dataset) == version
    assert not any(private_storage().exists(name) for name in names)
    for upload in (first, second, waiting):
        upload.refresh_from_db()
        assert (upload.state, upload.raw_name, upload.canonical_name, upload.report) == (
            *(UploadState.ERASED, "", ""),
            None,
        )


def test_two_waiting_erasures_are_both_made_in_any_order(dataset: Dataset) -> None:
    """Two erasures of one dataset that wait at the same time are carried out in any order.

    Only after a restore can two of them wait; see `restoration.py`.
    """
    current = ingest(dataset)
    ann, bob = (
        digest_erase(dataset=dataset, current=current, digest=person_digest(dataset, who), by=None)
        for who in ("ann", "bob")
    )
    for version in (bob, ann):
        assert upload_ingest(upload_id=version.pk)
    ann.refresh_from_db()
    assert (ann.state, ready_upload(dataset)) == (UploadState.READY, ann)
    assert rows(ann) == 0
    jobs = Job.objects.filter(pk__in=[ann.job_id, bob.job_id])
    assert set(jobs.values_list("state", flat=True)) == {JobState.DONE}


def test_erasing_a_person_removes_their_rows_from_later_uploads(dataset: Dataset) -> None:
    ingest(dataset)
    erase(dataset, "ann")
    later = ingest(dataset)
    assert rows(later) == 1
    assert later.report is not None
    assert later.report["refused"]["the person was erased from this dataset"] == 2
    assert "ann" not in str(later.report)
    assert not person_readmit(dataset=dataset, person="bob", by=None)
    assert person_readmit(dataset=dataset, person=" ann", by=None)
    assert rows(ingest(dataset)) == 3


def test_an_erasure_affects_no_other_dataset(dataset: Dataset) -> None:
    ingest(dataset)
    erase(dataset, "ann")
    assert rows(ingest(make_dataset(dataset.organisation))) == 3


def test_a_steward_erases_a_person_at_the_desk_and_a_stranger_finds_nothing(
    dataset: Dataset,
) -> None:
    first = ingest(dataset)
    steward, stranger = Client(), Client()
    steward.force_login(make_user(dataset.organisation, Role.STEWARD))
    stranger.force_login(make_user(make_organisation(), Role.STEWARD))
    home, address = reverse("desk-dataset", args=[dataset.slug]), f"{dataset.slug}/erase/"
    assert address in steward.get(home).content.decode()
    assert stranger.post(f"{home}erase/", {"person": "ann"}).status_code == 404
    refused = steward.post(f"{home}erase/", {"person": " "}, follow=True)
    assert "not an identifier" in refused.content.decode()
    queued = steward.post(f"{home}erase/", {"person": "ann"})
    version = Upload.objects.get(erasing__isnull=False)
    assert queued["Location"] == reverse("desk-upload", args=[version.pk])
    assert upload_ingest(upload_id=version.pk)
    assert rows(Upload.objects.get(pk=version.pk)) == 1
    gone = steward.get(reverse("desk-upload", args=[first.pk])).content.decode()
    assert "a person was erased" in gone


def test_a_waiting_job_uses_the_version_without_the_person(dataset: Dataset) -> None:
    ingest(dataset)
    drawn, waiting = make_release(dataset), make_request(dataset)
    version = erase(dataset, "ann")
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert waiting.upload == version
    assert waiting.blob_name
    assert Release.objects.get(pk=drawn.pk).upload != version


@pytest.mark.parametrize("state", [UploadState.QUEUED, UploadState.FAILED])
def test_no_map_is_drawn_while_a_person_is_still_in_the_data(
    dataset: Dataset, state: UploadState
) -> None:
    ingest(dataset)
    waiting = make_request(dataset)
    version = person_erase(dataset=dataset, person="ann", by=None)
    Upload.objects.filter(pk=version.pk).update(state=state)
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.blob_name, waiting.job.state) == ("", JobState.FAILED)


def test_an_erasure_leaves_out_whom_a_failed_one_did_not(dataset: Dataset) -> None:
    ingest(dataset)
    failed = person_erase(dataset=dataset, person="ann", by=None)
    Upload.objects.filter(pk=failed.pk).update(state=UploadState.FAILED)
    version = erase(dataset, "bob")
    assert rows(version) == 0
    assert not Upload.objects.exclude(erasing=None).exists()


def test_an_unknown_person_erases_no_row(dataset: Dataset) -> None:
    ingest(dataset)
    version = erase(dataset, "nobody")
    assert rows(version) == 3
    assert version.report is not None
    assert version.report["erased"] == 0


@pytest.mark.parametrize("person", ["", "  ", "null", "1.2E+11"])
def test_an_invalid_identifier_is_refused(dataset: Dataset, person: str) -> None:
    ingest(dataset)
    with pytest.raises(InvalidInput) as refusal:
        person_erase(dataset=dataset, person=person, by=None)
    assert refusal.value.field == "person"


def test_erasing_and_reading_a_file_exclude_each_other(
    dataset: Dataset,
) -> None:
    ingest(dataset)
    late, queued = make_received(dataset), make_received(dataset)
    person_erase(dataset=dataset, person="ann", by=None)
    with pytest.raises(Conflict):
        upload_confirm(upload=late, columns=COLUMNS)
    with pytest.raises(Conflict):
        person_erase(dataset=dataset, person="bob", by=None)
    queued.refresh_from_db()
    assert queued.state == UploadState.RECEIVED


def test_only_stewards_erase_and_only_where_rows_have_persons(dataset: Dataset) -> None:
    ingest(dataset)
    stranger = make_user(make_organisation(), Role.STEWARD)
    with pytest.raises(NotAllowed):
        person_erase(dataset=dataset, person="ann", by=stranger)
    with pytest.raises(Conflict, match="no person"):
        person_erase(dataset=make_dataset(unit="record"), person="ann", by=None)
    with pytest.raises(Conflict, match="no data"):
        person_erase(dataset=make_dataset(), person="ann", by=None)


def test_raw_files_are_deleted_by_default_once_they_are_read() -> None:
    dataset = make_dataset()
    upload = ingest(dataset)
    assert upload.raw_name == ""
    assert rows(upload) == 3
    with pytest.raises(Conflict, match="not kept"):
        upload_preview(upload=upload)
    assert make_release(dataset).blob_name


def test_once_a_person_was_erased_no_raw_file_is_kept(dataset: Dataset) -> None:
    ingest(dataset)
    erase(dataset, "ann")
    received = make_received(dataset)
    upload_confirm(upload=received, columns=COLUMNS)
    assert upload_ingest(upload_id=received.pk)
    assert not private_storage().exists(received.raw_name)
    received.refresh_from_db()
    assert (received.state, received.raw_name) == (UploadState.READY, "")


def test_kept_and_unconfirmed_files_are_deleted_after_the_set_days(
    dataset: Dataset, settings: Any
) -> None:
    settings.DPGEO_RAW_DAYS = 3
    kept_upload, waiting, recent = ingest(dataset), make_received(dataset), make_received(dataset)
    Upload.objects.filter(pk__in=[kept_upload.pk, waiting.pk]).update(
        created_at=timezone.now() - timedelta(days=4)
    )
    assert uploads_forget_old_raw() == 2
    assert not any(private_storage().exists(each.raw_name) for each in (kept_upload, waiting))
    assert private_storage().exists(recent.raw_name)
    for upload in (kept_upload, waiting):
        upload.refresh_from_db()
    assert (kept_upload.state, rows(kept_upload)) == (UploadState.READY, 3)
    assert (waiting.state, waiting.raw_name) == (UploadState.FAILED, "")
    with pytest.raises(InvalidInput, match="within 3 days"):
        upload_confirm(upload=waiting, columns=COLUMNS)
    assert uploads_forget_old_raw() == 0


def test_whether_raw_files_are_kept_may_change(dataset: Dataset) -> None:
    kept_upload = ingest(dataset)
    assert private_storage().exists(kept_upload.raw_name)
    dataset_update(dataset=dataset, changes={"keep_raw": False})
    assert ingest(Dataset.objects.get(pk=dataset.pk)).raw_name == ""


def test_the_exported_ledger_contains_no_formulas(dataset: Dataset) -> None:
    ingest(dataset)
    release = make_request(dataset, title="=1+1")
    output = io.StringIO()
    call_command("ledger", dataset.slug, stdout=output)
    [line] = csv.DictReader(io.StringIO(output.getvalue()))
    assert (line["kind"], line["epsilon"], line["job"]) == ("debit", "1", str(release.job_id))
    assert line["what"].startswith("'=1+1")


def test_a_steward_erases_a_person_in_the_admin_and_a_stranger_finds_nothing(
    dataset: Dataset,
) -> None:
    ingest(dataset)
    address = reverse("admin:datasets_dataset_erase", args=[dataset.pk])
    steward, stranger = Client(), Client()
    steward.force_login(make_user(dataset.organisation, Role.STEWARD, is_staff=True))
    stranger.force_login(make_user(make_organisation(), Role.STEWARD, is_staff=True))
    page = steward.get(reverse("admin:datasets_dataset_change", args=[dataset.pk]))
    assert address in page.content.decode()
    assert stranger.post(address, {"person": "ann"}).status_code == 404
    assert steward.get(address).status_code == 405
    refused = steward.post(address, {"person": " "}, follow=True)
    assert "not an identifier" in refused.content.decode()
    assert not Upload.objects.filter(erasing__isnull=False).exists()
    steward.post(address, {"person": "ann"})
    version = Upload.objects.get(erasing__isnull=False)
    assert upload_ingest(upload_id=version.pk)
    assert rows(Upload.objects.get(pk=version.pk)) == 1


def stored_but_not_committed(release: Release, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stop a worker after it has stored a draw and before it commits it; return the draw's name."""
    before = set(stored_names(private_storage(), FOLDER))
    with monkeypatch.context() as stopped:
        stopped.setattr("dpgeo.releases.release_job.commit_blob", interrupt)
        with pytest.raises(KeyboardInterrupt):
            release_run(release_id=release.pk)
    [name] = set(stored_names(private_storage(), FOLDER)) - before
    return name


def interrupt(*_: object, **__: object) -> bool:
    raise KeyboardInterrupt


def spent_on(dataset: Dataset) -> int:
    return Ledger.objects.get(pk=dataset.ledger_id).spent_units


def test_a_stored_draw_that_holds_an_erased_person_is_paid_for_and_never_used(
    dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    ingest(dataset)
    release = make_request(dataset)
    old = stored_but_not_committed(release, monkeypatch)
    erase(dataset, "ann")
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.job.state == JobState.DONE
    assert release.blob_name not in ("", old)
    assert private_storage().exists(old)  # the draw is kept until the debit is committed
    assert spent_on(dataset) == 2 * release.cost_units
    with django_capture_on_commit_callbacks(execute=True):
        assert releases_sweep().debited == 0
    assert not private_storage().exists(old)


@pytest.mark.parametrize("swept", [False, True])
def test_a_release_is_not_drawn_again_if_the_budget_pays_for_one_draw_alone(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any, swept: bool
) -> None:
    """A release is not drawn again if the budget pays for only one draw.

    The older draw may have been published, so a second draw would exceed the total budget.
    """
    dataset = make_dataset(budget="1.5")
    ingest(dataset)
    release = make_request(dataset, epsilon="1")
    old = stored_but_not_committed(release, monkeypatch)
    erase(dataset, "ann")
    if swept:  # reconciliation runs before a worker leases the job
        with django_capture_on_commit_callbacks(execute=True):
            assert releases_sweep().debited == 1
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.blob_name, release.job.state) == ("", JobState.FAILED)
    assert "does not pay for another one" in str(release.job.failure)
    assert spent_on(dataset) == 1_500_000  # neither draw is refunded
    assert private_storage().exists(old)


def test_a_draw_cut_short_by_a_kill_keeps_no_release_from_being_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = make_dataset(budget="1")
    ingest(dataset)
    release = make_request(dataset, epsilon="1")
    old = stored_but_not_committed(release, monkeypatch)
    path = Path(private_storage().path(old))
    path.write_bytes(path.read_bytes()[:100])
    erase(dataset, "ann")
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.job.state, spent_on(dataset)) == (JobState.DONE, 1_000_000)


def test_the_sweep_does_not_use_a_draw_that_holds_an_erased_person(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(dataset)
    release = make_request(dataset)
    stored_but_not_committed(release, monkeypatch)
    erase(dataset, "ann")
    swept = releases_sweep()
    assert (swept.adopted, swept.debited) == (0, 1)
    release.refresh_from_db()
    assert release.blob_name == ""


def test_a_draw_made_while_a_person_is_erased_is_not_committed(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(dataset)
    release = make_request(dataset)
    versions: list[Upload] = []

    def erase_first(release: Release, name: str, blob: bytes, *, bound: int) -> bool:
        versions.append(erase(dataset, "ann"))
        return commit_blob(release, name, blob, bound=bound)

    with monkeypatch.context() as slow:
        slow.setattr("dpgeo.releases.release_job.commit_blob", erase_first)
        release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.blob_name, release.job.state) == ("", JobState.QUEUED)
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.upload, release.job.state) == (versions[0], JobState.DONE)
    assert release.blob_name
    assert spent_on(dataset) == release.cost_units
