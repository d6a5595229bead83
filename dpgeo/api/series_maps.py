"""Public views of all maps of a series: their files, and counts of one area by period."""

from __future__ import annotations

import hashlib
import tempfile
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request

from dpgeo.api.answers import Answer
from dpgeo.api.base import ApiView, DocumentView
from dpgeo.api.files import cache_control, content_of, disposition
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.range_answers import Known
from dpgeo.api.ranges import (
    CONFIDENCE,
    MAX_BODY_BYTES,
    SHAPES,
    Corners,
    read_regions,
)
from dpgeo.api.request_bodies import read_body
from dpgeo.artefacts import map_array
from dpgeo.artefacts.series_files import ARRAY, LONG, PeriodMap, SeriesMaps
from dpgeo.core.declared import Declared, Members, fact
from dpgeo.core.encodings import accepts_gzip
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.postprocess.ranges import Ranges
from dpgeo.releases.models import Series
from dpgeo.releases.series_maps import (
    Shown,
    maps_together,
    series_public,
    shown_maps,
    stored_map_array,
)

MEDIA_TYPES = (map_array.MEDIA_TYPE, *(each.media_type for each in LONG.values()))


def public_or_404(series_id: UUID) -> tuple[Series, Shown]:
    """Return a series and its published maps' ids. Raises Http404 if no map is published."""
    series = series_public(series_id)
    shown = shown_maps(series) if series else ()
    if series is None or not shown:
        raise Http404
    return series, shown


class SeriesFileView(ApiView):
    @operation(
        "series_file",
        "Get all maps in one file",
        tag="releases",
        parameters=[
            OpenApiParameter(
                "name",
                str,
                OpenApiParameter.PATH,
                description=f"One of {', '.join(LONG)}; {ARRAY} is what its page is drawn from.",
            )
        ],
        responses={
            **{(200, form): OpenApiResponse(content_of(form), "The file") for form in MEDIA_TYPES},
            304: OpenApiResponse(description="Your copy is current"),
        },
        errors=[404, 503],
        usual=False,
    )
    def get(self, request: Request, series_id: UUID, name: str) -> HttpResponseBase:
        """Get all published maps of a series in one file, one row for each period and feature."""
        series, shown = public_or_404(series_id)
        if name != ARRAY and name not in LONG:
            raise Http404
        zipped = name == ARRAY and accepts_gzip(request.headers)
        facts = f"{name} {zipped} {series.title} {shown}"
        etag = f'"{hashlib.sha256(facts.encode()).hexdigest()}"'
        plain = request._request
        headers = {
            "ETag": etag,
            "Cache-Control": cache_control(public=True),
            "Content-Disposition": disposition(series.title, name),
            "Vary": "Accept-Encoding",
        }
        answer: HttpResponseBase | None = get_conditional_response(plain, etag=etag)
        if answer is None and name == ARRAY:
            answer = self._array(shown, zipped)
        elif answer is None:
            answer = self._long(series, shown, name)
        for key, value in headers.items():
            answer.headers[key] = value
        return answer

    def _array(self, shown: Shown, zipped: bool) -> HttpResponse:
        array = stored_map_array(shown)
        if array is None:
            raise Http404
        answer = HttpResponse(
            array.zipped if zipped else array.plain, content_type=map_array.MEDIA_TYPE
        )
        if zipped:
            answer.headers["Content-Encoding"] = "gzip"
        return answer

    @heavy
    def _long(self, series: Series, shown: Shown, name: str) -> FileResponse:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            maps_together(shown).write(name, series.title, path)
            file = path.open("rb")  # The open file stays readable after its folder is deleted.
        return FileResponse(file, content_type=LONG[name].media_type)


class Region(Declared):
    """A request body with one region."""

    bbox: Corners = fact("A box: [west, south, east, north] in degrees.", None)
    polygon: Members = fact("A GeoJSON Polygon or MultiPolygon, longitude first.", None)


class PeriodAnswerOut(Answer):
    """The count of the region in one period."""

    period: int = fact("Counted from 1.")
    from_day: date
    to_day: date
    release: str = fact("The id of the map's release.")
    estimate: Known = fact("Null where nothing was counted in the region.")
    margin: Known = fact("Half the width of the interval.")
    counted: str
    reason: str | None


def period_answer(one: PeriodMap, shape: Any) -> PeriodAnswerOut:
    """Return the count that the map of one period gives for a region."""
    answer = Ranges(one.released).answer([shape])[0]
    return PeriodAnswerOut(
        period=one.number,
        from_day=one.window.first,
        to_day=one.window.last,
        release=one.release,
        estimate=answer.estimate,
        margin=answer.margin,
        counted=answer.counted,
        reason=answer.reason,
    )


class SeriesAnswersOut(Answer):
    """The counts of one region in all published periods of a series."""

    series: str = fact("The series' id.")
    confidence: float = fact("The confidence level of the intervals.")
    results: list[PeriodAnswerOut]


class SeriesQueryView(DocumentView):
    @operation(
        "series_query",
        "Count over time",
        SeriesAnswersOut,
        tag="releases",
        body=Region,
        errors=[404, 409, 503],
    )
    @heavy
    def post(self, request: Request, series_id: UUID) -> HttpResponse:
        """Estimate the count in a box or polygon in each published period, with its interval.

        This spends no budget, because it is computed from published counts alone.
        """
        fields = {**dict(read_body(request, Region, most=MAX_BODY_BYTES)), "regions": None}
        [(_, shape)] = read_regions(fields)
        series, shown = public_or_404(series_id)
        maps = maps_together(shown)
        try:
            results = period_answers(maps, shape)
        except InvalidInput as error:
            field = next(name for name in SHAPES if fields[name] is not None)
            raise InvalidInput(error.phrase, field=error.field or field) from None
        return self.answer(
            SeriesAnswersOut(series=str(series.pk), confidence=CONFIDENCE, results=results)
        )


def period_answers(maps: SeriesMaps, shape: Any) -> list[PeriodAnswerOut]:
    """Return each map's count in the polygon `shape`.

    Raises InvalidInput for an invalid polygon, or Conflict if the maps were not all measured in the
    same regions.
    """
    if maps.compared is None:
        raise Conflict("The maps of this series do not count in the same places.")
    return [period_answer(one, shape) for one in maps.maps]
