"""Queries for the privacy budgets of a set of people, separately for each notion of privacy."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from django.db.models import Q, QuerySet, Sum

from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Guarantee, Notion

NO_POINTS = (
    "A budget in rho has no budget for points beside it: what both reveal together could not be "
    "stated. Count in epsilon instead, or declare the points as data about other people."
)


def ledger_entries(ledger: Ledger) -> QuerySet[Entry]:
    """Return the entries of a budget for counts and of the same people's budget for points.

    They include the entries of ledgers that were merged into these budgets.
    """
    own = Q(ledger=ledger) | Q(ledger__beside=ledger)
    merged = Q(ledger__merged_into=ledger) | Q(ledger__merged_into__beside=ledger)
    return Entry.objects.filter(own | merged).select_related("ledger")


def current_ledger(ledger: Ledger) -> Ledger:
    """Return a ledger as it is now in the database, or the ledger into which it was merged."""
    stored = Ledger.objects.select_related("merged_into").get(pk=ledger.pk)
    return stored.merged_into or stored


def points_ledger(ledger: Ledger) -> Ledger | None:
    """Return the budget for points that belongs to a budget for counts, or None.

    This needs no query if `ledger` was selected together with its budget for points.
    """
    beside: Any = Ledger._meta.get_field("geo")
    if beside.is_cached(ledger):
        cached: Ledger | None = beside.get_cached_value(ledger)
        return cached
    return Ledger.objects.filter(beside=ledger).first()


def ledger_organisation(ledger: Ledger) -> int | None:
    """Return the id of the organisation whose datasets a ledger pays for; None without datasets."""
    counts_ledger = ledger.beside or ledger
    # Follow the relation backwards by its name, because importing `dpgeo.datasets` here would be
    # circular: it imports this package.
    owners: Any = Ledger.objects.filter(pk=counts_ledger.pk).values_list(
        "datasets__organisation", flat=True
    )
    first: int | None = owners.first()
    return first


def ledger_for(ledger: Ledger, notion: Notion) -> Ledger:
    """Return the ledger that pays for releases under a notion of privacy.

    `ledger` is the budget for counts of the same people; if it counts in rho, it also pays for pure
    differential privacy. Raises Conflict if a budget for points is needed but none was declared, or
    if the notion is zCDP and the ledger counts in epsilon, since no rho implies a pure epsilon.
    """
    if notion is Notion.PURE_DP or (notion is Notion.ZCDP and ledger.is_zcdp):
        return ledger
    if notion is Notion.ZCDP:
        raise Conflict(
            "This dataset's budget counts in epsilon, so Gaussian noise cannot be paid from it.",
            field="mechanism",
        )
    points = points_ledger(ledger)
    if points is None and ledger.is_zcdp:
        raise Conflict(NO_POINTS, field="mechanism")
    if points is None:
        raise Conflict(
            "This dataset has no budget for points; declare one, such as ln(16) within 200 m, "
            "before anything is published.",
            field="mechanism",
        )
    return points


def paying_id(job: UUID) -> UUID:
    """Return the id under which the ledger stores the debit for a job's draw.

    It is the job's own id or, if the debit under that id was refunded, a second id derived from it.
    The ledger stores at most one debit and one refund for each id. In a restored database, a job
    may be refunded before its draw is recovered; the draw then has to be debited again.
    """
    given_back = Entry.objects.filter(job=job, kind=EntryKind.REFUND).exists()
    return _after_refund(job) if given_back else job


def is_debited(paying: UUID) -> bool:
    """Return whether any ledger has a debit under the id `paying` (see `paying_id`)."""
    return Entry.objects.filter(job=paying, kind=EntryKind.DEBIT).exists()


def is_paid_for(job: UUID, cost: Guarantee) -> bool:
    """Return whether the debits for a job's draw, minus its refunds, cover a guarantee."""
    entries = Entry.objects.filter(job__in=[job, _after_refund(job)])
    first = entries.select_related("ledger").first()
    if first is None or not first.ledger.pays_for(cost):
        return False
    total: int = entries.aggregate(total=Sum("units", default=0))["total"]
    return total >= first.ledger.price(cost)


def debited_units(ledger: Ledger) -> int:
    """Return the sum of all debits, in ledger units, without subtracting refunds.

    API keys see this sum and are limited by it. A refund would show them that a job failed before
    it drew noise, which may depend on the private data. Mergers add net amounts to
    `ledger.spent_units`, so refunds of merged ledgers have to be added back as well.
    """
    ledgers = Q(ledger=ledger) | Q(ledger__merged_into=ledger)
    refunds = Entry.objects.filter(ledgers, kind=EntryKind.REFUND)
    refunded: int = refunds.aggregate(total=Sum("units", default=0))["total"]
    return ledger.spent_units - refunded


def left_units(ledger: Ledger, *, refunds: bool) -> int:
    """Return what remains of a ledger's budget, in the ledger's units.

    Without `refunds`, return what would remain if nothing had ever been refunded.
    """
    if refunds:
        return ledger.left_units
    return max(ledger.total_units - debited_units(ledger), 0)


def _after_refund(job: UUID) -> UUID:
    return uuid5(job, "refunded")
