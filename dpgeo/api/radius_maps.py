"""Radius maps, which show how far from each place people must be notified of a task."""

from __future__ import annotations

import json
from typing import Any

import shapely
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.api.base import DocumentView, caching
from dpgeo.api.documents import Document
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.request_bodies import read_body
from dpgeo.api.serializers import ObjectField
from dpgeo.api.throttling import count_tasks
from dpgeo.artefacts.radius_geopackage import MEDIA_TYPE, NAME, radius_geopackage
from dpgeo.crowdsourcing.planning import rounded
from dpgeo.crowdsourcing.radius_maps import radius_map_and_facts
from dpgeo.crowdsourcing.requests import Format, RadiusMapRequest
from dpgeo.crowdsourcing.selectors import release_to_plan_on
from dpgeo.postprocess.tasks.plan import REASONS, Reason
from dpgeo.postprocess.tasks.radius_map import RadiusMap

NUMBER_OR_NULL: dict[str, Any] = {"type": ["number", "null"]}


class RadiusPropertiesSerializer(Document):
    """Properties of a feature: a band has two limits and a line has one value, in metres."""

    feature = serializers.ChoiceField(["band", "line", "out_of_reach"])
    from_metres = serializers.FloatField(required=False)
    to_metres = serializers.FloatField(required=False)
    metres = serializers.FloatField(required=False)


class RadiusFeatureSerializer(Document):
    """A GeoJSON feature of a radius map."""

    type = serializers.CharField()
    properties = RadiusPropertiesSerializer()
    geometry = ObjectField()


class ReasonSerializer(Document):
    """A reason why a point has no radius."""

    reason = serializers.CharField()
    explanation = serializers.CharField()


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


def _features(drawn: RadiusMap) -> list[dict[str, Any]]:
    """Return the area without a radius, the bands and the lines as features, in drawing order."""
    rest = [] if drawn.out_of_reach.is_empty else [_feature("out_of_reach", drawn.out_of_reach)]
    bands = [
        _feature("band", each.shape, from_metres=each.from_metres, to_metres=each.to_metres)
        for each in drawn.bands
    ]
    lines = [_feature("line", each.shape, metres=each.metres) for each in drawn.lines]
    return [*rest, *bands, *lines]


def _feature(kind: str, shape: Any, **limits: float) -> dict[str, Any]:
    geometry = json.loads(shapely.to_geojson(shape))
    return {"type": "Feature", "properties": {"feature": kind, **limits}, "geometry": geometry}


def _points(drawn: RadiusMap) -> dict[str, Any]:
    """Return the rounded radius, or the reason for none, at each point of a map's lattice."""
    reasons = [reason for reason in Reason if reason and (drawn.reasons == reason).any()]
    numbers = {reason: number for number, reason in enumerate(reasons)}
    return {
        "longitude": rounded(drawn.lattice.longitude, 7),
        "latitude": rounded(drawn.lattice.latitude, 7),
        "radius_metres": [rounded(row, 1) for row in drawn.radius],
        "notified": [rounded(row, 2) for row in drawn.notified],
        "reason": [[numbers.get(reason) for reason in row] for row in drawn.reasons],
        "reasons": [{"reason": str(reason), "explanation": REASONS[reason]} for reason in reasons],
    }


class RadiusMapView(DocumentView):
    """Radius maps, computed on request or taken from this process's cache."""

    @operation(
        "plan_radius",
        "Map the notification radius",
        RadiusMapSerializer,
        tag="campaigns",
        body=RadiusMapRequest,
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
        sent = read_body(request, RadiusMapRequest)
        release = release_to_plan_on(sent.release)
        count_tasks(request, sent.lattice**2)
        drawn, facts = radius_map_and_facts(release, sent)
        if sent.format is Format.GEOPACKAGE:
            return _file(radius_geopackage(drawn, facts))
        document = {"type": "FeatureCollection", **facts, "features": _features(drawn)}
        if sent.values:
            document["points"] = _points(drawn)
        return self.answer(self.write(RadiusMapSerializer, document), personal=True)


def _file(content: bytes) -> HttpResponse:
    return HttpResponse(
        content,
        content_type=MEDIA_TYPE,
        headers={
            "Cache-Control": caching(personal=True),
            "Content-Disposition": f'attachment; filename="{NAME}"',
        },
    )
