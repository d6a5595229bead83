"""Hourly reconciliation of releases, which completes interrupted work and makes lost debits.

The reaper, a background process, runs it as its *sweep*. It ensures that all noise ever drawn is
paid for, even if the database is restored from a backup that is older than the stored files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from dpgeo.artefacts.codec import DamagedRelease, UnreadableRelease, decode
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.selectors import is_debited, is_paid_for, ledger_for, paying_id
from dpgeo.budgets.services import PURE, Accounting, budget_debit_found, ledger_recovering
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Guarantee, Notion
from dpgeo.core.released import Released
from dpgeo.core.series import Protection
from dpgeo.core.zcdp import parse_delta
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.orphan_files import stored_names, sweep
from dpgeo.datasets.storage import private_storage, public_storage, remove
from dpgeo.jobs.models import JobState
from dpgeo.releases.blobs import (
    is_anothers,
    is_from_replaced_data,
    recover_draw,
    stored_blobs,
)
from dpgeo.releases.files import make_public, remove_all
from dpgeo.releases.models import Release, ReleaseFile, Series
from dpgeo.releases.series_state import StateMissing, states_sweep
from dpgeo.releases.states import ENDED, PUBLIC, STATES, ReleaseState

logger = logging.getLogger(__name__)

CUT_OFF_AFTER = timedelta(minutes=10)
"""A publication, withdrawal or rejection that is unfinished after this time counts as interrupted.
"""

ADOPTING = (JobState.QUEUED, JobState.FAILED, JobState.DONE)
"""States of a job in which the sweep commits the draw that the job stored. A running job commits
its draw itself, and the draw of a cancelled job is debited but not used.
"""


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of a sweep: how many files it deleted, and how many draws it recovered or
    debited.

    `completed` is the number of interrupted publications and deletions that it completed.
    """

    files: int
    adopted: int
    debited: int
    completed: int


def releases_sweep() -> Swept:
    """Recover or debit lost draws, complete interrupted work, and delete orphan files."""
    # Lost draws are debited first, so that errors with other files cannot prevent the debits.
    adopted, debited = draws_settle()
    return Swept(
        adopted=adopted,
        debited=debited,
        completed=_complete_publications() + _complete_deletions(),
        files=_sweep_blobs() + _sweep_artefacts(),
    )


def draws_settle() -> tuple[int, int]:
    """Recover or debit lost draws; return the numbers of draws recovered and debited."""
    adopted, debited = _settle_blobs()
    return adopted, debited + _debit_unpaid()


def _settle_blobs() -> tuple[int, int]:
    """Commit draws that are missing from their releases, and debit draws that no release can use.

    No release can use the draw of an unknown or cancelled job, one that was made for another
    request, or one from data that an erasure has replaced. Returns the numbers of draws recovered
    and debited. A blob stored under a release's job may be the draw of another request. Such a draw
    is debited under an id derived from the blob's name, because the job's own id pays for the
    release's draw.
    """
    stored = Release.objects.select_related("job", "upload", "series")
    releases = {release.job_id: release for release in stored}
    adopted = debited = 0
    for job, name in stored_blobs():
        release = releases.get(job)
        if release is None:
            debited += _debit_unknown(job, name, in_series=True)
        elif name != release.blob_name and is_from_replaced_data(release, name):
            debited += _debit_replaced(job, name)
        elif name != release.blob_name and is_anothers(release, name):
            debited += _debit_unknown(uuid5(job, name), name)
        elif release.job.state == JobState.CANCELLED:
            # The job had drawn, but a restored database did not show it, so it could be cancelled.
            debited += _debit_unknown(job, name)
        elif not release.blob_name and release.job.state in ADOPTING and _adopted(release):
            logger.error("release %s: its draw was found again and adopted", release.pk)
            adopted += 1
    return adopted, debited


