"""Totals of ledgers for recovered draws become the sum of these draws, instead of 1 unit."""

from typing import Any

from django.db import migrations, models
from django.db.models.functions import Greatest


def hold_what_was_found(apps: Any, schema_editor: Any) -> None:
    """Raise the total of each ledger for recovered draws to the amount debited to it."""
    ledgers = apps.get_model("budgets", "Ledger").objects.exclude(recovers="")
    ledgers.update(total_units=Greatest("total_units", "spent_units"))


class Migration(migrations.Migration):
    dependencies = [
        ("budgets", "0006_a_budget_may_be_set_later"),
    ]

    operations = [
        migrations.RunPython(hold_what_was_found, migrations.RunPython.noop),
        migrations.RemoveConstraint(
            model_name="ledger",
            name="ledger_never_overspent",
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("spent_units__lte", models.F("total_units")),
                    ("spent_units__lte", models.F("merged_units")),
                    _connector="OR",
                ),
                name="ledger_never_overspent",
            ),
        ),
    ]
