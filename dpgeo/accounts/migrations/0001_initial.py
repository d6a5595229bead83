import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="AttemptCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64, unique=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("ends_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="UsedAssertion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("until", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                (
                    "first_name",
                    models.CharField(blank=True, max_length=150, verbose_name="first name"),
                ),
                (
                    "last_name",
                    models.CharField(blank=True, max_length=150, verbose_name="last name"),
                ),
                (
                    "email",
                    models.EmailField(blank=True, max_length=254, verbose_name="email address"),
                ),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="date joined"
                    ),
                ),
                (
                    "vouched",
                    models.BooleanField(
                        default=True,
                        help_text="Whether an operator knows that nobody else uses this account. Where two persons are required, other accounts count as whoever invited them.",
                        verbose_name="a person of their own",
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "invited_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="FailedCode",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="failed_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("steward", "Steward: declares datasets, uploads, requests releases"),
                            ("approver", "Approver: also publishes and withdraws"),
                            ("administrator", "Administrator: also sets budgets and members"),
                        ],
                        default="steward",
                        max_length=20,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Organisation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True)),
                ("slug", models.SlugField(unique=True)),
                (
                    "contact",
                    models.EmailField(
                        blank=True, help_text="Where citizens can write. Public.", max_length=254
                    ),
                ),
                (
                    "sector",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("Government", "Government"),
                            ("Industry", "Industry"),
                            ("Nonprofit", "Nonprofit"),
                        ],
                        help_text="Stands in statements. Public.",
                        max_length=20,
                    ),
                ),
                (
                    "quota_bytes",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Most bytes of uploaded files, as they are sent. Empty: no limit.",
                        null=True,
                    ),
                ),
                (
                    "quota_jobs",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Most jobs asked for in a day, in UTC. Empty: no limit.",
                        null=True,
                    ),
                ),
                (
                    "quota_requests",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Most API requests of its keys in a day, in UTC. Empty: no limit.",
                        null=True,
                    ),
                ),
                (
                    "most_epsilon",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Largest budget for the same people, in epsilon. Empty: no limit.",
                        max_digits=12,
                        null=True,
                    ),
                ),
                (
                    "most_level",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Largest budget for points of the same people, as a level within 200 m. Empty: no points if budgets in epsilon are limited, otherwise no limit.",
                        max_digits=12,
                        null=True,
                    ),
                ),
                (
                    "second_factor",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("steward", "Steward: declares datasets, uploads, requests releases"),
                            ("approver", "Approver: also publishes and withdraws"),
                            ("administrator", "Administrator: also sets budgets and members"),
                        ],
                        help_text="Members with this role or a higher one need a second factor.",
                        max_length=20,
                    ),
                ),
                (
                    "two_persons",
                    models.BooleanField(
                        default=False,
                        help_text="Budgets and publications need the approval of a second person.",
                    ),
                ),
                (
                    "members",
                    models.ManyToManyField(
                        related_name="organisations",
                        through="accounts.Membership",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="membership",
            name="organisation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="memberships",
                to="accounts.organisation",
            ),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("steward", "Steward: declares datasets, uploads, requests releases"),
                            ("approver", "Approver: also publishes and withdraws"),
                            ("administrator", "Administrator: also sets budgets and members"),
                        ],
                        max_length=20,
                    ),
                ),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                (
                    "invited_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("scopes", models.JSONField(default=list)),
                (
                    "prefix",
                    models.CharField(
                        editable=False, help_text="How the key begins.", max_length=16
                    ),
                ),
                ("sha256", models.CharField(editable=False, max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_on", models.DateField(blank=True, editable=False, null=True)),
                (
                    "expires_on",
                    models.DateField(
                        blank=True,
                        editable=False,
                        help_text="Last day on which it works, in UTC.",
                        null=True,
                    ),
                ),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="OutgoingMail",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("password", "A link that sets a password"),
                            ("invitation", "A link that accepts an invitation"),
                            ("taken-over", "Single sign-on has replaced a password"),
                        ],
                        max_length=20,
                    ),
                ),
                ("address", models.EmailField(max_length=254)),
                ("language", models.CharField(max_length=10)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now, null=True)),
                ("woken_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "invitation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mail",
                        to="accounts.invitation",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignedIn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("origin", models.CharField(blank=True, max_length=50)),
                ("began_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="signed_in",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-began_at"],
            },
        ),
        migrations.AddConstraint(
            model_name="organisation",
            constraint=models.CheckConstraint(
                condition=models.Q(("sector__in", ["", "Government", "Industry", "Nonprofit"])),
                name="organisation_sector_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="organisation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("second_factor__in", ["", "steward", "approver", "administrator"])
                ),
                name="organisation_second_factor_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                fields=("organisation", "user"), name="membership_once_per_organisation"
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["steward", "approver", "administrator"])),
                name="membership_role_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="outgoingmail",
            index=models.Index(fields=["due_at"], name="outgoing_mail_due"),
        ),
        migrations.AddConstraint(
            model_name="outgoingmail",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["password", "invitation", "taken-over"])),
                name="outgoing_mail_kind_is_known",
            ),
        ),
    ]
