"""Lists of releases, datasets and series as JSON text; all but the texts of series are cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rest_framework.renderers import JSONRenderer

from dpgeo.api import dcat
from dpgeo.api.access import is_key
from dpgeo.api.documents import AnyRequest
from dpgeo.api.ogc.collections import collections_of, series_collections
from dpgeo.api.ogc.documents import CollectionSerializer
from dpgeo.api.rdf import Syntax
from dpgeo.api.serializers import DatasetSerializer, ReleaseSerializer
from dpgeo.releases.list_cache import Row, TextCache, make_of_datasets, make_of_releases
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import mask_draw

_releases, _datasets, _collections, _harvested = TextCache(), TextCache(), TextCache(), TextCache()


def release_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """Return the JSON text of each release, as ReleaseSerializer writes it."""
    document = ReleaseSerializer(context={"request": request})
    hides = is_key(request.user)

    def write(release: Release) -> bytes:
        seen = mask_draw(release) if hides else release
        return _json(document.to_representation(seen))

    return _of_releases(_releases, request, rows, write)


def harvest_texts(request: AnyRequest, rows: Sequence[Row], syntax: Syntax) -> list[bytes]:
    """Return each release as a DCAT dataset, written in the RDF syntax `syntax`."""
    return _of_releases(
        _harvested,
        request,
        rows,
        lambda release: syntax.write(dcat.dataset(request, release)),
        beside=syntax.title,
    )


def collection_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """Return, for each release, the JSON texts of its OGC collections joined by commas.

    Releases without collections are left out.
    """
    document = CollectionSerializer(context={"request": request, "form": "json"})

    def write(release: Release) -> bytes:
        return b",".join(
            _json(document.to_representation(each)) for each in collections_of(release)
        )

    return _of_releases(_collections, request, rows, write)


def series_texts(request: AnyRequest) -> list[bytes]:
    """Return the JSON text of the OGC collection of each of the newest series."""
    document = CollectionSerializer(context={"request": request, "form": "json"})
    return [_json(document.to_representation(each)) for each in series_collections()]


def dataset_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """Return the JSON text of each dataset, as DatasetSerializer writes it."""
    document = DatasetSerializer(context={"request": request})
    make = make_of_datasets(lambda dataset: _json(document.to_representation(dataset)))
    return _datasets.texts(rows, make, beside=request.build_absolute_uri("/"))


def listed(document: dict[str, Any], name: str, texts: Iterable[bytes]) -> bytes:
    """Return `document` as JSON text, with an additional last member `name` that lists `texts`."""
    return b'%s,"%s":[%s]}' % (_json(document)[:-1], name.encode(), b",".join(texts))


def _of_releases(
    cache: TextCache,
    request: AnyRequest,
    rows: Sequence[Row],
    write: Callable[[Release], bytes],
    *,
    beside: str = "",
) -> list[bytes]:
    origin = request.build_absolute_uri("/")
    return cache.texts(rows, make_of_releases(write), beside=(origin, beside))


def _json(document: Any) -> bytes:
    text: bytes = JSONRenderer().render(document)
    return text
