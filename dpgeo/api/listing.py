"""Pages of public things as text. What was said before is not worked out again: see `kept`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db.models import prefetch_related_objects
from rest_framework.renderers import JSONRenderer

from dpgeo.api import dcat
from dpgeo.api.documents import AnyRequest, dataset_document, release_document
from dpgeo.api.kept import Kept, dataset_facts, release_facts
from dpgeo.api.ogc import documents as ogc
from dpgeo.api.serializers import DatasetSerializer, ReleaseSerializer
from dpgeo.artefacts import statement
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release, ReleaseState

_releases, _datasets, _collections, _harvested = Kept(), Kept(), Kept(), Kept()


def release_texts(request: AnyRequest, releases: Sequence[Release]) -> list[bytes]:
    """Each release in the form of ReleaseSerializer."""
    return _texts_of(
        _releases,
        request,
        releases,
        lambda release: ReleaseSerializer(release_document(request, release)).data,
    )


def harvest_texts(request: AnyRequest, releases: Sequence[Release]) -> list[bytes]:
    """Each release as a DCAT dataset."""
    return _texts_of(_harvested, request, releases, lambda release: dcat.dataset(request, release))


def collection_texts(request: AnyRequest, releases: Sequence[Release]) -> list[bytes]:
    """The collections of each release that has one, joined by commas."""
    lists = _texts_of(
        _collections,
        request,
        releases,
        lambda release: [ogc.collection(request, each) for each in ogc.collections_of(release)],
    )
    return [text[1:-1] for text in lists if text != b"[]"]


def dataset_texts(request: AnyRequest, datasets: Sequence[Dataset]) -> list[bytes]:
    """Each dataset in the form of DatasetSerializer."""

    def make(missing: Sequence[Dataset]) -> Iterator[tuple[bytes, bool]]:
        for dataset in missing:
            yield _json(DatasetSerializer(dataset_document(request, dataset)).data), True

    origin = request.build_absolute_uri("/")
    return _datasets.texts(
        datasets, lambda each: (origin, dataset_facts(each), each.study_area), make
    )


def listed(document: dict[str, Any], name: str, texts: Iterable[bytes]) -> bytes:
    """A document as JSON with one more member, a list whose members are JSON already."""
    return b'%s,"%s":[%s]}' % (_json(document)[:-1], name.encode(), b",".join(texts))


def _texts_of(
    kept: Kept,
    request: AnyRequest,
    releases: Sequence[Release],
    document: Callable[[Release], Any],
) -> list[bytes]:
    """What is said of each release; one query more for the files of all that is not kept."""

    def make(missing: Sequence[Release]) -> Iterator[tuple[bytes, bool]]:
        prefetch_related_objects(missing, "files")
        for release in missing:
            yield _json(document(release)), _is_final(release)

    origin = request.build_absolute_uri("/")
    return kept.texts(releases, lambda each: (origin, release_facts(each)), make)


def _is_final(release: Release) -> bool:
    """Whether the files of a release are all there, and stay as they are until it is withdrawn.

    The statement is written last.
    """
    files = release.files.all()
    return (
        release.state == ReleaseState.PUBLISHED
        and all(file.public for file in files)
        and any(file.name == statement.NAME for file in files)
    )


def _json(document: Any) -> bytes:
    text: bytes = JSONRenderer().render(document)
    return text
