"""The audit list: append-only events that say who did what, when and from where.

Privacy argument. An event records an act of a member, a program or the operator, and does not
depend on the data: it names accounts, datasets, releases, roles and budgets, but never a row, a
number of rows, a person in the data, the name of an uploaded file, a reason typed by a person, or
the text of an error. An erasure is recorded when it is requested, so the event does not reveal
whether the person was in the data. How jobs end, which can depend on the data, is not in the list.

The list itself is about members. The origin of an event is a network and never an address
(`origin`), and a typed name is stored only if there is such an account, because people sometimes
type their password there.
"""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models
from django.utils import timezone


class EventKind(models.TextChoices):
    """Kind of an event in the audit list."""

    SIGN_IN = "sign-in", "Signed in"
    SIGN_IN_FAILED = "sign-in-failed", "Failed to sign in"
    LOCKED_OUT = "locked-out", "Locked out"
    SIGN_OUT = "sign-out", "Signed out"
    PASSWORD = "password", "Set a password"
    FACTOR = "factor", "Changed a second factor"
    INVITED = "invited", "Invited somebody"
    ACCOUNT = "account", "Changed an account"
    ROLE = "role", "Changed a role"
    ORGANISATION = "organisation", "Created an organisation"
    KEY_CREATED = "key-created", "Created an API key"
    KEY_REVOKED = "key-revoked", "Revoked an API key"
    WEBHOOK = "webhook", "Created or deleted a webhook"
    SETTING = "setting", "Changed an organisation's settings"
    ASKED = "asked", "Asked a second person to approve"
    APPROVED = "approved", "Approved what another person asked for"
    REFUSED = "refused", "Refused what another person asked for"
    DATASET = "dataset", "Declared a dataset"
    DISCARDED = "discarded", "Discarded a dataset"
    BUDGET = "budget", "Set or merged a budget"
    REQUESTED = "requested", "Requested a release"
    PUBLISHED = "published", "Published a release"
    REJECTED = "rejected", "Rejected a draft"
    WITHDRAWN = "withdrawn", "Withdrew a release"
    ERASED = "erased", "Erased a person"
    READMITTED = "readmitted", "Readmitted a person"
    BACKED_UP = "backed-up", "Made a backup"
    RESTORED = "restored", "Restored a backup"
    EXPORTED = "exported", "Exported the audit list"


class EventQuerySet(models.QuerySet["Event"]):
    """A queryset of events, which can be read but not changed or deleted."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("The audit list is append-only: events are never changed or deleted.")

    update = delete = bulk_update = _refuse


class Event(models.Model):
    """An event, which is never changed or deleted.

    The model and its manager raise TypeError on changes and deletion. A database trigger, created
    by the migrations, prevents changes by any other means. `account` and `organisation` are ids
    without foreign keys, and `who` is text, so that events stay when accounts and organisations are
    deleted. `account` is the account that acted, or at a failed sign-in the one that was tried.
    """

    at = models.DateTimeField(default=timezone.now, editable=False)
    kind = models.CharField(max_length=20, choices=EventKind.choices)
    who = models.CharField(max_length=200, blank=True)
    account = models.BigIntegerField(null=True)
    origin = models.CharField(
        max_length=50, blank=True, help_text="A network, never an address; or the console."
    )
    organisation = models.BigIntegerField(null=True)
    subject = models.CharField(max_length=200, blank=True)
    detail = models.CharField(max_length=200, blank=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["organisation", "-id"], name="event_of_organisation"),
            models.Index(fields=["account", "-id"], name="event_of_account"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=EventKind.values), name="event_kind_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}".strip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the event. Raises TypeError if it is already stored."""
        if not self._state.adding:
            raise TypeError("The audit list is append-only: events are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise TypeError, since events are never deleted."""
        raise TypeError("The audit list is append-only: events are never deleted.")
