"""Reconciliation of files, work and debits after a killed process or a restored backup."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.utils import timezone

from dpgeo.artefacts import codec
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.commands.management.commands import reap
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.released import Content
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.orphan_files import SAFE_AGE, uploads_sweep, work_sweep
from dpgeo.datasets.storage import LOCKING_SECONDS, private_storage, public_storage
from dpgeo.jobs.lease import MAX_HOLD_SECONDS
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import MAX_ATTEMPTS, job_create, jobs_reap
from dpgeo.releases import release_job
from dpgeo.releases.blobs import blob_prefix, new_blob_name
from dpgeo.releases.files import made_files
from dpgeo.releases.models import Release
from dpgeo.releases.reconciliation import CUT_OFF_AFTER, releases_sweep
from dpgeo.releases.services import release_cancel, release_publish, release_retry, release_run
from tests.makers import FILES, make_dataset, make_ready, make_received, make_release, make_request

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]


def age(path: str | Path, by: timedelta = SAFE_AGE * 2) -> None:
    past = time.time() - by.total_seconds()
    os.utime(path, (past, past))


def leave(name: str, *, old: bool = True) -> str:
    """Store a private file that no database row refers to, and return its name.

    If `old`, the file looks old enough to be deleted.
    """
    stored = private_storage().save(name, ContentFile(b"abandoned"))
    if old:
        age(private_storage().path(stored))
    return stored


def spent(ledger: Ledger) -> int:
    ledger.refresh_from_db()
    return ledger.spent_units


def paid_for(release: Release) -> int:
    return sum(Entry.objects.filter(job=release.job_id).values_list("units", flat=True))


def test_a_file_that_a_worker_uses_is_never_deleted() -> None:
    assert SAFE_AGE.total_seconds() > MAX_HOLD_SECONDS


@pytest.mark.parametrize("folder", ["uploads", "canonical"])
def test_old_orphan_files_are_deleted_and_recent_ones_kept(folder: str) -> None:
    old, young = leave(f"{folder}/old"), leave(f"{folder}/young", old=False)
    assert uploads_sweep() >= 1
    assert not private_storage().exists(old)
    assert private_storage().exists(young)


def test_files_that_a_row_names_are_kept_at_any_age(tmp_path: Path) -> None:
    dataset = make_dataset()
    received, ready = make_received(dataset), make_ready(dataset, tmp_path)
    for name in (received.raw_name, ready.canonical_name):
        age(private_storage().path(name))
    uploads_sweep()
    assert private_storage().exists(received.raw_name)
    assert private_storage().exists(ready.canonical_name)


def test_files_younger_than_the_oldest_unfinished_job_are_kept() -> None:
    """Files younger than the oldest unfinished job are kept.

    For example, a laptop may be suspended for a week in the middle of a job.
    """
    job = job_create(task="tests.nothing")
    week_ago = timezone.now() - timedelta(days=7)
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING, started_at=week_ago)
    name = leave("canonical/being-written")
    uploads_sweep()
    assert private_storage().exists(name)
    Job.objects.filter(pk=job.pk).update(state=JobState.DONE)
    uploads_sweep()
    assert not private_storage().exists(name)


def test_abandoned_transfers_and_work_files_are_deleted() -> None:
    base = Path(settings.VAR_DIR) / "work"
    base.mkdir(exist_ok=True)
    old = Path(settings.INCOMING_DIR) / "old.upload"
    folder, busy = base / "killed", base / "busy"
    for each in (folder, busy):
        each.mkdir()
        (each / "part").write_bytes(b"x")
    old.write_bytes(b"x")
    for path in (old, folder / "part", folder, busy):
        age(path)
    uploads_sweep()
    assert not old.exists()
    assert not folder.exists()
    assert busy.exists()
    (busy / "part").unlink()
    busy.rmdir()


HOLDER = """
import os, signal, sys, django
django.setup()
from pathlib import Path
from dpgeo.datasets.storage import work_folder
with work_folder(Path(sys.argv[1])) as folder:
    (folder / "rows").write_text("somebody's rows")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_work_folder_of_a_killed_reader_is_deleted_within_minutes() -> None:
    base = Path(settings.INCOMING_DIR)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings"}
    reader = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert reader.stdout is not None
    folder = Path(reader.stdout.readline().decode().strip())
    minutes_ago = time.time() - 60
    os.utime(folder.parent / "lock", (minutes_ago, minutes_ago))
    assert work_sweep() == 0
    assert (folder / "rows").exists()
    reader.kill()
    reader.communicate()
    assert (folder / "rows").exists()
    assert work_sweep() == 1
    assert not folder.parent.exists()


