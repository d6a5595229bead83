"""Pages of public things as text. What was said before is not worked out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rest_framework.renderers import JSONRenderer

from dpgeo.api import dcat
from dpgeo.api.documents import AnyRequest
from dpgeo.api.ogc import documents as ogc
from dpgeo.api.serializers import DatasetSerializer, ReleaseSerializer
from dpgeo.releases.list_cache import Row, TextCache, make_of_datasets, make_of_releases
from dpgeo.releases.models import Release

_releases, _datasets, _collections, _harvested = TextCache(), TextCache(), TextCache(), TextCache()


def release_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """Each release in the form of ReleaseSerializer."""
    document = ReleaseSerializer(context={"request": request})
    return _of_releases(
        _releases, request, rows, lambda release: _json(document.to_representation(release))
    )


def harvest_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """Each release as a DCAT dataset."""
    return _of_releases(
        _harvested, request, rows, lambda release: _json(dcat.dataset(request, release))
    )


def collection_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """The collections of each release that has one, joined by commas."""

    def write(release: Release) -> bytes:
        found = ogc.collections_of(release)
        return b",".join(_json(ogc.collection(request, each)) for each in found)

    return _of_releases(_collections, request, rows, write)


def dataset_texts(request: AnyRequest, rows: Sequence[Row]) -> list[bytes]:
    """Each dataset in the form of DatasetSerializer."""
    document = DatasetSerializer(context={"request": request})
    make = make_of_datasets(lambda dataset: _json(document.to_representation(dataset)))
    return _datasets.texts(rows, make, beside=request.build_absolute_uri("/"))


def listed(document: dict[str, Any], name: str, texts: Iterable[bytes]) -> bytes:
    """A document as JSON with one more member, a list whose members are JSON already."""
    return b'%s,"%s":[%s]}' % (_json(document)[:-1], name.encode(), b",".join(texts))


def _of_releases(
    kept: TextCache, request: AnyRequest, rows: Sequence[Row], write: Callable[[Release], bytes]
) -> list[bytes]:
    origin = request.build_absolute_uri("/")
    return kept.texts(rows, make_of_releases(write), beside=origin)


def _json(document: Any) -> bytes:
    text: bytes = JSONRenderer().render(document)
    return text
