"""Services that request, publish, reject, withdraw, cancel and retry releases."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.audit.models import EventKind
from dpgeo.budgets.merging import ledger_lock
from dpgeo.budgets.selectors import is_debited, ledger_for, paying_id, points_ledger
from dpgeo.budgets.services import budget_debit, check_decided, check_fits
from dpgeo.core.errors import BudgetExceeded, Conflict, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.core.parameters import layers_named
from dpgeo.datasets.models import Dataset, PublicLayer, Upload
from dpgeo.datasets.proposals import needs_second
from dpgeo.datasets.quotas import count_job
from dpgeo.datasets.same_people import check_answered
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.texts import clean_text
from dpgeo.jobs.lease import ProgressCallback, job_run
from dpgeo.jobs.models import JobState
from dpgeo.jobs.services import job_cancel, job_create, job_retry, job_wake
from dpgeo.phrases import translatable
from dpgeo.releases import files
from dpgeo.releases.blobs import recover_draw
from dpgeo.releases.models import Release, Series
from dpgeo.releases.notes import check_read
from dpgeo.releases.publication import move, publish, release_record
from dpgeo.releases.quotes import Quote, release_quote
from dpgeo.releases.release_job import work_on
from dpgeo.releases.requests import PricedRequest, columns_of, cost_columns
from dpgeo.releases.states import ACTIONS

__all__ = [
    "DECISIONS",
    "RUN_TASK",
    "Quote",
    "release_cancel",
    "release_publish",
    "release_quote",
    "release_reject",
    "release_request",
    "release_retry",
    "release_run",
    "release_withdraw",
]

logger = logging.getLogger(__name__)

RUN_TASK = "releases.run"

SALT_BYTES = 16
"""Length in bytes of the secret that seeds the choice of each person's contributions."""

MAX_REJECTION_LENGTH = 2_000
"""Maximum length of the reason for rejecting a draft, in characters."""


def release_request(
    *,
    dataset: Dataset,
    title: str,
    request: PricedRequest,
    requested_by: User | None,
    description: str = "",
    publish_when_done: bool = False,
    all_files: bool = False,
    job_id: UUID | None = None,
) -> Release:
    """Pay for a release and queue its job in one transaction.

    With `publish_when_done`, the release is published when its job is done, but only if the
    requester may publish. With `all_files`, files are made once it is published, not on request.
    `requested_by` is None for the operator at the console, who may publish. A request with a
    `job_id` can be repeated safely: it then returns the release that the first request paid for.
    Raises InvalidInput, BudgetExceeded or NotAllowed. Raises Conflict if the dataset has no data
    yet, if they were replaced meanwhile, or if an approver must first answer whether other datasets
    are about the same people.
    """
    if requested_by is not None and not may(requested_by, dataset, "request"):
        raise NotAllowed("You may not request releases of this dataset; ask its stewards.")
    if paid := _paid_by(dataset, job_id):
        return paid
    clean_title = clean_text(title, field="title", longest=200, required=True)
    clean_description = clean_text(description, field="description", longest=20_000)
    by_key = bool(requested_by and requested_by.acting_key)
    upload = ready_upload(dataset)
    if upload is None:
        raise Conflict("This dataset has no data yet; upload a file and confirm its columns.")
    check_answered(dataset, requested_by)
    count_job(dataset.organisation, requested_by)
    clean_title = marked_title(upload, clean_title)
    may_publish = requested_by is None or may(requested_by, dataset, "publish")
    fields = {
        "dataset": dataset,
        "upload": upload,
        "title": clean_title,
        "description": clean_description,
        "publish_when_done": publish_when_done
        and may_publish
        and not needs_second(dataset.organisation),
        "all_files": all_files,
        "created_by": requested_by,
        "by_key": by_key,
    }
    try:
        quote = release_quote(dataset=dataset, request=request, refunds=not by_key)
        with transaction.atomic():
            return _pay_and_queue(quote, fields, job_id)
    except (BudgetExceeded, IntegrityError):
        # The same request may have arrived twice at the same time. The first may have used up the
        # budget, so the second fails; it returns the release that the first one paid for.
        if paid := _paid_by(dataset, job_id):
            return paid
        raise


def _paid_by(dataset: Dataset, job_id: UUID | None) -> Release | None:
    """Return the release that an earlier request with this job id paid for, or None."""
    if job_id is None:
        return None
    return Release.objects.filter(dataset=dataset, job_id=job_id).first()


def _check_current(dataset: Dataset, upload: Upload) -> None:
    """Raise Conflict unless an upload is still the newest version of the data.

    Call it in the transaction that stores a release, after the debit, because ledgers are locked
    before datasets. An erasure then either waits for the release, or has ended before.
    """
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    if ready_upload(dataset) != upload:
        raise Conflict("The data were replaced a moment ago; try again.")


