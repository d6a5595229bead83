"""What was spent on the same people, whatever the notion."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from dpgeo.budgets.models import Entry, Ledger
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
