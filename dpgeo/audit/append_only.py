"""Database triggers that refuse changes to the rows of a table."""

from typing import Any

from django.db import migrations

CREATE = {
    "sqlite": [
        """CREATE TRIGGER {table}_append_only BEFORE UPDATE ON {table}
        BEGIN SELECT RAISE(ABORT, '{message}'); END"""
    ],
    "postgresql": [
        """CREATE OR REPLACE FUNCTION {table}_refuse() RETURNS trigger AS $$
        BEGIN RAISE EXCEPTION '{message}'
              USING ERRCODE = 'integrity_constraint_violation'; END
        $$ LANGUAGE plpgsql""",
        """CREATE TRIGGER {table}_append_only BEFORE UPDATE ON {table}
        FOR EACH ROW EXECUTE FUNCTION {table}_refuse()""",
    ],
}
DROP = {
    "sqlite": "DROP TRIGGER IF EXISTS {table}_append_only",
    "postgresql": "DROP TRIGGER IF EXISTS {table}_append_only ON {table}",
}


def append_only(table: str, message: str) -> migrations.RunPython:
    """Return a migration's operation that lets the database refuse updates of a table's rows.

    A migration that alters the table has to end with this operation: SQLite alters most tables by
    copying them, without their triggers. Deletion is refused by the models alone, because a trigger
    would also stop the emptying of a test database.
    """

    def execute(schema_editor: Any, statements: list[str]) -> None:
        for statement in statements:
            schema_editor.execute(statement.format(table=table, message=message))

    def create(apps: Any, schema_editor: Any) -> None:
        drop(apps, schema_editor)
        execute(schema_editor, CREATE[schema_editor.connection.vendor])

    def drop(apps: Any, schema_editor: Any) -> None:
        execute(schema_editor, [DROP[schema_editor.connection.vendor]])

    return migrations.RunPython(create, drop)
