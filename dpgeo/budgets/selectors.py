"""What was spent on the same people, whatever the notion."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from django.db.models import Q, QuerySet, Sum

from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Notion


def entries_of(ledger: Ledger) -> QuerySet[Entry]:
    """The entries of a ledger and of the one for points beside it."""
    both = Q(ledger=ledger) | Q(ledger__beside=ledger)
    return Entry.objects.filter(both).select_related("ledger")


def points_ledger(ledger: Ledger) -> Ledger | None:
    """The budget for points that stands beside a ledger, if one was declared.

    No further query where it was selected along with the ledger.
    """
    beside: Any = Ledger._meta.get_field("geo")
    if beside.is_cached(ledger):
        found: Ledger | None = beside.get_cached_value(ledger)
        return found
    return Ledger.objects.filter(beside=ledger).first()


def ledger_for(ledger: Ledger, notion: Notion) -> Ledger:
    """The ledger of the same people that a notion is paid from.

    Raises Conflict where none was declared.
    """
    if notion is Notion.PURE_DP:
        return ledger
    found = points_ledger(ledger)
    if found is None:
        raise Conflict(
            "This dataset has no budget for points; declare one, such as ln(16) within 200 m, "
            "before anything is published.",
            field="mechanism",
        )
    return found


def paying_id(job: UUID) -> UUID:
    """Under which id a job's draw is paid for: its own, or another once that was given back.

    The ledger holds one debit and one refund of each id, and a draw may be found after a restored
    database has given its debit back.
    """
    given_back = Entry.objects.filter(job=job, kind=EntryKind.REFUND).exists()
    return _after_refund(job) if given_back else job


def is_debited(paying: UUID) -> bool:
    """Whether the ledger shows a debit under an id."""
    return Entry.objects.filter(job=paying, kind=EntryKind.DEBIT).exists()


def units_paid(job: UUID) -> int:
    """What is spent on a job's draw, in whole units of its ledger."""
    entries = Entry.objects.filter(job__in=[job, _after_refund(job)])
    total: int = entries.aggregate(total=Sum("units", default=0))["total"]
    return total


def _after_refund(job: UUID) -> UUID:
    return uuid5(job, "refunded")
