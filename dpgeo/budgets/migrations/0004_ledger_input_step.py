"""Column for the step of the grid to which positions are snapped before they are perturbed."""

from typing import Any

from django.db import migrations, models
from django.db.models import F, Value
from django.db.models.functions import Greatest


def keep_former_steps(apps: Any, schema_editor: Any) -> None:
    """Give existing budgets the former step: a hundredth of the radius, or a metre.

    The step was the larger of the two. Points that were paid for from these budgets may have been
    snapped to a grid of that step.
    """
    ledgers = apps.get_model("budgets", "Ledger").objects.filter(radius__isnull=False)
    ledgers.update(input_step=Greatest(F("radius") / 100, Value(1)) * 1000)


class Migration(migrations.Migration):
    dependencies = [("budgets", "0001_squashed_for_0_1_0")]

    operations = [
        migrations.AddField(
            model_name="ledger",
            name="input_step",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.RunPython(keep_former_steps, migrations.RunPython.noop),
    ]
