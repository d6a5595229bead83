"""Radius maps, which show how far from each place people must be notified of a task."""

from __future__ import annotations

import json
from typing import Annotated, Any

import shapely
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from pydantic import Field, WithJsonSchema
from rest_framework.request import Request

from dpgeo.api.answers import Answer, Json, one_of
from dpgeo.api.base import DocumentView, caching
from dpgeo.api.campaigns import Conditions
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.request_bodies import read_body
from dpgeo.api.throttling import count_tasks
from dpgeo.artefacts.radius_geopackage import MEDIA_TYPE, NAME, radius_geopackage
from dpgeo.core.declared import Flag, Real, Text, Whole, fact
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.radius_maps import (
    features_of,
    lattice_values,
    parse_radius_request,
    radius_facts,
    radius_map_of,
)
from dpgeo.crowdsourcing.selectors import release_to_plan_on
from dpgeo.postprocess.tasks.plan import REASONS
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


class RadiusPropertiesOut(Answer):
    """Properties of a feature: a band has two limits and a line has one value, in metres."""

    feature: Annotated[str, one_of(["band", "line", "out_of_reach"])]
    from_metres: float = Field(default=None)
    to_metres: float = Field(default=None)
    metres: float = Field(default=None)


class RadiusFeatureOut(Answer):
    """A GeoJSON feature of a radius map."""

    type: str
    properties: RadiusPropertiesOut
    geometry: Json


class ReasonOut(Answer):
    """A reason why a point has no radius."""

    reason: str
    explanation: str


Rows = Annotated[
    list[list[float | None]],
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": NUMBER_OR_NULL}}),
]
"""Numbers at the points of a lattice: rows from south to north, each from west to east."""


class LatticeOut(Answer):
    """The values of a radius map at the points of a lattice."""

    longitude: list[float] = fact("From the west; they run on beyond 180 across the antimeridian.")
    latitude: list[float] = fact("From the south.")
    radius_metres: Rows = fact("In rows from the south, each from the west.")
    notified: Rows
    reason: Annotated[list[list[int | None]], Rows.__metadata__[0]] = fact(
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


def radius_answer(drawn: RadiusMap, facts: Json, *, values: bool) -> RadiusMapOut:
    """Return a radius map, with the values at the points of its lattice if `values` is true."""
    points = {"points": _lattice(drawn)} if values else {}
    return RadiusMapOut.model_validate(
        {**facts, "type": "FeatureCollection", "features": _features(drawn), **points}
    )


def _features(drawn: RadiusMap) -> list[Json]:
    return [
        {
            "type": "Feature",
            "properties": {"feature": feature.kind, **feature.limits},
            "geometry": json.loads(shapely.to_geojson(feature.shape)),
        }
        for feature in features_of(drawn)
    ]


def _lattice(drawn: RadiusMap) -> Json:
    values = lattice_values(drawn)
    reasons = [{"reason": str(each), "explanation": REASONS[each]} for each in values.reasons]
    return {
        **{name: getattr(values, name) for name in LatticeOut.model_fields},
        "reasons": reasons,
    }


class RadiusMapView(DocumentView):
    @operation(
        "plan_radius",
        "Map the notification radius",
        RadiusMapOut,
        tag="campaigns",
        body=RadiusMapBody,
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
        return self.answer(radius_answer(drawn, facts, values=sent.values), personal=True)


def _file(content: bytes) -> HttpResponse:
    return HttpResponse(
        content,
        content_type=MEDIA_TYPE,
        headers={
            "Cache-Control": caching(personal=True),
            "Content-Disposition": f'attachment; filename="{NAME}"',
        },
    )
