"""The region to notify as a union of a release's own regions (To, Ghinita and Shahabi 2014).

A circle cuts through regions of which only the count is known. A geocast does not: it starts with
the region that holds the task and adds the neighbour that raises the expected acceptance most,
until the target is reached (seed 003, section 13.2.2). Within a region people are taken to be
spread evenly. As a Poisson field, regions add what they hold, whatever was added before, so the
best neighbour is the one in which most people are expected to accept.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from dpgeo.postprocess.tasks.acceptance import Acceptance, Floats
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import ground_scale, to_mercator

SAMPLES = 4
"""Points along each side of a region at which the chance of accepting is read."""

MOST_REGIONS = 2_000
"""A geocast that needs more is given up: such a notice goes to everybody."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Geocast:
    """Regions (m,) by their indices, in the order in which they were added.

    `notified` people live in them and `success` is the chance that one accepts; `reached` says
    whether that is the target.
    """

    regions: NDArray[np.int64]
    notified: float
    success: float
    reached: bool


@dataclass(frozen=True, eq=False)
class Partition:
    """Disjoint regions: boxes (n, 4) of cells of a grid, and the expected people (n,) in each."""

    grid: Grid
    boxes: NDArray[np.int32]
    people: Floats

    @cached_property
    def _labels(self) -> NDArray[np.int32]:
        return box_image(self.boxes, self.grid.shape)

    @cached_property
    def _beside(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Neighbours of every region, one after another, and where those of each begin."""
        image = self._labels
        pairs = np.concatenate(
            [
                np.column_stack([image[:, :-1].ravel(), image[:, 1:].ravel()]),
                np.column_stack([image[:-1].ravel(), image[1:].ravel()]),
            ]
        ).astype(np.int64)
        pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs >= 0).all(axis=1)]
        both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
        return both[:, 1], np.searchsorted(both[:, 0], np.arange(len(self.boxes) + 1))

    def neighbours(self, region: int) -> NDArray[np.int64]:
        """Regions that share a side of a cell with this one."""
        others, start = self._beside
        return others[start[region] : start[region + 1]]

    def regions_at(self, longitude: ArrayLike, latitude: ArrayLike) -> NDArray[np.int64]:
        """The regions (n,) that hold positions (n,) in degrees, -1 where none does."""
        cell = self.grid.locate(*to_mercator(longitude, latitude))
        found = self._labels.ravel()[np.maximum(cell, 0)]
        return np.where(cell >= 0, found, -1).astype(np.int64)

    def geocast(
        self,
        longitude: float,
        latitude: float,
        *,
        reward: float,
        acceptance: Acceptance,
        target: float,
        share: float = 1.0,
    ) -> Geocast:
        """Grow a region around a task; `share` of the people are workers."""
        here = self._here(longitude, latitude)
        first = self.regions_at([longitude], [latitude])
        needed = -math.log1p(-target) if target < 1 else math.inf
        # Least first: the most people, and among as many the region that was found first.
        queue = [(-math.inf, int(region)) for region in first if region >= 0]
        seen = {int(first[0])}
        chosen: list[int] = []
        accepting = 0.0
        while queue and accepting < needed and len(chosen) < MOST_REGIONS:
            _, region = heapq.heappop(queue)
            chosen.append(region)
            accepting += share * float(
                self._accepting(np.array([region]), here, reward, acceptance)[0]
            )
            beside = self.neighbours(region)
            gains = self._accepting(beside, here, reward, acceptance)
            for other, gain in zip(beside.tolist(), gains.tolist(), strict=True):
                if gain > 0 and other not in seen:
                    seen.add(other)
                    heapq.heappush(queue, (-gain, other))
        return Geocast(
            regions=np.array(chosen, dtype=np.int64),
            notified=share * float(self.people[chosen].sum()),
            success=-math.expm1(-accepting),
            reached=accepting >= needed,
        )

    def outline(self, regions: NDArray[np.int64]) -> Any:
        """The union of regions as a shapely geometry in degrees."""
        return shapely.union_all(shapely.box(*self.grid.box_bounds(self.boxes[regions]).T))

    def _here(self, longitude: float, latitude: float) -> tuple[float, float, float]:
        x, y = to_mercator(longitude, latitude)
        return float(x), float(y), ground_scale(latitude)

    def _accepting(
        self,
        regions: NDArray[np.int64],
        here: tuple[float, float, float],
        reward: float,
        acceptance: Acceptance,
    ) -> Floats:
        """How many people of each region (m,) are expected to accept."""
        x, y, scale = here
        top, bottom, left, right = self.boxes[regions].T[:, :, None]
        part = (np.arange(SAMPLES) + 0.5) / SAMPLES
        across = self.grid.west + (left + part * (right - left)) * self.grid.cell - x
        along = self.grid.north - (top + part * (bottom - top)) * self.grid.cell - y
        metres = np.hypot(across[:, None, :], along[:, :, None]) * scale
        chance = acceptance.chance(reward, metres).mean(axis=(1, 2))
        return np.asarray(np.maximum(self.people[regions], 0.0) * chance)
