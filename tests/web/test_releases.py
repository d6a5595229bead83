"""Releases: paid for first, drawn once, built from the blob, and published only on a decision."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from dpgeo.accounts.models import Role
from dpgeo.accounts.services import membership_set
from dpgeo.budgets.models import Entry
from dpgeo.budgets.services import ledger_set_total
from dpgeo.core.errors import BudgetExceeded, Conflict, DpgeoError, InvalidInput, NotAllowed
from dpgeo.core.released import GridRelease
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import datasets_public
from dpgeo.datasets.storage import private_storage, public_storage, store
from dpgeo.jobs.lease import JobLease
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import MAX_ATTEMPTS, job_lease, jobs_reap
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.releases import release_job
from dpgeo.releases.files import INCOMPRESSIBLE, made_files
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.selectors import (
    load_released,
    release_visible,
    releases_public,
    stored_file,
)
from dpgeo.releases.services import (
    MAX_REJECTION_LENGTH,
    release_cancel,
    release_publish,
    release_reject,
    release_retry,
    release_run,
    release_withdraw,
)
from dpgeo.releases.states import ReleaseState
from tests.makers import (
    FILES,
    ask_for,
    make_dataset,
    make_organisation,
    make_ready,
    make_release,
    make_request,
    make_user,
    quote_release,
    spent,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Make a dataset with data and a budget of 4."""
    new = make_dataset()
    make_ready(new, tmp_path)
    return new


def quote(dataset: Dataset, **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "mechanism": "uniform-grid",
        "parameters": {},
        "epsilon": "1",
        "bound": 10,
        "counting": "people",
    }
    return quote_release(dataset, **{**fields, **changes})


def stored_bytes(release: Release, name: str) -> bytes:
    stored = stored_file(release, name)
    with stored.storage.open(stored.name, "rb") as file:
        content: bytes = file.read()
    return content


def public_names() -> set[str]:
    root = Path(public_storage().path(""))
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_quote_states_cost_remaining_budget_and_noise(dataset: Dataset) -> None:
    offer = quote(dataset, epsilon="0.8", parameters={"cells": "16"})
    assert (offer.epsilon, offer.left_after) == (Fraction(4, 5), Fraction(16, 5))
    assert offer.more_like_this == 4
    assert offer.params.cells == 16
    assert sum(spend.epsilon for spend in offer.plan) == offer.epsilon
    assert offer.forecast.noise.sensitivity == 10
    assert spent(dataset) == 0


def test_a_record_counts_once(tmp_path: Path) -> None:
    dataset = make_dataset(unit="record")
    make_ready(dataset, tmp_path)
    with pytest.raises(InvalidInput) as refused:
        make_request(dataset, bound=2)
    assert refused.value.field == "bound"
    release = make_release(dataset, bound=1, counting="visits")
    assert release.job.state == JobState.DONE


def test_records_are_never_called_people(tmp_path: Path) -> None:
    dataset = make_dataset(unit="record")
    make_ready(dataset, tmp_path)
    with pytest.raises(InvalidInput) as refused:
        make_request(dataset, bound=1, counting="people")
    assert refused.value.field == "counting"
    assert spent(dataset) == 0
    call_command("release", dataset.slug, mechanism="uniform-grid", epsilon="1")
    assert Release.objects.get().request.counting == "visits"


def test_a_release_needs_data(dataset: Dataset) -> None:
    with pytest.raises(Conflict, match="no data yet"):
        make_request(make_dataset())


def test_a_release_beyond_the_budget_is_refused_with_the_numbers(dataset: Dataset) -> None:
    make_request(dataset, epsilon="3.5")
    with pytest.raises(BudgetExceeded, match=r"0\.5 of 4 is left; ask for at most 0\.5"):
        make_request(dataset, epsilon="1")
    assert Release.objects.count() == 1
    assert Job.objects.count() == 1
    assert spent(dataset) == 3_500_000


def test_a_request_sent_twice_is_paid_once(dataset: Dataset) -> None:
    job_id = Job().id
    first, again = (make_request(dataset, job_id=job_id) for _ in range(2))
    assert first == again
    assert spent(dataset) == 1_000_000


