"""Celery task that sends mail about accounts."""

from __future__ import annotations

from celery import shared_task

from dpgeo.accounts.outgoing_mail import MAIL_TASK, mail_run


@shared_task(name=MAIL_TASK)  # type: ignore[untyped-decorator]
def send_mail(mail_id: int) -> None:
    """Send the mail that has this number."""
    mail_run(mail_id=mail_id)
