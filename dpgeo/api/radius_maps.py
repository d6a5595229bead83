"""Radius maps, which show how far from each place people must be notified of a task."""

from __future__ import annotations

import json
from typing import Any

import shapely
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.fields import SkipField
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.api.base import DocumentView, caching
from dpgeo.api.campaigns import Conditions
from dpgeo.api.documents import Document
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.request_bodies import read_body
from dpgeo.api.serializers import ObjectField
from dpgeo.api.throttling import count_tasks
from dpgeo.artefacts.radius_geopackage import MEDIA_TYPE, NAME, radius_geopackage
from dpgeo.core.declared import Flag, Real, Text, Whole, fact
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.radius_maps import (
    LatticeValues,
    RadiusFeature,
    features_of,
    lattice_values,
    parse_radius_request,
    radius_facts,
    radius_map_of,
)
from dpgeo.crowdsourcing.selectors import release_to_plan_on
from dpgeo.postprocess.tasks.plan import REASONS, Reason
from dpgeo.postprocess.tasks.radius_map import FEWEST_POINTS, MOST_POINTS, RadiusMap

GEOJSON, GEOPACKAGE = "geojson", "gpkg"

NUMBER_OR_NULL: dict[str, Any] = {"type": ["number", "null"]}


class RadiusMapBody(Conditions):
    """A request for a radius map."""

    release: Text = fact("The id of a published release.")
    reward: Real = fact("The reward of each task.", schema={"type": "number", "minimum": 0})
    lattice: Whole = fact(
        "Radii are computed at this many points along the longer side of the study area; they "
        "count as tasks.",
        MOST_POINTS,
        schema={"type": "integer", "minimum": FEWEST_POINTS, "maximum": MOST_POINTS},
    )
    values: Flag = fact("Whether to include the values at the points.", False)
    format: Text = fact(
        "geojson, or gpkg for a GeoPackage with the tables radius_bands, radius_lines and "
        "radius_out_of_reach.",
        GEOJSON,
        schema={"type": "string", "enum": [GEOJSON, GEOPACKAGE]},
    )


class RadiusPropertiesSerializer(Document):
    """Properties of a feature: a band has two limits and a line has one value, in metres."""

    feature = serializers.ChoiceField(["band", "line", "out_of_reach"], source="kind")
    from_metres = serializers.FloatField(source="limits.from_metres", required=False)
    to_metres = serializers.FloatField(source="limits.to_metres", required=False)
    metres = serializers.FloatField(source="limits.metres", required=False)


class RadiusFeatureSerializer(Document):
    """A GeoJSON feature of a radius map."""

    type = serializers.CharField()
    properties = RadiusPropertiesSerializer(source="*")
    geometry = ObjectField()

    def get_type(self, feature: RadiusFeature) -> str:
        """Return the type of all GeoJSON features."""
        return "Feature"

    def get_geometry(self, feature: RadiusFeature) -> Any:
        """Return the shape as GeoJSON, in degrees."""
        return json.loads(shapely.to_geojson(feature.shape))


class ReasonSerializer(Document):
    """A reason why a point has no radius."""

    reason = serializers.CharField()
    explanation = serializers.CharField()

    def get_reason(self, reason: Reason) -> str:
        """Return the reason's code."""
        return str(reason)

    def get_explanation(self, reason: Reason) -> str:
        """Return a sentence that says why a point has no radius, and what would help."""
        return REASONS[reason]


@extend_schema_field({"type": "array", "items": {"type": "array", "items": NUMBER_OR_NULL}})
class RowsField(serializers.JSONField):
    """Numbers at the points of a lattice: rows from south to north, each from west to east."""


class LatticeSerializer(Document):
    """The values of a radius map at the points of a lattice."""

    longitude = serializers.ListField(
        child=serializers.FloatField(),
        help_text="From the west; they run on beyond 180 across the antimeridian.",
    )
    latitude = serializers.ListField(child=serializers.FloatField(), help_text="From the south.")
    radius_metres = RowsField(help_text="In rows from the south, each from the west.")
    notified = RowsField()
    reason = RowsField(
        help_text="The number of the reason in `reasons` why there is no radius, else null."
    )
    reasons = ReasonSerializer(many=True)


class RadiusMapSerializer(Document):
    """A radius map, as a GeoJSON feature collection. It is not stored."""

    type = serializers.CharField()
    release = serializers.CharField()
    reward = serializers.FloatField()
    settings = ObjectField(help_text="The settings, rounded to six digits.")
    features = RadiusFeatureSerializer(many=True, help_text="In drawing order.")
    points = LatticeSerializer(required=False, help_text="If requested.")

    def get_type(self, drawn: RadiusMap) -> str:
        """Return the type of all GeoJSON feature collections."""
        return "FeatureCollection"

    def get_release(self, drawn: RadiusMap) -> str:
        """Return the id of the release that the map was computed from."""
        return str(self.context["facts"]["release"])

    def get_reward(self, drawn: RadiusMap) -> float:
        """Return the reward of each task."""
        return float(self.context["facts"]["reward"])

    def get_settings(self, drawn: RadiusMap) -> Any:
        """Return the rounded settings."""
        return self.context["facts"]["settings"]

    def get_features(self, drawn: RadiusMap) -> list[RadiusFeature]:
        """Return the features in drawing order."""
        return features_of(drawn)

    def get_points(self, drawn: RadiusMap) -> LatticeValues:
        """Return the radius, or the reason for none, at each point of the map's lattice.

        Raises SkipField unless the request asks for these values.
        """
        if not self.context["values"]:
            raise SkipField
        return lattice_values(drawn)


class RadiusMapView(DocumentView):
    """Radius maps, computed on request or taken from this process's cache."""

    @operation(
        "plan_radius",
        "Map the notification radius",
        RadiusMapSerializer,
        tag="campaigns",
        body=RadiusMapBody,
        responses={(200, MEDIA_TYPE): OpenApiResponse({"type": "string", "format": "binary"})},
        errors=[409, 503],
    )
    @heavy
    def post(self, request: Request) -> Response | HttpResponse:
        """Map how far from each place people must be notified of a task, from a published map
        alone.

        Bands and lines lie at 1, 2, 5, 10, 20, ... metres. The rest of the study area is out of
        reach, because there the target cannot be met within the travel limit at this reward.
        Nothing is stored, no private data are read and no budget is spent.
        """
        sent = read_body(request, RadiusMapBody)
        if sent.format not in {GEOJSON, GEOPACKAGE}:
            choices = ", ".join([GEOJSON, GEOPACKAGE])
            raise InvalidInput(
                "Is not a choice; choose from {choices}.", choices=choices, field="format"
            )
        release = release_to_plan_on(sent.release)
        parsed = parse_radius_request(
            reward=sent.reward,
            settings=dict(sent.part(Conditions)),
            lattice=sent.lattice,
        )
        count_tasks(request, parsed.points**2)
        drawn = radius_map_of(release, parsed)
        facts = radius_facts(release, parsed)
        if sent.format == GEOPACKAGE:
            return _file(radius_geopackage(drawn, facts))
        document = self.write(RadiusMapSerializer, drawn, facts=facts, values=sent.values)
        return self.answer(document, personal=True)


def _file(content: bytes) -> HttpResponse:
    return HttpResponse(
        content,
        content_type=MEDIA_TYPE,
        headers={
            "Cache-Control": caching(personal=True),
            "Content-Disposition": f'attachment; filename="{NAME}"',
        },
    )