def pay_for_replaced(release: Release) -> bool:
    """Debit a release's stored draws from data that an erasure has replaced, before it draws anew.

    Returns whether all of them are paid for in full. If not, the release must not be drawn again:
    the older draw may have been published before a restore, and the release's own debit then pays
    for that draw. Raises UnreadableRelease for a complete draw that cannot be read.
    """
    paid = True
    for job, name in list(stored_blobs()):
        if job != release.job_id or not is_from_replaced_data(release, name):
            continue
        _debit_replaced(job, name)
        try:
            paid = _is_paid(uuid5(job, name), name) and paid
        except DamagedRelease:  # A worker was killed while storing the blob; nobody saw it.
            continue
    return paid


def _debit_replaced(job: UUID, name: str) -> int:
    """Debit a draw from data of a person who has since been erased.

    The draw is deleted once it is paid for in full. Until then, its release cannot be drawn again
    (`pay_for_replaced`). Returns 1 if it was debited now, and 0 otherwise.
    """
    paying = uuid5(job, name)
    debited = _debit_unknown(paying, name)
    try:
        if _is_paid(paying, name):
            # If this runs in a transaction, the draw is deleted only when the debit is committed.
            transaction.on_commit(lambda: remove(private_storage(), name))
    except UnreadableRelease:
        return debited
    return debited


def _is_paid(job: UUID, name: str) -> bool:
    """Return whether the debit with the id `job` covers the cost of the draw stored as `name`.

    Raises UnreadableRelease.
    """
    with private_storage().open(name, "rb") as file:
        return is_paid_for(job, decode(file.read()).guarantee)


def _adopted(release: Release) -> bool:
    try:
        return recover_draw(release)
    except UnreadableRelease:
        logger.error("release %s: its draw cannot be read; see docs/operate.md", release.pk)
        return False
    except StateMissing:  # The series' state is lost, so the draw is unusable and the series ends.
        return False


def _debit_unpaid() -> int:
    """Debit committed draws that are not in the ledger; return how many."""
    entries = Entry.objects.filter(job=OuterRef("job_id"))
    paid, given_back = (
        Exists(entries.filter(kind=kind)) for kind in (EntryKind.DEBIT, EntryKind.REFUND)
    )
    drawn = Release.objects.exclude(blob_name="")
    unpaid = drawn.exclude(series__protection=Protection.PERSON).filter(~paid | given_back)
    debited = 0
    for series in Series.objects.filter(
        protection=Protection.PERSON, releases__in=drawn
    ).distinct():
        if not is_debited(paying := paying_id(series.pk)):
            debited += _debit(series.dataset, paying, series.terms.cost, series.title, {})
    return debited + sum(
        _debit(release.dataset, paying, release.cost, release.title, release.request.parameters)
        for release in unpaid.select_related("dataset__ledger")
        if not is_debited(paying := paying_id(release.job_id))
    )


def _debit_unknown(job: UUID, name: str, *, in_series: bool = False) -> int:
    """Debit a stored draw that is not in the database; return 1 if it was debited, else 0.

    If `in_series` is true, a draw of a series whose single debit pays for all maps is not debited
    again.
    """
    paying = paying_id(job)
    if is_debited(paying):
        return 0
    with private_storage().open(name, "rb") as file:
        blob = file.read()
    try:
        released = decode(blob)
    except UnreadableRelease:
        logger.error("job %s: its blob cannot be read; see docs/operate.md, Restoring", job)
        return 0
    slug = released.about.get("dataset_slug", "")
    dataset = Dataset.objects.filter(slug=slug).select_related("ledger").first()
    title = released.about.get("title", "")
    if in_series and released.about.get("series_protection") == Protection.PERSON:
        # One debit pays for all maps of the series, so the ledger may have it already.
        paying = paying_id(UUID(released.about["series"]))
        if is_debited(paying):
            return 0
    if dataset is not None:
        return _debit(dataset, paying, released.guarantee, title, released.parameters)
    logger.error("job %s: drawn from a dataset that is not known here: %s", job, slug)
    ledger = ledger_recovering(
        slug=slug,
        title=released.about.get("dataset", slug),
        publisher=released.about.get("publisher", ""),
        notion=released.guarantee.notion,
        radius=int(released.parameters.get("radius", 0)),
        accounting=_accounting(released),
    )
    return _debit_found(ledger, paying, released.guarantee, title, released.parameters)


