import datetime
from typing import Any

from django.db import migrations, models

import dpgeo.releases.models


def tell_days(apps: Any, schema_editor: Any) -> None:
    for release in apps.get_model("releases", "Release").objects.only("published_at", "created_at"):
        moment = release.published_at or release.created_at
        release.day = moment.astimezone(datetime.UTC).date()
        release.save(update_fields=["day"])


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0004_bounding_of_releases"),
    ]

    operations = [
        migrations.AddField(
            model_name="release",
            name="day",
            field=models.DateField(
                default=dpgeo.releases.models.today,
                editable=False,
                help_text="In UTC, of its publication; of its request while it is a draft.",
            ),
        ),
        migrations.RunPython(tell_days, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="release",
            index=models.Index(fields=["state", "-day", "-id"], name="release_newest_first"),
        ),
    ]
