"""Ledgers, and their entries, which a database trigger protects from changes.

Deletion is refused by the model and its manager alone: a trigger would also stop the emptying of a
test database.
"""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CREATE = {
    "sqlite": [
        """CREATE TRIGGER budgets_entry_append_only BEFORE UPDATE ON budgets_entry
        BEGIN SELECT RAISE(ABORT, 'The ledger is append-only.'); END"""
    ],
    "postgresql": [
        """CREATE FUNCTION budgets_entry_refuse() RETURNS trigger AS $$
        BEGIN RAISE EXCEPTION 'The ledger is append-only.'
              USING ERRCODE = 'integrity_constraint_violation'; END
        $$ LANGUAGE plpgsql""",
        """CREATE TRIGGER budgets_entry_append_only BEFORE UPDATE ON budgets_entry
        FOR EACH ROW EXECUTE FUNCTION budgets_entry_refuse()""",
    ],
}
DROP = {
    "sqlite": ["DROP TRIGGER budgets_entry_append_only"],
    "postgresql": [
        "DROP TRIGGER budgets_entry_append_only ON budgets_entry",
        "DROP FUNCTION budgets_entry_refuse()",
    ],
}


def create_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in CREATE.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement)


def drop_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in DROP.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    replaces = [
        ("budgets", "0001_initial"),
        ("budgets", "0002_entries_are_append_only"),
        ("budgets", "0003_a_ledger_for_each_notion"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Ledger",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
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
                ("radius", models.PositiveIntegerField(editable=False, null=True)),
                (
                    "total_units",
                    models.BigIntegerField(help_text="Total budget in whole units of the notion."),
                ),
                ("spent_units", models.BigIntegerField(default=0, editable=False)),
                (
                    "promised_at",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="First publication that rests on the total; from then on it is never raised.",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "beside",
                    models.OneToOneField(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="geo",
                        to="budgets.ledger",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("spent_units__gte", 0)),
                        name="ledger_spent_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("spent_units__lte", models.F("total_units"))),
                        name="ledger_never_overspent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("total_units__gt", 0)), name="ledger_total_positive"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("beside__isnull", True),
                                ("notion", "pure-dp"),
                                ("radius__isnull", True),
                            ),
                            models.Q(
                                ("beside__isnull", False), ("notion", "geo-ind"), ("radius__gt", 0)
                            ),
                            _connector="OR",
                        ),
                        name="ledger_for_points_beside_another",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("job", models.UUIDField(help_text="The job that was paid for.")),
                (
                    "kind",
                    models.CharField(
                        choices=[("debit", "Debit"), ("refund", "Refund")], max_length=10
                    ),
                ),
                (
                    "units",
                    models.BigIntegerField(
                        help_text="Signed whole units of the ledger; refunds are negative."
                    ),
                ),
                ("what", models.CharField(max_length=300)),
                ("who", models.CharField(blank=True, max_length=200)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "ledger",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="entries",
                        to="budgets.ledger",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entries",
                "ordering": ["-at", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("job", "kind"), name="entry_once_per_job_and_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "debit"), ("units__gt", 0)),
                            models.Q(("kind", "refund"), ("units__lt", 0)),
                            _connector="OR",
                        ),
                        name="entry_sign_fits_kind",
                    ),
                ],
            },
        ),
        migrations.RunPython(create_trigger, drop_trigger),
    ]
