"""A release's notion of privacy, and the total budget for points when it was requested."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("budgets", "0003_a_ledger_for_each_notion"),
        ("releases", "0002_layers_of_releases"),
    ]
    operations = [
        migrations.RemoveConstraint("release", "release_epsilon_positive"),
        migrations.RenameField("release", "epsilon_micro", "cost_units"),
        migrations.RenameField("release", "total_micro", "total_units"),
        migrations.AlterField(
            "release",
            "cost_units",
            models.BigIntegerField(help_text="In whole units of the notion."),
        ),
        migrations.AddField(
            "release",
            "notion",
            models.CharField(
                choices=[
                    ("pure-dp", "Presence: differential privacy"),
                    ("geo-ind", "Whereabouts: geo-indistinguishability"),
                ],
                default="pure-dp",
                max_length=10,
            ),
        ),
        migrations.AddField(
            "release",
            "points_total_units",
            models.BigIntegerField(
                null=True,
                help_text="The total budget for points then, in its own units; none was declared.",
            ),
        ),
        migrations.AddConstraint(
            "release",
            models.CheckConstraint(
                condition=models.Q(cost_units__gt=0), name="release_cost_positive"
            ),
        ),
    ]
