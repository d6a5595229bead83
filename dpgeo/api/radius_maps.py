"""Radius maps, which show how far from each place people must be notified of a task."""

from __future__ import annotations

import json
from typing import Annotated, Any

import shapely
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from pydantic import WithJsonSchema
from rest_framework.request import Request

from dpgeo.api.answers import Answer, Json, one_of, optional
from dpgeo.api.base import DocumentView, caching
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.request_bodies import read_body
from dpgeo.api.throttling import count_tasks
from dpgeo.artefacts.radius_geopackage import MEDIA_TYPE, NAME, radius_geopackage
from dpgeo.core.declared import fact
from dpgeo.crowdsourcing.planning import rounded
from dpgeo.crowdsourcing.radius_maps import radius_map_and_facts
from dpgeo.crowdsourcing.requests import Format, RadiusMapRequest
from dpgeo.crowdsourcing.selectors import release_to_plan_on
from dpgeo.postprocess.tasks.plan import REASONS, Reason
from dpgeo.postprocess.tasks.radius_map import RadiusMap

NUMBER_OR_NULL: dict[str, Any] = {"type": ["number", "null"]}


class RadiusPropertiesOut(Answer):
    """Properties of a feature: a band has two limits and a line has one value, in metres."""

    feature: Annotated[str, one_of(["band", "line", "out_of_reach"])]
    from_metres: float = optional()
    to_metres: float = optional()
    metres: float = optional()


class RadiusFeatureOut(Answer):
    """A GeoJSON feature of a radius map."""

    type: str
    properties: RadiusPropertiesOut
    geometry: Json


class ReasonOut(Answer):
    """A reason why a point has no radius."""

    reason: str
    explanation: str


ROWS = WithJsonSchema({"type": "array", "items": {"type": "array", "items": NUMBER_OR_NULL}})
"""Numbers at the points of a lattice: rows from south to north, each from west to east."""


class LatticeOut(Answer):
    """The values of a radius map at the points of a lattice."""

    longitude: list[float] = fact("From the west; they run on beyond 180 across the antimeridian.")
    latitude: list[float] = fact("From the south.")
    radius_metres: Annotated[list[list[float | None]], ROWS] = fact(
        "In rows from the south, each from the west."
    )
    notified: Annotated[list[list[float | None]], ROWS]
    reason: Annotated[list[list[int | None]], ROWS] = fact(
        "The number of the reason in `reasons` why there is no radius, else null."
    )
    reasons: list[ReasonOut]


class RadiusMapOut(Answer):
    """A radius map, as a GeoJSON feature collection. It is not stored."""

    type: str
    release: str
    reward: float
    settings: Json = fact("The settings, rounded to six digits.")
    features: list[RadiusFeatureOut] = fact("In drawing order.")
    points: LatticeOut = fact("If requested.", None)


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
    @operation(
        "plan_radius",
        "Map the notification radius",
        RadiusMapOut,
        tag="campaigns",
        body=RadiusMapRequest,
        responses={(200, MEDIA_TYPE): OpenApiResponse({"type": "string", "format": "binary"})},
        errors=[409, 503],
    )
    @heavy
    def post(self, request: Request) -> HttpResponse:
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
        return self.answer(RadiusMapOut.model_validate(document), personal=True)


def _file(content: bytes) -> HttpResponse:
    return HttpResponse(
        content,
        content_type=MEDIA_TYPE,
        headers={
            "Cache-Control": caching(personal=True),
            "Content-Disposition": f'attachment; filename="{NAME}"',
        },
    )
