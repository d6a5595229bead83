"""Backup and restore: no data are lost, nothing deleted comes back, no budget is spent twice."""

from __future__ import annotations

import io
import os
import re
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client, override_settings
from pytest_django.plugin import DjangoDbBlocker

from dpgeo.accounts.models import Role, User
from dpgeo.audit.models import Event, EventKind
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.commands import backup as backup_module
from dpgeo.commands import restoration
from dpgeo.commands.age_files import new_identity, read_identities
from dpgeo.commands.archives import archive_members, archive_verify
from dpgeo.commands.rows import dump_rows, tables
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput
from dpgeo.datasets import erasure
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, MissingFile, Suppression, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.services import dataset_update
from dpgeo.datasets.storage import private_storage, public_storage
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.alerts import alerts_send
from dpgeo.releases.models import Release
from dpgeo.releases.services import (
    release_publish,
    release_reject,
    release_run,
    release_withdraw,
)
from dpgeo.releases.states import ReleaseState
from tests.web.databases import connected_to, new_database
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Backups:
    """The folder for backups, and the key that decrypts them."""

    folder: Path
    identity: Path
    recipient: str

    def make(self, *options: str) -> tuple[Path, Path]:
        output = io.StringIO()
        words = [str(self.folder), "--recipient", self.recipient, *options]
        call_command("backup", *words, stdout=output)
        data, keys = output.getvalue().splitlines()[:2]
        return Path(data), Path(keys)

    def restore(self, data: Path, keys: Path | None, *options: str) -> str:
        output = io.StringIO()
        words = [str(data), "--identity", str(self.identity), *options]
        words += ["--keys", str(keys)] if keys else []
        call_command("restore", *words, stdout=output, stderr=output)
        return output.getvalue()


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    identity = tmp_path / "identity"
    return Backups(tmp_path / "backups", identity, new_identity(identity))


