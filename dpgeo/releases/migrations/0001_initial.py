import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dpgeo.releases.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("datasets", "0001_initial"),
        ("jobs", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Series",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("request", models.JSONField(help_text="What each of its maps repeats.")),
                (
                    "period",
                    models.CharField(
                        choices=[("day", "Day"), ("week", "Week"), ("month", "Month")],
                        max_length=10,
                    ),
                ),
                ("first_day", models.DateField(help_text="First day of the first period.")),
                (
                    "protection",
                    models.CharField(
                        choices=[
                            ("person", "A person, over the whole series"),
                            ("all", "A person, in a declared number of maps"),
                            ("any", "A person, in any periods in a row"),
                            ("one", "A person, in any one period"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "each",
                    models.PositiveIntegerField(
                        help_text="The most that one person adds to a map."
                    ),
                ),
                (
                    "most",
                    models.PositiveIntegerField(
                        help_text="The most that one person adds to all maps, or the number of maps or of periods in a row."
                    ),
                ),
                ("epsilon_units", models.BigIntegerField(help_text="In millionths of epsilon.")),
                (
                    "rho_units",
                    models.BigIntegerField(
                        editable=False,
                        help_text="In nano-rho, if the series is paid in rho.",
                        null=True,
                    ),
                ),
                (
                    "delta_exponent",
                    models.PositiveSmallIntegerField(
                        editable=False,
                        help_text="Rho is stated at a delta of 10 to minus this.",
                        null=True,
                    ),
                ),
                ("publish_when_done", models.BooleanField(default=False)),
                (
                    "all_files",
                    models.BooleanField(
                        default=False,
                        help_text="Whether the files of each map are made when it is published, not when somebody asks.",
                    ),
                ),
                (
                    "complete_through",
                    models.DateField(
                        blank=True,
                        help_text="Last day through which the owner says data are complete.",
                        null=True,
                    ),
                ),
                ("drawn", models.PositiveIntegerField(default=0, editable=False)),
                ("state_name", models.CharField(blank=True, editable=False, max_length=255)),
                ("salt", models.BinaryField(max_length=16)),
                ("by_key", models.BooleanField(default=False, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "ending",
                    models.CharField(
                        blank=True, help_text="Why it ended, as in releases.series.", max_length=20
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
                        related_name="series",
                        to="datasets.dataset",
                    ),
                ),
                (
                    "layers",
                    models.ManyToManyField(
                        blank=True, editable=False, related_name="series", to="datasets.publiclayer"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "series",
                "ordering": ["-created_at"],
            },
        ),
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
                ("number", models.PositiveIntegerField(editable=False, null=True)),
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("mechanism", models.CharField(editable=False, max_length=60)),
                ("request", models.JSONField()),
                (
                    "notion",
                    models.CharField(
                        choices=[
                            ("pure-dp", "Presence: differential privacy"),
                            ("zcdp", "Presence: zero-concentrated differential privacy"),
                            ("geo-ind", "Whereabouts: geo-indistinguishability"),
                        ],
                        default="pure-dp",
                        max_length=10,
                    ),
                ),
                (
                    "delta_exponent",
                    models.PositiveSmallIntegerField(
                        editable=False,
                        help_text="Rho is stated at a delta of 10 to minus this.",
                        null=True,
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
                (
                    "bound",
                    models.PositiveIntegerField(
                        default=1,
                        help_text="The bound that was asked for, and then that of the draw.",
                    ),
                ),
                (
                    "drawn_bound",
                    models.PositiveIntegerField(
                        editable=False,
                        help_text="The bound that was chosen, stored before anything else is drawn.",
                        null=True,
                    ),
                ),
                (
                    "notes",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="The publisher's words at positions on the map, as in releases.notes.",
                    ),
                ),
                ("notes_sha256", models.CharField(blank=True, editable=False, max_length=64)),
                (
                    "card",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="What lists show of the map, as in pages.cards.",
                    ),
                ),
                (
                    "files_made",
                    models.PositiveIntegerField(
                        default=0,
                        editable=False,
                        help_text="How many of its files were made on request.",
                    ),
                ),
                ("publish_when_done", models.BooleanField(default=False)),
                (
                    "all_files",
                    models.BooleanField(
                        default=False,
                        help_text="Whether its files are made when it is published, not when somebody asks.",
                    ),
                ),
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
                (
                    "series",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="releases.series",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
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
                ("stored_name", models.CharField(blank=True, max_length=255)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("size", models.BigIntegerField(null=True)),
                ("gzipped", models.BooleanField(default=False)),
                (
                    "large",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="Made only when somebody asks, even if all files are made at publication.",
                    ),
                ),
                ("public", models.BooleanField(default=False, editable=False)),
                (
                    "job",
                    models.OneToOneField(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="file",
                        to="jobs.job",
                    ),
                ),
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
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("public", False),
                                ("sha256", ""),
                                ("size", None),
                                ("stored_name", ""),
                            ),
                            models.Q(
                                models.Q(("stored_name", ""), _negated=True),
                                models.Q(("sha256", ""), _negated=True),
                                ("size__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="file_made_with_its_checksum",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="series",
            constraint=models.CheckConstraint(
                condition=models.Q(("each__gte", 1), ("epsilon_units__gt", 0), ("most__gte", 1)),
                name="series_numbers_positive",
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
        migrations.AddConstraint(
            model_name="series",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("ending", "")),
                    models.Q(("ended_at__isnull", False), models.Q(("ending", ""), _negated=True)),
                    _connector="OR",
                ),
                name="series_ended_for_a_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="release",
            index=models.Index(fields=["state", "-day", "-id"], name="release_newest_first"),
        ),
        migrations.AddIndex(
            model_name="release",
            index=models.Index(fields=["state", "dataset", "mechanism"], name="release_by_dataset"),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["draft", "published", "withdrawn", "rejected"])),
                name="release_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
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
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state", "draft"), models.Q(("blob_name", ""), _negated=True), _connector="OR"
                ),
                name="release_public_only_with_a_blob",
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
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
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(("cost_units__gt", 0)), name="release_cost_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delta_exponent__isnull", False), ("notion", "zcdp")),
                    models.Q(
                        models.Q(("notion", "zcdp"), _negated=True),
                        ("delta_exponent__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="release_of_rho_has_a_delta",
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(("bound__gte", 1)), name="release_bound_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.UniqueConstraint(
                fields=("series", "number"), name="release_once_per_period"
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("number", None), ("series", None)),
                    models.Q(("number__gte", 1), ("series__isnull", False)),
                    _connector="OR",
                ),
                name="release_of_a_series_has_a_number",
            ),
        ),
    ]
