"""The ledger in the admin: to read."""

from __future__ import annotations

from django.contrib import admin

from dpgeo.accounts.admin_access import OrganisationScoped, TabularInline
from dpgeo.budgets.models import Entry, Ledger
from dpgeo.core.epsilon import format_epsilon


class EntryInline(TabularInline):
    """What was spent, on what, by whom, when."""

    model = Entry
    fields = readonly_fields = ("at", "kind", "epsilon", "what", "who")
    extra = 0
    can_delete = False

    @admin.display(description="Epsilon")
    def epsilon(self, entry: Entry) -> str:
        """Signed."""
        return format_epsilon(entry.epsilon)

    def has_view_permission(self, request: object, obj: object = None) -> bool:
        """Whoever sees the ledger."""
        return True

    def _refuse(self, request: object, obj: object = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _refuse


@admin.register(Ledger)
class LedgerAdmin(OrganisationScoped):
    """Budgets and what is left of them."""

    list_display = ["name", "total", "spent", "left"]
    fields = readonly_fields = ("name", "total", "spent", "left", "promised_at", "created_at")
    inlines = [EntryInline]
    organisation_path = "datasets__organisation"

    @admin.display(description="Total epsilon", ordering="total_micro")
    def total(self, ledger: Ledger) -> str:
        """Exact."""
        return format_epsilon(ledger.total)

    @admin.display(description="Spent", ordering="spent_micro")
    def spent(self, ledger: Ledger) -> str:
        """Exact."""
        return format_epsilon(ledger.spent)

    @admin.display(description="Left")
    def left(self, ledger: Ledger) -> str:
        """Exact."""
        return format_epsilon(ledger.left)


@admin.register(Entry)
class EntryAdmin(OrganisationScoped):
    """Every line of the ledgers, newest first."""

    list_display = ["at", "ledger", "kind", "epsilon", "what", "who"]
    list_filter = ["kind"]
    organisation_path = "ledger__datasets__organisation"

    @admin.display(description="Epsilon", ordering="micro")
    def epsilon(self, entry: Entry) -> str:
        """Signed."""
        return format_epsilon(entry.epsilon)
