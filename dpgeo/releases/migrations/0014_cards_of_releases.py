from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0013_notes_of_releases")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="card",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="What lists show of the map, as in pages.cards.",
            ),
        )
    ]
