"""All published maps of a series, cached in memory because maps never change."""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet

from dpgeo.artefacts.series_files import FEATURES, PeriodMap, SeriesMaps
from dpgeo.releases.models import Release, Series
from dpgeo.releases.selectors import load_released, releases_public

Shown = tuple[tuple[str, str], ...]
"""The ids and the checksums of the published maps, in the order of their periods."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """The array file of a series, plain and gzipped."""

    plain: bytes
    zipped: bytes


def series_public(series_id: UUID) -> Series | None:
    """Return the series with this id if it has a published map, else None."""
    known = Series.objects.select_related("dataset__organisation").filter(pk=series_id)
    return known.filter(pk__in=releases_public().order_by().values("series")).first()


def maps_public(series: Series) -> QuerySet[Release]:
    """Return the published maps of a series, the newest period first."""
    return releases_public().filter(series=series).exclude(blob_name="").order_by("-number")


def newest_public(series: Series) -> Release | None:
    """Return the published map of the newest period, or None."""
    return maps_public(series).first()


def shown_maps(series: Series) -> Shown:
    """Return the ids and the checksums of the published maps of a series."""
    return tuple(maps_public(series).order_by("number").values_list("pk", "blob_sha256"))


@lru_cache(maxsize=2)
def maps_together(shown: Shown) -> SeriesMaps:
    """Return the decoded maps that `shown` lists; there must be at least one."""
    releases = Release.objects.filter(pk__in=[key for key, _ in shown]).select_related("series")
    return SeriesMaps(map(_map_of, releases.order_by("-number")))


def _map_of(release: Release) -> PeriodMap:
    window = release.request.window
    if window is None or release.number is None:
        raise ValueError(f"{release.pk} is not a map of a series.")
    return PeriodMap(release.number, window, release.pk, load_released(release))


@lru_cache(maxsize=8)
def stored_map_array(shown: Shown) -> StoredArray | None:
    """Return the array file with the counts of all maps; None if the maps are not comparable."""
    maps = maps_together(shown)
    if maps.compared is None:
        return None
    plain = maps.array()
    return StoredArray(plain, gzip.compress(plain, 6, mtime=0))


@lru_cache(maxsize=2)
def features_of(shown: Shown, title: str) -> bytes:
    """Return the maps as GeoParquet in long format, a row for each feature and map."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FEATURES
        maps_together(shown).write(FEATURES, title, path)
        return path.read_bytes()
