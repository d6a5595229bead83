import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_squashed_for_0_1_0"),
        ("datasets", "0012_same_people"),
    ]

    operations = [
        migrations.AddField(
            model_name="upload",
            name="key",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounts.apikey",
            ),
        ),
    ]
