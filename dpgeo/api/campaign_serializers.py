"""JSON documents for task plans and campaigns."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dpgeo.api.documents import Address, Document, page_of
from dpgeo.api.serializers import ObjectField
from dpgeo.crowdsourcing.models import Campaign

NUMBER_OR_NULL: dict[str, Any] = {"type": ["number", "null"]}

NUMBERS = ("reward", "radius_metres", "notified", "notified_margin", "acceptance", "success")

PLANNED: dict[str, Any] = {
    "type": "object",
    "description": "The plan of a task by one allocation of the reward. `success` is the target "
    "where there is a radius, else the probability when everybody within the travel limit is "
    "notified; `notified_margin` is a nominal 95 % margin for the map's noise alone.",
    "properties": {
        **dict.fromkeys(NUMBERS, NUMBER_OR_NULL),
        "reason": {"type": "string", "description": "Why there is no radius; empty if there is."},
        "explanation": {"type": "string", "description": "The reason in words, and the remedy."},
    },
    "required": ["reward", "radius_metres", "notified", "success", "reason", "explanation"],
}

TOTALS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "planned": {"type": "integer"},
            "not_planned": {"type": "integer"},
            "reward": {"type": "number"},
            "notified": {"type": "number"},
            "expected_done": {"type": "number"},
            "largest_radius_metres": {"type": "number"},
        },
    },
}

GEOCAST: dict[str, Any] = {
    "type": ["object", "null"],
    "description": "The regions of the map that are notified instead of a circle, if requested: "
    "their outline, how many people are in them, and the probability that anybody accepts.",
    "properties": {
        "regions": {"type": "integer"},
        "notified": {"type": "number"},
        "success": {"type": "number"},
        "reached": {"type": "boolean", "description": "Whether the target is reached."},
        "outline": {"type": "object", "description": "GeoJSON, in degrees."},
    },
    "required": ["regions", "notified", "success", "reached", "outline"],
}

GEOCASTS: dict[str, Any] = {
    "type": "object",
    "description": "Sums over the regions of all tasks, if requested: the allocation they were "
    "computed for and, over the tasks that both ways can meet, how many people regions and "
    "circles notify.",
    "properties": {
        "allocation": {"type": "string"},
        "planned": {"type": "integer"},
        "not_planned": {"type": "integer"},
        "met_both_ways": {"type": "integer"},
        "notified": {"type": "number"},
        "notified_in_circles": {"type": "number"},
    },
}

TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "longitude": NUMBER_OR_NULL,
        "latitude": NUMBER_OR_NULL,
        "density_per_km2": NUMBER_OR_NULL,
        "plans": {"type": "object", "additionalProperties": PLANNED},
        "geocast": GEOCAST,
    },
    "required": ["name", "longitude", "latitude", "density_per_km2", "plans"],
}


@extend_schema_field(TOTALS)
class TotalsField(serializers.JSONField):
    """The totals of a plan, for each way of allocating the reward."""


@extend_schema_field({"type": "array", "items": TASK})
class PlannedTasksField(serializers.JSONField):
    """Planned tasks in the order in which they were sent."""


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": True}})
class TasksField(serializers.JSONField):
    """The tasks of a campaign, as they were sent."""


@extend_schema_field(GEOCASTS)
class GeocastsField(serializers.JSONField):
    """The totals over the notified regions of all tasks."""


class PlanSerializer(Document):
    """A plan of tasks. It is computed on request and not stored."""

    release = serializers.CharField()
    lines_per_km2 = serializers.ListField(
        child=serializers.FloatField(), help_text="The release's contour lines, people per km²."
    )
    totals = TotalsField(help_text="Sums over the planned tasks, by allocation.")
    tasks = PlannedTasksField()
    geocast = GeocastsField(required=False)


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
