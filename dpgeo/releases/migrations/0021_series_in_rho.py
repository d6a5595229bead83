"""Series may be paid in rho, and protect a person in a declared number of maps."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0020_all_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="series",
            name="delta_exponent",
            field=models.PositiveSmallIntegerField(
                editable=False, help_text="Rho is stated at a delta of 10 to minus this.", null=True
            ),
        ),
        migrations.AddField(
            model_name="series",
            name="rho_units",
            field=models.BigIntegerField(
                editable=False, help_text="In nano-rho, if the series is paid in rho.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="series",
            name="most",
            field=models.PositiveIntegerField(
                help_text="The most that one person adds to all maps, or the number of maps or of periods in a row."
            ),
        ),
        migrations.AlterField(
            model_name="series",
            name="protection",
            field=models.CharField(
                choices=[
                    ("person", "A person, over the whole series"),
                    ("all", "A person, in a declared number of maps"),
                    ("any", "A person, in any periods in a row"),
                    ("one", "A person, in any one period"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="series",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delta_exponent", None), ("rho_units", None)),
                    models.Q(("delta_exponent__isnull", False), ("rho_units__gt", 0)),
                    _connector="OR",
                ),
                name="series_in_rho_has_a_delta",
            ),
        ),
    ]
