import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def layer_unused_keys(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give datasets without any person hashes a layered key (the organisation's and their own).

    Their hashes can then be compared with those of the organisation's other datasets.
    """
    unused = apps.get_model("datasets", "Dataset").objects.filter(
        frozen_at__isnull=True, suppressions__isnull=True
    )
    unused.update(layered=True)


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0011_order_of_declarations"),
    ]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="layered",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="Whether person hashes can be compared with those of other datasets.",
            ),
        ),
        migrations.AddField(
            model_name="dataset",
            name="people_asked",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="An approver has to answer whether other datasets hold the same people.",
            ),
        ),
        migrations.AddField(
            model_name="upload",
            name="checksum",
            field=models.BinaryField(
                help_text="Keyed checksum of the original file.", max_length=16, null=True
            ),
        ),
        migrations.CreateModel(
            name="PeopleAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("standing", models.BooleanField(default=False)),
                ("who", models.CharField(max_length=200)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="people_answers",
                        to="datasets.dataset",
                    ),
                ),
            ],
            options={
                "ordering": ["-at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="PeopleWarning",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("found_at", models.DateTimeField(auto_now_add=True)),
                (
                    "answer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="warnings",
                        to="datasets.peopleanswer",
                    ),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="people_warnings",
                        to="datasets.dataset",
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="datasets.dataset",
                    ),
                ),
            ],
            options={
                "ordering": ["found_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "other"), name="people_warned_of_once"
                    )
                ],
            },
        ),
        migrations.RunPython(layer_unused_keys, migrations.RunPython.noop),
    ]
