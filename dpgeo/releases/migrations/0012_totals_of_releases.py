from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0001_squashed_for_0_1_0")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="totals",
            field=models.JSONField(
                blank=True,
                help_text="What is spent on totals of all the data, as in core.totals.TotalsPlan.",
                null=True,
            ),
        ),
    ]
