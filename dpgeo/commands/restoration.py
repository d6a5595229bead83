"""Restore of an installation from a backup, without letting any budget be spent twice.

Privacy argument. Amounts spent after the backup are not in its ledger. The restore therefore closes
every budget in the same transaction that brings it back: the amount left according to the backup is
debited, and undecided totals can no longer be set. The amount really spent after the backup was
within the ledger's total at that time, so the promised bound holds in every case. A release that
waits to be drawn in the backup may have been drawn and published since; its job ends as failed and
keeps its debit, because a second draw would be a second measurement for one price. Every series
ends for the same reason.

An operator who still has the private storage as it was when the installation stopped can set
`draws_complete`. Every draw that anybody can have seen is stored there before it is committed and
is deleted only if another draw was committed in its place. The restore then recovers or debits each
of them, applies the last totals of the journal, and leaves the rest of the budgets open. Budgets
that were merged after the backup stay closed, because the merger is lost. Totals are never raised
afterwards, in either case: a publication since the backup may have promised them.

The currency of a budget may have been changed after the backup, from epsilon to rho or back. It is
changed again before any draw is debited, since amounts of one currency mean nothing in the other.

A series that had ended because a map failed may have been resumed after the backup and have drawn
noise. In either case it cannot be resumed any more.

The journal (`datasets.decisions`) of the archive and of the present storage is applied in either
case: people who were erased after the backup are erased again, and releases that were withdrawn or
rejected stay so.

What happens if the restore is killed. Files are put back first, under the names that the rows will
have. Rows, debits, closures and the queued erasures are one transaction. Until it commits, the
database is empty and the restore can be repeated; afterwards the workers and the reaper do what is
left.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from django.core.files.storage import Storage
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import timezone

from dpgeo.accounts.models import Organisation, User
from dpgeo.audit.models import Event, EventKind
from dpgeo.audit.services import event_record
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.commands.archives import archive_members, archive_verify
from dpgeo.commands.backup import KEYS, PRIVATE, PUBLIC, ROWS, key_files, present_keys
from dpgeo.commands.rows import (
    clear_made_by_migrate,
    load_rows,
    migrations,
    reset_sequences,
    tables,
)
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.decisions import (
    ERASED,
    MERGED,
    READMITTED,
    TOTAL,
    Decision,
    decisions,
)
from dpgeo.datasets.erasure import digest_erase
from dpgeo.datasets.missing_files import missing_file_record
from dpgeo.datasets.models import Dataset, Suppression, Upload, UploadState
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.storage import private_storage, public_storage, store, work_folder
from dpgeo.jobs.models import UNFINISHED, Job, JobState
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release
from dpgeo.releases.reconciliation import draws_settle
from dpgeo.releases.series import series_end_all, series_end_failed
from dpgeo.releases.states import ENDED, STATES, ReleaseState

HELD = "held after a restore: what was spent since the backup is not known"

LOST = Phrase(
    "A backup was restored, and this may have been drawn after it was made. What it cost stays "
    "spent; request it again."
)

REJECTION = "Withdrawn or rejected before a backup was restored."

MAX_DECISION_TIME = timedelta(hours=1)
"""Upper limit to the duration of a transaction that decides a budget's total.

