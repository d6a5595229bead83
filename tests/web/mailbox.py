"""Mail that waits for a worker, which a test lets the worker send."""

from __future__ import annotations

from django.core import mail

from dpgeo.accounts.models import OutgoingMail
from dpgeo.accounts.tasks import send_mail


def deliver() -> list[mail.EmailMessage]:
    """Do the worker's task for every mail that waits, and return the test's mailbox."""
    for each in OutgoingMail.objects.order_by("pk"):
        send_mail(each.pk)
    return list(mail.outbox)
