"""Read-only admin pages for the privacy ledgers."""

from __future__ import annotations

from django.contrib import admin

from dpgeo.accounts.admin_access import OrganisationScoped, TabularInline
from dpgeo.budgets.models import Entry, Ledger


class EntryInline(TabularInline):
    """Inline list of a ledger's entries: amount, purpose, user and time."""

    model = Entry
    fields = readonly_fields = ("at", "kind", "amount_shown", "what", "who")
    extra = 0
    can_delete = False

    @admin.display(description="Amount")
    def amount_shown(self, entry: Entry) -> str:
        """Return the entry's amount as text, with its sign."""
        return entry.ledger.words(entry.units)

    def has_view_permission(self, request: object, obj: object = None) -> bool:
        """Return True: whoever may view the ledger may also view its entries."""
        return True

    def _refuse(self, request: object, obj: object = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _refuse


@admin.register(Ledger)
class LedgerAdmin(OrganisationScoped):
    """Admin page for ledgers, with the total, spent and remaining budget of each."""

    list_display = ["name", "total", "spent", "left"]
    fields = readonly_fields = (
        "name",
        "notion",
        "total",
        "spent",
        "left",
        "promised_at",
        "created_at",
    )
    inlines = [EntryInline]
    organisation_path = "datasets__organisation"
    other_path = "beside__datasets__organisation"

    @admin.display(description="Total", ordering="total_units")
    def total(self, ledger: Ledger) -> str:
        """Return the exact limit, as text, on the amount that may ever be spent."""
        return ledger.words(ledger.lifetime_units)

    @admin.display(description="Spent", ordering="spent_units")
    def spent(self, ledger: Ledger) -> str:
        """Return the exact amount spent, as text."""
        return ledger.words(ledger.spent_units)

    @admin.display(description="Left")
    def left(self, ledger: Ledger) -> str:
        """Return the exact remaining amount, as text."""
        return ledger.words(ledger.left_units)


@admin.register(Entry)
class EntryAdmin(OrganisationScoped):
    """Admin page with the entries of all ledgers, newest first."""

    list_display = ["at", "ledger", "kind", "amount_shown", "what", "who"]
    list_filter = ["kind"]
    organisation_path = "ledger__datasets__organisation"
    other_path = "ledger__beside__datasets__organisation"

    @admin.display(description="Amount", ordering="units")
    def amount_shown(self, entry: Entry) -> str:
        """Return the entry's amount as text, with its sign."""
        return entry.ledger.words(entry.units)
