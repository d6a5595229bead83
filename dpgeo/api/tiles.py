"""Vector tiles from PMTiles archives, for clients that cannot read archives."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Annotated, Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import OpenApiResponse
from pmtiles.reader import Reader
from rest_framework.request import Request

from dpgeo.api.access import check_served
from dpgeo.api.answers import address_of
from dpgeo.api.base import DocumentView
from dpgeo.api.files import (
    ReleaseFileView,
    cache_control,
    file_of,
    get_release,
)
from dpgeo.api.openapi import operation
from dpgeo.api.public_answers import TileJsonOut
from dpgeo.api.queries import choice, schema
from dpgeo.artefacts import geojson, maplibre_style, vector_tiles
from dpgeo.core.declared import Declared, fact
from dpgeo.core.encodings import accepts_gzip
from dpgeo.datasets.storage import open_span, open_stored
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import StoredFile

SUFFIX = vector_tiles.FORMAT.suffix

TILE_TYPE = "application/vnd.mapbox-vector-tile"

DEGREE = 10_000_000

SOURCES = ("tiles", "geojson")
"""What a style may take the map's features from: vector tiles, or the layer's GeoJSON file."""

MAX_ZOOM = 30
"""The highest zoom level of the tile scheme."""


class TileJsonView(DocumentView):
    counted = False

    @operation(
        "tilejson",
        "Get a layer's TileJSON",
        TileJsonOut,
        tag="releases",
        errors=[410],
    )
    def get(self, request: Request, release_id: str, layer: str) -> HttpResponse:
        """Get TileJSON 3.0. Its URL can be a vector source in MapLibre, Leaflet or QGIS."""
        release, stored = _archive(request, release_id, layer)
        archive = Reader(_ranges(stored))
        header, metadata = archive.header(), archive.metadata()
        answer = TileJsonOut(
            tilejson="3.0.0",
            name=metadata["name"],
            description=metadata["description"],
            attribution=metadata["attribution"],
            tiles=[_template(request, release, layer)],
            vector_layers=metadata["vector_layers"],
            minzoom=header["min_zoom"],
            maxzoom=header["max_zoom"],
            bounds=[
                header[f"{side}_e7"] / DEGREE
                for side in ("min_lon", "min_lat", "max_lon", "max_lat")
            ],
        )
        return self.answer(answer, personal=not release.rules.public)


class StyleQuery(Declared):
    source: Annotated[str, choice(SOURCES), schema(enum=list(SOURCES))] = fact(
        "What the style draws: the vector tiles (default) or the GeoJSON file.", SOURCES[0]
    )


class StyleView(DocumentView):
    counted = False
    queries = StyleQuery

    @operation(
        "style",
        "Get a layer's MapLibre style",
        tag="releases",
        responses={200: OpenApiResponse({"type": "object"}, "A style, version 8")},
        errors=[202, 409, 410],
    )
    def get(self, request: Request, release_id: str, layer: str) -> HttpResponse:
        """Get the map's initial colours and classes as a style for MapLibre and Mapbox GL."""
        release = get_release(request, release_id)
        check_served(release)
        stored = file_of(request, release, layer + maplibre_style.SUFFIX)
        with open_stored(stored.storage, stored.name) as file:
            style = json.loads(file.read())
        source = style["sources"][layer]
        if self.query.source == "tiles":
            source["url"] = address_of(request, "api:tilejson", release.pk, layer)
        else:
            name = layer + geojson.FORMAT.suffix
            # Raise Refused if the GeoJSON file is not made yet: without it, the map would be
            # empty.
            file_of(request, release, name)
            address = address_of(request, "api:release-file", release.pk, name)
            credit = source["attribution"]
            style["sources"][layer] = {"type": "geojson", "data": address, "attribution": credit}
            for each in style["layers"]:
                each.pop("source-layer", None)
        return self.answer(style, personal=not release.rules.public)


class TileView(ReleaseFileView):
    @operation(
        "tile",
        "Get a vector tile",
        tag="releases",
        responses={
            (200, TILE_TYPE): OpenApiResponse({"type": "string", "format": "binary"}, "The tile"),
            204: OpenApiResponse(description="The tile is empty"),
            304: OpenApiResponse(description="Your copy is current"),
        },
        errors=[400, 404, 410],
        usual=False,
    )
    def get(  # type: ignore[override]
        self, request: Request, release_id: str, layer: str, z: int, x: int, y: int
    ) -> HttpResponseBase:
        """Get a Mapbox Vector Tile 2.1; the response is 204 if the tile is empty."""
        if z > MAX_ZOOM or max(x, y) >= 1 << z:
            raise Http404
        release, stored = _archive(request, release_id, layer)
        plain = request._request
        compressed = accepts_gzip(plain.headers)
        etag = f'"{stored.sha256}-{z}-{x}-{y}{"-gzip" if compressed else ""}"'
        known: Any = get_conditional_response(plain, etag=etag)
        if known is None:
            tile = Reader(_ranges(stored)).get(z, x, y)
            body = b"" if tile is None else tile if compressed else gzip.decompress(tile)
            known = HttpResponse(body, status=200 if body else 204, content_type=TILE_TYPE)
            if body and compressed:
                known["Content-Encoding"] = "gzip"
        known["ETag"], known["Vary"] = etag, "Accept-Encoding"
        known["Cache-Control"] = cache_control(release.rules.public)
        return known  # type: ignore[no-any-return]


def _archive(request: Request, release_id: str, layer: str) -> tuple[Release, StoredFile]:
    """Return a release and the PMTiles archive of its layer. Raises Http404 or Gone."""
    release = get_release(request, release_id)
    check_served(release)
    return release, file_of(request, release, layer + SUFFIX)


def _ranges(stored: StoredFile) -> Callable[[int, int], bytes]:
    def read(offset: int, length: int) -> bytes:
        with open_span(stored.storage, stored.name, offset, offset + length - 1) as file:
            return bytes(file.read(length))

    return read


def _template(request: Request, release: Release, layer: str) -> str:
    """Return the URL of the layer's tiles, with placeholders for zoom, column and row."""
    origin = address_of(request, "api:tilejson", release.pk, layer)
    path = reverse("api:tilejson", args=[release.pk, layer])
    return origin.removesuffix(path) + path.removesuffix(".json") + "/{z}/{x}/{y}.pbf"
