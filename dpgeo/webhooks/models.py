"""Webhooks of organisations, and their deliveries.

Privacy argument. A delivery is created in the transaction that publishes or withdraws a release,
and its body holds only what everybody can then read in the API: ids and the kind of event. So
neither a body nor the time of a delivery depends on private data beyond the publication itself. How
a receiver answers is shown to administrators as a status or a short code, never as text.
"""

from __future__ import annotations

import secrets
import uuid

from django.db import models
from django.utils import timezone

from dpgeo.accounts.models import Organisation, User


def make_nonce() -> bytes:
    """Return the random bytes from which the secret of a webhook is derived."""
    return secrets.token_bytes(16)


class WebhookEvent(models.TextChoices):
    """What a message reports; the values are the `type` of the message."""

    PING = "ping", "The webhook was created"
    PUBLISHED = "release.published", "A release was published"
    WITHDRAWN = "release.withdrawn", "A release was withdrawn"


class Webhook(models.Model):
    """A URL of an organisation that gets a message when the organisation publishes or withdraws a
    map.

    The secret that signs messages is not stored: it is derived from `nonce` and the site's secret
    key (`services.webhook_secret`), so a copy of the database does not reveal it.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="webhooks"
    )
    url = models.CharField(max_length=500)
    nonce = models.BinaryField(max_length=16, default=make_nonce, editable=False)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """A message to a webhook, sent until the receiver accepts it or all attempts are used up.

    `body` is stored as it is sent, because the signature covers its bytes. `due_at` is the time of
    the next attempt, and null once the delivery has ended. `outcome` is the HTTP status of the
    receiver's last response, or a code from `sending.Outcome`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=30, choices=WebhookEvent.choices)
    body = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(null=True, default=timezone.now)
    woken_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    outcome = models.CharField(max_length=20, blank=True)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["due_at"], name="delivery_due")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(delivered_at=None) | models.Q(due_at=None),
                name="delivery_ends_when_delivered",
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"
