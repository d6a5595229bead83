"""Celery task that sends messages to webhooks."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from dpgeo.webhooks.services import DELIVER_TASK, delivery_run


@shared_task(name=DELIVER_TASK)  # type: ignore[untyped-decorator]
def deliver(delivery_id: str) -> None:
    """Send the message that has this id."""
    delivery_run(delivery_id=UUID(delivery_id))
