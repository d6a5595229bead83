"""Files that are made when somebody first asks for them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files import File
from django.core.files.base import ContentFile
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from dpgeo.artefacts.files import build_files
from dpgeo.config.celery import app
from dpgeo.datasets.storage import private_storage, public_storage
from dpgeo.jobs.models import Job
from dpgeo.jobs.services import job_lease
from dpgeo.releases import files
from dpgeo.releases.file_making import MAKE_TASK, file_make, file_run, file_want
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.publication import publish
from dpgeo.releases.services import release_publish, release_withdraw
from tests.makers import ask_for
from tests.unit.artefacts.releases import grid_release
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

NAME = "cells.csv"


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), grid_release())


def address(release: Release, name: str = NAME) -> str:
    return f"/api/v1/releases/{release.pk}/files/{name}"


def row(release: Release, name: str = NAME) -> ReleaseFile:
    return release.files.select_related("job", "release").get(name=name)


def run_jobs() -> int:
    """Run the jobs that make files; return how many could be leased."""
    return sum(file_run(job_id=job.pk) for job in Job.objects.filter(task=MAKE_TASK))


def test_who_asks_first_is_told_to_wait_and_then_gets_the_file(
    client: Client, release: Release
) -> None:
    answer = client.get(address(release))
    assert (answer.status_code, answer["Retry-After"]) == (202, "3")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["Cache-Control"] == "no-store"
    assert answer.json()["title"] == "This file is being made"
    assert run_jobs() == 1
    answer = client.get(address(release))
    assert answer.status_code == 200
    file = row(release)
    assert hashlib.sha256(answer.getvalue()).hexdigest() == file.sha256
    assert file.public
    facts = client.get(f"/api/v1/releases/{release.pk}").json()
    listed = {each["name"]: each for each in facts["files"]}
    assert (listed[NAME]["sha256"], listed[NAME]["size"]) == (file.sha256, file.size)
    assert listed["cells.gpkg"]["sha256"] is listed["cells.gpkg"]["size"] is None


def test_however_many_ask_there_is_one_job(client: Client, release: Release) -> None:
    # The file's row is read five times, as by five simultaneous requests.
    unmade = [row(release) for _ in range(5)]
    for file in unmade:
        file_want(file=file)
    client.get(address(release))
    assert Job.objects.filter(task=MAKE_TASK).count() == 1
    assert run_jobs() == 1
    file_want(file=row(release))
    assert Job.objects.filter(task=MAKE_TASK).count() == 1


def test_a_look_at_the_headers_has_nothing_made(client: Client, release: Release) -> None:
    for path in (address(release), f"/maps/{release.pk}/files/{NAME}"):
        client.head(path)
    assert not Job.objects.filter(task=MAKE_TASK).exists()


def test_readers_do_not_wait_for_jobs_that_read_private_data() -> None:
    queues = {name: route["queue"] for name, route in app.conf.task_routes.items()}
    # Messages to webhooks contain public facts only, and mails no facts of data at all, so they may
    # share the queue of files.
    assert queues == dict.fromkeys((MAKE_TASK, "webhooks.deliver", "accounts.mail"), "files")
    assert app.conf.task_default_queue != "files"


def test_another_worker_finishes_the_file_of_a_killed_one(release: Release) -> None:
    file_want(file=row(release))
    job = Job.objects.get(task=MAKE_TASK)
    assert job_lease(job_id=job.pk) is not None  # The worker that leases this job is killed.
    assert not file_run(job_id=job.pk)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert file_run(job_id=job.pk)
    assert row(release).is_made


def test_a_file_is_made_and_counted_at_once_or_not_at_all(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = QuerySet.update

    def killed(rows: QuerySet[Release], **values: Any) -> int:
        if rows.model is Release:
            raise SystemExit("This worker is killed.")
        return update(rows, **values)

    with monkeypatch.context() as patch:
        patch.setattr(QuerySet, "update", killed)
        with pytest.raises(SystemExit):
            file_make(row(release))
    assert not row(release).is_made
    file_make(row(release))
    assert row(release).is_made
    release.refresh_from_db()
    assert release.files_made == 1


def test_a_second_worker_keeps_the_bytes_of_the_first(release: Release) -> None:
    late = row(release)
    ask_for(release, NAME)
    first = row(release)
    file_make(late)
    again = row(release)
    assert (again.stored_name, again.sha256) == (first.stored_name, first.sha256)
    folder = f"artefacts/{release.pk}"
    for own in private_storage().listdir(folder)[0]:
        assert not private_storage().listdir(f"{folder}/{own}")[1]


def test_nothing_is_made_of_a_withdrawn_map(client: Client, release: Release) -> None:
    client.get(address(release))
    late, job = row(release), Job.objects.get(task=MAKE_TASK)
    release_withdraw(release=release, by=None)
    assert not file_run(job_id=job.pk)
    file_make(late)  # A worker that began before the withdrawal now makes the file.
    assert not release.files.exists()
    assert client.get(address(release)).status_code == 410
    assert client.get(f"/maps/{release.pk}/files/{NAME}").status_code == 410
    for storage, folder in ((public_storage(), ""), (private_storage(), "artefacts/")):
        folder += release.pk
        names = storage.listdir(folder) if storage.exists(folder) else ([], [])
        assert not names[1]
        assert not any(storage.listdir(f"{folder}/{each}")[1] for each in names[0])


def test_a_withdrawal_while_files_are_moved_leaves_none(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = row(release)

    def opened(content: Any) -> File[bytes]:
        ReleaseFile.objects.filter(pk=file.pk).delete()
        return File(content)

    monkeypatch.setattr(files, "File", opened)
    file_make(file)
    assert not copies(release, NAME)


def test_two_processes_that_publish_at_once_keep_the_published_file(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that publish a release at once do not lose its files.

    One lists a file; the other moves that file before the first goes on.
    """
    file = files.made_files(release)[0]
    stored = private_storage().save("artefacts/twice", ContentFile(b"content"))
    drafts = files.made_files(release).filter(pk=file.pk)
    drafts.update(public=False, stored_name=stored, gzipped=False)
    [listed] = drafts
    files.make_public(release)
    monkeypatch.setattr(files, "made_files", lambda _: Listed([listed]))
    files.make_public(release)
    file.refresh_from_db()
    assert file.public
    with public_storage().open(file.stored_name, "rb") as content:
        assert content.read() == b"content"


