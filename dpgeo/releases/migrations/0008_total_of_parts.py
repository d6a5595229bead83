from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0007_asked_by_key")]

    operations = [
        # Parts dealt before did not say how many they are: 0 is no whole set, so they are dealt
        # anew.
        migrations.AddField(
            model_name="part",
            name="total",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
    ]
