import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dpgeo.releases.models


class Migration(migrations.Migration):
    replaces = [
        ("releases", "0001_initial"),
        ("releases", "0002_layers_of_releases"),
        ("releases", "0003_release_notion"),
        ("releases", "0004_bounding_of_releases"),
        ("releases", "0005_day_of_releases"),
        ("releases", "0006_parts"),
        ("releases", "0007_asked_by_key"),
        ("releases", "0008_total_of_parts"),
        ("releases", "0009_refused_drafts"),
        ("releases", "0010_release_shards"),
        ("releases", "0011_rejected_drafts"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_for_0_1_0"),
        ("datasets", "0001_squashed_for_0_1_0"),
        ("jobs", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Release",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=dpgeo.releases.models.make_public_id,
                        editable=False,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("mechanism", models.CharField(max_length=60)),
                ("parameters", models.JSONField(default=dict)),
                (
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
                ("cost_units", models.BigIntegerField(help_text="In whole units of the notion.")),
                (
                    "total_units",
                    models.BigIntegerField(
                        help_text="The dataset's total budget when this was requested, which the release states."
                    ),
                ),
                (
                    "points_total_units",
                    models.BigIntegerField(
                        help_text="The total budget for points then, in its own units; none was declared.",
                        null=True,
                    ),
                ),
                ("bound", models.PositiveIntegerField(default=1)),
                (
                    "bounding",
                    models.CharField(
                        choices=[
                            ("random", "Some at random"),
                            ("popular", "Those in the most popular places"),
                        ],
                        default="random",
                        max_length=10,
                    ),
                ),
                (
                    "counting",
                    models.CharField(
                        choices=[
                            ("people", "People: each person once per cell"),
                            ("visits", "Visits: every record"),
                        ],
                        default="people",
                        max_length=10,
                    ),
                ),
                ("publish_when_done", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("published", "Published"),
                            ("withdrawn", "Withdrawn"),
                            ("rejected", "Rejected"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("salt", models.BinaryField(max_length=16)),
                (
                    "by_key",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="Asked for by a program, which sees no totals: paid once the data are opened.",
                    ),
                ),
                ("blob_name", models.CharField(blank=True, editable=False, max_length=255)),
                ("blob_sha256", models.CharField(blank=True, editable=False, max_length=64)),
                (
                    "day",
                    models.DateField(
                        default=dpgeo.releases.models.today,
                        editable=False,
                        help_text="In UTC, of its publication; of its request while it is a draft.",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("rejected_at", models.DateTimeField(blank=True, null=True)),
                (
                    "rejection",
                    models.TextField(
                        blank=True,
                        help_text="Why this draft was not published. Seen by members alone.",
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
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="datasets.dataset",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="release",
                        to="jobs.job",
                    ),
                ),
                (
                    "layers",
                    models.ManyToManyField(
                        blank=True,
                        editable=False,
                        help_text="The declared layers that the parameters name.",
                        related_name="releases",
                        to="datasets.publiclayer",
                    ),
                ),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="datasets.upload",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(fields=["state", "-day", "-id"], name="release_newest_first")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["draft", "published", "withdrawn", "rejected"])
                        ),
                        name="release_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("blob_name", ""), ("blob_sha256", "")),
                            models.Q(
                                models.Q(("blob_name", ""), _negated=True),
                                models.Q(("blob_sha256", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="release_blob_named_with_its_checksum",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "draft"),
                            models.Q(("blob_name", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="release_public_only_with_a_blob",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("rejected_at__isnull", False),
                                ("state", "rejected"),
                                models.Q(("rejection", ""), _negated=True),
                            ),
                            models.Q(
                                models.Q(("state", "rejected"), _negated=True),
                                ("rejected_at__isnull", True),
                                ("rejection", ""),
                            ),
                            _connector="OR",
                        ),
                        name="release_rejected_with_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cost_units__gt", 0)), name="release_cost_positive"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("bound__gte", 1)), name="release_bound_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReleaseFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("media_type", models.CharField(max_length=100)),
                ("stored_name", models.CharField(max_length=255)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.BigIntegerField()),
                ("gzipped", models.BooleanField(default=False)),
                ("public", models.BooleanField(default=False, editable=False)),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="releases.release",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("release", "name"), name="file_once_per_release"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReleaseShard",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("total", models.PositiveIntegerField()),
                ("blob_name", models.CharField(blank=True, editable=False, max_length=255)),
                ("blob_sha256", models.CharField(blank=True, editable=False, max_length=64)),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="shard",
                        to="jobs.job",
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shards",
                        to="releases.release",
                    ),
                ),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="datasets.upload",
                    ),
                ),
            ],
            options={
                "ordering": ["release", "number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("release", "number"), name="shard_once_per_release"
                    )
                ],
            },
        ),
    ]
