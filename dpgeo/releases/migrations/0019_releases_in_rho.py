"""Releases may cost a rho, which is stated as an epsilon at a delta."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0018_maps_of_datasets")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="delta_exponent",
            field=models.PositiveSmallIntegerField(
                editable=False,
                help_text="Rho is stated at a delta of 10 to minus this.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="release",
            name="notion",
            field=models.CharField(
                choices=[
                    ("pure-dp", "Presence: differential privacy"),
                    ("zcdp", "Presence: zero-concentrated differential privacy"),
                    ("geo-ind", "Whereabouts: geo-indistinguishability"),
                ],
                default="pure-dp",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(notion="zcdp", delta_exponent__isnull=False)
                | ~models.Q(notion="zcdp") & models.Q(delta_exponent__isnull=True),
                name="release_of_rho_has_a_delta",
            ),
        ),
    ]
