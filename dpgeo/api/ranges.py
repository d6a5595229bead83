"""Range queries: estimated counts in boxes and polygons that the client chooses."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import shapely
from django.http import HttpResponse
from pydantic import Field, PlainValidator, WithJsonSchema
from rest_framework.request import Request

from dpgeo.api.access import check_served, release_seen, request_viewer
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.queries import SLUG, BoxText, SlugText, read_box, read_slug
from dpgeo.api.range_answers import (
    AnswerOut,
    AnswersOut,
    Interval,
    region_answer,
    scaling_answer,
)
from dpgeo.api.request_bodies import read_body
from dpgeo.core.declared import Declared, Members, fact, without_field
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Counting
from dpgeo.core.nouns import VISIT, choose_noun
from dpgeo.core.released import Released
from dpgeo.phrases import InvalidValue
from dpgeo.postprocess.flow_answers import FlowAnswers
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.ranges import RangeAnswer, Ranges
from dpgeo.postprocess.scaling import Scaling, array_scaling
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released

MAX_REGIONS = 1_000

MAX_CORNERS = 5_000
"""Largest number of vertices in all regions of a request together. Checking whether a polygon is
valid can take time quadratic in its number of vertices."""

MAX_BODY_BYTES = 4 * 1024 * 1024

CONFIDENCE = 0.95

POLYGONS = ("Polygon", "MultiPolygon")

SHAPES = ("bbox", "polygon", "regions")
"""The fields for a request's regions; a request must use exactly one of the fields."""

FROM_WORDS = (
    "In a release of flows, instead of a region: where trips begin, as a box or a GeoJSON Polygon "
    "or MultiPolygon. With to, the trips between the two are counted; alone, all that begin here."
)

TO_WORDS = "In a release of flows: where trips end, likewise."

LAYER_WORDS = (
    "The time slice to count in, by the name of its layer such as cells-06-12, if the release has "
    "time slices; by default all slices are added up. If the release has a surface inferred from "
    "its counts, partitions answers from the measured counts of the last phase alone."
)


class RangesQuery(Declared):
    bbox: BoxText = fact(
        "The region: west,south,east,north in degrees. Polygons, or many regions, are sent "
        "with POST.",
        None,
    )
    layer: SlugText = fact(LAYER_WORDS, None)
    from_: BoxText = Field(  # type: ignore[assignment]
        default=None,
        alias="from",
        description="In a release of flows: where trips begin, west,south,east,north in degrees. "
        "With to, the trips between the two boxes are counted; alone, all that begin in this one. "
        "Polygons are sent with POST.",
    )
    to: BoxText = fact(
        "In a release of flows: where trips end, west,south,east,north in degrees.", None
    )


