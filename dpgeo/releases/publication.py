"""State changes of releases, and the budget promises made by publishing them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import are_two_persons, may
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.budgets.merging import ledger_lock
from dpgeo.budgets.selectors import is_paid_for, points_ledger
from dpgeo.budgets.services import check_decided, ledger_promise
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.datasets.decisions import decision_record
from dpgeo.datasets.proposals import ONE_PERSON, needs_second
from dpgeo.jobs.models import JobState
from dpgeo.releases import files
from dpgeo.releases.file_making import files_want
from dpgeo.releases.models import Release, today
from dpgeo.releases.states import ACTIONS, ENDED, STATES, ReleaseState, states_from
from dpgeo.webhooks.models import WebhookEvent
from dpgeo.webhooks.services import deliveries_add

TOLD: Mapping[ReleaseState, WebhookEvent] = {
    ReleaseState.PUBLISHED: WebhookEvent.PUBLISHED,
    ReleaseState.WITHDRAWN: WebhookEvent.WITHDRAWN,
}
"""Changes of state about which webhooks get a message, by the new state.

Rejections are not among them, because they are not public.
"""


def move(release: Release, name: str, *, by: User | None = None, **facts: object) -> None:
    """Move a drawn release to the state that the action `name` leads to; set the fields in `facts`.

    The audit list records the action and the user `by` who takes it, but none of the `facts`. If
    the release ends, a file outside the database records this as well, since a database restored
    from a backup may have lost it. The state is changed by a single conditional update, so that
    only one of two simultaneous decisions takes effect. The update also requires that the notes
    have not changed since `release` was read. Raises Conflict if the release is not drawn, or its
    state does not allow the action.
    """
    action = ACTIONS[name]
    if action.to is None or action.event is None:
        raise ValueError(name)
    facts |= {"state": action.to, STATES[action.to].since: timezone.now()}
    fitting = Release.objects.filter(
        pk=release.pk, state__in=states_from(name), notes_sha256=release.notes_sha256
    )
    with transaction.atomic():
        if not fitting.exclude(blob_name="").update(**facts):
            raise Conflict(action.untimely)
        detail = "" if action.event.value == action.to.value else action.to.value
        release_record(release, action.event, by, detail)
        if action.to in TOLD:
            facts_told = {"release": release.pk, "dataset": release.dataset.slug}
            deliveries_add(release.dataset.organisation_id, TOLD[action.to], facts_told)
        if action.to in ENDED:
            decision_record(action.to.value, release=release.pk)
    release.refresh_from_db()


def release_record(release: Release, kind: EventKind, by: User | None, detail: str = "") -> None:
    """Record an action on a release in the audit list.

    The entry names the release's id and its dataset; `detail` is a further text for it.
    """
    event_record(
        kind,
        by=by,
        organisation=release.dataset.organisation_id,
        subject=f"{release.dataset.slug} {release.pk}",
        detail=detail,
    )


def publish(release: Release, *, by: User | None = None, all_files: bool | None = None) -> Release:
    """Publish a drawn draft without checking roles.

    `all_files` says whether the remaining files are made now rather than on request, by jobs that
    depend on public facts alone. None keeps the requester's choice.

    The state changes before the files are moved to the public storage, so that this storage never
    contains files of a draft. Until they are moved, files are served from the private storage.
    Raises Conflict if the release cannot be published, or NotAllowed if a second person has to
    publish it.
    """
    files.check_stored(release)
    check_second(release, by)
    _check_paid(release)
    with transaction.atomic():
        _promise(release)
        chosen = release.all_files if all_files is None else all_files
        move(release, "publish", by=by, day=today(), all_files=chosen)
        if chosen:
            files_want(release=release)
    files.make_public(release)
    return release


def check_second(release: Release, by: User | None) -> None:
    """Raise NotAllowed if the person who requested a release would also be the one who publishes
    it.

    The error is raised only if the organisation requires two persons. An API key counts as its
    owner. The operator at the console (None) counts as one person, who also stands for deleted
    accounts.
    """
    if not needs_second(release.dataset.organisation):
        return
    if release.created_by_id == (by and by.pk):
        raise NotAllowed(
            "You asked for this map yourself, and your organisation requires a second person; ask "
            "another approver to publish it."
        )
    if not are_two_persons(release.created_by, by):
        raise NotAllowed(ONE_PERSON)


def publish_due(release: Release) -> None:
    """Publish a finished draft automatically, if its requester may still publish.

    The operator always may. If the release cannot be published, it stays a draft, and
    publishing it by hand shows the reason. Requests of a deleted account wait for an
    approver (`receivers.forget_publisher`).
    """
    by = release.created_by
    if by is None or may(by, release.dataset, "publish"):
        with suppress(Conflict, NotAllowed):
            publish(release, by=by)


def releases_publish_due() -> int:
    """Publish the finished drafts that are due; return how many were published.

    An automatic publication reveals that the job has ended, so it waits until API keys may
    learn that (`jobs.slots`). An approver may publish at any time. If a draft cannot be
    published, publication is retried for a day.
    """
    waiting = Release.objects.filter(
        state=ReleaseState.DRAFT, publish_when_done=True, job__state=JobState.DONE
    ).exclude(blob_name="")
    published, now = 0, timezone.now()
    for release in waiting.select_related("job", "dataset__ledger", "created_by"):
        shown_at = release.job.end_shown_at
        if shown_at is not None and shown_at <= now < shown_at + timedelta(days=1):
            publish_due(release)
            published += release.rules.public
    return published


def _check_paid(release: Release) -> None:
    """Raise Conflict unless a release's whole cost has been debited.

    In a database restored from a backup, all or part of the debit may be missing.
    """
    if not is_paid_for(release.paying_job, release.cost):
        raise Conflict(
            "The ledger does not show all that this release cost, and a publication must be "
            "paid for in full. If a backup was restored, the next run of `manage.py reap` "
            "debits it again, as far as the budget allows; if that is not enough, reject the "
            "draft."
        )


def _promise(release: Release) -> None:
    """Record the promise that the total budgets stated in a release are never raised.

    Raises Conflict if a budget for perturbed points was declared, or a total raised, after the
    request.

    The ledger for counts comes first. Once its total is promised, no budget for points can
    be declared for the same people, so the result of the next query is final. The ledger is
    locked, so that a merge with another ledger waits and takes over the promise.
    """
    ledger = ledger_lock(release.dataset.ledger)
    check_decided(release.total_units)
    ledger_promise(ledger=ledger, total_units=release.total_units)
    points = points_ledger(ledger)
    if points is None:
        return
    if release.points_total_units is None:
        raise Conflict(
            "A budget for points was declared since this was requested, and the release does "
            "not state it. Request a new release."
        )
    ledger_promise(ledger=points, total_units=release.points_total_units)
