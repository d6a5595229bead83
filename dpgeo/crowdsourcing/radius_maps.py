"""Requests for radius maps, and radius maps in the units and precision that users see.

A radius map shows, for every position in a study area, the notification radius that a task there
would need at a given reward.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.crowdsourcing.planning import parse_settings, rounded
from dpgeo.crowdsourcing.selectors import ground_of
from dpgeo.postprocess.tasks.plan import LARGEST, Reason, Settings, check_number
from dpgeo.postprocess.tasks.radius_map import Lattice, RadiusMap, check_points, radius_map
from dpgeo.releases.models import Release

DIGITS = 6
"""Significant digits of settings: requests whose settings agree to this precision have the same
radius map.
"""

MAPS_KEPT = 16
"""Number of radius maps that a process caches, each of at most about 2 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RadiusRequest:
    """A parsed request for a radius map: the reward of every task, and the settings.

    `points` is the number of lattice points along the longer side of the map.
    """

    reward: float
    settings: Settings
    points: int


@dataclass(frozen=True, slots=True)
class RadiusFeature:
    """A feature of a radius map: a band or line with limits in metres, or area without a radius."""

    kind: str
    shape: Any
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeValues:
    """Rounded radius and number of people notified at each lattice point; None if no radius.

    `reason` holds, for each point without a radius, the index of the reason in `reasons`.
    """

    longitude: Sequence[float]
    latitude: Sequence[float]
    radius_metres: Sequence[Sequence[float | None]]
    notified: Sequence[Sequence[float | None]]
    reason: Sequence[Sequence[int | None]]
    reasons: Sequence[Reason]


def parse_radius_request(
    *, reward: float, settings: Mapping[str, Any], lattice: int
) -> RadiusRequest:
    """Parse a request for a radius map; round its numbers. Raises InvalidInput, naming the field.

    `lattice` is the number of points along the longer side of the lattice.
    """
    check_number(reward, "reward", 0.0, LARGEST)
    values = {
        name: _significant(value) if isinstance(value, float) else value
        for name, value in settings.items()
    }
    reward = _significant(reward)
    # The total reward is not used, because each task has the same fixed reward.
    parsed = parse_settings({**values, "total_reward": reward})
    check_points(lattice)
    return RadiusRequest(reward=reward, settings=parsed, points=lattice)


def radius_map_of(release: Release, request: RadiusRequest) -> RadiusMap:
    """Return the radius map of a release; maps are cached by release and request.

    Raises Conflict if the release has no counts of cells.
    """
    return _radius_map(release.pk, release.blob_sha256, request)


def radius_facts(release: Release, request: RadiusRequest) -> dict[str, Any]:
    """Return what a radius map was made from: the release's id, the reward and the settings."""
    settings = dataclasses.asdict(request.settings)
    del settings["total_reward"]
    return {"release": release.pk, "reward": request.reward, "settings": settings}


@lru_cache(maxsize=MAPS_KEPT)
def _radius_map(release_id: str, _checksum: str, request: RadiusRequest) -> RadiusMap:
    """Compute a radius map; the result is cached.

    `_checksum` is that of the release's blob. It is only part of the cache's key, so that a map is
    computed anew if the blob changes.
    """
    surface, area = ground_of(Release.objects.get(pk=release_id))
    lattice = Lattice.over(area, request.points)
    return radius_map(surface, area, lattice, request.reward, request.settings)


def _significant(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def features_of(drawn: RadiusMap) -> list[RadiusFeature]:
    """Return the area without a radius, the bands and the lines as features, in drawing order."""
    bands = [
        RadiusFeature(
            "band", band.shape, {"from_metres": band.from_metres, "to_metres": band.to_metres}
        )
        for band in drawn.bands
    ]
    lines = [RadiusFeature("line", line.shape, {"metres": line.metres}) for line in drawn.lines]
    rest = drawn.out_of_reach
    return [*([] if rest.is_empty else [RadiusFeature("out_of_reach", rest)]), *bands, *lines]


def lattice_values(drawn: RadiusMap) -> LatticeValues:
    """Return a radius map's values at the lattice's points, row by row from the south."""
    reasons = [reason for reason in Reason if (drawn.reasons == reason).any() and reason]
    index = np.full(drawn.reasons.shape, np.nan)
    for number, reason in enumerate(reasons):
        index[drawn.reasons == reason] = number
    return LatticeValues(
        longitude=rounded(drawn.lattice.longitude, 7),
        latitude=rounded(drawn.lattice.latitude, 7),
        radius_metres=_rows(drawn.radius, 1),
        notified=_rows(drawn.notified, 2),
        reason=_rows(index, 0),
        reasons=reasons,
    )


def _rows(values: NDArray[np.float64], decimals: int) -> list[list[Any]]:
    flat = rounded(values.ravel(), decimals)
    if decimals == 0:
        flat = [None if each is None else int(each) for each in flat]
    width = values.shape[1]
    return [flat[start : start + width] for start in range(0, len(flat), width)]