def test_a_request_is_made_by_a_member(dataset: Dataset) -> None:
    with pytest.raises(NotAllowed):
        make_request(dataset, make_user(make_organisation(), Role.ADMINISTRATOR))
    assert spent(dataset) == 0


def test_a_release_is_drawn_stored_and_stays_a_draft(dataset: Dataset) -> None:
    before = public_names()
    release = make_release(dataset, make_user(dataset.organisation))
    assert (release.state, release.job.state) == (ReleaseState.DRAFT, JobState.DONE)
    assert release.job.drawing
    with private_storage().open(release.blob_name, "rb") as blob:
        assert hashlib.sha256(blob.read()).hexdigest() == release.blob_sha256
    names = set(release.files.values_list("name", flat=True))
    assert names == FILES
    for file in release.files.exclude(stored_name=""):
        content = stored_bytes(release, file.name)
        assert hashlib.sha256(content).hexdigest() == file.sha256
        assert len(content) == file.size
    assert public_names() == before
    assert spent(dataset) == 1_000_000


def test_the_blob_states_the_request_and_the_guarantee(dataset: Dataset) -> None:
    release = make_release(dataset, description="Every Monday", counting="visits", bound=3)
    released = load_released(release)
    assert released.about == {
        "title": release.title,
        "description": "Every Monday",
        "dataset": dataset.title,
        "dataset_slug": dataset.slug,
        "publisher": dataset.organisation.name,
        "publisher_sector": "",
        "contact": "",
        "licence": "CC BY 4.0",
        "row_noun": "",
        "attribution": "",
        "dataset_total_epsilon": "4",
        "requested_on": release.created_at.date().isoformat(),
        "public_layers": "[]",
        "request": release.request.model_dump_json(),
        "time_zone": "Europe/Berlin",
    }
    assert (released.bound, released.counting.value) == (3, "visits")
    assert released.guarantee.epsilon == 1


def test_files_are_made_again_byte_for_byte_without_the_data(dataset: Dataset) -> None:
    release = ask_for(make_release(dataset))
    before = {file.name: stored_bytes(release, file.name) for file in release.files.all()}
    private_storage().delete(release.upload.canonical_name)
    release.files.all().delete()
    Job.objects.filter(pk=release.job_id).update(state=JobState.QUEUED)
    assert release_run(release_id=release.pk)
    release.job.refresh_from_db()
    assert release.job.state == JobState.DONE
    ask_for(release)
    assert {file.name: stored_bytes(release, file.name) for file in release.files.all()} == before
    assert len(before) == len(FILES)


def test_a_retry_after_the_commit_does_not_draw(dataset: Dataset) -> None:
    release = make_release(dataset)
    release.files.filter(name="map.bin").delete()
    Job.objects.filter(pk=release.job_id).update(state=JobState.QUEUED)
    release_run(release_id=release.pk)
    again = Release.objects.get(pk=release.pk)
    assert (again.blob_name, again.blob_sha256) == (release.blob_name, release.blob_sha256)
    assert again.files.count() == len(FILES)
    assert spent(dataset) == 1_000_000


def blob_count() -> int:
    folder = Path(private_storage().path("blobs"))
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_two_holders_of_a_lease_commit_one_draw(dataset: Dataset) -> None:
    """If two workers hold the lease of a job one after the other, they commit only one draw.

    The first stalls after its draw, loses its lease, and continues after the second.
    """
    release = make_request(dataset)
    before = blob_count()
    lease = job_lease(job_id=release.job_id)
    assert lease is not None
    with JobLease(release.job_id, lease) as held:
        stalled = release_job.draw(Release.objects.get(pk=release.pk), held)
        Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert release_run(release_id=release.pk)
        committed = Release.objects.get(pk=release.pk)
        release_job.commit(Release.objects.get(pk=release.pk), stalled)
    assert Release.objects.get(pk=release.pk).blob_name == committed.blob_name
    assert blob_count() == before + 1
    committed_content, discarded = load_released(committed).content, stalled.content
    assert isinstance(committed_content, GridRelease)
    assert isinstance(discarded, GridRelease)
    assert not np.array_equal(committed_content.counts, discarded.counts)
    assert Entry.objects.count() == 1


