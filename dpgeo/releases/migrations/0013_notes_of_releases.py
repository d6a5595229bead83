from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0012_totals_of_releases")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="notes",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="The publisher's words at positions on the map, as in releases.notes.",
            ),
        ),
        migrations.AddField(
            model_name="release",
            name="notes_sha256",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
    ]