def _accounting(released: Released) -> Accounting:
    """Return the currency of the dataset's budget, epsilon or rho, as a draw's public texts say."""
    delta = released.about.get("dataset_delta", "")
    return Accounting(delta_exponent=parse_delta(delta, 1)) if delta else PURE


def _debit(
    dataset: Dataset, job: UUID, cost: Guarantee, title: str, parameters: Mapping[str, Any]
) -> int:
    try:
        points = cost.notion is Notion.GEO_IND
        ledger = ledger_for(dataset.ledger, cost.notion) if points else dataset.ledger
    except Conflict:
        logger.error("job %s: points were drawn, and there is no budget for them", job)
        return 0
    return _debit_found(ledger, job, cost, title, parameters)


def _debit_found(
    ledger: Ledger, job: UUID, cost: Guarantee, title: str, parameters: Mapping[str, Any]
) -> int:
    try:
        entry = budget_debit_found(
            ledger=ledger,
            job=job,
            cost=cost,
            what=f"{title} (debited again)",
            radius=int(parameters.get("radius", 0)),
        )
    except Conflict:  # Another reaper debited this draw first.
        return 0
    if entry is None:
        logger.error("job %s: drawn without a debit, and ledger %s is spent", job, ledger.pk)
        return 0
    logger.error("job %s: drawn without a debit; debited again on ledger %s", job, ledger.pk)
    return 1


def _complete_publications() -> int:
    """Finish publications that were interrupted before all files were made public.

    Returns how many publications were completed.
    """
    before = timezone.now() - CUT_OFF_AFTER
    halfway = Release.objects.filter(
        _since(PUBLIC, before),
        job__state=JobState.DONE,
        files__in=ReleaseFile.objects.filter(public=False).exclude(stored_name=""),
    ).distinct()
    return _complete(halfway, make_public)


def _complete_deletions() -> int:
    """Finish interrupted deletions of the files of withdrawn or rejected releases.

    Returns how many deletions were completed.
    """
    before = timezone.now() - CUT_OFF_AFTER
    halfway = Release.objects.filter(_since(ENDED, before), files__isnull=False).distinct()
    return _complete(halfway, remove_all)


def _since(states: Iterable[ReleaseState], before: datetime) -> Q:
    """Return a filter for releases that entered one of `states` before the time `before`."""
    return reduce(
        Q.__or__, (Q(state=state, **{f"{STATES[state].since}__lt": before}) for state in states)
    )


def _complete(halfway: Iterable[Release], complete: Callable[[Release], None]) -> int:
    """Call `complete` for each release, and return how many calls succeeded.

    If a call fails because of a file error, the error is logged and the release is skipped.
    """
    completed = 0
    for release in halfway:
        try:
            complete(release)
        except OSError as error:
            logger.error("release %s: its files: %s", release.pk, type(error).__name__)
        else:
            completed += 1
    return completed


def _sweep_blobs() -> int:
    """Delete draws of releases that have committed another, and unused states of series.

    Returns how many files were deleted.
    """
    blobs = list(stored_blobs())
    committed = dict(Release.objects.exclude(blob_name="").values_list("job_id", "blob_name"))
    second = [name for job, name in blobs if job in committed]
    waiting = {job for job, _ in blobs} - committed.keys()
    swept = sweep(private_storage(), second, keep=set(committed.values()))
    return swept + states_sweep(waiting)


def _sweep_artefacts() -> int:
    """Delete files of existing releases that `ReleaseFile` does not list; return how many."""
    drafts = list(stored_names(private_storage(), "artefacts"))
    published = list(stored_names(public_storage(), ""))
    known = set(Release.objects.values_list("pk", flat=True))
    keep: dict[bool, set[str]] = {False: set(), True: set()}
    made = ReleaseFile.objects.exclude(stored_name="")
    for public, name in made.values_list("public", "stored_name"):
        keep[public] |= {name, f"{name}.gz"}
    ours = [name for name in drafts if name.split("/")[1] in known]
    theirs = [name for name in published if name.split("/")[0] in known]
    return sweep(private_storage(), ours, keep[False]) + sweep(public_storage(), theirs, keep[True])
