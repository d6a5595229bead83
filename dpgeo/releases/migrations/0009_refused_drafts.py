from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0008_total_of_parts")]

    operations = [
        migrations.RemoveConstraint(model_name="release", name="release_state_is_known"),
        migrations.AddField(
            model_name="release",
            name="refusal",
            field=models.TextField(
                blank=True, help_text="Why this draft was not published. Seen by members alone."
            ),
        ),
        migrations.AddField(
            model_name="release",
            name="refused_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="release",
            name="state",
            field=models.CharField(
                choices=[
                    ("draft", "Draft"),
                    ("published", "Published"),
                    ("withdrawn", "Withdrawn"),
                    ("refused", "Refused"),
                ],
                default="draft",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(state__in=["draft", "published", "withdrawn", "refused"]),
                name="release_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(state="refused", refused_at__isnull=False) & ~models.Q(refusal=""),
                    ~models.Q(state="refused") & models.Q(refused_at__isnull=True, refusal=""),
                    _connector="OR",
                ),
                name="release_refused_with_a_reason",
            ),
        ),
    ]
