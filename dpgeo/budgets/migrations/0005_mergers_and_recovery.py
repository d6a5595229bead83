"""Fields for mergers of ledgers, and for ledgers of draws whose dataset the database lacks."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

APPEND_ONLY = """CREATE TRIGGER budgets_entry_append_only BEFORE UPDATE ON budgets_entry
        BEGIN SELECT RAISE(ABORT, 'The ledger is append-only.'); END"""


def create_trigger_again(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the append-only trigger again: SQLite replaces a changed table by one without it."""
    if schema_editor.connection.vendor != "sqlite":
        return
    schema_editor.execute("DROP TRIGGER IF EXISTS budgets_entry_append_only")
    schema_editor.execute(APPEND_ONLY)


class Migration(migrations.Migration):
    dependencies = [("budgets", "0004_ledger_input_step")]

    operations = [
        migrations.AddField(
            "ledger",
            "merged_into",
            models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="merged",
                to="budgets.ledger",
            ),
        ),
        migrations.AddField(
            "ledger",
            "merged_units",
            models.BigIntegerField(
                default=0,
                editable=False,
                help_text="What was debited when ledgers were merged, if that is more than the total.",
            ),
        ),
        migrations.AddField(
            "ledger",
            "recovers",
            models.CharField(
                blank=True,
                editable=False,
                help_text="Slug of the unknown dataset whose draws were found after a restore.",
                max_length=80,
            ),
        ),
        migrations.AddField(
            "ledger",
            "recovers_for",
            models.CharField(
                blank=True,
                editable=False,
                help_text="The publisher that such draws name.",
                max_length=200,
            ),
        ),
        migrations.RemoveConstraint("ledger", "ledger_never_overspent"),
        migrations.AddConstraint(
            "ledger",
            models.CheckConstraint(
                condition=models.Q(spent_units__lte=models.F("total_units"))
                | models.Q(spent_units__lte=models.F("merged_units"))
                | ~models.Q(recovers=""),
                name="ledger_never_overspent",
            ),
        ),
        migrations.AddConstraint(
            "ledger",
            models.UniqueConstraint(
                fields=["recovers", "notion"],
                condition=~models.Q(recovers=""),
                name="ledger_once_per_unknown_dataset",
            ),
        ),
        migrations.AddConstraint(
            "ledger",
            models.CheckConstraint(
                condition=models.Q(merged_into__isnull=True) | models.Q(spent_units=0),
                name="ledger_merged_is_closed",
            ),
        ),
        migrations.AlterField(
            "entry",
            "kind",
            models.CharField(
                choices=[("debit", "Debit"), ("refund", "Refund"), ("merger", "Merger")],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            "entry",
            "job",
            models.UUIDField(help_text="The job that was paid for; a random id for a merger."),
        ),
        migrations.RemoveConstraint("entry", "entry_sign_fits_kind"),
        migrations.AddConstraint(
            "entry",
            models.CheckConstraint(
                condition=models.Q(kind="debit", units__gt=0)
                | models.Q(kind="refund", units__lt=0)
                | models.Q(kind="merger"),
                name="entry_sign_fits_kind",
            ),
        ),
        migrations.RunPython(create_trigger_again, migrations.RunPython.noop),
    ]
