"""Ledgers may count in rho, with a delta and a publicly declared population."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("budgets", "0007_recovered_draws_are_their_total")]

    operations = [
        migrations.RemoveConstraint(model_name="ledger", name="ledger_for_points_beside_another"),
        migrations.AddField(
            model_name="ledger",
            name="delta_exponent",
            field=models.PositiveSmallIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="ledger",
            name="population",
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="ledger",
            name="notion",
            field=models.CharField(
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
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    notion__in=["pure-dp", "zcdp"], beside__isnull=True, radius__isnull=True
                )
                | models.Q(notion="geo-ind", beside__isnull=False, radius__gt=0),
                name="ledger_for_points_beside_another",
            ),
        ),
        migrations.AddConstraint(
            model_name="ledger",
            constraint=models.CheckConstraint(
                condition=models.Q(notion="zcdp", delta_exponent__isnull=False)
                | ~models.Q(notion="zcdp")
                & models.Q(delta_exponent__isnull=True, population__isnull=True),
                name="ledger_of_rho_has_a_delta",
            ),
        ),
    ]