Decisions in the journal that are older than the backup by more than this are in its rows.
"""

CHUNK = 1 << 20


@dataclass
class Restored:
    """What a restore did, in numbers.

    `missing` are the names of the files that the backup lacks, and that are not stored here either.
    """

    missing: list[str] = field(default_factory=list)
    rows: int = 0
    files: int = 0
    adopted: int = 0
    debited: int = 0
    held: int = 0
    lost: int = 0
    erased: int = 0
    ended: int = 0


def restore_run(
    *,
    data: Path,
    keys: Path | None,
    identities: Sequence[Any],
    draws_complete: bool,
    say: Callable[[str], None] = lambda line: None,
) -> Restored:
    """Restore an installation into an empty database of any kind; return what was done.

    `keys` is None if the keys are already in place. `draws_complete` is explained in the module
    docstring. `say` is called with lines on the progress. Raises Conflict, before anything is
    changed, if the database is not empty or its migrations are not the archive's, or if another
    person key (which encrypts the keys by which persons' ids are hashed) is in place; InvalidInput
    if an archive is damaged or cannot be opened.
    """
    check_empty()
    say("Reading the archives from end to end")
    about = archive_verify(data, identities)
    if about["migrations"] != migrations():
        raise Conflict(
            "The archive was made by version {version}, whose tables are others; install that "
            "version, restore, and then upgrade.",
            version=about["dpgeo"],
        )
    if keys is not None:
        archive_verify(keys, identities)
        restore_keys(keys, identities)
    restored = Restored()
    say("Putting files back")
    restored.files = restore_files(data, identities)
    say("Putting rows back")
    with transaction.atomic():
        check_empty()
        restored.rows = _restore_rows(data, identities)
        _settle(restored, datetime.fromisoformat(about["made_at"]), draws_complete)
        restored.missing = _record_missing(about["missing"])
        connection.check_constraints()
    return restored


def _record_missing(members: Sequence[str]) -> list[str]:
    """Record those files that the archive lacks and that are not stored here; return their names.

    `members` are the names that these files would have had in the archive.
    """
    names = []
    for member in members:
        public = member.startswith(PUBLIC)
        name = member.removeprefix(PUBLIC if public else PRIVATE)
        if not (public_storage() if public else private_storage()).exists(name):
            missing_file_record(name, public=public)
            names.append(name)
    return names


def check_empty() -> None:
    """Raise Conflict if the database has users, datasets, jobs or other rows of an installation."""
    if any(
        model.objects.exists() for model in (User, Organisation, Ledger, Entry, Dataset, Job, Event)
    ):
        raise Conflict("The database is not empty; restore into a new one, after `migrate`.")


def restore_keys(path: Path, identities: Sequence[Any]) -> None:
    """Put the keys back. Raises Conflict if another person key is in place."""
    files, present = key_files(), present_keys()
    present_names = {
        name.removeprefix(KEYS): content.read()
        for name, content in archive_members(path, identities)
        if name.startswith(KEYS)
    }
    for name, key in present_names.items():
        # Refuse another person key, which cannot decrypt the restored hash keys of datasets.
        # Another secret key does no harm: it only ends sessions.
        if name == "person-key" and present.get(name, key).strip() != key.strip():
            raise Conflict(
                "Another key of the person hashes is in place; move {path} away first.",
                path=str(files.get(name, "DPGEO_PERSON_KEY")),
            )
    for name, key in present_names.items():
        if name in files and present.get(name) != key:
            _write_key(files[name], key)


def _write_key(path: Path, key: bytes) -> None:
    fresh = path.with_name(f"{path.name}.restored")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(descriptor)
    fresh.rename(path)


def restore_files(data: Path, identities: Sequence[Any]) -> int:
    """Store the archive's files that are not yet stored in full; return how many files it has."""
    number = 0
    storages = ((PRIVATE, private_storage()), (PUBLIC, public_storage()))
    with work_folder() as folder:
        for name, content in archive_members(data, identities):
            for prefix, storage in storages:
                if name.startswith(prefix):
                    path = folder / "file"
                    with path.open("wb") as file:
                        shutil.copyfileobj(content, file, CHUNK)
                    _restore_file(storage, name.removeprefix(prefix), path)
                    number += 1
    return number


def _restore_file(storage: Storage, name: str, path: Path) -> None:
    """Store a file, unless it is already stored with the same bytes."""
    if storage.exists(name):
        with storage.open(name, "rb") as present, path.open("rb") as content:
            if _same(present, content):
                return
        storage.delete(name)
    if store(storage, name, path) != name:
        raise Conflict("The file {name} was stored meanwhile; stop everything else.", name=name)


def _same(one: IO[bytes], other: IO[bytes]) -> bool:
    while (part := other.read(CHUNK)) == one.read(CHUNK):
        if not part:
            return True
    return False


def _restore_rows(data: Path, identities: Sequence[Any]) -> int:
    """Insert all rows of an archive; return how many.

    Raises InvalidInput for rows of a table that this database does not have.
    """
    models = {f"{ROWS}{model._meta.label}.jsonl": model for model in tables()}
    clear_made_by_migrate()
    rows = 0
    for name, content in archive_members(data, identities):
        if name.startswith(ROWS):
            if name not in models:
                raise InvalidInput("The archive has a table that is unknown here.")
            rows += load_rows(models[name], content)
    reset_sequences()
    return rows


def _settle(restored: Restored, made_at: datetime, draws_complete: bool) -> None:
    """Apply decisions made after the backup, and close budgets that may have been spent since."""
    journal = list(decisions())
    restored.erased = _erase(journal)
    _set_currencies(journal)
    if draws_complete:
        for each in journal:
            # A total that was set while the backup ran may be missing from the backup's rows.
            if each.kind == TOTAL and each.at >= made_at - MAX_DECISION_TIME:
                _set_totals(each)
    restored.adopted, restored.debited = draws_settle()
    restored.ended = _end_releases(journal)
    # End failed series for good: one may have been resumed after the backup and have drawn noise.
    series_end_failed("restored")
    if not draws_complete:
        restored.lost = _end_jobs()
        series_end_all("restored")
    restored.held = _close_ledgers(journal, draws_complete)
    detail = "budgets open, draws complete" if draws_complete else "budgets closed"
    event_record(EventKind.RESTORED, subject=f"{made_at:%Y-%m-%d %H:%M:%S}", detail=detail)


def _end_releases(journal: Sequence[Decision]) -> int:
    """End the releases that were withdrawn, rejected or otherwise ended after the backup.

    Returns the number of releases.
    """
    ended = {each.facts["release"]: each.kind for each in journal if each.kind in ENDED}
    now = timezone.now()
    releases = Release.objects.filter(pk__in=ended)
    published = [*releases.filter(state=ReleaseState.PUBLISHED).values_list("pk", flat=True)]
    for key in published:
        state = ReleaseState(ended[key])
        releases.filter(pk=key).update(state=state, **{STATES[state].since: now})
    # A draft in the backup may have been published and withdrawn since, so no draft is published
    # now.
    drafts = releases.filter(state=ReleaseState.DRAFT)
    drafts.update(publish_when_done=False)
    rejected = drafts.exclude(blob_name="").update(
        state=ReleaseState.REJECTED, rejected_at=now, rejection=REJECTION
    )
    return len(published) + rejected


def _erase(journal: Sequence[Decision]) -> int:
    """Queue the erasure of all persons erased after the backup; return how many."""
    last: dict[tuple[str, str], str] = {}
    for each in journal:
        if each.kind in (ERASED, READMITTED):
            last[each.facts["dataset"], each.facts["person"]] = each.kind
    erased = 0
    for (slug, person), kind in last.items():
        dataset = Dataset.objects.filter(slug=slug).first()
        if dataset is None or kind != ERASED:
            continue
        digest = bytes.fromhex(person)
        if Suppression.objects.filter(dataset=dataset, person=digest).exists():
            continue
        current = ready_upload(dataset)
        if current is None:
            Suppression.objects.create(dataset=dataset, person=digest)
        else:
            digest_erase(dataset=dataset, current=current, digest=digest, by=None)
        erased += 1
    return erased


def _set_currencies(journal: Sequence[Decision]) -> None:
    """Give each budget the currency that was decided last, if it was changed after the backup.

    A currency changes only while nothing was ever paid, so the budget has no entries. Its total,
    which is in the former currency, is set to 0: nobody has decided on it. A budget that already
    has the currency decided last is not changed: it keeps its total, and draws that are found are
    debited from it.
    """
    last: dict[int, Decision] = {}
    for each in journal:
        if each.kind == TOTAL and each.facts.get("notion") is not None:
            datasets = Dataset.objects.filter(slug=each.facts["dataset"])
            last |= dict.fromkeys(datasets.values_list("ledger", flat=True), each)
    for pk, decision in last.items():
        currency = {
            name: decision.facts[name] for name in ("notion", "delta_exponent", "population")
        }
        other = Ledger.objects.filter(pk=pk, entries=None).exclude(**currency)
        other.update(**currency, total_units=0)


def _set_totals(decision: Decision) -> None:
    """Set the totals of a dataset's budgets to those of a decision in the journal.

    No total becomes less than what is spent, and none is raised that was promised or merged.
    """
    dataset = Dataset.objects.select_related("ledger").filter(slug=decision.facts["dataset"])
    for ledger_totals in dataset:
        points = points_ledger(ledger_totals.ledger)
        for ledger, units in ((ledger_totals.ledger, "units"), (points, "points")):
            total = decision.facts.get(units)
            if ledger is not None and total is not None:
                stored = Ledger.objects.filter(pk=ledger.pk)
                # Only totals that were neither promised nor merged are raised: the rule that held
                # when the decision was made.
                free = stored.filter(promised_at=None, merged=None, merged_units=0)
                lowered = stored.filter(total_units__gt=total)
                for changed in (free, lowered):
                    changed.update(total_units=Greatest(F("spent_units"), total))


def _end_jobs() -> int:
    """End the jobs that may have drawn noise after the backup, without refund; return how many."""
    undrawn = Release.objects.filter(blob_name="")
    jobs = Job.objects.filter(release__in=undrawn, state__in=UNFINISHED)
    pks = list(jobs.values_list("pk", flat=True))
    return Job.objects.filter(pk__in=pks).update(
        state=JobState.FAILED,
        drawing=True,
        lease=None,
        lease_until=None,
        failure=LOST,
        finished_at=timezone.now(),
    )


def _close_ledgers(journal: Sequence[Decision], draws_complete: bool) -> int:
    """Debit what is left of budgets that may have been spent after the backup.

    Without `draws_complete`, all budgets are debited. With it, all draws made after the backup are
    known, so only budgets that were merged after the backup are debited, because the record of the
    merger is lost. Afterwards no total can be raised, because a publication after the backup may
    have promised that it stays as it is. The only exception: with `draws_complete`, a total of 0,
    which means that nobody has decided yet, can still be set. Returns how many budgets were
    debited.
    """
    now = timezone.now()
    own = Ledger.objects.filter(recovers="", merged_into=None)
    promised = own.filter(promised_at=None)
    (promised.exclude(total_units=0) if draws_complete else promised).update(promised_at=now)
    closed = own
    if draws_complete:
        lost = _lost_mergers(journal)
        closed = own.filter(Q(pk__in=lost) | Q(beside__in=lost))
    debited = 0
    for ledger in closed.distinct():
        if left := ledger.left_units:
            Entry.objects.create(
                ledger=ledger,
                job=uuid4(),
                kind=EntryKind.DEBIT,
                units=left,
                what=HELD,
                who="console",
            )
            Ledger.objects.filter(pk=ledger.pk).update(spent_units=F("spent_units") + left)
            debited += 1
    return debited


def _lost_mergers(journal: Sequence[Decision]) -> set[int]:
    """Return the ids of ledgers that are still separate in the backup but were merged after it."""
    lost: set[int] = set()
    for each in journal:
        if each.kind == MERGED:
            datasets = Dataset.objects.filter(slug__in=each.facts["datasets"])
            ledgers = set(datasets.values_list("ledger", flat=True))
            lost |= ledgers if len(ledgers) > 1 else set()
    return lost


def waiting_erasures() -> list[Upload]:
    """Return the queued uploads that are to replace data by a copy without an erased person."""
    uploads = Upload.objects.filter(state=UploadState.QUEUED).exclude(erasing=None)
    return list(uploads.order_by("created_at"))
