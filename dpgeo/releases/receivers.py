"""Signal receivers that handle deleted accounts."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import pre_delete

from dpgeo.accounts.models import User
from dpgeo.releases.models import Release, Series


def forget_publisher(sender: object, instance: User, **_: Any) -> None:
    """Prevent the automatic publication of releases requested by a deleted account.

    Without a requester, such a release would count as requested by the operator, who may always
    publish. It stays a draft instead.
    """
    Release.objects.filter(created_by=instance).update(publish_when_done=False)
    Series.objects.filter(created_by=instance).update(publish_when_done=False)


def connect() -> None:
    """Connect this module's receivers to Django's signals."""
    pre_delete.connect(forget_publisher, sender=User, dispatch_uid="releases.forget_publisher")
