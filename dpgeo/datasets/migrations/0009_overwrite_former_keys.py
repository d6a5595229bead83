"""Rewriting of database files, which may still contain the keys from before their encryption."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

STATEMENTS = {
    "sqlite": ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"],
    "postgresql": ["VACUUM FULL datasets_dataset"],
}


def overwrite(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if not apps.get_model("datasets", "Dataset").objects.exists():
        return
    with schema_editor.connection.cursor() as cursor:
        for statement in STATEMENTS.get(schema_editor.connection.vendor, []):
            cursor.execute(statement)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("datasets", "0008_sealed_person_keys")]

    operations = [migrations.RunPython(overwrite, migrations.RunPython.noop)]
