from typing import Any

from django.db import migrations, models

from dpgeo.spatial.area import StudyArea

SIDES = ("west", "south", "east", "north")


def measure(apps: Any, schema_editor: Any) -> None:
    for dataset in apps.get_model("datasets", "Dataset").objects.only("study_area"):
        bounds = StudyArea.from_geojson(dataset.study_area).bounds
        for side, value in zip(SIDES, bounds, strict=True):
            setattr(dataset, side, value)
        dataset.save(update_fields=SIDES)


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0005_transfers"),
    ]

    operations = [
        *(
            migrations.AddField("dataset", side, models.FloatField(editable=False, null=True))
            for side in SIDES
        ),
        migrations.RunPython(measure, migrations.RunPython.noop),
        *(
            migrations.AlterField("dataset", side, models.FloatField(editable=False))
            for side in SIDES
        ),
    ]
