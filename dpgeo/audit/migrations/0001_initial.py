import django.utils.timezone
from django.db import migrations, models

from dpgeo.audit.append_only import append_only


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("sign-in", "Signed in"),
                            ("sign-in-failed", "Failed to sign in"),
                            ("locked-out", "Locked out"),
                            ("sign-out", "Signed out"),
                            ("password", "Set a password"),
                            ("factor", "Changed a second factor"),
                            ("invited", "Invited somebody"),
                            ("account", "Changed an account"),
                            ("role", "Changed a role"),
                            ("organisation", "Created an organisation"),
                            ("key-created", "Created an API key"),
                            ("key-revoked", "Revoked an API key"),
                            ("webhook", "Created or deleted a webhook"),
                            ("setting", "Changed an organisation's settings"),
                            ("asked", "Asked a second person to approve"),
                            ("approved", "Approved what another person asked for"),
                            ("refused", "Refused what another person asked for"),
                            ("dataset", "Declared a dataset"),
                            ("discarded", "Discarded a dataset"),
                            ("budget", "Set or merged a budget"),
                            ("requested", "Requested a release"),
                            ("published", "Published a release"),
                            ("rejected", "Rejected a draft"),
                            ("withdrawn", "Withdrew a release"),
                            ("erased", "Erased a person"),
                            ("readmitted", "Readmitted a person"),
                            ("backed-up", "Made a backup"),
                            ("restored", "Restored a backup"),
                            ("exported", "Exported the audit list"),
                        ],
                        max_length=20,
                    ),
                ),
                ("who", models.CharField(blank=True, max_length=200)),
                ("account", models.BigIntegerField(null=True)),
                (
                    "origin",
                    models.CharField(
                        blank=True,
                        help_text="A network, never an address; or the console.",
                        max_length=50,
                    ),
                ),
                ("organisation", models.BigIntegerField(null=True)),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("detail", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["organisation", "-id"], name="event_of_organisation"),
                    models.Index(fields=["account", "-id"], name="event_of_account"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "sign-in",
                                    "sign-in-failed",
                                    "locked-out",
                                    "sign-out",
                                    "password",
                                    "factor",
                                    "invited",
                                    "account",
                                    "role",
                                    "organisation",
                                    "key-created",
                                    "key-revoked",
                                    "webhook",
                                    "setting",
                                    "asked",
                                    "approved",
                                    "refused",
                                    "dataset",
                                    "discarded",
                                    "budget",
                                    "requested",
                                    "published",
                                    "rejected",
                                    "withdrawn",
                                    "erased",
                                    "readmitted",
                                    "backed-up",
                                    "restored",
                                    "exported",
                                ],
                            )
                        ),
                        name="event_kind_is_known",
                    )
                ],
            },
        ),
        append_only("audit_event", "The audit list is append-only."),
    ]
