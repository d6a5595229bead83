"""Full disks, and read-only folders or databases: requests are refused, and jobs wait."""

from __future__ import annotations

import errno
import gc
import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dpgeo.accounts.models import ApiKey
from dpgeo.core.errors import Conflict
from dpgeo.datasets.models import Dataset, Transfer, Upload, UploadState
from dpgeo.jobs import disk_space
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.lease import JobLease, job_run
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.outages import Outage, find_outage
from dpgeo.jobs.services import MAX_WAIT_FOR_SPACE, MAX_WAKE_AFTER, job_create, jobs_reap
from dpgeo.releases import private_draw, release_job
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_run
from tests.disks import MIB, Disk, small_disk
from tests.makers import spent
from tests.tus import VERSION, announcement, piece_at
from tests.web.api import CONTENT, DECLARATION, REQUEST, Program, program_of
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db

MIN_BYTES = MIB


@pytest.fixture
def disk(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[Disk]:
    """Store all files on a disk of 8 MiB, one MiB of which must stay free."""
    with small_disk(tmp_path / "disk") as mounted:
        settings.INCOMING_DIR = settings.FILE_UPLOAD_TEMP_DIR = mounted.folder
        settings.DPGEO_MIN_FREE = str(MIN_BYTES)
        # monkeypatch restores this after the test, so that later tests read the disk again
        monkeypatch.setattr(disk_space, "_kept", None)
        monkeypatch.setattr(disk_space, "KEPT_SECONDS", 0)
        yield mounted
        caplog.clear()
        gc.collect()  # garbage collection deletes temporary files before their disk is unmounted


def announce(program: Program, slug: str, size: int = len(CONTENT)) -> Any:
    named = announcement("trips.csv", size)
    return program.send("POST", f"/api/v1/datasets/{slug}/uploads/tus", **named)


def test_readiness_fails_before_any_upload_is_refused(disk: Disk, desk: Desk) -> None:
    program, slug = program_of(desk), desk.declare().slug
    assert Client().get("/readyz").json()["disk"] == "enough space"
    disk.fill(leave=2 * MIN_BYTES + 128 * 1024)
    for _ in range(20):  # readings of free space have random errors, so several are taken
        assert announce(program, slug).status_code == 201
        Transfer.objects.all().delete()
        shown = Client().get("/readyz")
        assert shown.status_code in {200, 503}
    disk.fill(leave=2 * MIN_BYTES - 64 * 1024)
    shown = Client().get("/readyz")
    assert (shown.status_code, shown.json()["disk"]) == (503, "too little space")


def test_uploads_are_refused_before_they_are_accepted_for_want_of_space(
    disk: Disk, desk: Desk
) -> None:
    program, slug = program_of(desk), desk.declare().slug
    transfer = announce(program, slug)["Location"]
    disk.fill(leave=MIN_BYTES - 4096)
    refused = announce(program, slug)
    assert (refused.status_code, refused.json()["type"]) == (507, "/api/docs#insufficient-storage")
    assert int(refused["Retry-After"]) > 0
    assert Transfer.objects.count() == 1
    sent = program.send("PATCH", transfer, CONTENT, **piece_at(0))
    assert sent.status_code == 507
    page = f"/desk/datasets/{slug}/upload/"
    with (disk.folder / "trips.csv").open("wb+") as file:
        shown = desk.client.post(page, {"file": file})
        assert (shown.status_code, shown["Retry-After"]) == (507, "300")
        assert "no space for this file" in shown.content.decode()
        response = desk.client.post(page, {"file": file}, headers={"Accept": "application/json"})
        assert (response.status_code, len(response.json()["errors"])) == (507, 1)
        desk.user.is_staff = True
        desk.user.save()
        fields = {"dataset": Dataset.objects.get(slug=slug).pk, "file": file}
        assert desk.client.post("/admin/datasets/upload/add/", fields).status_code == 507
    disk.clear()
    assert program.send("PATCH", transfer, CONTENT, **piece_at(0)).status_code == 204
    assert Upload.objects.count() == 1


def test_a_file_that_does_not_fit_twice_is_refused_when_it_is_announced(
    disk: Disk, desk: Desk
) -> None:
    program, slug = program_of(desk), desk.declare().slug
    assert announce(program, slug, 4 * MIB).status_code == 507
    assert announce(program, slug, 2 * MIB).status_code == 201


def test_other_writes_wait_for_space_and_reading_and_deleting_do_not(
    disk: Disk, desk: Desk
) -> None:
    program, dataset = program_of(desk), desk.declare()
    transfer = announce(program, dataset.slug)["Location"]
    disk.fill(leave=MIN_BYTES - 4096)
    refused: Any = program.send("POST", "/api/v1/datasets", DECLARATION)
    assert (refused.status_code, refused.json()["type"]) == (503, "/api/docs#unavailable")
    assert int(refused["Retry-After"]) > 0
    form = urlencode(desk.declaration())
    page = desk.client.post("/desk/datasets/new/", form, "application/x-www-form-urlencoded")
    assert (page.status_code, page["Retry-After"]) == (503, "300")
    assert "Nothing can be stored at the moment" in page.content.decode()
    assert Dataset.objects.count() == 1
    assert desk.client.get("/desk/").status_code == 200
    assert program.send("DELETE", transfer, **VERSION).status_code == 204
    assert Client().get("/accounts/login/").status_code == 200
    assert Client().post("/accounts/login/", {"username": "x", "password": "y"}).status_code == 200


def test_a_file_that_fills_the_disk_on_its_way_is_answered_with_507(
    disk: Disk, desk: Desk, settings: Any
) -> None:
    settings.DPGEO_MIN_FREE = "0"
    slug = desk.declare().slug
    (disk.folder.parent / "trips.csv").write_bytes(CONTENT)
    desk.client.raise_request_exception = False
    program = program_of(desk)
    address = announce(program, slug)["Location"]
    read = disk_space.read_disk_space()
    disk.fill(leave=0)
    # The check before the upload reads the free space from before the disk was full, so only
    # writing fails.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dpgeo.api.outages.read_disk_space", lambda: read)
        sent = program.send("PATCH", address, CONTENT, **piece_at(0))
        with (disk.folder.parent / "trips.csv").open("rb") as file:
            shown = desk.client.post(f"/desk/datasets/{slug}/upload/", {"file": file})
    assert (sent.status_code, sent["Retry-After"]) == (507, "300")
    assert (shown.status_code, shown["Retry-After"]) == (507, "300")


def test_a_read_only_folder_is_told_by_readiness_and_refuses_writes(disk: Disk, desk: Desk) -> None:
    program, slug = program_of(desk), desk.declare().slug
    disk.set_read_only()
    shown = Client().get("/readyz")
    assert (shown.status_code, shown.json()["disk"]) == (503, "read-only")
    refused = announce(program, slug)
    assert (refused.status_code, refused.json()["type"]) == (503, "/api/docs#unavailable")
    assert program.send("POST", "/api/v1/datasets", DECLARATION).status_code == 503
    page = f"/desk/datasets/{slug}/upload/"
    shown = desk.client.post(page, {"file": io.BytesIO(CONTENT)})
    assert (shown.status_code, shown["Retry-After"]) == (503, "300")
    assert "Nothing can be stored at the moment" in shown.content.decode()
    response = desk.client.post(page, headers={"Accept": "application/json"})
    assert response.json()["errors"] == [
        "Nothing can be stored at the moment; try again in a few minutes."
    ]
    assert desk.client.get("/desk/").status_code == 200
    job = job_create(task="tests.nothing")
    assert not job_run(job_id=job.pk, work=lambda lease: None)


def test_a_job_starts_only_while_there_is_space(disk: Disk) -> None:
    job = job_create(task="tests.nothing")
    disk.fill(leave=MIN_BYTES - 4096)
    for _ in range(7):
        assert not job_run(job_id=job.pk, work=lambda lease: None)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.started_at) == (JobState.QUEUED, 0, None)
    disk.clear()
    assert job_run(job_id=job.pk, work=lambda lease: None)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 1)


