"""Tables of users, organisations, memberships and API keys."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone


class User(AbstractUser):
    """A user account.

    `acting_key` is the API key that authenticated the current request, or None if there was none.
    With a key, selectors allow only what both the user's role and the key's scopes allow, and only
    in the key's organisation.

    An account that was made by accepting an invitation is not `vouched` for: its owner may be
    whoever invited it. Where two persons are required, it counts as the inviter's
    (`selectors.key_owner_id`) until an operator of the site has made sure that somebody else uses
    it.
    """

    acting_key: ApiKey | None = None

    vouched = models.BooleanField(
        "a person of their own",
        default=True,
        help_text="Whether an operator knows that nobody else uses this account. Where two persons "
        "are required, other accounts count as whoever invited them.",
    )
    invited_by = models.ForeignKey(
        "self", null=True, blank=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        name = self.get_username()
        return f"{name}, by key {self.acting_key.name}" if self.acting_key else name


class Sector(models.TextChoices):
    """A publisher's sector, as named in the Differential Privacy Deployments Registry."""

    GOVERNMENT = "Government", "Government"
    INDUSTRY = "Industry", "Industry"
    NONPROFIT = "Nonprofit", "Nonprofit"


class Role(models.TextChoices):
    """A member's role; each role includes the permissions of the roles before it."""

    STEWARD = "steward", "Steward: declares datasets, uploads, requests releases"
    APPROVER = "approver", "Approver: also publishes and withdraws"
    ADMINISTRATOR = "administrator", "Administrator: also sets budgets and members"


class Organisation(models.Model):
    """An organisation that publishes maps; its name is shown with them."""

    name = models.CharField(max_length=200, unique=True)
    slug = models.SlugField(unique=True)
    contact = models.EmailField(blank=True, help_text="Where citizens can write. Public.")
    sector = models.CharField(
        max_length=20, choices=Sector.choices, blank=True, help_text="Stands in statements. Public."
    )
    quota_bytes = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="Most bytes of uploaded files, as they are sent. Empty: no limit.",
    )
    quota_jobs = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most jobs asked for in a day, in UTC. Empty: no limit."
    )
    quota_requests = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Most API requests of its keys in a day, in UTC. Empty: no limit.",
    )
    most_epsilon = models.DecimalField(
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=6,
        help_text="Largest budget for the same people, in epsilon. Empty: no limit.",
    )
    most_level = models.DecimalField(
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=6,
        help_text="Largest budget for points of the same people, as a level within 200 m. Empty: "
        "no points if budgets in epsilon are limited, otherwise no limit.",
    )
    second_factor = models.CharField(
        max_length=20,
        choices=[(role.value, role.label) for role in Role],
        blank=True,
        help_text="Members with this role or a higher one need a second factor.",
    )
    two_persons = models.BooleanField(
        default=False,
        help_text="Budgets and publications need the approval of a second person.",
    )
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="organisations"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(sector__in=["", *Sector.values]),
                name="organisation_sector_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(second_factor__in=["", *Role.values]),
                name="organisation_second_factor_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SignedIn(models.Model):
    """A session that a user began by signing in, listed so that the user can see and end it.

    The session itself is in Django's table, and decides whether it is valid. `origin` is a network,
    as in the audit list.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="signed_in")
    session_key = models.CharField(max_length=40, unique=True)
    origin = models.CharField(max_length=50, blank=True)
    began_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-began_at"]

    def __str__(self) -> str:
        return f"{self.user} from {self.origin}"


class Membership(models.Model):
    """The role of a user in an organisation."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="memberships"
    )
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.STEWARD)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "user"], name="membership_once_per_organisation"
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.organisation}"


class Invitation(models.Model):
    """An invitation to become a member, by a link of which only a hash is stored."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="invitations"
    )
    email = models.EmailField()
    role = models.CharField(max_length=20, choices=Role.choices)
    sha256 = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.email} to {self.organisation}"


class MailKind(models.TextChoices):
    """What a mail about an account is for."""

    PASSWORD = "password", "A link that sets a password"
    INVITATION = "invitation", "A link that accepts an invitation"
    TAKEN_OVER = "taken-over", "Single sign-on has replaced a password"


class OutgoingMail(models.Model):
    """A mail that a worker will send (`accounts.outgoing_mail`); deleted once it is sent.

    `address` is as it was typed, and need not belong to anybody. `due_at` is the time of the next
    attempt, and null once the mail is given up.
    """

    kind = models.CharField(max_length=20, choices=MailKind.choices)
    address = models.EmailField()
    language = models.CharField(max_length=10)
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    invitation = models.ForeignKey(
        Invitation, null=True, on_delete=models.CASCADE, related_name="mail"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(null=True, default=timezone.now)
    woken_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="outgoing_mail_due")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=MailKind.values), name="outgoing_mail_kind_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.created_at:%Y-%m-%d %H:%M}"


class FailedCode(models.Model):
    """A wrong one-time or recovery code, counted to limit guesses (`accounts.codes`)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="failed_codes")
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.user} at {self.at:%Y-%m-%d %H:%M}"


class AttemptCount(models.Model):
    """The number of attempts of one client in one window of time (`accounts.attempts`).

    `name` is a keyed hash of the client and the window.
    """

    name = models.CharField(max_length=64, unique=True)
    attempts = models.PositiveIntegerField(default=0)
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.attempts} until {self.ends_at:%Y-%m-%d %H:%M}"


class UsedAssertion(models.Model):
    """A SAML assertion that was used and must not be used again, stored as a hash of its id.

    `until` is when the assertion expires; the row is kept for a day longer.
    """

    digest = models.CharField(max_length=64, unique=True)
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.digest[:12]} until {self.until:%Y-%m-%d %H:%M}"


class Scope(models.TextChoices):
    """Scope of an API key. No scope reveals private details or changes an existing budget."""

    DATASETS_WRITE = "datasets:write", "Declare datasets and change what is not fixed yet"
    UPLOADS_WRITE = "uploads:write", "Send files and confirm their columns"
    RELEASES_REQUEST = "releases:request", "Quote, request and cancel releases, and see drafts"
    RELEASES_PUBLISH = "releases:publish", "Publish, reject and withdraw releases, and see drafts"
    JOBS_READ = "jobs:read", "See whether jobs are queued, running or done"
    BUDGETS_READ = "budgets:read", "See budgets and what is left of them"
    BUDGETS_GRANT = "budgets:grant", "Set the budgets of datasets that it declares"
    CAMPAIGNS_WRITE = "campaigns:write", "See, save and delete task campaigns"


class ApiKey(models.Model):
    """A key with which an API client authenticates; only a hash of its secret is stored.

    A key acts on behalf of the user who created it, in one organisation, and stops working when
    that user's membership ends. The secret has 256 random bits, so a single SHA-256 protects it as
    well as a slow hash would. Only the day on which the key was last used is recorded, which is
    enough to find forgotten keys.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=list)
    prefix = models.CharField(max_length=16, editable=False, help_text="How the key begins.")
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_on = models.DateField(null=True, blank=True, editable=False)
    expires_on = models.DateField(
        null=True, blank=True, editable=False, help_text="Last day on which it works, in UTC."
    )
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API key"
        verbose_name_plural = "API keys"

    def __str__(self) -> str:
        return self.name
