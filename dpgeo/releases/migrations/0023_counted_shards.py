"""Shards may count people: a new field of a shard names the file that says what to count."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0022_households")]

    operations = [
        migrations.AddField(
            model_name="releaseshard",
            name="question_name",
            field=models.CharField(blank=True, editable=False, max_length=255),
        ),
    ]
