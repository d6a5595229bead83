from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0007_asked_by_key")]

    operations = [
        # Existing parts of a release do not record how many parts it has. The default of 0 never
        # makes a complete set, so they are created anew.
        migrations.AddField(
            model_name="part",
            name="total",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
    ]
