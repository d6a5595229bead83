"""Trigger by which the database refuses every change of a ledger entry."""

from importlib import import_module

from django.db import migrations

append_only = import_module("dpgeo.budgets.migrations.0001_squashed_for_0_1_0")


class Migration(migrations.Migration):
    dependencies = [("budgets", "0001_initial")]
    operations = [migrations.RunPython(append_only.create_trigger, append_only.drop_trigger)]
