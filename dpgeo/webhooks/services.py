"""Services that create webhooks, and deliver signed messages to them.

Messages follow the Standard Webhooks specification (standardwebhooks.com): the signature covers the
id of the message, the time of the attempt and the body, so that a receiver can refuse an old
message that somebody sends again. Each message is delivered at least once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

import dpgeo
from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may_administer, visible_organisations
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.webhooks.models import Delivery, Webhook, WebhookEvent
from dpgeo.webhooks.sending import check_url, send

logger = logging.getLogger(__name__)

DELIVER_TASK = "webhooks.deliver"

SECRET_BEGINS = "whsec_"  # noqa: S105

WAITS = tuple(timedelta(minutes=each) for each in (1, 5, 30, 2 * 60, 5 * 60, 10 * 60, 14 * 60))
"""Time between each attempt and the next; after the last one, a message is given up."""

WAKE_AFTER = timedelta(minutes=1)
"""Time after which a due delivery is offered to the workers again."""

KEPT = timedelta(days=30)
"""Time from a delivery's creation until it is deleted, if it has ended."""

MAX_WEBHOOKS = 10

WOKEN_AT_ONCE = 100


@transaction.atomic
def webhook_create(*, organisation: Organisation, url: str, by: User) -> tuple[Webhook, str]:
    """Create a webhook, queue a first message to it, and return it with its secret.

    Raises NotAllowed if the user does not administer the organisation, InvalidInput for a URL to
    which nothing may be sent, or Conflict if the organisation has too many webhooks.
    """
    _check_administers(by, organisation)
    check_url(url)
    Organisation.objects.select_for_update().get(pk=organisation.pk)
    if organisation.webhooks.filter(ended_at=None).count() >= MAX_WEBHOOKS:
        raise Conflict(
            "Your organisation has {most} webhooks already; delete one first.", most=MAX_WEBHOOKS
        )
    webhook = Webhook.objects.create(organisation=organisation, url=url, created_by=by)
    _record(webhook, by, "created")
    _add(Webhook.objects.filter(pk=webhook.pk), WebhookEvent.PING, {})
    return webhook, webhook_secret(webhook)


def webhook_end(*, webhook: Webhook, by: User) -> None:
    """Stop all messages to a webhook. Repeating this is safe. Raises NotAllowed."""
    _check_administers(by, webhook.organisation)
    with transaction.atomic():
        active = Webhook.objects.filter(pk=webhook.pk, ended_at=None)
        if active.update(ended_at=timezone.now()):
            webhook.deliveries.exclude(due_at=None).update(due_at=None)
            _record(webhook, by, "deleted")


def webhooks_managed_by(user: User) -> QuerySet[Webhook]:
    """Return the active webhooks of the organisations that a user administers."""
    managed = [each.pk for each in visible_organisations(user) if may_administer(user, each)]
    return Webhook.objects.filter(organisation__in=managed, ended_at=None).select_related(
        "organisation", "created_by"
    )


def deliveries_add(organisation: int, event: WebhookEvent, facts: Mapping[str, str]) -> None:
    """Queue a message to all webhooks of an organisation, given by its id.

    Call this in the transaction that publishes or withdraws a release. `facts` must be public (see
    `webhooks.models`).
    """
    _add(Webhook.objects.filter(organisation=organisation, ended_at=None), event, facts)


def delivery_run(*, delivery_id: UUID) -> bool:
    """Send a message if it is due; return whether an attempt was made.

    The attempt is counted, and the next one scheduled, before anything is sent: two workers never
    make the same attempt, and if a worker dies, the next attempt is made at the scheduled time.
    """
    delivery = Delivery.objects.select_related("webhook").filter(pk=delivery_id).first()
    if delivery is None:
        return False
    now, last = timezone.now(), delivery.attempts >= len(WAITS)
    ours = Delivery.objects.filter(
        pk=delivery.pk, attempts=delivery.attempts, due_at__lte=now, webhook__ended_at=None
    )
    due_at = None if last else now + WAITS[delivery.attempts]
    if not ours.update(attempts=F("attempts") + 1, due_at=due_at, woken_at=None):
        return False
    body = delivery.body.encode()
    outcome = send(delivery.webhook.url, body, _headers(delivery, body))
    stored = Delivery.objects.filter(pk=delivery.pk)
    if outcome.startswith("2"):
        stored.update(outcome=outcome, due_at=None, delivered_at=timezone.now())
    else:
        stored.update(outcome=outcome)
        logger.info("a webhook did not accept a message: %s", outcome)
    return True


