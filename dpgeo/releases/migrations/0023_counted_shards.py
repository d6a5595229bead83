"""Shards may count people: the question they answer is stored beside them."""

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
