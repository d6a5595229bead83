"""Radius maps, which show how far from each place people must be notified of a task."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.api.base import DocumentView, caching
from dpgeo.api.campaigns import Conditions
from dpgeo.api.documents import Document
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.request_bodies import Flag, Real, Text, Whole, read_body
from dpgeo.api.serializers import ObjectField
from dpgeo.api.throttling import count_tasks
from dpgeo.artefacts.radius_geopackage import MEDIA_TYPE, NAME, radius_geopackage
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.radius_maps import (
    parse_radius_request,
    radius_document,
    radius_facts,
    radius_map_of,
)
from dpgeo.crowdsourcing.selectors import release_to_plan_on
from dpgeo.postprocess.tasks.radius_map import FEWEST_POINTS, MOST_POINTS

GEOJSON, GEOPACKAGE = "geojson", "gpkg"

ROWS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "array", "items": {"type": ["number", "null"]}},
}

NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "number"}}

FEATURE: dict[str, Any] = {
    "type": "object",
    "description": "A GeoJSON feature. Its property `feature` is band, line or out_of_reach; "
    "bands have limits, and lines a value, in metres.",
    "properties": {
        "type": {"type": "string"},
        "properties": {
            "type": "object",
            "properties": {
                "feature": {"type": "string", "enum": ["band", "line", "out_of_reach"]},
                "from_metres": {"type": "number"},
                "to_metres": {"type": "number"},
                "metres": {"type": "number"},
            },
            "required": ["feature"],
        },
        "geometry": {"type": "object", "additionalProperties": True},
    },
    "required": ["type", "properties", "geometry"],
}

POINTS: dict[str, Any] = {
    "type": "object",
    "description": "If requested: the values at the points of the lattice, in rows from the "
    "south, each from the west. Longitudes run on beyond 180 across the antimeridian. `reason` "
    "is the number of the reason in `reasons` why there is no radius, else null.",
    "properties": {
        "longitude": NUMBERS,
        "latitude": NUMBERS,
        "radius_metres": ROWS,
        "notified": ROWS,
        "reason": ROWS,
        "reasons": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "reason": {"type": "string"},
                    "explanation": {"type": "string"},
                },
                "required": ["reason", "explanation"],
            },
        },
    },
    "required": ["longitude", "latitude", "radius_metres", "notified", "reason", "reasons"],
}


class RadiusMapBody(Conditions):
    """A request for a radius map."""

    release = Text("The id of a published release.")
    reward = Real(
        "The reward of each task.",
        schema={"type": "number", "minimum": 0},
    )
    lattice = Whole(
        "Radii are computed at this many points along the longer side of the study area, at most "
        "64 for the circle model; they count as tasks.",
        schema={"type": "integer", "minimum": FEWEST_POINTS, "maximum": MOST_POINTS},
        default=64,
    )
    values = Flag("Whether to include the values at the points.", default=False)
    format = Text(
        "geojson, or gpkg for a GeoPackage with the tables radius_bands, radius_lines and "
        "radius_out_of_reach.",
        schema={"type": "string", "enum": [GEOJSON, GEOPACKAGE]},
        default=GEOJSON,
    )


@extend_schema_field({"type": "array", "items": FEATURE})
class FeaturesField(serializers.JSONField):
    """Features of a radius map, in drawing order."""


@extend_schema_field(POINTS)
class PointsField(serializers.JSONField):
    """Values at the lattice points of a radius map."""


class RadiusMapSerializer(Document):
    """A radius map, as a GeoJSON feature collection. It is not stored."""

    type = serializers.CharField()
    release = serializers.CharField()
    reward = serializers.FloatField()
    settings = ObjectField(help_text="The settings, rounded to six digits.")
    features = FeaturesField()
    points = PointsField(required=False)


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
        fields = read_body(request, RadiusMapBody)
        if fields["format"] not in {GEOJSON, GEOPACKAGE}:
            choices = ", ".join([GEOJSON, GEOPACKAGE])
            raise InvalidInput(
                "Is not a choice; choose from {choices}.", choices=choices, field="format"
            )
        release = release_to_plan_on(fields["release"])
        parsed = parse_radius_request(
            reward=fields["reward"],
            settings={name: fields[name] for name in Conditions().get_fields()},
            lattice=fields["lattice"],
        )
        count_tasks(request, parsed.points**2)
        drawn = radius_map_of(release, parsed)
        if fields["format"] == GEOPACKAGE:
            return _file(radius_geopackage(drawn, radius_facts(release, parsed)))
        document = radius_document(release, parsed, drawn, values=fields["values"])
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