@contextmanager
def machine(folder: Path) -> Iterator[None]:
    """Give the installation its own storages and keys, in a folder."""
    folder.mkdir(exist_ok=True)
    local = "django.core.files.storage.FileSystemStorage"
    private = {"BACKEND": local, "OPTIONS": {"location": str(folder / "private")}}
    public = {"BACKEND": local, "OPTIONS": {"location": str(folder / "releases")}}
    storages = {"default": private, "private": private, "releases": public}
    static = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    key = str(folder / "person-key")
    with override_settings(
        STORAGES={**storages, "staticfiles": static}, PERSON_KEY_FILE=key, VAR_DIR=folder
    ):
        yield


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of the machine that is backed up."""
    with machine(tmp_path / "old"):
        yield tmp_path / "old"


@pytest.fixture(scope="module")
def migrated(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """Yield the name of a database with all tables and no rows."""
    with (
        django_db_blocker.unblock(),
        new_database(tmp_path_factory.mktemp("migrated"), "migrated") as database,
    ):
        with connected_to(database):
            call_command("migrate", verbosity=0)
        yield database


NewMachine = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def new_machine(tmp_path: Path, migrated: str) -> NewMachine:
    """Return a function that makes a machine with an empty database and no stored files."""

    @contextmanager
    def make(name: str) -> Iterator[None]:
        with (
            machine(tmp_path / name),
            new_database(tmp_path, name, migrated) as database,
            connected_to(database),
        ):
            yield

    return make


def all_rows() -> dict[str, list[bytes]]:
    return {model._meta.label: list(dump_rows(model, "default")) for model in tables()}


def all_files() -> dict[str, bytes]:
    contents = {}
    for label, storage in (("private", private_storage()), ("public", public_storage())):
        for name in stored_names(storage, ""):
            with storage.open(name, "rb") as file:
                contents[f"{label}/{name}"] = file.read()
    return contents


def published(desk: Desk) -> tuple[Dataset, Release]:
    """Return a dataset with a budget of 2 and a published release that cost 0.5 of it."""
    dataset = desk.declare(ready=True)
    release = desk.request(dataset)
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    return dataset, release_publish(release=release, by=desk.user)


@pytest.mark.usefixtures("old")
def test_a_backup_restores_every_row_and_file(
    tmp_path: Path, backups: Backups, new_machine: NewMachine
) -> None:
    desk = make_desk()
    dataset, release = published(desk)
    desk.signed_in("ann", role=Role.APPROVER)
    data, keys = backups.make()
    rows, files = all_rows(), all_files()
    key = (tmp_path / "old" / "person-key").read_bytes()
    with new_machine("new"):
        report = backups.restore(data, keys)
        assert re.search(r"^[\d,]+ rows and [\d,]+ files are back\.$", report, re.MULTILINE)
        restored = all_rows()
        changed = {"budgets.Ledger", "budgets.Entry", "audit.Event"}
        assert {k: v for k, v in restored.items() if k not in changed} == {
            k: v for k, v in rows.items() if k not in changed
        }
        assert restored["budgets.Entry"][:-1] == rows["budgets.Entry"]
        assert restored["audit.Event"][:-1] == rows["audit.Event"][:-1]
        assert all_files() == files
        assert (tmp_path / "new" / "person-key").read_bytes() == key
        assert (tmp_path / "new" / "person-key").stat().st_mode & 0o077 == 0
        assert User.objects.get(username="ann").check_password("secret-words")
        assert User.objects.create_user("bob").pk not in (desk.user.pk, None)
        assert ready_upload(Dataset.objects.get()) is not None
        with (
            pytest.raises(DatabaseError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute("UPDATE budgets_entry SET units = 1")
    assert dataset.pk
    assert release.pk


@pytest.mark.usefixtures("old")
def test_a_backup_is_made_and_restored_although_50_files_are_missing(
    backups: Backups, new_machine: NewMachine, settings: Any
) -> None:
    desk = make_desk()
    dataset, release = published(desk)
    for _ in range(6):
        spend(desk, dataset, "0.2")
    lost = sorted(
        name
        for name in stored_names(public_storage(), "")
        if not name.startswith(release.pk) or name.endswith(("statement.json", "map.bin.gz"))
    )
    assert len(lost) >= 50
    for name in lost:
        public_storage().delete(name)
    output, errors = io.StringIO(), io.StringIO()
    words = [str(backups.folder), "--recipient", backups.recipient]
    call_command("backup", *words, stdout=output, stderr=errors)
    assert f"{len(lost)} files are missing" in errors.getvalue()
    assert errors.getvalue().splitlines()[1:] == lost
    data, keys = map(Path, output.getvalue().splitlines()[:2])
    about = archive_verify(data, read_identities(backups.identity))
    assert about["missing"] == [f"releases/{name}" for name in lost]
    settings.DPGEO_ALERT_MAIL = ["operators@example.org"]
    assert alerts_send() == 1
    assert "Stored files are missing" in str(mail.outbox[-1].body)
    rows, files = all_rows(), all_files()
    with new_machine("new"):
        report = backups.restore(data, keys)
        assert f"{len(lost)} files were missing when the backup was made" in report
        assert set(report.splitlines()) >= set(lost)
        assert all_files() == files
        assert all_rows()["releases.ReleaseFile"] == rows["releases.ReleaseFile"]
        assert MissingFile.objects.count() == len(lost)
        assert alerts_send() == 1
        served = [each.name for each in release.files.exclude(stored_name="")]
        answers = {
            name: Client().get(f"/api/v1/releases/{release.pk}/files/{name}").status_code
            for name in served
        }
        assert {name for name, status in answers.items() if status == 404} == {"statement.json"}
        assert len(served) > 3


@pytest.mark.usefixtures("old")
def test_a_backup_is_made_even_if_files_vanish_during_every_attempt(
    backups: Backups, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy site deletes files all the time, and has to be backed up nevertheless."""
    published(make_desk())
    usual = backup_module._add_rows
    lost: list[str] = []

    def delete_meanwhile(*arguments: Any) -> int:
        rows = usual(*arguments)
        lost.append(next(stored_names(public_storage(), "")))
        public_storage().delete(lost[-1])
        return rows

    monkeypatch.setattr(backup_module, "_add_rows", delete_meanwhile)
    data, _ = backups.make()
    assert len(lost) == backup_module.ATTEMPTS
    about = archive_verify(data, read_identities(backups.identity))
    assert about["missing"] == sorted(f"releases/{name}" for name in lost)


