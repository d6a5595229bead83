from typing import Any

from django.db import migrations, models


def rename_state(before: str, after: str) -> Any:
    """Return a function that renames a state of releases."""

    def rename(apps: Any, schema_editor: Any) -> None:
        releases = apps.get_model("releases", "Release").objects
        releases.using(schema_editor.connection.alias).filter(state=before).update(state=after)

    return rename


class Migration(migrations.Migration):
    dependencies = [("releases", "0010_release_shards")]

    operations = [
        migrations.RemoveConstraint(model_name="release", name="release_state_is_known"),
        migrations.RemoveConstraint(model_name="release", name="release_refused_with_a_reason"),
        migrations.RenameField("release", "refusal", "rejection"),
        migrations.RenameField("release", "refused_at", "rejected_at"),
        migrations.AlterField(
            model_name="release",
            name="state",
            field=models.CharField(
                choices=[
                    ("draft", "Draft"),
                    ("published", "Published"),
                    ("withdrawn", "Withdrawn"),
                    ("rejected", "Rejected"),
                ],
                default="draft",
                max_length=10,
            ),
        ),
        migrations.RunPython(
            rename_state("refused", "rejected"), rename_state("rejected", "refused")
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(state__in=["draft", "published", "withdrawn", "rejected"]),
                name="release_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(state="rejected", rejected_at__isnull=False) & ~models.Q(rejection=""),
                    ~models.Q(state="rejected") & models.Q(rejected_at__isnull=True, rejection=""),
                    _connector="OR",
                ),
                name="release_rejected_with_a_reason",
            ),
        ),
    ]
