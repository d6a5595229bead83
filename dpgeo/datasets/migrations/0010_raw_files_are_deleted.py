from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0009_overwrite_former_keys")]

    operations = [
        migrations.AlterField(
            "dataset",
            "keep_raw",
            models.BooleanField(
                default=False,
                help_text="Keep uploaded files for a while after they were read; releases need them not.",
            ),
        ),
    ]
