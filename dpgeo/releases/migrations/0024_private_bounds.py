"""Contribution bounds may be chosen privately, at most the requested one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0023_counted_shards")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="bound_percent",
            field=models.PositiveSmallIntegerField(
                default=0,
                help_text="Share of the cost, in per cent, for a private choice of the bound; 0: none.",
            ),
        ),
        migrations.AddField(
            model_name="release",
            name="most_bound",
            field=models.PositiveIntegerField(
                editable=False,
                help_text="The largest bound that may be chosen; none if the request names the bound.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="release",
            name="drawn_bound",
            field=models.PositiveIntegerField(
                editable=False,
                help_text="The bound that was chosen, stored before anything else is drawn.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("bound_percent", 0), ("drawn_bound", None), ("most_bound", None)),
                    models.Q(("bound_percent__gt", 0), ("most_bound__gte", 1)),
                    _connector="OR",
                ),
                name="release_chooses_a_bound_within_a_limit",
            ),
        ),
    ]
