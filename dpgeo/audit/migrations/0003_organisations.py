"""New kinds of events in the audit list: webhooks, settings and approvals by a second person.

To change a constraint, SQLite creates a new table without the old one's trigger, so the trigger is
created again.
"""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

KINDS = [
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
]

DROP = {
    "sqlite": "DROP TRIGGER IF EXISTS audit_event_append_only",
    "postgresql": "DROP TRIGGER IF EXISTS audit_event_append_only ON audit_event",
}
CREATE = {
    "sqlite": """CREATE TRIGGER audit_event_append_only BEFORE UPDATE ON audit_event
        BEGIN SELECT RAISE(ABORT, 'The audit list is append-only.'); END""",
    "postgresql": """CREATE TRIGGER audit_event_append_only BEFORE UPDATE ON audit_event
        FOR EACH ROW EXECUTE FUNCTION audit_event_refuse()""",
}


def drop_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if statement := DROP.get(schema_editor.connection.vendor):
        schema_editor.execute(statement)


def create_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if statement := CREATE.get(schema_editor.connection.vendor):
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_backups"),
    ]

    operations = [
        migrations.RunPython(drop_trigger, create_trigger),
        migrations.RemoveConstraint(model_name="event", name="event_kind_is_known"),
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(choices=KINDS, max_length=20),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(kind__in=[kind for kind, _ in KINDS]),
                name="event_kind_is_known",
            ),
        ),
        migrations.RunPython(create_trigger, drop_trigger),
    ]