def marked_title(upload: Upload, title: str) -> str:
    """Return the title under which a map is shown.

    If the people in the upload are invented, the title begins with a mark that says so.
    """
    if not upload.invented:
        return title
    mark = gettext("Invented data:")
    return title if title.startswith(mark) else f"{mark} {title}"[:200]


def period_request(*, series: Series, number: int, request: PricedRequest) -> Release:
    """Queue the job of a series' period; call it in a transaction, with the series locked.

    If each map of the series has a debit of its own, this map is paid for. Raises Conflict without
    data, BudgetExceeded, or IntegrityError if the period was requested already.
    """
    dataset = series.dataset
    upload = ready_upload(dataset)
    if upload is None:
        raise Conflict("This dataset has no data yet; upload a file and confirm its columns.")
    cost = request.cost(Unit(dataset.unit))
    ledger = ledger_for(dataset.ledger, cost.notion)
    window = request.window
    days = "" if window is None else f", {window.first.isoformat()}"
    if window is not None and window.last > window.first:
        days += f" to {window.last.isoformat()}"
    title = marked_title(upload, f"{series.title}{days}")
    if not series.is_paid_once and series.by_key:
        check_fits(ledger=ledger_lock(ledger), cost=cost, refunds=False)
    job = job_create(task=RUN_TASK, job_id=series.job_id(number))
    # A map that is missing from a restored database may have been debited by reconciliation.
    if not series.is_paid_once and not is_debited(paying_id(job.pk)):
        budget_debit(
            ledger=ledger,
            job=job.pk,
            cost=cost,
            what=f"{title} ({request.bought})",
            who=str(series.created_by or "console"),
        )
    _check_current(dataset, upload)
    points = points_ledger(dataset.ledger)
    release = Release.objects.create(
        **columns_of(request),
        dataset=dataset,
        upload=upload,
        series=series,
        number=number,
        title=title,
        description=series.description,
        publish_when_done=series.publish_when_done and not needs_second(dataset.organisation),
        all_files=series.all_files,
        created_by=series.created_by,
        by_key=series.by_key,
        **cost_columns(cost),
        total_units=dataset.ledger.lifetime_units,
        points_total_units=points.lifetime_units if points else None,
        job=job,
        salt=bytes(series.salt),
    )
    _hold_layers(release, layers_named(request.params))
    release_record(release, EventKind.REQUESTED, release.created_by, release.cost_words)
    job_wake(job=job)
    return release


def _pay_and_queue(quote: Quote, fields: dict[str, Any], job_id: UUID | None) -> Release:
    dataset: Dataset = fields["dataset"]
    points = points_ledger(dataset.ledger)
    if fields["by_key"]:
        # The ledger is locked, so that an API key cannot detect refunds by sending two requests at
        # the same time.
        check_fits(ledger=ledger_lock(quote.ledger), cost=quote.cost, refunds=False)
    job = job_create(task=RUN_TASK, job_id=job_id)
    budget_debit(
        ledger=quote.ledger,
        job=job.pk,
        cost=quote.cost,
        what=f"{fields['title']} ({quote.request.bought})",
        who=str(fields["created_by"] or "console"),
    )
    check_decided(dataset.ledger.lifetime_units)
    _check_current(dataset, fields["upload"])
    release = Release.objects.create(
        **fields,
        **columns_of(quote.request),
        **cost_columns(quote.cost),
        total_units=dataset.ledger.lifetime_units,
        points_total_units=points.lifetime_units if points else None,
        job=job,
        salt=os.urandom(SALT_BYTES),
    )
    _hold_layers(release, layers_named(quote.params))
    release_record(release, EventKind.REQUESTED, release.created_by, release.cost_words)
    job_wake(job=job)
    return release


def _hold_layers(release: Release, names: list[str]) -> None:
    """Protect the declared layers in `names` from removal.

    Raises Conflict if one was removed.
    """
    layers = list(
        PublicLayer.objects.select_for_update().filter(dataset=release.dataset, name__in=names)
    )
    if len(layers) < len(set(names)):
        raise Conflict("A layer was removed a moment ago; choose another.")
    release.layers.set(layers)


def release_run(*, release_id: str, on_progress: ProgressCallback | None = None) -> bool:
    """Run the job of a release: draw once, write its files, and publish it if requested.

    Returns False if the job cannot be leased, because it has ended or another worker has it.
    `on_progress` is called with the job's progress.
    """
    release = Release.objects.get(pk=release_id)
    return job_run(
        job_id=release.job_id,
        work=lambda lease: work_on(release_id, lease),
        on_progress=on_progress,
    )


