"""Merging of two ledgers that turn out to be about the same people.

The entries of both ledgers stay. One entry closes the source ledger, and another moves its spent
amount to the target ledger. So the spent amounts add up, and the smaller of the two totals applies
from then on. The spent amount may then exceed that total; the bound on the people's privacy loss is
the larger of the two figures (`Ledger.lifetime_units`). A merger is never undone.

A ledger in epsilon and one in rho are never merged. Two in rho may have been declared with
different deltas. Rho adds up whatever they are, and the smaller delta is kept, so no epsilon is
shown at a larger delta than was declared.

Budgets for points belong to the same people, so they are merged with each other as well, but never
with budgets for counts. If only one side has a budget for points, and releases of the other side
promise that no points are published, that budget is closed.
"""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from django.db import transaction
from django.db.models import Q

from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.selectors import current_ledger, debited_units, points_ledger
from dpgeo.core.errors import Conflict


def ledger_merge(*, ledger: Ledger, into: Ledger, who: str) -> Ledger:
    """Merge a budget for counts into another, each with its budget for points.

    Returns the ledger `into`. Every row that a merger changes is locked, in the order of ids, so
    that concurrent mergers wait for each other. Raises Conflict if one of the ledgers was merged
    before, if one counts in epsilon and the other in rho, if their budgets for points have
    different radii, or if a published release of one side promises that no points are published
    while the other side has an unused budget for points.
    """
    with transaction.atomic():
        locked = _locked(ledger.pk, into.pk)
        source, target = locked.get(ledger.pk), locked.get(into.pk)
        if source is None or target is None:
            raise Conflict("One of these budgets was deleted meanwhile.")
        if source == target or source.merged_into_id or target.merged_into_id or target.recovers:
            raise Conflict("These budgets are one already, or one of them was merged meanwhile.")
        if source.notion != target.notion:
            raise Conflict(
                "One of these budgets counts in epsilon and the other in rho, so they cannot "
                "become one. Publish nothing more from one of them: what both reveal adds up."
            )
        _merge_points(source, target, who)
        _merge(source, target, who)
    target.refresh_from_db()
    return target


def ledgers_lock(*ledgers: int) -> set[int]:
    """Lock ledgers and their budgets for points until the transaction ends.

    `ledgers` are ids; the ids of all locked ledgers are returned. All code locks ledgers in the
    order of their ids, and before the datasets whose releases they pay for, so that transactions do
    not deadlock.
    """
    return set(_locked(*ledgers))


def _locked(*ledgers: int) -> dict[int, Ledger]:
    """Lock ledgers, given by id, and their budgets for points, in the order of all these ids.

    Returns a mapping from ids to the locked ledgers.
    """
    concerned = Q(pk__in=ledgers) | Q(beside__in=ledgers)
    rows = Ledger.objects.select_for_update().filter(concerned).order_by("pk")
    list(rows)
    # While the first query waited, another transaction may have added a budget for points, which
    # that query did not see. No further one can be added now, since that needs the same locks.
    return {row.pk: row for row in rows.all()}


def ledger_lock(ledger: Ledger) -> Ledger:
    """Lock a ledger, or the ledger into which it was merged, and return it.

    The lock lasts until the transaction ends.
    """
    while True:
        stored = Ledger.objects.select_for_update().get(pk=current_ledger(ledger).pk)
        if stored.merged_into_id is None:
            return stored


def _merge_points(source: Ledger, target: Ledger, who: str) -> None:
    """Merge the budgets for points of two ledgers for counts, before merging those ledgers."""
    points, other = points_ledger(source), points_ledger(target)
    if points and other:
        if points.radius != other.radius:
            raise Conflict(
                "The levels of these budgets for points hold within different radii, "
                "{one:,} m and {other:,} m, so the budgets cannot be merged.",
                one=points.radius or 0,
                other=other.radius or 0,
            )
        other.input_step = max(points.snapping, other.snapping)
        _merge(points, other, who)
    elif points:
        if target.promised_at:
            _close_points(points, target.promised_at)
        Ledger.objects.filter(pk=points.pk).update(beside=target)
    elif other and source.promised_at:
        _close_points(other, source.promised_at)


def _close_points(points: Ledger, promised_at: datetime) -> None:
    """Close a budget for points: nothing more can be paid from it, but past debits still count.

    The budget for counts on the other side of a merger promises that no points are published, since
    a release that it paid for was published at `promised_at`. The total becomes 1 unit: if it
    became the spent amount, a refund would leave room for more points. Raises Conflict if the
    budget never paid for anything.
    """
    debited = debited_units(points)
    if not debited:
        raise Conflict(
            "A published map on one of these budgets promises a limit to how well anybody can ever "
            "guess who is in the data; the other includes a budget for points, which would break "
            "it. Nothing was paid from that: declare its dataset again without a budget for "
            "points, and merge the new dataset's budget instead."
        )
    Ledger.objects.filter(pk=points.pk).update(
        total_units=1, merged_units=max(debited, points.merged_units), promised_at=promised_at
    )


def _merge(source: Ledger, target: Ledger, who: str) -> None:
    """Close `source` with an entry, and add its spent amount to `target`.

    Both ledgers must be for the same notion of privacy.
    """
    for ledger, units, what in (
        (source, -source.spent_units, target.name),
        (target, source.spent_units, source.name),
    ):
        Entry.objects.create(
            ledger=ledger,
            job=uuid4(),
            kind=EntryKind.MERGER,
            units=units,
            what=what,
            who=who[:200],
        )
    # The sum of debits, unlike the net amount, does not reveal refunds.
    debited = debited_units(source) + debited_units(target)
    target.spent_units += source.spent_units
    target.merged_units = max(debited, target.merged_units, source.merged_units)
    if not source.recovers:
        # A total of 0 that was never promised only means that nobody has chosen a total yet, so it
        # sets no limit.
        decided = [each for each in (source, target) if each.total_units or each.promised_at]
        target.total_units = min((each.total_units for each in decided), default=0)
    if source.is_zcdp and target.is_zcdp:
        target.delta_exponent = max(source.delta_exponent or 0, target.delta_exponent or 0)
        target.population = max(source.population or 0, target.population or 0) or None
    promises = [each for each in (source.promised_at, target.promised_at) if each]
    target.promised_at = min(promises, default=None)
    source.spent_units, source.merged_into = 0, target
    source.save()
    target.save()
    Ledger.objects.filter(merged_into=source).update(merged_into=target)
