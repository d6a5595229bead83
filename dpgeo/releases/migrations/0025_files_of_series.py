"""A series may have all files of each map made when it is published."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0024_private_bounds")]

    operations = [
        migrations.AddField(
            model_name="series",
            name="all_files",
            field=models.BooleanField(
                default=False,
                help_text="Whether the files of each map are made when it is published, not when somebody asks.",
            ),
        ),
    ]
