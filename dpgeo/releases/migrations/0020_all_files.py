"""A publisher may have all files of a release made when it is published."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0019_releases_in_rho")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="all_files",
            field=models.BooleanField(
                default=False,
                help_text="Whether its files are made when it is published, not when somebody asks.",
            ),
        ),
        migrations.AddField(
            model_name="releasefile",
            name="large",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="Made only when somebody asks, even if all files are made at "
                "publication.",
            ),
        ),
    ]
