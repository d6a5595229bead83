"""The database refuses to change a ledger entry, whoever asks.

Deletion is refused by the model and its manager alone: a trigger would also stop the emptying of
a test database.
"""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CREATE = {
    "sqlite": [
        """CREATE TRIGGER budgets_entry_append_only BEFORE UPDATE ON budgets_entry
        BEGIN SELECT RAISE(ABORT, 'The ledger is append-only.'); END"""
    ],
    "postgresql": [
        """CREATE FUNCTION budgets_entry_refuse() RETURNS trigger AS $$
        BEGIN RAISE EXCEPTION 'The ledger is append-only.'
              USING ERRCODE = 'integrity_constraint_violation'; END
        $$ LANGUAGE plpgsql""",
        """CREATE TRIGGER budgets_entry_append_only BEFORE UPDATE ON budgets_entry
        FOR EACH ROW EXECUTE FUNCTION budgets_entry_refuse()""",
    ],
}
DROP = {
    "sqlite": ["DROP TRIGGER budgets_entry_append_only"],
    "postgresql": [
        "DROP TRIGGER budgets_entry_append_only ON budgets_entry",
        "DROP FUNCTION budgets_entry_refuse()",
    ],
}


def create_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in CREATE.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement)


def drop_trigger(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in DROP.get(schema_editor.connection.vendor, []):
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("budgets", "0001_initial")]
    operations = [migrations.RunPython(create_trigger, drop_trigger)]
