"""HTTP views of the site's basemap: vector tiles and searchable place names.

All of this data is public.
"""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import shapely
from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    JsonResponse,
)
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from dpgeo.core.encodings import accepts_gzip
from dpgeo.datasets.names_on_maps import world_search
from dpgeo.ground import archives, names
from dpgeo.ground.map_names import SETTLEMENTS
from dpgeo.ground.names import Found
from dpgeo.ground.outside import OutsideGround
from dpgeo.ground.regions import KEY_LENGTH, NAMES, TILES, Bounds, Region, regions
from dpgeo.pages.outside_ground import outside_ground
from dpgeo.spatial.area import StudyArea

TILE_TYPE = "application/vnd.mapbox-vector-tile"

A_YEAR = "public, max-age=31536000, immutable"
A_DAY = "public, max-age=86400"

KEY = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}")

MAX_ZOOM = 22

SETTLED = {*SETTLEMENTS, "municipality"}
"""Kinds of places that a basemap region and the world's list of towns may both contain."""

MAX_MATCHES = 8
MAX_LETTERS = 100

KINDS = {
    "country": _("country"),
    "capital": _("capital"),
    "state_capital": _("city"),
    "city": _("city"),
    "county": _("county"),
    "town": _("town"),
    "municipality": _("municipality"),
    "village": _("village"),
    "district": _("district"),
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
"""Names of the kinds of places, as shown to people."""


@require_safe
def tile(request: HttpRequest, key: str, zoom: int, column: int, row: int) -> HttpResponse:
    """Return a vector tile, which never changes, or status 204 if the tile is empty."""
    if not KEY.fullmatch(key) or zoom > MAX_ZOOM or max(column, row) >= 1 << zoom:
        raise Http404
    try:
        body = archives.tile(_folder() / f"{key}{TILES}", zoom, column, row)
    except FileNotFoundError:
        raise Http404 from None
    packed = accepts_gzip(request.headers)
    content = body if packed or not body else gzip.decompress(body)
    answer = HttpResponse(content or b"", status=200 if body else 204, content_type=TILE_TYPE)
    if body and packed:
        answer["Content-Encoding"] = "gzip"
    answer["Cache-Control"] = A_YEAR
    patch_vary_headers(answer, ("Accept-Encoding",))
    return answer


@require_safe
def places(request: HttpRequest) -> HttpResponse:
    """Return the places whose names match `q`, best match first; the query is not logged.

    With `box` (west, south, east and north in degrees), only places that intersect it are returned.
    """
    text = request.GET.get("q", "")[:MAX_LETTERS]
    try:
        box = _box(request.GET.get("box", ""))
    except ValueError:
        return HttpResponseBadRequest("Give box as west,south,east,north in degrees.")
    own = [each for each in regions(_folder()) if each.names and (not box or each.touches(box))]
    matches: list[tuple[Found, Region | None]] = [
        (place, region) for region in own for place in _search(region, text, box)
    ]
    settled = [place for place, _ in matches if place.kind in SETTLED]
    matches += [
        (place, None)
        for place in world_search().search(text, MAX_MATCHES, box)
        if place.kind == "country" or not any(_is_same(place, each) for each in settled)
    ]
    matches.sort(key=lambda each: -each[0].score)
    answer = JsonResponse({"places": [_document(*each) for each in matches[:MAX_MATCHES]]})
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
    """Return the basemaps of a study area in the form that the map's script needs.

    These are the installed regions that intersect the area or, if there are none, another server's
    basemap, if the operator has set one. At most `most` regions are returned.
    """
    own = _regions_under(area)[:most]
    if not own and (outside := outside_ground()):
        return [_ground(outside, outside.tiles, searchable=False)]
    return [
        _ground(region, f"/ground/{region.tiles}/{{z}}/{{x}}/{{y}}", searchable=bool(region.names))
        for region in own
    ]


def outside_under(area: StudyArea) -> OutsideGround | None:
    """Return the other server that browsers load a study area's basemap from, if any."""
    outside = outside_ground()
    return None if outside is None or _regions_under(area) else outside


def _regions_under(area: StudyArea) -> list[Region]:
    return [each for each in regions(_folder()) if each.touches(area.bounds)]


def _ground(source: Region | OutsideGround, tiles: str, *, searchable: bool) -> dict[str, Any]:
    return {
        "tiles": tiles,
        "bounds": source.bounds,
        "zooms": source.zooms,
        "attribution": source.attribution,
        "searchable": searchable,
    }


def _box(text: str) -> Bounds | None:
    """Parse west,south,east,north; return None for an empty text. Raises ValueError."""
    if not text:
        return None
    west, south, east, north = (float(each) for each in text.split(","))
    if not all(map(math.isfinite, (west, south, east, north))):
        raise ValueError
    return west, south, east, north


def _is_same(town: Found, place: Found) -> bool:
    """Return whether a town of the world's list is a place of an installed basemap region.

    It is if the place lies in the town's bounding box.
    """
    west, south, east, north = town.box
    return west <= place.longitude <= east and south <= place.latitude <= north


def _search(region: Region, text: str, box: Bounds | None) -> Sequence[Found]:
    try:
        return names.search(region.names_file(_folder()), text, MAX_MATCHES, box)
    except FileNotFoundError:  # the file was replaced after its basemap region was listed
        return []


def _document(place: Found, region: Region | None) -> dict[str, Any]:
    kind = KINDS.get(place.kind, KINDS["locality"])
    document: dict[str, Any] = {
        "name": place.name,
        "kind": gettext(kind),
        "within": place.within,
        "position": [round(place.longitude, 5), round(place.latitude, 5)],
        "box": [round(each, 5) for each in place.box],
    }
    if region and place.has_outline:
        document["outline"] = f"/ground/{region.names}/outlines/{place.id}"
    return document


def _folder() -> Path:
    return Path(settings.GROUND_DIR)