def test_a_work_folder_that_is_being_made_is_kept() -> None:
    folder = Path(settings.INCOMING_DIR) / "made"
    folder.mkdir()
    assert work_sweep() == 0
    (folder / "lock").touch()
    assert work_sweep() == 0
    (folder / "lock").unlink()
    folder.rmdir()


def test_the_reaper_looks_for_work_folders_every_minute() -> None:
    assert reap.WORK_SWEEP_SECONDS + LOCKING_SECONDS <= 120


def test_a_second_draw_is_deleted_and_the_committed_one_kept(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    second = leave(new_blob_name(release))
    age(private_storage().path(release.blob_name))
    releases_sweep()
    assert private_storage().exists(release.blob_name)
    assert not private_storage().exists(second)


def test_orphan_files_of_a_release_are_deleted_and_its_own_kept(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    release_publish(release=release, by=None)
    draft = leave(f"artefacts/{release.pk}/ab/cells.csv")
    stray = public_storage().save(f"{release.pk}/stray.csv", ContentFile(b"x"))
    mine = {file.stored_name for file in made_files(release)}
    for name in {stray, *mine}:
        age(public_storage().path(name))
    releases_sweep()
    assert not private_storage().exists(draft)
    assert not public_storage().exists(stray)
    assert all(public_storage().exists(name) for name in mine)


def forget_commit(release: Release) -> None:
    """Restore the rows as from a backup that was made before the release was drawn."""
    release.files.all().delete()
    Release.objects.filter(pk=release.pk).update(blob_name="", blob_sha256="")
    Job.objects.filter(pk=release.job_id).update(
        state=JobState.QUEUED, drawing=False, started_at=None, finished_at=None
    )


def test_a_draw_that_a_restored_database_lost_is_recovered_not_drawn_again(
    tmp_path: Path,
) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    name, sha256 = release.blob_name, release.blob_sha256
    forget_commit(release)
    assert releases_sweep().adopted == 1
    release.refresh_from_db()
    assert (release.blob_name, release.blob_sha256) == (name, sha256)
    assert Job.objects.get(pk=release.job_id).drawing
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.blob_name == name
    assert set(release.files.values_list("name", flat=True)) == FILES


def test_a_worker_recovers_the_draw_of_an_earlier_attempt(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    sha256 = release.blob_sha256
    forget_commit(release)
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.blob_sha256 == sha256


def test_an_installation_that_cannot_write_releases_neither_draws_nor_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that cannot write releases neither draws nor recovers a draw.

    Such an installation might fail to read a stored draw as well, and would then draw again.
    Because a draw is stored here, nothing is refunded.
    """
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)
    with monkeypatch.context() as broken:
        broken.setattr(codec, "_dtype", lambda _hint: None)
        broken.setattr("dpgeo.releases.release_job.recover_draw", lambda *_: pytest.fail("looked"))
        release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.job.state, release.job.drawing, release.blob_name) == ("failed", True, "")
    assert "so it makes no releases" in str(release.job.failure)
    assert spent(dataset.ledger) == 1_000_000
    swept = releases_sweep()
    assert (swept.adopted, swept.debited) == (1, 0)
    assert spent(dataset.ledger) == 1_000_000


@pytest.mark.parametrize("fault", ["too large", "no JSON"])
def test_a_release_that_cannot_be_described_costs_nothing(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that cannot be described costs nothing: it is refused before the draw.

    Its description depends on public facts alone. After the draw, nothing would be refunded.
    """
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_request(dataset)
    assert spent(dataset.ledger) == release.cost_units
    monkeypatch.setattr(release_job, "read_and_draw", lambda *_: pytest.fail("drawn"))
    if fault == "too large":
        monkeypatch.setattr(codec, "MAX_HEADER_BYTES", 100)
    else:
        monkeypatch.setattr(release_job, "about", lambda _release: {"title": float("nan")})
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.job.state, release.job.drawing, release.blob_name) == ("failed", False, "")
    assert ("simplify" if fault == "too large" else "change the title") in str(release.job.failure)
    assert spent(dataset.ledger) == 0


def test_a_recovered_draw_is_not_refunded_when_its_files_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)

    def refuse(*_: object) -> None:
        raise Conflict("The disk is full; make room.")

    monkeypatch.setattr("dpgeo.releases.release_job.build_files", refuse)
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.blob_name
    assert not Entry.objects.filter(job=release.job_id, kind=EntryKind.REFUND).exists()


def test_a_release_whose_draw_a_restored_database_lost_cannot_be_cancelled(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)
    with pytest.raises(Conflict):
        release_cancel(release=Release.objects.get(pk=release.pk), by=None)
    assert not Entry.objects.filter(job=release.job_id, kind=EntryKind.REFUND).exists()


COST = "cost_units"


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"cells": 9}},
        {"mechanism": "quadtree"},
        {"cost_units": 500_000},
        {"bound": 2},
        {"counting": Counting.VISITS},
        {"bounding": Bounding.POPULAR},
        {"household": 2},
    ],
)
def test_a_draw_of_another_request_is_not_recovered_but_debited(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """A draw that belongs to another request is not recovered, but debited.

    After a restore, the same request name can be used for a different request, which then has the
    same job id.
    """
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)
    asked = release.request.model_copy(update={k: v for k, v in change.items() if k != COST})
    costs = {name: value for name, value in change.items() if name == COST}
    Release.objects.filter(pk=release.pk).update(request=asked, **costs)
    swept = releases_sweep()
    assert (swept.adopted, swept.debited) == (0, 1)
    assert releases_sweep().debited == 0
    release.refresh_from_db()
    assert release.blob_name == ""
    assert spent(dataset.ledger) == 2_000_000


