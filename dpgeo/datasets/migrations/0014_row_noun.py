from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0013_upload_key")]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="row_noun",
            field=models.CharField(
                blank=True,
                default="",
                help_text="What a row is called, such as trip. Empty: by the unit.",
                max_length=20,
            ),
        ),
    ]
