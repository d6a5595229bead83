import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0009_refused_drafts")]

    operations = [
        migrations.RenameModel("Part", "ReleaseShard"),
        migrations.AlterField(
            "releaseshard",
            "release",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="shards",
                to="releases.release",
            ),
        ),
        migrations.AlterField(
            "releaseshard",
            "job",
            models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="shard", to="jobs.job"
            ),
        ),
        migrations.RemoveConstraint("releaseshard", "part_once_per_release"),
        migrations.AddConstraint(
            "releaseshard",
            models.UniqueConstraint(fields=["release", "number"], name="shard_once_per_release"),
        ),
    ]
