import django.utils.timezone
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def submitted_when_created(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Set `submitted_at`, from which public times count, to the creation time of older jobs."""
    apps.get_model("jobs", "Job").objects.update(submitted_at=models.F("created_at"))


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="submitted_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="When it was requested, or last tried again.",
            ),
        ),
        migrations.RunPython(submitted_when_created, migrations.RunPython.noop),
    ]