def test_drawing_is_recorded_before_the_first_noise_is_drawn(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_request(dataset)
    recorded: list[bool] = []

    class Watched(SystemEntropy):
        def stream(self) -> Any:
            recorded.append(Job.objects.get(pk=release.job_id).drawing)
            return super().stream()

    monkeypatch.setattr("dpgeo.releases.private_draw.SystemEntropy", Watched)
    release_run(release_id=release.pk)
    assert recorded == [True]


def test_a_failure_before_the_draw_is_refunded(dataset: Dataset) -> None:
    release = make_request(dataset)
    private_storage().delete(release.upload.canonical_name)
    release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert job.state == JobState.FAILED
    assert "upload the file again" in str(job.failure)
    assert spent(dataset) == 0


def test_an_installation_that_cannot_write_releases_draws_nothing_and_gives_the_epsilon_back(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that cannot write releases draws nothing and refunds the epsilon.

    This also holds for requests by API key, which are otherwise not refunded once the data have
    been opened. Here the data are never opened.
    """
    release = make_request(dataset)
    Release.objects.filter(pk=release.pk).update(by_key=True)
    # Let the codec of blobs recognise no field as an array, as happened with NumPy 2.5.
    monkeypatch.setattr("dpgeo.artefacts.codec._dtype", lambda hint: None)
    monkeypatch.setattr(release_job, "read_and_draw", lambda *args: pytest.fail("read"))
    release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert (job.state, job.drawing, spent(dataset)) == (JobState.FAILED, False, 0)


def test_more_persons_than_virtual_users_do_not_fail_a_release(dataset: Dataset) -> None:
    """A release does not fail if there are more persons than virtual users.

    Otherwise the failure would reveal exactly how many people there are.
    """
    parameters = {"people": 1, "clusters": 2, "cells": 8}
    release = make_request(
        dataset, mechanism="prilocation", bound=1, counting="visits", parameters=parameters
    )
    release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert (job.state, str(job.failure)) == (JobState.DONE, "")
    assert spent(dataset) == 1_000_000


def test_a_draw_that_cannot_be_encoded_is_not_drawn_again(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_request(dataset)
    drawn: list[Any] = []

    def choosy(released: Any) -> bytes:
        drawn.append(released)
        raise OverflowError(str(released.content.counts))

    monkeypatch.setattr("dpgeo.releases.release_job.encode", choosy)
    for _ in range(3):
        release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert (job.state, len(drawn), spent(dataset)) == (JobState.FAILED, 1, 1_000_000)
    assert str(drawn[0].content.counts) not in str(job.failure)


def test_a_draw_that_cannot_be_stored_is_retried_and_never_drawn_again(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a draw cannot be stored, storing it is retried, but nothing is drawn again.

    The size of a blob depends on its noise. If another draw were made whenever one does not fit on
    a full disk, the disk would select among draws.
    """
    offered: list[bytes] = []

    def full(storage: Any, name: str, path: Path) -> str:
        offered.append(path.read_bytes())
        if len(offered) == 8:
            return store(storage, name, path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpgeo.releases.private_draw.store", full)
    monkeypatch.setattr("dpgeo.releases.private_draw.STORING_WAITS", (0, 0, 0, 0))
    monkeypatch.setattr("dpgeo.releases.private_draw.SPACE_SECONDS", 0)
    failed, kept_request = make_request(dataset), make_request(dataset)
    for _ in range(3):
        release_run(release_id=failed.pk)
    job = Job.objects.get(pk=failed.job_id)
    assert (job.state, job.attempts, len(offered)) == (JobState.FAILED, 1, 5)
    assert len(set(offered)) == 1
    assert spent(dataset) == 2_000_000
    release_run(release_id=kept_request.pk)
    kept_request.refresh_from_db()
    assert kept_request.blob_sha256 == hashlib.sha256(offered[-1]).hexdigest()
    assert len(set(offered[5:])) == 1
    assert len(set(offered)) == 2


def test_a_keys_request_is_not_refunded_once_the_data_are_opened(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key's request is not refunded once the data have been opened.

    Otherwise a key could find out for free how much data fit in the machine's memory.
    """
    member, program = make_request(dataset), make_request(dataset)
    Release.objects.filter(pk=program.pk).update(by_key=True)

    def no_room(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("dpgeo.engine.duckdb_view.DuckDBView._counted", no_room)
    for release in (member, program):
        for _ in range(MAX_ATTEMPTS):
            release_run(release_id=release.pk)
    jobs_reap()
    jobs = [Job.objects.get(pk=release.job_id) for release in (member, program)]
    assert [job.state for job in jobs] == [JobState.FAILED] * 2
    assert [job.drawing for job in jobs] == [False, True]
    assert "data read for a program" in str(jobs[1].failure)
    assert spent(dataset) == 1_000_000


def test_a_failure_after_the_commit_point_is_not_refunded_and_finished_later(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_request(dataset)
    with monkeypatch.context() as patched:

        def refuse(*_: object) -> None:
            raise Conflict("The disk is full; make room.")

        patched.setattr(release_job, "build_files", refuse)
        release_run(release_id=release.pk)
    assert Job.objects.get(pk=release.job_id).state == JobState.FAILED
    assert spent(dataset) == 1_000_000
    drawn = Release.objects.get(pk=release.pk)
    release_retry(release=drawn, by=None)
    release_run(release_id=release.pk)
    assert Job.objects.get(pk=release.job_id).state == JobState.DONE
    assert spent(dataset) == 1_000_000
    assert Release.objects.get(pk=release.pk).blob_sha256 == drawn.blob_sha256


def test_a_mechanism_that_fails_after_its_draw_does_not_draw_again(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a mechanism fails after its draw, it does not draw again.

    Otherwise one payment would buy repeated draws until the mechanism accepts one.
    """
    release = make_request(dataset)
    streams: list[int] = []

    class Counted(SystemEntropy):
        def stream(self) -> Any:
            streams.append(1)
            return super().stream()

    def choosy(*_: object) -> None:
        raise RuntimeError("this draw does not please")

    monkeypatch.setattr("dpgeo.releases.private_draw.SystemEntropy", Counted)
    monkeypatch.setattr("dpgeo.privacy.mechanism.Released", choosy)
    for _ in range(3):
        release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert (job.state, len(streams), spent(dataset)) == (JobState.FAILED, 1, 1_000_000)
    assert "does not please" not in str(job.failure)
    with pytest.raises(Conflict, match="request a new"):
        release_retry(release=Release.objects.get(pk=release.pk), by=None)


def test_a_discarded_draw_is_not_logged(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    release = make_request(dataset, parameters={"cells": 3})
    drawn: list[Any] = []

    def break_down(_: Release, released: Any, __: JobLease) -> None:
        drawn.append(released.content.counts)
        raise RuntimeError(str(released.content.counts))

    monkeypatch.setattr(release_job, "commit", break_down)
    release_run(release_id=release.pk)
    assert len(drawn) == 1
    assert str(drawn[0][0]) not in caplog.text
    assert str(Job.objects.get(pk=release.job_id).failure) == ""


def test_a_release_is_published_when_done_if_the_requester_may_publish(dataset: Dataset) -> None:
    for role, state in (
        (Role.STEWARD, ReleaseState.DRAFT),
        (Role.APPROVER, ReleaseState.PUBLISHED),
        (Role.ADMINISTRATOR, ReleaseState.PUBLISHED),
    ):
        person = make_user(dataset.organisation, role)
        release = make_release(dataset, person, publish_when_done=True)
        assert release.state == state, role
        assert release.job.state == JobState.DONE


def test_a_requester_who_lost_the_role_publishes_nothing(dataset: Dataset) -> None:
    person = make_user(dataset.organisation, Role.APPROVER)
    release = make_request(dataset, person, publish_when_done=True)
    membership_set(organisation=dataset.organisation, user=person, role=Role.STEWARD)
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.state, Job.objects.get(pk=release.job_id).state) == (
        ReleaseState.DRAFT,
        JobState.DONE,
    )


def test_the_requests_of_a_deleted_account_are_not_published(dataset: Dataset) -> None:
    person = make_user(dataset.organisation, Role.APPROVER)
    release = make_request(dataset, person, publish_when_done=True)
    person.delete()
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.created_by, release.state) == (None, ReleaseState.DRAFT)


def test_publishing_moves_the_files_to_the_public_storage(dataset: Dataset) -> None:
    release = make_release(dataset)
    before = {file.name: stored_bytes(release, file.name) for file in made_files(release)}
    private_names = [file.stored_name for file in made_files(release)]
    release_publish(release=release, by=make_user(dataset.organisation, Role.APPROVER))
    assert {file.name: stored_bytes(release, file.name) for file in made_files(release)} == before
    expected = {file.stored_name for file in made_files(release)}
    assert {PurePosixPath(name).name.partition("-")[2] for name in expected} == set(before)
    packed = {f"{name}.gz" for name in expected if not name.endswith(INCOMPRESSIBLE)}
    assert {name for name in public_names() if name.startswith(release.pk)} == expected | packed
    assert not any(private_storage().exists(name) for name in private_names)
    assert list(releases_public()) == [release]
    assert list(datasets_public()) == [dataset]
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.promised_at is not None


def test_publishing_needs_the_role_and_a_finished_draft(dataset: Dataset) -> None:
    approver = make_user(dataset.organisation, Role.APPROVER)
    waiting = make_request(dataset)
    with pytest.raises(Conflict, match="not finished"):
        release_publish(release=waiting, by=approver)
    done = make_release(dataset)
    with pytest.raises(NotAllowed):
        release_publish(release=done, by=make_user(dataset.organisation))
    release_publish(release=done, by=approver)
    with pytest.raises(Conflict):
        release_publish(release=done, by=approver)


def test_a_draft_that_states_too_small_a_total_is_not_published(dataset: Dataset) -> None:
    release = make_release(dataset)
    ledger_set_total(ledger=dataset.ledger, total=Fraction(5))
    with pytest.raises(Conflict, match="raised since"):
        release_publish(release=release, by=None)
    release.refresh_from_db()
    assert release.state == ReleaseState.DRAFT
    ledger_set_total(ledger=dataset.ledger, total=Fraction(4))
    assert release_publish(release=release, by=None).state == ReleaseState.PUBLISHED


def test_a_failed_automatic_publication_leaves_a_draft(dataset: Dataset) -> None:
    release = make_request(dataset, publish_when_done=True)
    ledger_set_total(ledger=dataset.ledger, total=Fraction(5))
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.DRAFT
    assert Job.objects.get(pk=release.job_id).state == JobState.DONE
    assert release.files.count() == len(FILES)


def test_an_interrupted_publication_still_serves_files_and_is_completed(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    approver = make_user(dataset.organisation, Role.APPROVER)
    release = make_request(dataset, approver, publish_when_done=True)
    with monkeypatch.context() as patched:

        def break_down(_: Release) -> None:
            raise OSError

        patched.setattr("dpgeo.releases.files.make_public", break_down)
        release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.PUBLISHED
    assert stored_bytes(release, "statement.json")
    release_run(release_id=release.pk)
    assert Job.objects.get(pk=release.job_id).state == JobState.DONE
    assert not made_files(release).filter(public=False).exists()


def test_a_withdrawn_release_is_a_tombstone_without_files(dataset: Dataset) -> None:
    approver = make_user(dataset.organisation, Role.APPROVER)
    release = make_release(dataset, approver, publish_when_done=True)
    with pytest.raises(NotAllowed):
        release_withdraw(release=release, by=make_user(dataset.organisation))
    release_withdraw(release=release, by=approver)
    assert not {name for name in public_names() if name.startswith(release.pk)}
    with pytest.raises(ReleaseFile.DoesNotExist):
        stored_file(release, "map.bin")
    stranger = make_user()
    assert release_visible(stranger, release.pk).state == ReleaseState.WITHDRAWN
    assert not releases_public().exists()
    assert spent(dataset) == 1_000_000
    with pytest.raises(Conflict):
        release_withdraw(release=release, by=approver)
    with pytest.raises(Conflict):
        release_publish(release=release, by=approver)


def test_a_rejected_draft_is_never_published_and_stays_paid(
    dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    approver = make_user(dataset.organisation, Role.APPROVER)
    release = ask_for(make_release(dataset), "cells.csv")
    names = [file.stored_name for file in made_files(release)]
    with caplog.at_level("INFO", "dpgeo.releases.services"):
        release_reject(release=release, by=approver, reason="  A wrong area. ")
    assert (release.state, release.rejection) == (ReleaseState.REJECTED, "A wrong area.")
    assert release.rejected_at is not None
    assert f"release {release.pk}: rejected by account {approver.pk}" in caplog.messages
    assert names
    assert not any(private_storage().exists(name) for name in names)
    assert not release.files.exists()
    assert private_storage().exists(release.blob_name)
    assert spent(dataset) == 1_000_000
    with pytest.raises(ReleaseFile.DoesNotExist):
        stored_file(release, "map.bin")
    with pytest.raises(Conflict):
        release_reject(release=release, by=approver, reason="Again")
    for service in (release_publish, release_withdraw):
        with pytest.raises(Conflict):
            service(release=release, by=approver)
    release_run(release_id=release.pk)
    assert not release.files.exists()


def test_rejecting_needs_the_role_a_reason_and_a_finished_draft(dataset: Dataset) -> None:
    approver = make_user(dataset.organisation, Role.APPROVER)
    with pytest.raises(Conflict, match="not finished"):
        release_reject(release=make_request(dataset), by=approver, reason="Noisy.")
    done = make_release(dataset)
    with pytest.raises(NotAllowed):
        release_reject(release=done, by=make_user(dataset.organisation), reason="Noisy.")
    for reason in ("", " \n", None, "x" * (MAX_REJECTION_LENGTH + 1)):
        with pytest.raises(InvalidInput) as refusal:
            release_reject(release=done, by=approver, reason=reason)
        assert refusal.value.field == "reason"
    release_publish(release=done, by=approver)
    with pytest.raises(Conflict, match="withdrawn"):
        release_reject(release=done, by=approver, reason="Noisy.")


def test_the_database_holds_no_rejection_without_a_reason(dataset: Dataset) -> None:
    release = make_release(dataset)
    for wrong in ({"state": "rejected"}, {"rejection": "Noisy."}, {"rejected_at": timezone.now()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Release.objects.filter(pk=release.pk).update(**wrong)


def test_a_queued_release_is_cancelled_and_refunded(dataset: Dataset) -> None:
    release = make_request(dataset)
    with pytest.raises(NotAllowed):
        release_cancel(release=release, by=make_user())
    release_cancel(release=release, by=make_user(dataset.organisation))
    assert spent(dataset) == 0
    assert not release_run(release_id=release.pk)


def test_a_started_release_is_not_cancelled(dataset: Dataset) -> None:
    with pytest.raises(DpgeoError):
        release_cancel(release=make_release(dataset), by=None)
    assert spent(dataset) == 1_000_000


def test_a_release_of_a_dataset_without_usable_rows_is_pure_noise(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path, rows=0)
    release = make_release(dataset, parameters={"cells": 32})
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    assert np.count_nonzero(content.counts) > 0


@pytest.fixture(autouse=True)
def _no_public_leftovers() -> Iterator[None]:
    """Check after the test that the public storage has only files of published releases."""
    yield
    published = set(
        Release.objects.filter(state=ReleaseState.PUBLISHED).values_list("pk", flat=True)
    )
    root = Path(public_storage().path(""))
    mine = set(Release.objects.values_list("pk", flat=True))
    folders = {path.name for path in root.iterdir()} if root.exists() else set()
    leftovers = {name for name in folders & mine if any((root / name).iterdir())}
    assert leftovers <= published
