import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_organisation_sector"),
        ("datasets", "0015_upload_columns"),
    ]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="area_choice",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="How the first study area was chosen: a named place, or drawn by hand.",
            ),
        ),
        migrations.AddField(
            model_name="upload",
            name="invented",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="The file has invented people, to practise with.",
            ),
        ),
        migrations.CreateModel(
            name="ShownFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("checksum", models.BinaryField(editable=False, max_length=16)),
                ("dataset", models.BigIntegerField()),
                ("area", models.CharField(max_length=64)),
                ("on", models.DateField()),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organisation", "checksum", "dataset", "area"),
                        name="shown_file_once",
                    )
                ],
            },
        ),
    ]
