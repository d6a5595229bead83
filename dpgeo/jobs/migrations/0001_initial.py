import uuid

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=20, unique=True)),
                ("level", models.BigIntegerField(default=0)),
                ("sent_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "task",
                    models.CharField(
                        help_text="Name of the Celery task that runs it.", max_length=100
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("step", models.CharField(blank=True, max_length=100)),
                ("progress_done", models.BigIntegerField(default=0)),
                ("progress_total", models.BigIntegerField(default=0)),
                (
                    "lease",
                    models.UUIDField(
                        blank=True, help_text="Token of the worker that holds it.", null=True
                    ),
                ),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "drawing",
                    models.BooleanField(
                        default=False, help_text="Noise may have been drawn: no refund."
                    ),
                ),
                (
                    "failure",
                    models.TextField(
                        blank=True, help_text="Private: for those who see private facts."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "submitted_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="When it was requested, or last tried again.",
                    ),
                ),
                (
                    "woken_at",
                    models.DateTimeField(
                        blank=True, help_text="When a worker was last asked to take it.", null=True
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["state", "lease_until"], name="jobs_job_state_e33db5_idx")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "done", "failed", "cancelled"])
                        ),
                        name="job_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("lease__isnull", True), ("state", "running"), _connector="OR"
                        ),
                        name="job_leased_only_while_running",
                    ),
                ],
            },
        ),
    ]