@pytest.mark.usefixtures("old")
def test_neither_archive_can_be_read_without_its_key(tmp_path: Path, backups: Backups) -> None:
    published(make_desk())
    other = tmp_path / "other"
    recipient = new_identity(other)
    data, keys = backups.make("--key-recipient", recipient)
    for path in (data, keys):
        assert path.read_bytes().startswith(b"age-encryption.org/v1")
        assert path.stat().st_mode & 0o077 == 0
        assert b"Invented" not in path.read_bytes()
    with pytest.raises(InvalidInput):
        archive_verify(data, [])
    with pytest.raises(InvalidInput):
        archive_verify(data, read_identities(other))
    with pytest.raises(InvalidInput):
        archive_verify(keys, read_identities(backups.identity))
    members = {name for name, _ in archive_members(keys, read_identities(other))}
    assert "keys/person-key" in members
    assert not {name for name in members if name.startswith(("private/", "database/"))}
    names = {name for name, _ in archive_members(data, read_identities(backups.identity))}
    assert not {name for name in names if "key" in name.lower() and "ApiKey" not in name}


@pytest.mark.usefixtures("old")
def test_damage_is_found_before_anything_is_changed(
    backups: Backups, new_machine: NewMachine
) -> None:
    published(make_desk())
    data, keys = backups.make("--plain")
    whole = data.read_bytes()
    with tarfile.open(data) as archive:
        assert archive.getnames()[0] == "about.json"
    flipped = bytearray(whole)
    flipped[whole.index(b"PAR1") + 2] ^= 1
    for number, damaged in enumerate([whole[: len(whole) // 2], bytes(flipped), b"", b"no file"]):
        data.write_bytes(damaged)
        with new_machine(f"damaged-{number}"):
            with pytest.raises(CommandError):
                backups.restore(data, keys)
            assert not User.objects.exists()
            assert not all_files()
    encrypted, keys = backups.make()
    encrypted.write_bytes(encrypted.read_bytes()[:-2000])
    with pytest.raises(InvalidInput):
        archive_verify(encrypted, read_identities(backups.identity))


@pytest.mark.usefixtures("old")
def test_nothing_is_restored_over_another_installation(backups: Backups) -> None:
    published(make_desk())
    data, keys = backups.make()
    before = all_rows()
    with pytest.raises(CommandError, match="not empty"):
        backups.restore(data, keys)
    assert all_rows() == before


def make_draft(desk: Desk, dataset: Dataset, epsilon: str) -> Release:
    """Request and draw a release."""
    release = desk.request(dataset, epsilon=epsilon)
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    return release


def spend(desk: Desk, dataset: Dataset, epsilon: str) -> Release:
    """Request, draw and publish a release."""
    return release_publish(release=make_draft(desk, dataset, epsilon), by=desk.user)


@pytest.mark.usefixtures("old")
def test_a_restored_ledger_cannot_be_spent_again(backups: Backups, new_machine: NewMachine) -> None:
    desk = make_desk()
    dataset, _ = published(desk)
    undecided = desk.declare(slug="later", budget=None, budget_later=True)
    waiting = desk.request(dataset, epsilon="0.25")
    data, keys = backups.make()
    assert release_run(release_id=waiting.pk)
    spend(desk, dataset, "1")
    with new_machine("new"):
        report = backups.restore(data, keys)
        assert "1 budgets are closed" in report
        ledger = Dataset.objects.get(pk=dataset.pk).ledger
        assert ledger.left_units == 0
        assert ledger.spent_units == ledger.total_units
        entries = Entry.objects.filter(ledger=ledger)
        assert sum(entry.units for entry in entries) == ledger.spent_units
        with pytest.raises(BudgetExceeded):
            desk.request(Dataset.objects.get(pk=dataset.pk), epsilon="0.01")
        # The waiting release may have been drawn since the backup; drawing it again would be a
        # second draw for the price of one.
        job = Job.objects.get(release=waiting.pk)
        assert (job.state, job.drawing) == (JobState.FAILED, True)
        assert not release_run(release_id=waiting.pk)
        for slug in (dataset.slug, undecided.slug):
            with pytest.raises(Conflict):
                dataset_update(
                    dataset=Dataset.objects.get(slug=slug), changes={"budget": Fraction(9)}
                )
        assert Event.objects.filter(kind=EventKind.RESTORED, detail="budgets closed").exists()


def surviving(tmp_path: Path, name: str) -> Path:
    """Move the private storage of the lost machine to the new machine."""
    target = tmp_path / name
    target.mkdir()
    (tmp_path / "old" / "private").rename(target / "private")
    return target


@pytest.mark.usefixtures("old")
def test_with_all_draws_the_ledger_is_as_it_was_and_stays_open(
    tmp_path: Path, backups: Backups, new_machine: NewMachine
) -> None:
    desk = make_desk()
    dataset, first = published(desk)
    waiting = desk.request(dataset, epsilon="0.25")
    data, keys = backups.make()
    assert release_run(release_id=waiting.pk)
    blob = Release.objects.get(pk=waiting.pk).blob_sha256
    later = spend(desk, dataset, "1")
    dataset_update(dataset=dataset, changes={"budget": Fraction(19, 10)})
    spent = Ledger.objects.get(pk=dataset.ledger_id).spent_units
    surviving(tmp_path, "new")
    with new_machine("new"):
        report = backups.restore(data, keys, "--draws-complete")
        assert "1 draws were adopted" in report
        assert "1 draws were debited again" in report
        ledger = Ledger.objects.get(pk=dataset.ledger_id)
        assert (ledger.spent_units, ledger.total_units) == (spent, 1_900_000)
        assert Release.objects.get(pk=waiting.pk).blob_sha256 == blob
        debit = Entry.objects.get(job=later.job_id)
        assert (debit.kind, debit.units) == (EntryKind.DEBIT, 1_000_000)
        with pytest.raises(Conflict):
            dataset_update(dataset=Dataset.objects.get(), changes={"budget": Fraction(2)})
        desk.request(Dataset.objects.get(), epsilon="0.15")
        with pytest.raises(BudgetExceeded):
            desk.request(Dataset.objects.get(), epsilon="0.01")
    assert first.pk


@pytest.mark.usefixtures("old")
def test_budgets_that_were_merged_since_stay_closed(
    tmp_path: Path, backups: Backups, new_machine: NewMachine
) -> None:
    desk = make_desk()
    one, other, third = (desk.declare(slug=each) for each in ("one", "other", "third"))
    data, keys = backups.make()
    dataset_merge_ledgers(dataset=one, ledger=other.ledger, by=desk.user)
    surviving(tmp_path, "new")
    with new_machine("new"):
        backups.restore(data, keys, "--draws-complete")
        left = {each.pk: each.ledger.left_units for each in Dataset.objects.all()}
        assert left == {one.pk: 0, other.pk: 0, third.pk: 2_000_000}


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("lost", ["database", "machine"])
def test_whoever_was_erased_stays_erased_and_what_was_withdrawn_stays_so(
    tmp_path: Path, backups: Backups, lost: str, new_machine: NewMachine
) -> None:
    desk = make_desk()
    dataset, shown = published(desk)
    draft, other = (make_draft(desk, dataset, "0.25") for _ in range(2))
    data, keys = backups.make()
    version = person_erase(dataset=dataset, person="p3", by=desk.user)
    assert upload_ingest(upload_id=version.pk)
    release_withdraw(release=shown, by=desk.user)
    release_reject(release=draft, by=desk.user, reason="Too noisy.")
    release_withdraw(release=release_publish(release=other, by=desk.user), by=desk.user)
    rows = Upload.objects.get(pk=version.pk).report["accepted"]  # type: ignore[index]
    if lost == "database":
        surviving(tmp_path, "new")
    else:  # The new machine gets only the ledger's journal from the old one.
        (tmp_path / "new" / "private").mkdir(parents=True)
        (tmp_path / "old/private/journal").rename(tmp_path / "new/private/journal")
    with new_machine("new"):
        report = backups.restore(data, keys)
        assert "1 people are erased again" in report
        current = ready_upload(Dataset.objects.get())
        assert current is not None
        assert current.report is not None
        assert current.report["accepted"] == rows
        assert Suppression.objects.count() == 1
        erased = Upload.objects.filter(state=UploadState.ERASED)
        assert erased.exists()
        assert not erased.exclude(canonical_name="").exists()
        states = dict(Release.objects.values_list("pk", "state"))
        assert states == {
            shown.pk: ReleaseState.WITHDRAWN,
            draft.pk: ReleaseState.REJECTED,
            other.pk: ReleaseState.REJECTED,
        }


class Killed(BaseException):
    """An exception that stands for a kill, so no code under test may handle it."""


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(
    "point",
    ["restore_keys", "_restore_file", "load_rows", "reset_sequences", "draws_settle", "_erase"],
)
def test_a_restore_that_is_killed_can_be_repeated(
    tmp_path: Path,
    backups: Backups,
    point: str,
    monkeypatch: pytest.MonkeyPatch,
    new_machine: NewMachine,
) -> None:
    desk = make_desk()
    dataset, _ = published(desk)
    data, keys = backups.make()
    person_erase(dataset=dataset, person="p3", by=desk.user)
    files = all_files()
    (tmp_path / "new" / "private").mkdir(parents=True)
    (tmp_path / "old/private/journal").rename(tmp_path / "new/private/journal")
    usual = getattr(restoration, point)

    def kill(*arguments: Any, **named: Any) -> Any:
        usual(*arguments, **named)
        raise Killed

    with new_machine("new"):
        with monkeypatch.context() as patch:
            patch.setattr(restoration, point, kill)
            with pytest.raises(Killed):
                backups.restore(data, keys)
        assert not User.objects.exists()
        assert not Ledger.objects.exists()
        assert "1 people are erased again" in backups.restore(data, keys)
        assert Ledger.objects.get().left_units == 0
        names = {name for name in all_files() if "canonical" not in name}
        assert names == {name for name in files if "canonical" not in name}


@pytest.mark.usefixtures("old")
def test_a_backup_that_is_killed_leaves_no_archive(
    backups: Backups, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(make_desk())

    def kill(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(backup_module, "_add_files", kill)
        with pytest.raises(Killed):
            backups.make()
    assert [path.name for path in backups.folder.iterdir() if path.suffix != ".part"] == []
    assert archive_verify(backups.make()[0], read_identities(backups.identity))


def test_older_backups_expire_and_other_files_stay(tmp_path: Path) -> None:
    names = [
        f"dpgeo-2026110{day}T000000Z{ending}"
        for day in range(1, 5)
        for ending in (".tar.age", "-keys.tar.age")
    ]
    # The last backup was killed after it had written one of its two files.
    names.remove("dpgeo-20261104T000000Z.tar.age")
    parts = ["dpgeo-20261101T000000Z.tar.age.part", "dpgeo-20261104T000000Z.tar.part"]
    for name in (*names, *parts, "notes.txt"):
        (tmp_path / name).touch()
    day = time.time() - 25 * 3600
    os.utime(tmp_path / parts[0], (day, day))
    assert backup_module.backups_expire(folder=tmp_path, keep=2) == 3
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names[2:], parts[1], "notes.txt"}


def test_a_file_that_is_deleted_meanwhile_makes_the_backup_begin_again(
    backups: Backups, monkeypatch: pytest.MonkeyPatch, new_machine: NewMachine
) -> None:
    usual = backup_module._add_rows
    erased: list[int] = []

    def erase_meanwhile(*arguments: Any) -> int:
        rows = usual(*arguments)
        if not erased:
            erased.append(1)
            # Erase a person, as another process might do meanwhile.
            version = person_erase(dataset=Dataset.objects.get(), person="p3", by=None)
            assert upload_ingest(upload_id=version.pk)
        return rows

    monkeypatch.setattr(backup_module, "_add_rows", erase_meanwhile)
    with new_machine("old"):
        published(make_desk())
        data, keys = backups.make()
    with new_machine("new"):
        backups.restore(data, keys)
        assert Suppression.objects.count() == 1
        current = ready_upload(Dataset.objects.get())
        assert current is not None
        assert private_storage().exists(current.canonical_name)


@pytest.mark.usefixtures("old")
def test_an_erasure_that_cannot_be_recorded_is_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = make_desk()
    dataset, _ = published(desk)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(erasure, "decision_record", full)
    with pytest.raises(OSError, match="space"):
        person_erase(dataset=dataset, person="p3", by=desk.user)
    assert not Suppression.objects.exists()
