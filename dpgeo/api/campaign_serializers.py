"""JSON documents for task plans and campaigns."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dpgeo.api.documents import Address, Document, page_of
from dpgeo.api.serializers import ObjectField
from dpgeo.crowdsourcing.models import Campaign


class PlannedTaskSerializer(Document):
    """A task with its plan, in the order in which tasks were sent.

    `success` is the target probability if there is a notification radius; otherwise, it is the
    success probability if everybody within the travel limit is notified. `notified_margin` is the
    nominal 95 % margin of the number `notified`, for the map's noise alone.
    """

    name = serializers.CharField()
    longitude = serializers.FloatField(allow_null=True)
    latitude = serializers.FloatField(allow_null=True)
    density_per_km2 = serializers.FloatField(allow_null=True)
    reward = serializers.FloatField(allow_null=True)
    radius_metres = serializers.FloatField(allow_null=True)
    notified = serializers.FloatField(allow_null=True)
    notified_margin = serializers.FloatField(allow_null=True)
    acceptance = serializers.FloatField(allow_null=True)
    success = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(help_text="Why there is no radius; empty if there is.")
    explanation = serializers.CharField(help_text="The reason in words, and the remedy.")

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Return a task as it is: the values of up to 3,000 are already fit for JSON."""
        return instance


class PlanTotalsSerializer(Document):
    """Sums over the planned tasks."""

    planned = serializers.IntegerField()
    not_planned = serializers.IntegerField()
    reward = serializers.FloatField()
    notified = serializers.FloatField()
    expected_done = serializers.FloatField()
    largest_radius_metres = serializers.FloatField()


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": True}})
class TasksField(serializers.JSONField):
    """The tasks of a campaign, as they were sent."""


class PlanSerializer(Document):
    """A plan of tasks. It is computed on request and not stored."""

    release = serializers.CharField()
    totals = PlanTotalsSerializer()
    tasks = PlannedTaskSerializer(many=True)


class CampaignSerializer(Document):
    """A stored campaign: tasks and settings of an organisation."""

    id = serializers.CharField(source="pk")
    url = Address("api:campaign")
    page = serializers.URLField(help_text="Where it is planned on a map.")
    name = serializers.CharField()
    organisation = serializers.SlugField(source="organisation.slug")
    release = serializers.CharField(source="release_id")
    settings = ObjectField()
    tasks = TasksField()
    shared = serializers.BooleanField()

    def get_page(self, campaign: Campaign) -> str:
        """Return the URL of the planning page that opens this campaign."""
        return f"{self.address('plan')}?campaign={campaign.pk}"


CampaignListSerializer = page_of(
    CampaignSerializer, "CampaignListSerializer", "One page of campaigns, by name."
)
