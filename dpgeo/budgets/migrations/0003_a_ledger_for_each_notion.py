"""Give each ledger a notion of privacy; a ledger for points belongs to one for counts."""

from __future__ import annotations

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

append_only = import_module("dpgeo.budgets.migrations.0001_squashed_for_0_1_0")


class Migration(migrations.Migration):
    dependencies = [("budgets", "0002_entries_are_append_only")]
    operations = [
        # Create the trigger again at the end: to change a table on SQLite, Django creates a new
        # one, which has no trigger.
        migrations.RunPython(append_only.drop_trigger, append_only.create_trigger),
        migrations.RemoveConstraint("ledger", "ledger_spent_not_negative"),
        migrations.RemoveConstraint("ledger", "ledger_never_overspent"),
        migrations.RemoveConstraint("ledger", "ledger_total_positive"),
        migrations.RemoveConstraint("entry", "entry_sign_fits_kind"),
        migrations.RenameField("ledger", "total_micro", "total_units"),
        migrations.RenameField("ledger", "spent_micro", "spent_units"),
        migrations.RenameField("entry", "micro", "units"),
        migrations.AlterField(
            "ledger",
            "total_units",
            models.BigIntegerField(help_text="Total budget in whole units of the notion."),
        ),
        migrations.AlterField(
            "entry",
            "units",
            models.BigIntegerField(
                help_text="Signed whole units of the ledger; refunds are negative."
            ),
        ),
        migrations.AddField(
            "ledger",
            "notion",
            models.CharField(
                choices=[
                    ("pure-dp", "Presence: differential privacy"),
                    ("geo-ind", "Whereabouts: geo-indistinguishability"),
                ],
                default="pure-dp",
                editable=False,
                max_length=10,
            ),
        ),
        migrations.AddField(
            "ledger",
            "beside",
            models.OneToOneField(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="geo",
                to="budgets.ledger",
            ),
        ),
        migrations.AddField(
            "ledger", "radius", models.PositiveIntegerField(editable=False, null=True)
        ),
        migrations.AddConstraint(
            "ledger",
            models.CheckConstraint(
                condition=Q(spent_units__gte=0), name="ledger_spent_not_negative"
            ),
        ),
        migrations.AddConstraint(
            "ledger",
            models.CheckConstraint(
                condition=Q(spent_units__lte=F("total_units")), name="ledger_never_overspent"
            ),
        ),
        migrations.AddConstraint(
            "ledger",
            models.CheckConstraint(condition=Q(total_units__gt=0), name="ledger_total_positive"),
        ),
        migrations.AddConstraint(
            "ledger",
            models.CheckConstraint(
                condition=Q(notion="pure-dp", beside__isnull=True, radius__isnull=True)
                | Q(notion="geo-ind", beside__isnull=False, radius__gt=0),
                name="ledger_for_points_beside_another",
            ),
        ),
        migrations.AddConstraint(
            "entry",
            models.CheckConstraint(
                condition=Q(kind="debit", units__gt=0) | Q(kind="refund", units__lt=0),
                name="entry_sign_fits_kind",
            ),
        ),
        migrations.RunPython(append_only.create_trigger, append_only.drop_trigger),
    ]