def delivery_repeat(*, delivery: Delivery, by: User) -> None:
    """Send a message once more that was delivered or given up, with the same id.

    Raises NotAllowed, or Conflict if an attempt is still to come or the webhook was deleted.
    """
    _check_administers(by, delivery.webhook.organisation)
    ended = Delivery.objects.filter(pk=delivery.pk, due_at=None, webhook__ended_at=None)
    with transaction.atomic():
        if not ended.update(due_at=timezone.now(), attempts=0, outcome="", delivered_at=None):
            raise Conflict("This message is still being sent, or its webhook was deleted.")
        _wake(delivery.pk)


def deliveries_wake() -> int:
    """Offer due deliveries to the workers, WOKEN_AT_ONCE at most; return how many were offered."""
    now = timezone.now()
    quiet = Q(woken_at=None) | Q(woken_at__lt=now - WAKE_AFTER)
    due = Delivery.objects.filter(quiet, due_at__lte=now).order_by("due_at")
    ids = list(due.values_list("pk", flat=True)[:WOKEN_AT_ONCE])
    for each in ids:
        _wake(each)
    return len(ids)


def deliveries_forget() -> None:
    """Delete deliveries that have ended and were created more than KEPT ago."""
    Delivery.objects.filter(due_at=None, created_at__lt=timezone.now() - KEPT).delete()


def webhook_secret(webhook: Webhook) -> str:
    """Return the secret of a webhook, which is derived from the site's secret key."""
    return SECRET_BEGINS + base64.b64encode(_key(webhook)).decode()


def _key(webhook: Webhook) -> bytes:
    return salted_hmac("dpgeo.webhooks", bytes(webhook.nonce), algorithm="sha256").digest()


def _headers(delivery: Delivery, body: bytes) -> dict[str, str]:
    sent = str(int(timezone.now().timestamp()))
    signed = b".".join([str(delivery.pk).encode(), sent.encode(), body])
    digest = hmac.new(_key(delivery.webhook), signed, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "User-Agent": f"dpgeo/{dpgeo.__version__}",
        "webhook-id": str(delivery.pk),
        "webhook-timestamp": sent,
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _add(webhooks: QuerySet[Webhook], event: WebhookEvent, facts: Mapping[str, str]) -> None:
    told = {"type": event.value, "timestamp": timezone.now().isoformat(), "data": dict(facts)}
    body = json.dumps(told, separators=(",", ":"))
    for webhook in webhooks:
        delivery = Delivery.objects.create(webhook=webhook, event=event, body=body)
        _wake(delivery.pk)


def _wake(delivery_id: UUID) -> None:
    """Tell the workers to send a message, once the transaction is committed."""
    Delivery.objects.filter(pk=delivery_id).update(woken_at=timezone.now())
    transaction.on_commit(
        lambda: current_app.send_task(DELIVER_TASK, args=[str(delivery_id)], ignore_result=True),
        robust=True,
    )


def _record(webhook: Webhook, by: User, detail: str) -> None:
    """Record an act on a webhook in the audit list under the host of the webhook's URL.

    The URL's path is left out, because paths of webhooks often contain passwords.
    """
    host = urlsplit(webhook.url).hostname or ""
    event_record(
        EventKind.WEBHOOK,
        by=by,
        organisation=webhook.organisation_id,
        subject=host,
        detail=detail,
    )


def _check_administers(user: User, organisation: Organisation) -> None:
    if not may_administer(user, organisation):
        raise NotAllowed(
            "Webhooks are managed by the administrators of their organisation; ask one."
        )
