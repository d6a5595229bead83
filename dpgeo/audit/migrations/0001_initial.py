"""Events, which a database trigger protects from changes.

Deletion is refused by the model and its manager alone: a trigger would also stop the emptying of a
test database.
"""

import django.utils.timezone
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CREATE = {
    "sqlite": [
        """CREATE TRIGGER audit_event_append_only BEFORE UPDATE ON audit_event
        BEGIN SELECT RAISE(ABORT, 'The audit list is append-only.'); END"""
    ],
    "postgresql": [
        """CREATE FUNCTION audit_event_refuse() RETURNS trigger AS $$
        BEGIN RAISE EXCEPTION 'The audit list is append-only.'
              USING ERRCODE = 'integrity_constraint_violation'; END
        $$ LANGUAGE plpgsql""",
        """CREATE TRIGGER audit_event_append_only BEFORE UPDATE ON audit_event
        FOR EACH ROW EXECUTE FUNCTION audit_event_refuse()""",
    ],
}
DROP = {
    "sqlite": ["DROP TRIGGER audit_event_append_only"],
    "postgresql": [
        "DROP TRIGGER audit_event_append_only ON audit_event",
        "DROP FUNCTION audit_event_refuse()",
    ],
}


def create_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in CREATE.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement)


def drop_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in DROP.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement)


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
                            ("account", "Changed an account"),
                            ("role", "Changed a role"),
                            ("organisation", "Created an organisation"),
                            ("key-created", "Created an API key"),
                            ("key-revoked", "Revoked an API key"),
                            ("dataset", "Declared a dataset"),
                            ("discarded", "Discarded a dataset"),
                            ("budget", "Set or merged a budget"),
                            ("requested", "Requested a release"),
                            ("published", "Published a release"),
                            ("rejected", "Rejected a draft"),
                            ("withdrawn", "Withdrew a release"),
                            ("erased", "Erased a person"),
                            ("readmitted", "Readmitted a person"),
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
                                    "account",
                                    "role",
                                    "organisation",
                                    "key-created",
                                    "key-revoked",
                                    "dataset",
                                    "discarded",
                                    "budget",
                                    "requested",
                                    "published",
                                    "rejected",
                                    "withdrawn",
                                    "erased",
                                    "readmitted",
                                    "exported",
                                ],
                            )
                        ),
                        name="event_kind_is_known",
                    )
                ],
            },
        ),
        migrations.RunPython(create_trigger, drop_trigger),
    ]
