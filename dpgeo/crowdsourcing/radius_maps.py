"""Radius maps: for every position in a study area, the notification radius that a task there would
need at a given reward.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dpgeo.crowdsourcing.requests import RadiusMapRequest
from dpgeo.crowdsourcing.selectors import ground_of
from dpgeo.postprocess.tasks.radius_map import Lattice, RadiusMap, radius_map
from dpgeo.postprocess.tasks.settings import Conditions
from dpgeo.releases.models import Release

DIGITS = 6
"""Significant digits of settings: requests whose settings agree to this precision have the same
radius map.
"""

CACHED_MAPS = 16
"""Number of radius maps that a process caches, each of at most about 2 MB."""


def radius_map_and_facts(
    release: Release, request: RadiusMapRequest
) -> tuple[RadiusMap, dict[str, Any]]:
    """Return the radius map of a release, and what it was made from, with rounded numbers.

    Maps are cached by release and request. Raises Conflict if the release has no counts of cells.
    """
    numbers = {name: _significant(value) for name, value in request if isinstance(value, float)}
    reward = numbers.pop("reward")
    drawn = _radius_map(
        release.pk, release.blob_sha256, reward, Conditions(**numbers), request.lattice
    )
    return drawn, {"release": release.pk, "reward": reward, "settings": numbers}


@lru_cache(maxsize=CACHED_MAPS)
def _radius_map(
    release_id: str, _checksum: str, reward: float, conditions: Conditions, points: int
) -> RadiusMap:
    """Compute a radius map; the result is cached.

    `_checksum` is that of the release's blob. It is only part of the cache's key, so that a map is
    computed anew if the blob changes.
    """
    surface, area = ground_of(Release.objects.get(pk=release_id))
    return radius_map(surface, area, Lattice.over(area, points), reward, conditions)


def _significant(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
