"""Records of opened files no longer depend on the files' content.

Whether a file equals one seen before must not be public, since that depends on every byte.
"""

from typing import Any

from django.db import migrations, models


def forget_same_files(apps: Any, schema_editor: Any) -> None:
    """Delete all records of opened files but the newest for each study area of a dataset."""
    shown = apps.get_model("datasets", "ShownFile").objects
    last: dict[tuple[Any, ...], Any] = {}
    for row in shown.order_by("on", "pk"):
        key = (row.organisation_id, row.dataset, row.area)
        if key in last:
            shown.filter(pk=last[key]).delete()
        last[key] = row.pk


def count_openings(apps: Any, schema_editor: Any) -> None:
    """Store for each dataset under how many other areas files were opened before its declaration.

    Unlike the record that this replaces, it does not depend on the content of any file.
    """
    shown = apps.get_model("datasets", "ShownFile").objects
    datasets = apps.get_model("datasets", "Dataset").objects
    for dataset in datasets.all():
        others = shown.filter(organisation=dataset.organisation_id).exclude(dataset=dataset.pk)
        own = shown.filter(dataset=dataset.pk).values("area")
        before = others.exclude(area__in=own).filter(on__lte=dataset.created_at.date())
        days = list(before.values_list("on", flat=True))
        exchange = {**dataset.area_exchange}
        exchange.pop("seen_before", None)
        datasets.filter(pk=dataset.pk).update(
            area_exchange=exchange,
            area_seen={"times": len(days), "on": max(days).isoformat()} if days else {},
        )


class Migration(migrations.Migration):
    dependencies = [("datasets", "0017_found_by_portals")]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="area_seen",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="How often members had opened files beside other areas before, and when "
                "last.",
            ),
        ),
        migrations.RemoveConstraint(model_name="shownfile", name="shown_file_once"),
        migrations.RunPython(forget_same_files, migrations.RunPython.noop),
        migrations.RemoveField(model_name="shownfile", name="checksum"),
        migrations.AddConstraint(
            model_name="shownfile",
            constraint=models.UniqueConstraint(
                fields=("organisation", "dataset", "area"), name="shown_file_once"
            ),
        ),
        migrations.RunPython(count_openings, migrations.RunPython.noop),
    ]
