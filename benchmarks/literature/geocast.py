"""Task regions as unions of released regions (To, Ghinita and Shahabi 2014).

A circle would cut through regions for which only a total count is known. A geocast consists of
whole regions: it starts with the region that contains the task, and repeatedly adds the
neighbouring region that most increases the expected number of acceptances, until the target is
reached (Zhu, Li, Zhou and Yu 2017, section 13.2.2). People are assumed to be evenly spread within a
region. In a Poisson field the contributions of regions add up, so the best neighbour is the region
in which most people are expected to accept. If no neighbour has people, the search continues
through empty regions, starting with those of the highest acceptance probability. The empty regions
on the path to the next region with people then become part of the geocast too.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.evaluation.tasks import acceptance_chance
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, layers
from dpgeo.postprocess.tasks.settings import Conditions
from dpgeo.postprocess.tasks.surface import expected_people
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.coverage import distinct
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import ground_scale, to_mercator

Floats = NDArray[np.float64]

SAMPLES = 4
"""The acceptance probability is averaged over this many points along each side of a region."""

MAX_REGIONS = 2_000
"""Largest number of regions that the search visits; after that, the required task success
probability counts as unreachable.
"""

OUTSIDE = -1
"""Index returned for a position that lies in no region."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Geocast:
    """Task region: the regions in which people are notified of a task.

    `regions` (m,) holds the indices of the regions, in the order in which they were added.
    `notified` is the expected number of workers in them, `success` is the probability that at least
    one of these workers accepts, and `reached` is true if `success` meets the target. `searched` is
    the number of regions that the search visited.
    """

    regions: NDArray[np.int64]
    notified: float
    success: float
    reached: bool
    searched: int = 0


@dataclass(frozen=True, eq=False)
class Partition:
    """Disjoint boxes (n, 4) of cells, and the expected number of people (n,) in each."""

    grid: Grid
    boxes: NDArray[np.int32]
    people: Floats

    @cached_property
    def _labels(self) -> NDArray[np.int32]:
        return box_image(self.boxes, self.grid.shape)

    def neighbours(self, region: int) -> NDArray[np.int64]:
        """Return the indices of the regions that share a cell edge with `region`, ascending.

        The neighbours are looked up in the cells around the region's box only when they are needed:
        a search visits few regions, and listing the neighbours of a million cells takes a second.
        """
        image = self._labels
        top, bottom, left, right = self.boxes[region].tolist()
        around = [
            *(image[row, left:right] for row in (top - 1, bottom) if 0 <= row < self.grid.rows),
            *(image[top:bottom, at] for at in (left - 1, right) if 0 <= at < self.grid.columns),
        ]
        if not around:  # The region is the whole grid, so it has no neighbours.
            return np.empty(0, dtype=np.int64)
        found = np.concatenate(around).astype(np.int64)
        return distinct(found[found >= 0])

    def regions_at(self, longitude: ArrayLike, latitude: ArrayLike) -> NDArray[np.int64]:
        """Return the index of the region at each position (n,) in degrees, or OUTSIDE."""
        cell = self.grid.locate(*to_mercator(longitude, latitude))
        regions = self._labels.ravel()[np.maximum(cell, 0)]
        return np.where(cell >= 0, regions, OUTSIDE).astype(np.int64)

    def geocast(
        self,
        longitude: float,
        latitude: float,
        *,
        reward: float,
        conditions: Conditions,
    ) -> Geocast:
        """Grow the task region around a task's position in degrees.

        `reward` is the task's reward.
        """
        here = self._here(longitude, latitude)
        first = self.regions_at([longitude], [latitude])
        candidates = first[first >= 0]
        needed, share = conditions.needed, conditions.worker_share
        predecessor: dict[int, int] = {}
        # The queue returns the smallest key first: the region in which most people accept, or,
        # among empty regions, the one with the highest acceptance probability.
        queue: list[tuple[float, float, int]] = []
        chosen = dict.fromkeys(candidates.tolist())
        accepting, region = 0.0, OUTSIDE
        while accepting < needed and len(predecessor) < MAX_REGIONS:
            chances = self._chances(candidates, here, reward, conditions)
            gains = share * self.people[candidates] * chances
            for other, chance, gain in zip(
                *map(np.ndarray.tolist, (candidates, chances, gains)), strict=True
            ):
                if chance > 0 and other not in predecessor:
                    predecessor[other] = region
                    heapq.heappush(queue, (-gain, -chance, other))
            if not queue:
                break
            loss, _, region = heapq.heappop(queue)
            if loss < 0:
                accepting -= loss
                chosen |= dict.fromkeys(_way(region, predecessor, chosen))
            candidates = self.neighbours(region)
        regions = np.array(list(chosen), dtype=np.int64)
        return Geocast(
            regions=regions,
            notified=share * float(self.people[regions].sum()),
            success=-math.expm1(-accepting),
            reached=accepting >= needed,
            searched=len(predecessor),
        )

    def _here(self, longitude: float, latitude: float) -> tuple[float, float, float]:
        x, y = to_mercator(longitude, latitude)
        return float(x), float(y), ground_scale(latitude)

    def _chances(
        self,
        regions: NDArray[np.int64],
        here: tuple[float, float, float],
        reward: float,
        conditions: Conditions,
    ) -> Floats:
        """Return the mean acceptance probability (m,) of the people in each region.

        `here` is the task's Web Mercator x and y, and the number of ground metres per Mercator
        metre at the task.
        """
        x, y, scale = here
        top, bottom, left, right = self.boxes[regions].T[:, :, None]
        fraction = (np.arange(SAMPLES) + 0.5) / SAMPLES
        east = self.grid.west + (left + fraction * (right - left)) * self.grid.cell - x
        north = self.grid.north - (top + fraction * (bottom - top)) * self.grid.cell - y
        metres = np.hypot(east[:, None, :], north[:, :, None]) * scale
        return np.asarray(acceptance_chance(conditions, reward, metres).mean(axis=(1, 2)))


def released_partition(released: Released) -> Partition:
    """Return the measured regions of a release and the expected number of people in each."""
    layer = next(each for each in layers(released) if isinstance(each, BoxLayer))
    return Partition(layer.grid, layer.boxes, expected_people(layer))


def _way(region: int, predecessor: dict[int, int], chosen: dict[int, None]) -> list[int]:
    """Return the regions on the path from the task's region to `region` that are not yet chosen.

    They are the end of the path, since all regions on the path to a chosen region are chosen.
    """
    way = []
    while region != OUTSIDE and region not in chosen:
        way.append(region)
        region = predecessor[region]
    return way[::-1]