def test_a_job_that_fills_the_disk_waits_and_its_attempts_are_not_counted(disk: Disk) -> None:
    job = job_create(task="tests.nothing")

    def write_too_much(lease: JobLease) -> None:
        path = disk.folder / "work"
        try:
            with path.open("wb") as file:
                for _ in range(64):
                    file.write(bytes(MIB))
        finally:
            path.unlink()

    for _ in range(7):
        assert job_run(job_id=job.pk, work=write_too_much)
    job.refresh_from_db()
    assert (job.state, job.attempts, str(job.step_phrase)) == (
        JobState.QUEUED,
        0,
        "Waiting for free space",
    )
    assert job.state_shown == JobState.RUNNING
    assert job_run(job_id=job.pk, work=lambda lease: None)
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_a_job_that_never_fits_is_tried_at_growing_intervals() -> None:
    job = job_create(task="tests.nothing")
    Job.objects.update(created_at=timezone.now() - timedelta(hours=1), woken_at=None)

    def full(lease: JobLease) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert job_run(job_id=job.pk, work=full)
    assert jobs_reap().woken == 0
    Job.objects.update(woken_at=timezone.now() - MAX_WAKE_AFTER)
    assert jobs_reap().woken == 1


def test_a_job_that_fills_the_disk_itself_comes_to_an_end() -> None:
    job = job_create(task="tests.nothing")
    Job.objects.update(created_at=timezone.now() - MAX_WAIT_FOR_SPACE)

    def full(lease: JobLease) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    while job_run(job_id=job.pk, work=full):
        job.refresh_from_db()
        assert job.attempts <= 5
    jobs_reap()
    job.refresh_from_db()
    assert job.state == JobState.FAILED


