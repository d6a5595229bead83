import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("datasets", "0001_initial"),
        ("datasets", "0002_keep_raw_and_erasure"),
        ("datasets", "0003_uploads_that_fail"),
        ("datasets", "0004_public_layers"),
        ("datasets", "0005_transfers"),
        ("datasets", "0006_bounds"),
        ("datasets", "0007_public_attributes"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_for_0_1_0"),
        ("budgets", "0001_squashed_for_0_1_0"),
        ("jobs", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Dataset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=80, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("licence", models.CharField(default="CC BY 4.0", max_length=100)),
                ("attribution", models.CharField(blank=True, max_length=300)),
                (
                    "unit",
                    models.CharField(
                        choices=[
                            ("person", "Person: all rows of one person"),
                            ("record", "Record: one row"),
                        ],
                        default="person",
                        max_length=10,
                    ),
                ),
                (
                    "study_area",
                    models.JSONField(help_text="GeoJSON polygon, longitude first. Frozen."),
                ),
                ("west", models.FloatField(editable=False)),
                ("south", models.FloatField(editable=False)),
                ("east", models.FloatField(editable=False)),
                ("north", models.FloatField(editable=False)),
                ("time_zone", models.CharField(default="UTC", help_text="Frozen.", max_length=60)),
                (
                    "public_attributes",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Columns that everybody may know of every report, with their values. Frozen.",
                    ),
                ),
                (
                    "columns",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Which column holds what: person, longitude, latitude, time. Frozen.",
                    ),
                ),
                ("frozen_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "person_key",
                    models.BinaryField(help_text="Secret key of the person hashes.", max_length=32),
                ),
                (
                    "keep_raw",
                    models.BooleanField(
                        default=True,
                        help_text="Keep uploaded files after they were read; releases need them not.",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "ledger",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="datasets",
                        to="budgets.ledger",
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="datasets",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "ordering": ["title"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("unit__in", ["person", "record"])),
                        name="dataset_unit_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PublicLayer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=60)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("zones", "Zones: polygons to count in"),
                            ("places", "Places"),
                            ("density", "Density"),
                        ],
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("stored_name", models.CharField(max_length=255)),
                ("sha256", models.CharField(max_length=64)),
                ("features", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="layers",
                        to="datasets.dataset",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "name"), name="layer_name_once_per_dataset"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["zones", "places", "density"])),
                        name="layer_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("person", models.BinaryField(max_length=16)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="suppressions",
                        to="datasets.dataset",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "person"), name="person_suppressed_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Transfer",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("file_name", models.CharField(max_length=255)),
                ("size", models.BigIntegerField()),
                (
                    "touched_at",
                    models.DateTimeField(help_text="When it was announced or bytes were added."),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="transfers",
                        to="datasets.dataset",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.apikey",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Piece",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("start", models.BigIntegerField()),
                ("size", models.BigIntegerField()),
                ("stored_name", models.CharField(max_length=255)),
                (
                    "transfer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pieces",
                        to="datasets.transfer",
                    ),
                ),
            ],
            options={
                "ordering": ["start"],
                "constraints": [
                    models.UniqueConstraint(fields=("transfer", "start"), name="piece_arrives_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("file_name", models.CharField(max_length=255)),
                ("size", models.BigIntegerField()),
                ("raw_name", models.CharField(max_length=255)),
                ("canonical_name", models.CharField(blank=True, max_length=255)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "Waiting for its columns to be confirmed"),
                            ("queued", "Queued"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                            ("erased", "Deleted, because a person was erased"),
                        ],
                        default="received",
                        max_length=10,
                    ),
                ),
                ("report", models.JSONField(blank=True, null=True)),
                (
                    "failure",
                    models.TextField(
                        blank=True,
                        help_text="Why the file cannot be read, found when it was looked at. Private.",
                    ),
                ),
                (
                    "preview",
                    models.TextField(
                        blank=True,
                        editable=False,
                        help_text="The file's head as JSON, while its columns are to be confirmed. Private.",
                    ),
                ),
                (
                    "erasing",
                    models.BinaryField(
                        help_text="Keyed hash of the person whom this version leaves out, until it is made.",
                        max_length=16,
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uploads",
                        to="datasets.dataset",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="jobs.job",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
    ]
