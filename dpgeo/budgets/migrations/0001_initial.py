import django.db.models.deletion
from django.db import migrations, models

from dpgeo.audit.append_only import append_only


class Migration(migrations.Migration):
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
                            ("zcdp", "Presence: zero-concentrated differential privacy"),
                            ("geo-ind", "Whereabouts: geo-indistinguishability"),
                        ],
                        default="pure-dp",
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("radius", models.PositiveIntegerField(editable=False, null=True)),
                ("input_step", models.PositiveIntegerField(editable=False, null=True)),
                ("delta_exponent", models.PositiveSmallIntegerField(editable=False, null=True)),
                ("population", models.PositiveBigIntegerField(editable=False, null=True)),
                (
                    "total_units",
                    models.BigIntegerField(
                        help_text="Total budget in whole units of the notion; 0 until somebody has set it."
                    ),
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
                (
                    "merged_units",
                    models.BigIntegerField(
                        default=0,
                        editable=False,
                        help_text="What was debited when ledgers were merged, if that is more than the total.",
                    ),
                ),
                (
                    "recovers",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="Slug of the unknown dataset whose draws were found after a restore.",
                        max_length=80,
                    ),
                ),
                (
                    "recovers_for",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="The publisher that such draws name.",
                        max_length=200,
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
                (
                    "merged_into",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="merged",
                        to="budgets.ledger",
                    ),
                ),
            ],
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
                (
                    "job",
                    models.UUIDField(
                        help_text="The job that was paid for; a random id for a merger."
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("debit", "Debit"), ("refund", "Refund"), ("merger", "Merger")],
                        max_length=10,
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
            },
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(("spent_units__gte", 0)), name="ledger_spent_not_negative"
            ),
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
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.UniqueConstraint(
                condition=models.Q(("recovers", ""), _negated=True),
                fields=("recovers", "notion"),
                name="ledger_once_per_unknown_dataset",
            ),
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("merged_into__isnull", True), ("spent_units", 0), _connector="OR"
                ),
                name="ledger_merged_is_closed",
            ),
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(("total_units__gte", 0)), name="ledger_total_not_negative"
            ),
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("beside__isnull", True),
                        ("notion__in", ["pure-dp", "zcdp"]),
                        ("radius__isnull", True),
                    ),
                    models.Q(
                        ("beside__isnull", False),
                        ("input_step__gt", 0),
                        ("input_step__isnull", False),
                        ("notion", "geo-ind"),
                        ("radius__gt", 0),
                        ("radius__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="ledger_for_points_beside_another",
            ),
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delta_exponent__isnull", False), ("notion", "zcdp")),
                    models.Q(
                        models.Q(("notion", "zcdp"), _negated=True),
                        ("delta_exponent__isnull", True),
                        ("population__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="ledger_of_rho_has_a_delta",
            ),
        ),
        migrations.AddConstraint(
            model_name="entry",
            constraint=models.UniqueConstraint(
                fields=("job", "kind"), name="entry_once_per_job_and_kind"
            ),
        ),
        migrations.AddConstraint(
            model_name="entry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "debit"), ("units__gt", 0)),
                    models.Q(("kind", "refund"), ("units__lt", 0)),
                    ("kind", "merger"),
                    _connector="OR",
                ),
                name="entry_sign_fits_kind",
            ),
        ),
        append_only("budgets_entry", "The ledger is append-only."),
    ]
