"""Times of first uploads, whether layers were declared before them, and where layers come from."""

from typing import Any

from django.db import migrations, models
from django.db.models import Min


def record_first_uploads(apps: Any, schema_editor: Any) -> None:
    """Use a dataset's earliest remaining upload, or its first confirmation, as its first upload.

    An earlier upload may have been deleted. So a layer counts as declared after the first upload if
    it is younger than that, in this dataset or in one that shares the budget; if it is older, the
    order stays unknown.
    """
    datasets = apps.get_model("datasets", "Dataset").objects
    layers = apps.get_model("datasets", "PublicLayer").objects
    for dataset in datasets.annotate(earliest=Min("uploads__created_at")):
        moments = [each for each in (dataset.earliest, dataset.frozen_at) if each]
        if moments:
            first = min(moments)
            datasets.filter(pk=dataset.pk).update(first_upload_at=first)
            later = layers.filter(dataset__ledger=dataset.ledger_id, created_at__gt=first)
            later.update(before_upload=False)


class Migration(migrations.Migration):
    dependencies = [("datasets", "0010_raw_files_are_deleted")]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="area_exchange",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="The named place that the area was exchanged for after the first upload.",
            ),
        ),
        migrations.AddField(
            model_name="dataset",
            name="first_upload_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="publiclayer",
            name="before_upload",
            field=models.BooleanField(
                editable=False,
                help_text="Whether no file of these people was uploaded before; unknown if empty.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="publiclayer",
            name="source_url",
            field=models.CharField(blank=True, default="", max_length=500),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="publiclayer",
            name="source_date",
            field=models.DateField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="publiclayer",
            name="source_name",
            field=models.CharField(blank=True, default="", max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="publiclayer",
            name="source_release",
            field=models.CharField(blank=True, default="", max_length=32),
            preserve_default=False,
        ),
        migrations.RunPython(record_first_uploads, migrations.RunPython.noop),
    ]
