"""Mail about accounts, which a worker sends: new passwords, invitations and taken-over accounts.

Argument. A request only stores what is to be sent. A request for a new password stores the address
as it was typed and does not look for an account, so its work, and the time it takes, cannot depend
on whether there is one; the same holds while the broker or the mail server is down. The worker
finds the account, and greets the mail server even if there is none, since other work waits for it.
The broker carries only the number of the row. The secret of a link is made when its mail is sent,
and stands nowhere but in the mail.

A row is deleted once its mail is sent. The message to the workers may be lost; the reaper repeats
it (`mail_wake`). A mail is sent at least once, and given up after the last of `WAITS`.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from datetime import timedelta
from smtplib import SMTPException

from celery import current_app
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import F, Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import get_language, gettext, override

from dpgeo.accounts.fresh_tokens import reset_tokens
from dpgeo.accounts.models import Invitation, MailKind, OutgoingMail, User
from dpgeo.accounts.selectors import secret_digest
from dpgeo.accounts.site_links import site_link, site_name

logger = logging.getLogger(__name__)

MAIL_TASK = "accounts.mail"

WAITS = tuple(timedelta(minutes=each) for each in (1, 5, 30, 2 * 60))
"""Time between each attempt to send a mail and the next; after the last one, it is given up."""

WAKE_AFTER = timedelta(minutes=1)
"""Time after which a mail that is due is offered to the workers again."""

WOKEN_AT_ONCE = 100

KEPT = timedelta(days=1)
"""Time after which mail that no worker took is given up; an invitation stays until it ends."""


def mail_queue(
    *,
    kind: MailKind,
    address: str,
    user: User | None = None,
    invitation: Invitation | None = None,
) -> None:
    """Have a worker send a mail, in the language of the current request, once this is committed."""
    with transaction.atomic():
        mail = OutgoingMail.objects.create(
            kind=kind,
            address=address,
            user=user,
            invitation=invitation,
            language=get_language() or settings.LANGUAGE_CODE,
            woken_at=timezone.now(),
        )
        _wake(mail.pk)


def mail_run(*, mail_id: int) -> bool:
    """Send a mail if it is due; return whether an attempt was made.

    As with webhooks, the attempt is counted and the next one scheduled before anything is sent, so
    that no two workers make the same attempt and a killed one only delays the mail.
    """
    mail = OutgoingMail.objects.select_related("user", "invitation").filter(pk=mail_id).first()
    if mail is None:
        return False
    now, last = timezone.now(), mail.attempts >= len(WAITS)
    due_at = None if last else now + WAITS[mail.attempts]
    ours = OutgoingMail.objects.filter(pk=mail.pk, attempts=mail.attempts, due_at__lte=now)
    if not ours.update(attempts=F("attempts") + 1, due_at=due_at, woken_at=None):
        return False
    try:
        with override(mail.language):
            _send(mail)
    except (OSError, SMTPException) as error:
        logger.warning("a mail was not sent: %s", type(error).__name__)
        # An invitation keeps its row, from which the page of members tells that it was not sent.
        if last and mail.invitation is None:
            mail.delete()
    else:
        mail.delete()
    return True


def mail_wake() -> int:
    """Offer mail that is due to the workers, WOKEN_AT_ONCE at most; return how many."""
    now = timezone.now()
    quiet = Q(woken_at=None) | Q(woken_at__lt=now - WAKE_AFTER)
    due = OutgoingMail.objects.filter(quiet, due_at__lte=now).order_by("due_at")
    ids = list(due.values_list("pk", flat=True)[:WOKEN_AT_ONCE])
    for each in ids:
        OutgoingMail.objects.filter(pk=each).update(woken_at=now)
        _wake(each)
    return len(ids)


def mail_forget() -> None:
    """Delete mail that is older than KEPT, and mail of invitations that have ended."""
    now = timezone.now()
    old = Q(invitation=None, created_at__lt=now - KEPT) | Q(invitation__expires_at__lt=now)
    OutgoingMail.objects.filter(old).delete()


def _wake(mail_id: int) -> None:
    """Tell the workers to send a mail, once the transaction is committed."""
    transaction.on_commit(
        lambda: current_app.send_task(MAIL_TASK, args=[mail_id], ignore_result=True), robust=True
    )


def _send(mail: OutgoingMail) -> None:
    """Send what a row stands for, in one session with the mail server."""
    with get_connection() as connection:
        for subject, text in _texts(mail):
            subject = " ".join(subject.split())
            EmailMessage(subject, text, None, [mail.address], connection=connection).send()


def _texts(mail: OutgoingMail) -> Iterator[tuple[str, str]]:
    """Yield the subject and text of each mail that a row stands for: none without an account."""
    if mail.kind == MailKind.PASSWORD:
        # The form finds the active accounts with a password, and compares letters safely.
        for user in PasswordResetForm().get_users(mail.address):
            yield _password_text(user)
    elif mail.kind == MailKind.INVITATION and mail.invitation is not None:
        yield from _invitation_text(mail.invitation)
    elif mail.kind == MailKind.TAKEN_OVER and mail.user is not None:
        facts = {"user": mail.user, "domain": site_name()}
        subject = gettext("Your password at {site} was removed").format(site=site_name())
        yield subject, render_to_string("registration/taken_over_email.txt", facts)


def _password_text(user: User) -> tuple[str, str]:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("password_reset_confirm", args=[uid, reset_tokens.make_token(user)])
    facts = {"user": user, "domain": site_name(), "link": site_link(path)}
    facts["site_name"] = site_name()
    subject = render_to_string("registration/password_reset_subject.txt", facts)
    return subject, render_to_string("registration/password_reset_email.txt", facts)


def _invitation_text(invitation: Invitation) -> Iterator[tuple[str, str]]:
    """Yield the mail of an invitation with a fresh link; an earlier link of it ends."""
    remaining = invitation.expires_at - timezone.now()
    if invitation.invited_by is None or remaining < timedelta(0):
        return
    secret = secrets.token_urlsafe(32)
    Invitation.objects.filter(pk=invitation.pk).update(sha256=secret_digest(secret))
    facts = {
        "organisation": invitation.organisation,
        "by": invitation.invited_by,
        "link": site_link(reverse("invitation-link", args=[secret])),
        "days": max(1, round(remaining / timedelta(days=1))),
    }
    words = gettext("Invitation to {organisation}")
    text = render_to_string("registration/invitation_email.txt", facts)
    yield words.format(organisation=invitation.organisation), text