def _read_layer(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue("Must be the name of a layer.")
    name: str = without_field(read_slug, value)
    return name


def _read_corners(value: object) -> list[float]:
    """Return the four edges of a box as floats. Raises InvalidValue."""
    if not isinstance(value, list) or not all(
        isinstance(each, (int, float)) and not isinstance(each, bool) for each in value
    ):
        raise InvalidValue("Must be four numbers, [west, south, east, north] in degrees.")
    return list(without_field(read_box, ",".join(repr(each) for each in value)))


def _read_end(value: object) -> Any:
    """Return the box or polygon in which trips begin or end as a shape. Raises InvalidValue."""
    if isinstance(value, dict):
        return without_field(lambda given: _polygon(given, ""), value)
    return without_field(_box, _read_corners(value))


CORNERS = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
END = {"oneOf": [CORNERS, {"type": "object", "additionalProperties": True}]}

Layer = Annotated[
    str,
    PlainValidator(_read_layer),
    WithJsonSchema({"type": "string", "pattern": f"^{SLUG}$"}),
]
Corners = Annotated[list[float], PlainValidator(_read_corners), WithJsonSchema(CORNERS)]
End = Annotated[Any, PlainValidator(_read_end), WithJsonSchema(END)]


class Regions(Declared):
    """A request body with the regions in which to count, and the layer to use."""

    bbox: Corners = fact("A box: [west, south, east, north] in degrees.", None)
    polygon: Members = fact("A GeoJSON Polygon or MultiPolygon, longitude first.", None)
    regions: Members = fact(
        f"A GeoJSON FeatureCollection of polygons, at most {MAX_REGIONS:,}; answers come in the "
        "same order, with the features' ids.",
        None,
    )
    layer: Layer = fact(LAYER_WORDS, None)

    from_: End = Field(default=None, alias="from", description=FROM_WORDS)
    to: End = fact(TO_WORDS, None)


MEANING = {
    Counting.PEOPLE: "People, each counted once in every measured area they were in, up to the "
    "bound.",
    Counting.VISITS: "Records, up to the bound of each person.",
}


class RangesView(DocumentView):
    queries = RangesQuery

    @operation(
        "release_query_box",
        "Count in a box",
        AnswersOut,
        tag="releases",
        errors=[409, 410, 503],
        example="release_query",
    )
    @heavy
    def get(self, request: Request, release_id: str) -> HttpResponse:
        """Estimate the count in a box, with the 95 % interval of its noise.

        In a release of flows, the parameters from and to count the trips between two boxes.
        """
        ends = [
            box and _box(box, name)
            for name, box in (("from", self.query.from_), ("to", self.query.to))
        ]
        if ends != [None, None]:
            if self.query.bbox is not None:
                raise InvalidInput("Give either bbox, or from and to.", field="bbox")
            return self._flow(request, release_id, ends, self.query.layer or "")
        if self.query.bbox is None:
            raise InvalidInput("Is missing; give west,south,east,north in degrees.", field="bbox")
        return self._answer(
            request, release_id, [(None, _box(self.query.bbox))], self.query.layer or "", "bbox"
        )

    @operation(
        "release_query",
        "Count in regions",
        AnswersOut,
        tag="releases",
        body=Regions,
        errors=[409, 410, 503],
    )
    @heavy
    def post(self, request: Request, release_id: str) -> HttpResponse:
        """Estimate the counts in a box, a polygon or a collection of polygons.

        This spends no budget, because the estimates are computed from published counts alone. In a
        release of flows, the fields from and to count the trips between two boxes or polygons.
        """
        fields = dict(read_body(request, Regions, most=MAX_BODY_BYTES))
        field = next((name for name in SHAPES if fields[name] is not None), "")
        ends = [fields["from_"], fields["to"]]
        if ends != [None, None]:
            if field:
                raise InvalidInput("Give either a region, or from and to.", field=field)
            return self._flow(request, release_id, ends, fields["layer"] or "")
        return self._answer(request, release_id, read_regions(fields), fields["layer"] or "", field)

    def _answer(
        self,
        request: Request,
        release_id: str,
        regions: Sequence[tuple[Any, Any]],
        layer: str,
        field: str,
    ) -> HttpResponse:
        release = served(request, release_id)
        try:
            answers = _ranges(release.pk, release.blob_sha256, layer).answer(
                [shape for _, shape in regions]
            )
            scaling = _scaling(release.pk, release.blob_sha256)
        except InvalidInput as error:
            raise InvalidInput(error.phrase, field=error.field or field) from None
        results = [
            region_answer(name, each, scaled(each, scaling))
            for (name, _), each in zip(regions, answers, strict=True)
        ]
        return self._written(request, release, results, scaling)

    def _flow(
        self, request: Request, release_id: str, ends: Sequence[Any], layer: str
    ) -> HttpResponse:
        """Respond with the estimated number of trips between two polygons; None stands for
        anywhere.
        """
        release = served(request, release_id)
        answer = _flows(release.pk, release.blob_sha256, layer).answer(*ends)
        return self._written(request, release, [region_answer(None, answer)], None)

    def _written(
        self,
        request: Request,
        release: Release,
        results: list[AnswerOut],
        scaling: Scaling | None,
    ) -> HttpResponse:
        answer = AnswersOut(
            release=release.pk,
            counting=release.request.counting,
            rows=choose_noun(release.dataset.row_noun, VISIT).many,
            bound=release.bound,
            confidence=CONFIDENCE,
            meaning=MEANING[release.request.counting],
            scaling=scaling_answer(scaling),
            results=results,
        )
        return self.answer(answer, personal=is_personal(request_viewer(request)))


def served(request: Request, release_id: str) -> Release:
    """Return a drawn release that the requester may see. Raises Conflict if it is not drawn."""
    release = release_seen(request_viewer(request), release_id)
    check_served(release)
    if not release.blob_name:
        raise Conflict("This release has not been drawn yet.")
    return release


@lru_cache(maxsize=4)
def drawn_release(release_id: str, _sha256: str) -> Released:
    """Return a drawn release, read from its blob. It is cached, because it never changes."""
    return load_released(Release.objects.get(pk=release_id))


@lru_cache(maxsize=8)
def _ranges(release_id: str, sha256: str, layer: str) -> Ranges:
    """Return an object that computes the results of range queries on one layer of a release.

    The object is cached.
    """
    return Ranges(drawn_release(release_id, sha256), layer=layer)


@lru_cache(maxsize=4)
def _flows(release_id: str, sha256: str, layer: str) -> FlowAnswers:
    """Return an object that estimates numbers of trips from the flows of a release.

    The object is cached.
    """
    return FlowAnswers(drawn_release(release_id, sha256), layer=layer)


@lru_cache(maxsize=8)
def _scaling(release_id: str, sha256: str) -> Scaling | None:
    """Return the factor that scales a release's counts to its noisy total, and its interval.

    Returns None for a release without totals. The result is cached.
    """
    released = drawn_release(release_id, sha256)
    return array_scaling(released, layers(released)) if released.totals else None


def scaled(answer: RangeAnswer, scaling: Scaling | None) -> Interval | None:
    """Return an estimated count, multiplied by the release's scaling factor, and its interval.

    Returns None if the release has no such factor, or if nothing was counted.
    """
    if scaling is None or not scaling.known or math.isnan(answer.estimate):
        return None
    ends = scaling.scale(np.array([answer.estimate]), np.array([answer.margin]))
    return Interval(*(float(each[0]) for each in ends))


def read_regions(fields: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the id and the shape of each requested region. Raises InvalidInput.

    A region without an id has the id None.
    """
    given = [name for name in SHAPES if fields[name] is not None]
    if len(given) != 1:
        raise InvalidInput(
            "Give one of bbox, polygon and regions.", field=given[1] if len(given) > 1 else "bbox"
        )
    if fields["bbox"] is not None:
        return [(None, _box(fields["bbox"]))]
    if fields["polygon"] is not None:
        return [(None, _polygon(fields["polygon"], "polygon"))]
    return _collection(fields["regions"])


def _box(box: Sequence[float], field: str = "bbox") -> Any:
    west, south, east, north = box
    if west == east or south == north:
        raise InvalidInput("Has no area; give a box with different sides.", field=field)
    return shapely.box(west, south, east, north)


def _collection(document: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the id and the shape of each feature of a FeatureCollection. Raises InvalidInput."""
    features = document.get("features")
    if document.get("type") != "FeatureCollection" or not isinstance(features, list):
        raise InvalidInput("Must be a GeoJSON FeatureCollection of polygons.", field="regions")
    if not 1 <= len(features) <= MAX_REGIONS:
        raise InvalidInput(
            "Has {count:,} features; give from 1 to {most:,}.",
            count=len(features),
            most=MAX_REGIONS,
            field="regions",
        )
    regions: list[tuple[Any, Any]] = []
    corners = 0
    for number, feature in enumerate(features):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise InvalidInput(
                "Member {number} is not a GeoJSON Feature.", number=number, field="regions"
            )
        name = feature.get("id")
        if name is not None and (isinstance(name, bool) or not isinstance(name, (str, int, float))):
            raise InvalidInput(
                "The id of feature {number} must be text or a number.",
                number=number,
                field="regions",
            )
        shape = _polygon(feature.get("geometry"), f"regions.features[{number}]")
        corners += int(shapely.get_num_coordinates(shape))
        if corners > MAX_CORNERS:
            raise InvalidInput(
                "Has more than {most:,} corners; simplify them, or send several requests.",
                most=MAX_CORNERS,
                field="regions",
            )
        regions.append((name, shape))
    return regions


def _leaps(shape: Any) -> bool:
    """Return whether any edge of a polygon spans more than 180 degrees of longitude.

    Such an edge is usually part of a ring that was meant to cross the antimeridian.
    """
    rings = shapely.get_rings(shapely.get_parts(shape))
    longitude, ring = shapely.get_coordinates(rings, return_index=True)
    steps = np.abs(np.diff(longitude[:, 0]))
    return bool((steps[ring[1:] == ring[:-1]] > 180).any())


def _polygon(geometry: Any, field: str) -> Any:
    """Convert a GeoJSON polygon to a shapely geometry.

    Raises InvalidInput, which names `field` and says how to fix the polygon.
    """
    if not isinstance(geometry, dict) or geometry.get("type") not in POLYGONS:
        raise InvalidInput("Must be a GeoJSON Polygon or MultiPolygon.", field=field)
    try:
        shape = shapely.force_2d(shapely.from_geojson(json.dumps(geometry)))
    except (shapely.GEOSException, TypeError, ValueError):
        shape = None
    if shape is None or shape.is_empty:
        raise InvalidInput(
            "Its coordinates cannot be read; give closed rings of [longitude, latitude].",
            field=field,
        )
    if shapely.get_num_coordinates(shape) > MAX_CORNERS:
        raise InvalidInput(
            "Simplify it to at most {most:,} corners.", most=MAX_CORNERS, field=field
        )
    west, south, east, north = shape.bounds
    if not (west >= -180 and east <= 180 and south >= -90 and north <= 90):
        raise InvalidInput(
            "Longitudes lie between -180 and 180 and latitudes between -90 and 90, longitude "
            "first; cut a region that crosses the antimeridian into its two halves.",
            field=field,
        )
    if _leaps(shape):
        raise InvalidInput(
            "Has an edge over more than 180 degrees of longitude. Cut a region that crosses the "
            "antimeridian into its two halves; divide the edge if the region is that wide.",
            field=field,
        )
    if not shape.is_valid:
        raise InvalidInput(
            "Is not a valid polygon ({reason}); repair it, for example in QGIS by Fix geometries.",
            reason=shapely.is_valid_reason(shape),
            field=field,
        )
    if shape.area <= 0:
        raise InvalidInput("Has no area; give a region that has some.", field=field)
    return shape