def test_keys_do_not_see_that_a_job_waits_for_space(disk: Disk, desk: Desk) -> None:
    program = program_of(desk)
    release = desk.request(desk.declare(ready=True))
    address = f"/api/v1/jobs/{release.job_id}"
    assert program.ask("GET", address)["state"] == "working"

    def full(lease: JobLease) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert job_run(job_id=release.job_id, work=full)
    assert Job.objects.get(pk=release.job_id).state == JobState.QUEUED
    assert program.ask("GET", address)["state"] == "working"
    owner = desk.client.get(f"/desk/jobs/{release.job_id}.json").json()
    assert owner["step"] == "Waiting for free space"


def test_an_attempt_that_lost_a_draw_for_want_of_space_is_counted() -> None:
    """An attempt counts even if its draw is lost for lack of disk space.

    The number of attempts limits how often noise can be drawn and discarded.
    """
    job = job_create(task="tests.nothing")

    def lose(lease: JobLease) -> None:
        lease.unstored_draw = True
        raise OperationalError from sqlite_error(sqlite3.SQLITE_FULL)

    assert job_run(job_id=job.pk, work=lose)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.QUEUED, 1)


def test_noise_is_not_drawn_while_there_is_no_space(
    disk: Disk, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = desk.request(desk.declare(ready=True))
    started = read_disk_space()
    disk.fill(leave=MIN_BYTES - 4096)
    monkeypatch.setattr("dpgeo.jobs.lease.read_disk_space", lambda: started)
    for _ in range(7):
        assert release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert (job.state, job.attempts, job.drawing) == (JobState.QUEUED, 0, False)
    disk.clear()
    release_run(release_id=release.pk)
    assert Job.objects.get(pk=release.job_id).state == JobState.DONE


def test_a_draw_waits_for_space_and_is_never_drawn_again(
    disk: Disk, desk: Desk, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DPGEO_MIN_FREE = "0"
    release = desk.request(desk.declare(ready=True))
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 9:
            disk.clear()

    stored = private_draw.store_draw

    def store(*words: Any) -> str:
        settings.VAR_DIR = disk.folder
        disk.fill()
        try:
            return stored(*words)
        finally:
            settings.VAR_DIR = disk.folder.parent

    monkeypatch.setattr("dpgeo.releases.release_job.store_draw", store)
    monkeypatch.setattr("dpgeo.releases.private_draw.time.sleep", wait)
    release_run(release_id=release.pk)
    job = Job.objects.get(pk=release.job_id)
    assert (job.state, job.attempts, len(waits)) == (JobState.DONE, 1, 9)


def test_a_failed_release_is_finished_by_api_at_no_further_cost(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, dataset = program_of(desk), desk.declare(ready=True)
    release = desk.request(dataset)
    paid = spent(dataset)
    with monkeypatch.context() as patched:

        def refuse(*_: object) -> None:
            raise Conflict("Something is in the way.")

        patched.setattr(release_job, "build_files", refuse)
        release_run(release_id=release.pk)
    drawn = Release.objects.get(pk=release.pk)
    assert (drawn.job.state, bool(drawn.blob_name)) == (JobState.FAILED, True)
    address = f"/api/v1/releases/{release.pk}/retry"
    for _ in range(3):
        program.ask("POST", address)
    assert Job.objects.get(pk=release.job_id).state == JobState.QUEUED
    release_run(release_id=release.pk)
    program.ask("POST", address)
    done = Release.objects.get(pk=release.pk)
    assert (done.job.state, done.blob_sha256) == (JobState.DONE, drawn.blob_sha256)
    assert spent(dataset) == paid


def test_a_release_without_a_draw_is_not_drawn_by_a_retry(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, dataset = program_of(desk), desk.declare(ready=True)
    release = desk.request(dataset)

    def refuse(*_: object) -> None:
        raise Conflict("Something is in the way.")

    monkeypatch.setattr(release_job, "draw", refuse)
    release_run(release_id=release.pk)
    address = f"/api/v1/releases/{release.pk}/retry"
    program.ask("POST", address, status=409)
    assert Job.objects.get(pk=release.job_id).state == JobState.FAILED
    ApiKey.objects.update(scopes=["jobs:read"])
    program.ask("POST", address, status=403)


def test_a_file_whose_job_failed_is_read_again_by_api(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug)
    program.ask("POST", f"{address}/retry", status=409)
    columns = {"longitude": "lon", "latitude": "lat", "person": "device", "time": "seen"}
    program.ask("POST", f"{address}/confirm", {"columns": columns}, 202)
    upload = Upload.objects.get()
    program.ask("POST", f"{address}/retry", status=202)
    assert Upload.objects.get().job_id == upload.job_id

    def refuse(lease: JobLease) -> None:
        raise Conflict("Something is in the way.")

    assert upload.job_id is not None
    assert job_run(job_id=upload.job_id, work=refuse)
    assert Upload.objects.get().state == UploadState.FAILED
    for _ in range(2):
        program.ask("POST", f"{address}/retry", status=202)
    assert Upload.objects.get().state == UploadState.QUEUED
    assert Job.objects.filter(state=JobState.QUEUED).count() == 1


LOCKER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("something")
    error.sqlite_errorcode = code
    return error


def test_a_lock_of_another_process_is_an_outage_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "locked.sqlite3"
    command = [sys.executable, "-c", LOCKER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locker:
        assert locker.stdout is not None
        assert locker.stdout.readline() == b"held\n"
        ours = sqlite3.connect(path, timeout=0.05, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError) as caught:
            ours.execute("BEGIN IMMEDIATE")
        locker.communicate()
    ours.close()
    assert find_outage(caught.value) is Outage.DATABASE


def test_a_database_on_a_full_or_read_only_disk_is_an_outage(disk: Disk) -> None:
    path = disk.folder / "full.sqlite3"
    ours = sqlite3.connect(path, isolation_level=None)
    ours.execute("CREATE TABLE words (word)")
    disk.fill()
    with pytest.raises(sqlite3.OperationalError) as caught:
        ours.execute("INSERT INTO words VALUES (zeroblob(1000000))")
    assert find_outage(caught.value) is Outage.SPACE
    ours.close()
    disk.set_read_only()
    ours = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError) as caught:
        ours.execute("INSERT INTO words VALUES (1)")
    ours.close()
    assert find_outage(caught.value) is Outage.READ_ONLY


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (OSError(errno.ENOSPC, "full"), Outage.SPACE),
        (OSError(errno.EROFS, "read-only"), Outage.READ_ONLY),
        (OSError(errno.ENOENT, "absent"), None),
        (RuntimeError('IO Error: write "x": No space left on device'), Outage.SPACE),
        (OperationalError("the server closed the connection"), Outage.DATABASE),
        (sqlite_error(sqlite3.SQLITE_READONLY), Outage.READ_ONLY),
        (sqlite_error(sqlite3.SQLITE_ERROR), None),
        (ValueError("No space"), None),
        (None, None),
    ],
)
def test_errors_are_told_apart_by_their_codes(
    error: BaseException | None, outage: Outage | None
) -> None:
    assert find_outage(error) is outage


def test_the_room_that_is_told_never_exceeds_what_is_free_and_varies(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "_kept", None)
    monkeypatch.setattr(disk_space, "KEPT_SECONDS", 0)
    settings.DPGEO_MIN_FREE = str(512 * MIB)
    free = min(
        os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        for folder in disk_space._folders()
    )
    rooms = [read_disk_space().room for _ in range(50)]
    assert all(free - 1100 * MIB < room < free - 480 * MIB for room in rooms)
    assert max(rooms) - min(rooms) > 10 * MIB


def test_a_release_is_refused_unpaid_while_space_is_short(desk: Desk) -> None:
    """While disk space is short, requests for releases are refused and not charged.

    Releases that are already paid for stay queued.
    """
    program, dataset = program_of(desk), desk.declare(ready=True)
    body = {**REQUEST, "dataset": dataset.slug, "title": "A map"}
    short: Callable[[], Any] = lambda: disk_space.Reading(-1, low=True, writable=True)  # noqa: E731
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dpgeo.api.outages.read_disk_space", short)
        refused = program.send("POST", "/api/v1/releases", body, Idempotency_Key="one")
    assert (refused.status_code, spent(dataset)) == (503, 0)
    program.ask("POST", "/api/v1/releases", body, 202, Idempotency_Key="one")