def test_a_draw_from_another_dataset_is_not_recovered(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)
    Dataset.objects.filter(pk=dataset.pk).update(slug="somewhere-else")
    assert releases_sweep().adopted == 0


def test_an_incomplete_blob_is_not_recovered(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_request(dataset)
    broken = leave(new_blob_name(release))
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert release.blob_name not in ("", broken)


def test_no_second_draw_is_made_beside_one_that_is_too_large_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    first = make_release(dataset)
    release = make_request(dataset)
    with private_storage().open(first.blob_name, "rb") as file:
        whole = file.read()
    name = new_blob_name(release)
    private_storage().save(name, ContentFile(whole))
    monkeypatch.setattr(Content, "most_bytes", 64)
    assert releases_sweep().adopted == 0
    release_run(release_id=release.pk)
    release.refresh_from_db()
    assert (release.job.state, release.job.drawing, release.blob_name) == ("failed", True, "")
    assert "this software reads 64 at most" in str(release.job.failure)
    spent = Ledger.objects.get(pk=dataset.ledger_id).spent_units
    assert spent == first.cost_units + release.cost_units


def test_a_lost_draw_is_debited_beside_one_that_cannot_be_read(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    lost, queued = make_release(dataset), make_request(dataset)
    forget_debit(lost)
    lost.files.all().delete()
    Release.objects.filter(pk=lost.pk).delete()
    # The names of these unreadable files sort before and after the lost draw's, so the sweep meets
    # some of them before it, whatever its random id.
    for job in (queued.job_id, UUID(int=0), UUID(int=2**128 - 1)):
        leave(f"{blob_prefix(job)}unreadable")
    assert releases_sweep().debited == 1
    assert paid_for(lost) == 1_000_000


def forget_debit(release: Release) -> None:
    Entry.objects.filter(job=release.job_id)._raw_delete("default")
    Ledger.objects.filter(pk=release.dataset.ledger_id).update(spent_units=0)


def test_a_committed_draw_without_a_debit_is_debited_again_once(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_debit(release)
    assert releases_sweep().debited == 1
    assert releases_sweep().debited == 0
    assert spent(dataset.ledger) == paid_for(release) == 1_000_000


def test_a_draw_of_which_only_the_blob_is_left_is_debited_again(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_debit(release)
    release.files.all().delete()
    Release.objects.filter(pk=release.pk).delete()
    assert releases_sweep().debited == 1
    assert releases_sweep().debited == 0
    assert spent(dataset.ledger) == paid_for(release) == 1_000_000
    age(private_storage().path(release.blob_name))
    releases_sweep()
    assert private_storage().exists(release.blob_name)


def test_a_lost_draw_beyond_the_budget_uses_up_the_rest(
    tmp_path: Path,
) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_debit(release)
    make_request(dataset, epsilon="3.5")
    assert releases_sweep().debited == 1
    assert spent(dataset.ledger) == 4_000_000


def test_a_release_that_is_not_paid_in_full_is_not_published(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_debit(release)
    make_request(dataset, epsilon="3.5")
    with pytest.raises(Conflict, match="paid for in full"):
        release_publish(release=release, by=None)
    releases_sweep()
    with pytest.raises(Conflict, match="paid for in full"):
        release_publish(release=release, by=None)
    release.refresh_from_db()
    assert release.state == "draft"


def lose_private_files() -> Path:
    """Move the private storage away, as if it were not restored yet; return its new path."""
    root = Path(private_storage().path(""))
    away = root.rename(root.with_name("away"))
    root.mkdir()
    return away


def bring_back(away: Path) -> None:
    shutil.rmtree(private_storage().path(""))
    away.rename(private_storage().path(""))


def assert_found_and_debited_once(dataset: Dataset, *, adopted: int) -> None:
    """Check that reconciliation finds a draw with a refunded debit, and debits it exactly once."""
    assert spent(dataset.ledger) == 0
    swept = releases_sweep()
    assert (swept.adopted, swept.debited) == (adopted, 1)
    assert releases_sweep().debited == 0
    assert spent(dataset.ledger) == 1_000_000


def test_a_draw_found_after_its_exhausted_job_was_refunded_is_debited_again_once(
    tmp_path: Path,
) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)
    Job.objects.filter(pk=release.job_id).update(attempts=MAX_ATTEMPTS)
    assert jobs_reap().failed == 1
    assert_found_and_debited_once(dataset, adopted=1)
    release_retry(release=Release.objects.get(pk=release.pk), by=None)
    release_run(release_id=release.pk)
    release_publish(release=Release.objects.get(pk=release.pk), by=None)
    assert spent(dataset.ledger) == 1_000_000


@pytest.mark.parametrize("cancelled", [False, True], ids=["run", "cancelled"])
def test_a_draw_whose_job_ended_before_the_files_were_back_is_debited_again_once(
    tmp_path: Path, cancelled: bool
) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_commit(release)
    away = lose_private_files()
    if cancelled:
        release_cancel(release=Release.objects.get(pk=release.pk), by=None)
    else:
        release_run(release_id=release.pk)
    assert spent(dataset.ledger) == 0
    bring_back(away)
    assert_found_and_debited_once(dataset, adopted=0 if cancelled else 1)


def test_an_interrupted_publication_is_completed(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    past = timezone.now() - CUT_OFF_AFTER * 2
    Release.objects.filter(pk=release.pk).update(state="published", published_at=past)
    assert releases_sweep().completed == 1
    assert not made_files(release).filter(public=False).exists()


def test_missing_files_do_not_stop_the_reconciliation_of_others(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    gone, unpaid = make_release(dataset), make_release(dataset)
    past = timezone.now() - CUT_OFF_AFTER * 2
    both = Release.objects.filter(pk__in=[gone.pk, unpaid.pk])
    both.update(state="published", published_at=past)
    for file in made_files(gone):
        private_storage().delete(file.stored_name)
    Entry.objects.filter(job=unpaid.job_id)._raw_delete("default")

    swept = releases_sweep()

    assert (swept.debited, swept.completed) == (1, 1)
    assert not made_files(unpaid).filter(public=False).exists()


def test_a_draft_with_missing_files_is_not_published(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    for file in made_files(release):
        private_storage().delete(file.stored_name)

    with pytest.raises(Conflict, match="Files of this release are gone"):
        release_publish(release=release, by=None)
    release.refresh_from_db()
    assert release.state == "draft"


def test_an_interrupted_withdrawal_is_completed(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    release_publish(release=release, by=None)
    names = [file.stored_name for file in made_files(release)]
    past = timezone.now() - CUT_OFF_AFTER * 2
    Release.objects.filter(pk=release.pk).update(state="withdrawn", withdrawn_at=past)
    assert releases_sweep().completed == 1
    assert not any(public_storage().exists(name) for name in names)


def test_an_interrupted_rejection_is_completed(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    names = [file.stored_name for file in made_files(release)]
    past = timezone.now() - CUT_OFF_AFTER * 2
    Release.objects.filter(pk=release.pk).update(
        state="rejected", rejected_at=past, rejection="Too noisy."
    )
    assert releases_sweep().completed == 1
    assert not any(private_storage().exists(name) for name in names)
    assert private_storage().exists(release.blob_name)


def test_one_round_of_the_reaper_does_all_of_it(tmp_path: Path) -> None:
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    forget_debit(release)
    leave("uploads/old")
    output = io.StringIO()
    call_command("reap", "--once", stdout=output)
    assert "debited 1" in output.getvalue()
    assert "files 1" in output.getvalue()