def release_publish(
    *, release: Release, by: User | None, notes_sha256: str = "", all_files: bool | None = None
) -> Release:
    """Publish a finished draft and approve its notes.

    `by` is None for the operator at the console. `notes_sha256` is the checksum of the notes that
    the publisher has read. `all_files` says whether files are made at once rather than on request;
    None leaves it as it was requested. Raises NotAllowed if the user is not an approver, and
    Conflict if the release is not a finished draft, or its notes have another checksum.
    """
    _check_may(release, by, "publish")
    check_read(release, notes_sha256)
    _check_finished(
        release,
        translatable("This release is not finished yet; publish it when its job is done."),
    )
    published = publish(release, by=by, all_files=all_files)
    _log(release, "published", by)
    return published


def release_reject(*, release: Release, by: User | None, reason: object) -> Release:
    """Reject a draft, so that it is never published; delete its files, but keep its blob.

    Privacy argument. Everything the decision is based on was paid for: the approver sees
    the draft, which is noisy, and no page shows private data to compare it with. So the
    decision to publish or reject is post-processing, as is any choice among several drafts:
    the cost of each draft stays spent, and the dataset's total covers all drafts together.
    A refund for rejected drafts would break this, since a publisher could then get the best
    of many drafts for the price of one. The argument does not cover an approver who knows
    the data and compares the draft with them; only the choice of approvers can prevent
    that.

    Only members see the reason. Other visitors to the release's URL learn only that it was
    not published, and no list shows it. `by` is None for the operator at the console.
    Raises NotAllowed if the user is not an approver, InvalidInput if the reason is missing
    or too long, or Conflict if the release is not a finished draft.
    """
    _check_may(release, by, "reject")
    clean_reason = clean_text(reason, field="reason", longest=MAX_REJECTION_LENGTH, required=True)
    _check_finished(
        release,
        translatable("This release is not finished yet; reject it when its job is done."),
    )
    move(release, "reject", by=by, rejection=clean_reason)
    files.remove_all(release)
    _log(release, "rejected", by)
    return release


def _check_finished(release: Release, problem: str) -> None:
    if release.job.state != JobState.DONE:
        release.job.refresh_from_db()
    if release.job.state != JobState.DONE:
        raise Conflict(problem)


def _log(release: Release, what: str, by: User | None) -> None:
    """Log an action on a release and the user who took it."""
    who = "the console" if by is None else f"account {by.pk}"
    logger.info("release %s: %s by %s", release.pk, what, who)


def release_withdraw(*, release: Release, by: User | None) -> Release:
    """Withdraw a published release, so that its files are never served again.

    Copies of the files may remain elsewhere, and the release's cost stays spent. Raises
    NotAllowed, or Conflict if the release is not published.
    """
    _check_may(release, by, "withdraw")
    move(release, "withdraw", by=by)
    files.remove_all(release)
    _log(release, "withdrawn", by)
    return release


def release_cancel(*, release: Release, by: User | None) -> Release:
    """Cancel a release if its job has not started, and refund its cost.

    Raises NotAllowed, or Conflict if the job has started. A job also counts as started if
    it drew noise before the database was restored from a backup.
    """
    _check_may(release, by, "cancel")
    if release.series_id is not None:
        raise Conflict("The maps of a series are drawn one after another; end the series instead.")
    if not release.blob_name:
        recover_draw(release)
    job_cancel(job=release.job)
    return release


def release_retry(*, release: Release, by: User | None) -> Release:
    """Finish, from its committed draw and at no further cost, a release whose job failed.

    Repeating this is safe. Raises NotAllowed if the user may not retry jobs, or Conflict if
    there is no committed draw, since one debit would then pay for two draws.
    """
    _check_may(release, by, "retry")
    if not release.blob_name:
        raise Conflict("There is no draw to finish; request a new release.")
    release.job.refresh_from_db()
    if release.job.state == JobState.FAILED:
        job_retry(job=release.job)
    return release


def _check_may(release: Release, by: User | None, name: str) -> None:
    """Raise NotAllowed unless a user may take an action; `by` is None for the operator."""
    action = ACTIONS[name]
    if by is not None and not may(by, release.dataset, action.needs):
        raise NotAllowed(action.denied)


DECISIONS: Mapping[str, Callable[..., Release]] = {
    "publish": release_publish,
    "reject": release_reject,
    "withdraw": release_withdraw,
    "cancel": release_cancel,
    "retry": release_retry,
}
"""The service functions of the actions in `states.ACTIONS`, by action."""
