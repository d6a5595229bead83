import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("budgets", "0001_initial"),
        ("jobs", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
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
                (
                    "declaration",
                    models.JSONField(help_text="What its owner declares about it. Public."),
                ),
                ("west", models.FloatField(editable=False)),
                ("south", models.FloatField(editable=False)),
                ("east", models.FloatField(editable=False)),
                ("north", models.FloatField(editable=False)),
                (
                    "columns",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Which column holds what: person, longitude, latitude, time. Frozen.",
                    ),
                ),
                (
                    "area_exchange",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="The named place that the area was exchanged for after the first upload.",
                    ),
                ),
                (
                    "area_seen",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="How often members had opened files beside other areas before, and when last.",
                    ),
                ),
                (
                    "guessed_people",
                    models.PositiveIntegerField(
                        editable=False,
                        help_text="How many people the owner last guessed to be in the data. Private.",
                        null=True,
                    ),
                ),
                (
                    "area_choice",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="How the first study area was chosen: a named place, or drawn by hand.",
                    ),
                ),
                ("first_upload_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("frozen_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "sealed_person_key",
                    models.BinaryField(
                        help_text="Key of the person hashes, encrypted with a key apart from the database.",
                        max_length=60,
                    ),
                ),
                (
                    "people_asked",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="An approver has to answer whether other datasets hold the same people.",
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
                "ordering": ["declaration__title"],
            },
        ),
        migrations.CreateModel(
            name="DataProtection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("controller", models.CharField(max_length=300)),
                ("purpose", models.TextField()),
                (
                    "basis",
                    models.CharField(
                        choices=[
                            ("consent", "Consent (Article 6(1)(a) GDPR)"),
                            ("contract", "A contract (Article 6(1)(b) GDPR)"),
                            ("obligation", "A legal obligation (Article 6(1)(c) GDPR)"),
                            ("vital", "Vital interests (Article 6(1)(d) GDPR)"),
                            ("task", "A task in the public interest (Article 6(1)(e) GDPR)"),
                            ("interest", "Legitimate interests (Article 6(1)(f) GDPR)"),
                            ("other", "Another law"),
                        ],
                        max_length=20,
                    ),
                ),
                ("basis_detail", models.TextField(blank=True)),
                ("retention", models.TextField()),
                ("contact", models.CharField(max_length=300)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "dataset",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="data_protection",
                        to="datasets.dataset",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "data protection",
            },
        ),
        migrations.CreateModel(
            name="MissingFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=300)),
                ("public", models.BooleanField()),
                ("found_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "public"), name="missing_file_recorded_once"
                    )
                ],
            },
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
            },
        ),
        migrations.CreateModel(
            name="Proposal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("epsilon", models.DecimalField(decimal_places=6, max_digits=12, null=True)),
                ("level", models.CharField(blank=True, max_length=100)),
                ("radius", models.PositiveIntegerField(null=True)),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("approved", models.BooleanField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "asked_by",
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
                        related_name="proposals",
                        to="datasets.dataset",
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["asked_at"],
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
                ("kind", models.CharField(max_length=10)),
                ("title", models.CharField(max_length=200)),
                ("stored_name", models.CharField(max_length=255)),
                ("sha256", models.CharField(max_length=64)),
                ("features", models.PositiveIntegerField()),
                (
                    "before_upload",
                    models.BooleanField(
                        editable=False,
                        help_text="Whether no file of these people was uploaded before.",
                    ),
                ),
                ("source_name", models.CharField(blank=True, max_length=200)),
                ("source_url", models.CharField(blank=True, max_length=500)),
                ("source_date", models.DateField(blank=True, null=True)),
                ("source_release", models.CharField(blank=True, max_length=32)),
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
            },
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
                (
                    "source",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="The registered folder and its files, of a snapshot (`datasets.snapshots`).",
                    ),
                ),
                (
                    "columns",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Which column of this file holds what, and how it is written, as confirmed.",
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
                    "checksum",
                    models.BinaryField(
                        help_text="Keyed checksum of the original file.", max_length=16, null=True
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
                (
                    "version",
                    models.PositiveIntegerField(
                        default=0,
                        editable=False,
                        help_text="Its place in the order in which the files of a growing dataset became ready.",
                    ),
                ),
                (
                    "invented",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="The file has invented people, to practise with.",
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
                (
                    "key",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.apikey",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.AddConstraint(
            model_name="dataprotection",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "basis__in",
                        ["consent", "contract", "obligation", "vital", "task", "interest", "other"],
                    )
                ),
                name="legal_basis_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="peoplewarning",
            constraint=models.UniqueConstraint(
                fields=("dataset", "other"), name="people_warned_of_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("epsilon__isnull", False), ("level", ""), ("radius", None)),
                    models.Q(
                        ("epsilon", None),
                        ("radius__isnull", False),
                        models.Q(("level", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="proposal_for_one_budget",
            ),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("approved", True), ("asked_by", models.F("decided_by")), _negated=True
                ),
                name="proposal_approved_by_another",
            ),
        ),
        migrations.AddConstraint(
            model_name="publiclayer",
            constraint=models.UniqueConstraint(
                fields=("dataset", "name"), name="layer_name_once_per_dataset"
            ),
        ),
        migrations.AddConstraint(
            model_name="publiclayer",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["zones", "places", "density"])),
                name="layer_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="shownfile",
            constraint=models.UniqueConstraint(
                fields=("organisation", "dataset", "area"), name="shown_file_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="suppression",
            constraint=models.UniqueConstraint(
                fields=("dataset", "person"), name="person_suppressed_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="piece",
            constraint=models.UniqueConstraint(
                fields=("transfer", "start"), name="piece_arrives_once"
            ),
        ),
    ]
