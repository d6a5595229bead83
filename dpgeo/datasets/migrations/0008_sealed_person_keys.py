"""Encryption of the datasets' keys for person hashes, with a key kept outside the database."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from dpgeo.datasets.person_keys import make_key_file, seal, unseal


def seal_keys(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    datasets = apps.get_model("datasets", "Dataset").objects
    if datasets.exists():
        make_key_file()
    for pk, key in list(datasets.values_list("pk", "sealed_person_key")):
        datasets.filter(pk=pk).update(sealed_person_key=seal(bytes(key)))


def unseal_keys(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    datasets = apps.get_model("datasets", "Dataset").objects
    for pk, sealed in list(datasets.values_list("pk", "sealed_person_key")):
        datasets.filter(pk=pk).update(sealed_person_key=unseal(bytes(sealed)))


class Migration(migrations.Migration):
    dependencies = [("datasets", "0007_public_attributes")]

    operations = [
        migrations.RenameField("dataset", "person_key", "sealed_person_key"),
        migrations.AlterField(
            "dataset",
            "sealed_person_key",
            models.BinaryField(
                editable=False,
                help_text="Key of the person hashes, encrypted with a key apart from the database.",
                max_length=60,
            ),
        ),
        migrations.RunPython(seal_keys, unseal_keys),
    ]
