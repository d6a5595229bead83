"""Stored campaigns, with their tasks and settings; plans are computed on request."""

from __future__ import annotations

from typing import Any

from django.db import models

from dpgeo.accounts.models import Organisation, User
from dpgeo.releases.models import Release, make_public_id


class Campaign(models.Model):
    """A campaign: tasks to be planned on one release.

    `plan` has the `settings` and `tasks` of the request (`requests.NewCampaign`). If the campaign
    is `shared`, anybody who knows its unguessable id can read it.
    """

    id = models.CharField(primary_key=True, max_length=32, default=make_public_id, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="campaigns"
    )
    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="campaigns")
    name = models.CharField(max_length=200)
    plan = models.JSONField(default=dict)
    shared = models.BooleanField(default=False)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the plan, as the API takes them."""
        return dict(self.plan["settings"])

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The tasks, as they were sent."""
        return list(self.plan["tasks"])
