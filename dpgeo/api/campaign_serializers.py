"""JSON documents for task plans and campaigns."""

from __future__ import annotations

import functools
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import SkipField

from dpgeo.api.documents import Address, Document, page_of
from dpgeo.api.serializers import ObjectField
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.planning import (
    PlannedTask,
    RegionTotals,
    TaskPlans,
    TaskRegions,
    TaskRow,
)


class PlannedTaskSerializer(Document):
    """The plan of a task under one method of dividing the total reward among tasks.

    `success` is the target probability if there is a notification radius; otherwise, it is the
    success probability if everybody within the travel limit is notified. `notified_margin` is the
    nominal 95 % margin of the number `notified`, for the map's noise alone.
    """

    reward = serializers.FloatField(allow_null=True)
    radius_metres = serializers.FloatField(allow_null=True)
    notified = serializers.FloatField(allow_null=True)
    notified_margin = serializers.FloatField(allow_null=True)
    acceptance = serializers.FloatField(allow_null=True)
    success = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(help_text="Why there is no radius; empty if there is.")
    explanation = serializers.CharField(help_text="The reason in words, and the remedy.")

    def to_representation(self, instance: PlannedTask) -> dict[str, Any]:
        """Return the fields of a plan as they are: its values are already rounded and fit for JSON.

        A request may have 9,000 plans, so the fields do not convert each value again.
        """
        return {name: getattr(instance, name) for name in self._names}

    @functools.cached_property
    def _names(self) -> list[str]:
        return list(self.fields)


class PlanTotalsSerializer(Document):
    """Sums over the planned tasks under one method of dividing the reward."""

    planned = serializers.IntegerField()
    not_planned = serializers.IntegerField()
    reward = serializers.FloatField()
    notified = serializers.FloatField()
    expected_done = serializers.FloatField()
    largest_radius_metres = serializers.FloatField()


class TaskRegionsSerializer(Document):
    """The regions of the map that are notified instead of a circle."""

    regions = serializers.IntegerField()
    notified = serializers.FloatField()
    success = serializers.FloatField(help_text="The probability that anybody accepts.")
    reached = serializers.BooleanField(help_text="Whether the target is reached.")
    outline = ObjectField(help_text="GeoJSON, in degrees.")


class RegionTotalsSerializer(Document):
    """Sums over the regions of all tasks."""

    allocation = serializers.CharField(help_text="The allocation that they were computed for.")
    planned = serializers.IntegerField()
    not_planned = serializers.IntegerField()
    met_both_ways = serializers.IntegerField(
        help_text="How many tasks both regions and circles can meet."
    )
    notified = serializers.FloatField(help_text="People in the regions of those tasks.")
    notified_in_circles = serializers.FloatField(help_text="People in their circles.")


class TaskSerializer(Document):
    """A task with its plans, in the order in which tasks were sent."""

    name = serializers.CharField()
    longitude = serializers.FloatField(allow_null=True)
    latitude = serializers.FloatField(allow_null=True)
    density_per_km2 = serializers.FloatField(allow_null=True)
    plans = serializers.DictField(child=PlannedTaskSerializer(), help_text="By allocation.")
    geocast = TaskRegionsSerializer(
        required=False,
        allow_null=True,
        help_text="If requested; null for a task without a reward.",
    )

    def get_geocast(self, task: TaskRow) -> TaskRegions | None:
        """Return the task's regions. Raises SkipField if regions were not requested."""
        if not self.context["geocast"]:
            raise SkipField
        return task.geocast


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": True}})
class TasksField(serializers.JSONField):
    """The tasks of a campaign, as they were sent."""


class PlanSerializer(Document):
    """A plan of tasks. It is computed on request and not stored."""

    release = serializers.CharField()
    lines_per_km2 = serializers.ListField(
        child=serializers.FloatField(), help_text="The release's contour lines, people per km²."
    )
    totals = serializers.DictField(
        child=PlanTotalsSerializer(), help_text="Sums over the planned tasks, by allocation."
    )
    tasks = TaskSerializer(many=True)
    geocast = RegionTotalsSerializer(required=False, help_text="If requested.")

    def get_geocast(self, plans: TaskPlans) -> RegionTotals:
        """Return the numbers of tasks and people, added up over the regions of all tasks.

        Raises SkipField if regions were not requested.
        """
        if plans.geocast is None:
            raise SkipField
        return plans.geocast


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
