"""What releases do when an account ends."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import pre_delete

from dpgeo.accounts.models import User
from dpgeo.releases.models import Release


def forget_publisher(sender: object, instance: User, **_: Any) -> None:
    """What a deleted account asked for stays a draft: a release of nobody is the console's."""
    Release.objects.filter(created_by=instance).update(publish_when_done=False)


def connect() -> None:
    """Listen."""
    pre_delete.connect(forget_publisher, sender=User, dispatch_uid="releases.forget_publisher")
