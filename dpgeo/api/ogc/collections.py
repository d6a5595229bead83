"""Collections of OGC API - Features: the layers of published releases, and published series."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404

from dpgeo.api.access import check_served
from dpgeo.artefacts.feature_pages import FeatureFile
from dpgeo.artefacts.series_files import MAX_MAPS
from dpgeo.datasets.storage import open_parts, public_storage
from dpgeo.releases.models import Release, ReleaseFile, Series
from dpgeo.releases.selectors import releases_public
from dpgeo.releases.series_maps import (
    Shown,
    features_of,
    maps_public,
    series_public,
    shown_maps,
)
from dpgeo.releases.states import KNOWN

SUFFIX = ".parquet"

SERIES = "series"
"""First part of the id of a series' collection. No release has this id, because the ids of releases
are longer."""

MAX_SERIES = 50
"""Maximum number of series in the list of collections; the newest series are listed.

The collection of any other series can still be read at its own URL, which contains the series' id.
"""


@dataclass(frozen=True, slots=True)
class Collection:
    """A layer of a published release, and the file with the layer's features."""

    release: Release
    file: ReleaseFile

    @property
    def layer(self) -> str:
        return self.file.name.removesuffix(SUFFIX)

    @property
    def id(self) -> str:
        """Return the collection's id: the release's id, a dot and the layer's name."""
        return f"{self.release.pk}.{self.layer}"

    @property
    def title(self) -> str:
        return f"{self.release.title}: {self.layer}"

    @contextmanager
    def open(self) -> Iterator[FeatureFile]:
        """Open the file with the features.

        Raises StoredFileMissing, also if the release was withdrawn in the meantime.
        """
        with open_parts(public_storage(), self.file.stored_name) as file:
            yield FeatureFile(file)


@dataclass(frozen=True, slots=True)
class SeriesCollection:
    """All published maps of a series; each feature belongs to a period.

    `release` is the newest map.
    """

    series: Series
    release: Release
    shown: Shown

    @property
    def id(self) -> str:
        """Return the collection's id: "series", a dot and the series' id."""
        return f"{SERIES}.{self.series.pk}"

    @property
    def title(self) -> str:
        return self.series.title

    @property
    def days(self) -> tuple[date, date]:
        """Return the first and the last day that the collection's maps cover.

        Days are those of the dataset's time zone. The collection's file, and so this interval,
        covers only the newest MAX_MAPS maps.
        """
        numbers = maps_public(self.series).values_list("number", flat=True)[:MAX_MAPS]
        known = [each for each in numbers if each is not None]
        return self.series.window(min(known)).first, self.series.window(max(known)).last

    @contextmanager
    def open(self) -> Iterator[FeatureFile]:
        """Open the file with the features of all periods."""
        yield FeatureFile(BytesIO(features_of(self.shown, self.series.title)))


def series_collections() -> list[SeriesCollection]:
    """Return the collections of the newest series that have published maps."""
    public = releases_public().order_by().exclude(series=None).values("series")
    return [_collection_of(each) for each in Series.objects.filter(pk__in=public)[:MAX_SERIES]]


def _collection_of(series: Series) -> SeriesCollection:
    newest = maps_public(series).first()
    if newest is None:
        raise Http404
    return SeriesCollection(series, newest, shown_maps(series))


def release_collections(release: Release) -> list[Collection]:
    """Return a release's collections: its layers that have a public file of features."""
    files = [
        each
        for each in release.files.all()
        if each.public and each.kind.layer and each.name.endswith(SUFFIX)
    ]
    return [Collection(release, file) for file in files]


def find_collection(collection_id: str) -> Collection | SeriesCollection:
    """Return the collection with this id.

    Raises Http404 if there is none, or Gone if the collection's release is withdrawn.
    """
    match = re.fullmatch(r"([\w-]{1,32})\.([\w-]{1,60})", collection_id, re.ASCII)
    if match is None:
        raise Http404
    if match[1] == SERIES:
        return _find_series(match[2])
    known = Release.objects.filter(state__in=KNOWN).select_related("dataset")
    release = get_object_or_404(known, pk=match[1])
    check_served(release)
    file = get_object_or_404(release.files, name=match[2] + SUFFIX, public=True)
    return Collection(release, file)


def _find_series(text: str) -> SeriesCollection:
    try:
        series = series_public(UUID(text))
    except ValueError:
        series = None
    if series is None:
        raise Http404
    return _collection_of(series)