def test_a_copy_that_fails_halfway_is_deleted(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a copy of a file fails halfway, what was copied is deleted.

    An object store raises errors of its own if a file vanishes while it is read.
    """
    broken = True

    def opened(content: Any) -> File[bytes]:
        if str(content.name).endswith(".gz") and broken:
            raise OSError("NoSuchKey")
        return File(content)

    monkeypatch.setattr(files, "File", opened)
    with pytest.raises(OSError, match="NoSuchKey"):
        file_make(row(release))
    assert not copies(release, NAME)
    broken = False
    files.make_public(release)
    assert len(copies(release, NAME)) == 2


def copies(release: Release, name: str) -> list[str]:
    """Return the names of all copies of a file in the public storage."""
    stored = public_storage().listdir(release.pk)[1]
    return [each for each in stored if each.removesuffix(".gz").endswith(f"-{name}")]


class Listed:
    """A query set that was read before other processes changed its rows."""

    def __init__(self, rows: list[ReleaseFile]) -> None:
        self._rows = rows

    def filter(self, **_: Any) -> list[ReleaseFile]:
        return self._rows


def test_what_is_made_public_while_other_files_are_deleted_is_deleted_too(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is made public while others are deleted is deleted, too.

    A process that moves a file either locks its row before the withdrawal does, or finds that the
    row was deleted.
    """
    made = files.made_files(release).order_by("pk")
    first, second = made[0], made[1]
    stored = second.stored_name
    made.filter(pk=second.pk).update(public=False, stored_name="artefacts/second")
    delete, moved = files._remove_stored, f"{release.pk}/moved"

    def removed(file: ReleaseFile) -> None:
        delete(file)
        if file.pk == first.pk:
            public_storage().save(moved, ContentFile(b"copy"))
            made.filter(pk=second.pk).update(public=True, stored_name=moved, gzipped=False)

    monkeypatch.setattr(files, "_remove_stored", removed)
    release_withdraw(release=release, by=None)
    assert not public_storage().exists(moved)
    public_storage().delete(stored)


def test_a_move_whose_source_is_gone_ends_quietly_only_after_a_withdrawal(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files.made_files(release)[0]
    before = len(copies(release, file.name))
    files.made_files(release).filter(pk=file.pk).update(
        public=False, stored_name="artefacts/gone", gzipped=False
    )
    with pytest.raises(FileNotFoundError):
        files.make_public(release)
    listed = files.made_files(release).filter(pk=file.pk, public=False)
    monkeypatch.setattr(files, "made_files", lambda _: ReadThenDeleted(listed))
    files.make_public(release)
    assert len(copies(release, file.name)) == before


class ReadThenDeleted:
    """A query set whose rows are deleted by a withdrawal as soon as they are read."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def filter(self, **_: Any) -> list[ReleaseFile]:
        read = list(self._rows)
        self._rows.delete()
        return read


def test_members_alone_have_files_of_a_draft_made(client: Client) -> None:
    draft = install(make_dataset(), grid_release(), published=False)
    assert client.get(address(draft)).status_code == 404
    assert client.get(f"/maps/{draft.pk}/files/{NAME}").status_code == 404
    assert not Job.objects.filter(task=MAKE_TASK).exists()
    ask_for(draft, NAME)
    file = row(draft)
    assert (file.public, private_storage().exists(file.stored_name)) == (False, True)
    publish(draft)
    assert row(draft).public


def test_the_statement_names_what_can_be_had_and_never_changes(
    client: Client, release: Release, tmp_path: Path
) -> None:
    before = client.get(address(release, "statement.json")).getvalue()
    stated = json.loads(before)
    made = {each["name"]: each["sha256"] for each in stated["files"]}
    further = {each["name"] for each in stated["files_on_request"]}
    assert {*made, *further, "statement.json"} == {*release.files.values_list("name", flat=True)}
    assert all(row(release, name).sha256 == sha256 for name, sha256 in made.items())
    ask_for(release)
    assert client.get(address(release, "statement.json")).getvalue() == before
    built = build_files(grid_release(), tmp_path)
    assert {each.name: files.checksum(each.path) for each in built} == {
        each.name: each.sha256 for each in release.files.all()
    }


def test_a_publisher_has_all_files_made_at_publication(client: Client) -> None:
    draft = install(make_dataset(), grid_release(), published=False)
    draft.files.filter(name=NAME).update(large=True)
    assert not Job.objects.filter(task=MAKE_TASK).exists()
    release_publish(release=draft, by=None, all_files=True)
    unmade = draft.files.filter(stored_name="").count()
    assert unmade > 2
    assert run_jobs() == unmade - 1
    waiting = draft.files.get(stored_name="")
    assert (waiting.name, waiting.job) == (NAME, None)
    assert all(file.public for file in draft.files.exclude(name=NAME))
    # anybody who may see the draft can have this file made
    assert client.get(address(draft)).status_code == 202
    assert run_jobs() == 1


def test_synthetic_points_are_made_up_only_for_their_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    released = dataclasses.replace(grid_release(), about={"title": "Walks"})

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("dpgeo.artefacts.synthetic_points.points_layer", refuse)
    build_files(released, tmp_path, lambda file: file.at_once)
    assert not list(tmp_path.glob("points-*"))
