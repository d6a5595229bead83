"""The ground under maps over HTTP: tiles, and places found by name. All of it is public."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import shapely
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from dpgeo.ground import archives, names
from dpgeo.ground.names import Found
from dpgeo.ground.regions import KEY_LENGTH, NAMES, TILES, Bounds, Region, regions
from dpgeo.spatial.area import StudyArea

TILE_TYPE = "application/vnd.mapbox-vector-tile"

A_YEAR = "public, max-age=31536000, immutable"
A_DAY = "public, max-age=86400"

KEY = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}")

HIGHEST_ZOOM = 22

MOST_FOUND = 8
MOST_LETTERS = 100

KINDS = {
    "country": _("country"),
    "capital": _("capital"),
    "state_capital": _("city"),
    "city": _("city"),
    "county": _("county"),
    "town": _("town"),
    "municipality": _("municipality"),
    "village": _("village"),
    "suburb": _("suburb"),
    "quarter": _("quarter"),
    "island": _("island"),
    "hamlet": _("hamlet"),
    "neighbourhood": _("neighbourhood"),
    "station": _("station"),
    "halt": _("station"),
    "tram_stop": _("tram stop"),
    "park": _("park"),
    "water": _("water"),
    "river": _("river"),
    "peak": _("peak"),
    "street": _("street"),
    "locality": _("place"),
}
"""What places are called."""


@require_safe
def tile(request: HttpRequest, key: str, zoom: int, column: int, row: int) -> HttpResponse:
    """Return a vector tile, which never changes; 204 where nothing is."""
    if not KEY.fullmatch(key) or zoom > HIGHEST_ZOOM or max(column, row) >= 1 << zoom:
        raise Http404
    try:
        body = archives.tile(_folder() / f"{key}{TILES}", zoom, column, row)
    except FileNotFoundError:
        raise Http404 from None
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    content = body if packed or not body else gzip.decompress(body)
    answer = HttpResponse(content or b"", status=200 if body else 204, content_type=TILE_TYPE)
    if body and packed:
        answer["Content-Encoding"] = "gzip"
    answer["Cache-Control"] = A_YEAR
    patch_vary_headers(answer, ("Accept-Encoding",))
    return answer


@require_safe
def places(request: HttpRequest) -> HttpResponse:
    """Return the places whose names match `q`, the best first; nothing of it is logged."""
    text = request.GET.get("q", "")[:MOST_LETTERS]
    found: list[tuple[Found, Region]] = []
    for region in regions(_folder()):
        found += [(place, region) for place in _search(region, text)]
    found.sort(key=lambda each: -each[0].score)
    answer = JsonResponse({"places": [_document(*each) for each in found[:MOST_FOUND]]})
    answer["Cache-Control"] = A_DAY
    patch_vary_headers(answer, ("Accept-Language",))
    return answer


@require_safe
def outline(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """Return the boundary of a place as GeoJSON."""
    if not KEY.fullmatch(key):
        raise Http404
    try:
        shape = names.outline(_folder() / f"{key}{NAMES}", number)
    except (FileNotFoundError, OverflowError):
        shape = None
    if shape is None:
        raise Http404
    answer = HttpResponse(shapely.to_geojson(shape), content_type="application/geo+json")
    answer["Cache-Control"] = A_YEAR
    return answer


def ground_under(area: StudyArea, most: int = 4) -> list[dict[str, Any]]:
    """Return the regions that touch a study area, as the map's script needs them."""
    return [
        {
            "tiles": f"/ground/{region.tiles}/{{z}}/{{x}}/{{y}}",
            "bounds": region.bounds,
            "zooms": region.zooms,
            "attribution": region.attribution,
            "searchable": bool(region.names),
        }
        for region in regions(_folder())
        if _touch(region.bounds, area.bounds)
    ][:most]


def _search(region: Region, text: str) -> Sequence[Found]:
    if not region.names:
        return []
    try:
        return names.search(_folder() / f"{region.names}{NAMES}", text, MOST_FOUND)
    except FileNotFoundError:  # replaced at this moment
        return []


def _document(place: Found, region: Region) -> dict[str, Any]:
    kind = KINDS.get(place.kind, KINDS["locality"])
    document: dict[str, Any] = {
        "name": place.name,
        "kind": gettext(kind),
        "within": place.within,
        "position": [round(place.longitude, 5), round(place.latitude, 5)],
        "box": [round(each, 5) for each in place.box],
    }
    if place.has_outline:
        document["outline"] = f"/ground/{region.names}/outlines/{place.id}"
    return document


def _touch(one: Bounds, other: Sequence[float]) -> bool:
    west, south, east, north = other
    return one[0] < east and west < one[2] and one[1] < north and south < one[3]


def _folder() -> Path:
    return Path(settings.GROUND_DIR)
