"""Covering of query regions with declared zones; zones may overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.postprocess.areas import (
    Areas,
    Cover,
    Ints,
    Parts,
    Shapes,
    Shares,
    check_work,
    clipped_shares,
    covers_of,
    ground_of,
)
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.coverage import as_array
from dpgeo.spatial.overlaps import overlapping_pairs
from dpgeo.spatial.prepared import prepared
from dpgeo.spatial.zones import Zones

MAX_CLIPPED_PIECES = 400_000
"""Largest number of vertices that one request may clip, over all its pairs of a region and a zone.
"""

UNCOVERED = "Part of the region lies in no zone that was used, and adds nothing."


class ZoneAreas(Areas):
    """Zones, which may overlap. An answer adds up only zones that are disjoint.

    Each array in `counts` holds one count for each zone.
    """

    once = True

    def __init__(
        self,
        zones: Zones,
        counts: Sequence[NDArray[np.int64]],
        noise: CountNoise,
        area: StudyArea,
    ) -> None:
        self._counts, self._noise, self._area = counts, noise, area
        self._shapes = zones.shapes.copy()
        self._tree = shapely.STRtree(self._shapes)
        self._ground = ground_of(self._shapes)
        self._corners = shapely.get_num_coordinates(self._shapes)

    def covers(self, regions: Shapes) -> list[Cover]:
        """Cover as much of each query region as a greedy choice of disjoint zones can."""
        return [self._cover(self._counts, *each) for each in self._chosen(regions)]

    def sums_of_each(
        self, regions: Shapes, sets: Sequence[Sequence[NDArray[np.int64]]]
    ) -> tuple[list[Cover], NDArray[np.float64]]:
        """Return the regions' covers, and the sums (k, n) of k sets of counts in n regions.

        All sets are counts of the same zones. `Areas.sums_of_each` explains the arguments.
        """
        chosen = self._chosen(regions)
        totals = np.array([np.sum(counts, axis=0) for counts in sets])
        sums = [totals[:, number] @ share for number, share, _ in chosen]
        covers = [self._cover(sets[0], *each) for each in chosen]
        return covers, np.array(sums).reshape(len(chosen), len(sets)).T

    def _chosen(self, regions: Shapes) -> list[tuple[Ints, Shares, tuple[str, ...]]]:
        """Choose disjoint zones for each query region.

        Returns, for each region, the zones' indices, the shares of their ground in the region, and
        sentences to show with the answer.
        """
        region, zone = self._tree.query(regions)
        corners = shapely.get_num_coordinates(regions)
        check_work(int((corners[region] + self._corners[zone]).sum()), MAX_CLIPPED_PIECES)
        order = np.lexsort((zone, region))
        ends = np.searchsorted(region[order], np.arange(len(regions) + 1))
        zones = zone[order]
        return [
            self._choose(regions[index], zones[ends[index] : ends[index + 1]])
            for index in range(len(regions))
        ]

    def _choose(self, region: Any, number: Ints) -> tuple[Ints, Shares, tuple[str, ...]]:
        """Choose disjoint zones among those with the indices `number` for a query region.

        Returns their indices, the share of each zone's ground in the region, and notes, of which
        there is at most one: that zones do not cover the whole region.
        """
        regions = as_array([prepared(region)] * len(number))
        shares = clipped_shares(self._shapes[number], regions, self._area)
        number, shares = number[shares > 0], shares[shares > 0]
        ground = self._ground[number] * shares
        overlaps = self._overlaps_among(number)
        most = np.bincount(overlaps.ravel(), minlength=len(number))
        choices = [
            _disjoint(np.lexsort(keys), overlaps)
            for keys in ((-ground, shares < 1.0), (-ground, most), (-ground, most, shares < 1.0))
        ]
        whole = float(ground_of(as_array([region]))[0])

        def covered(choice: NDArray[np.bool_]) -> tuple[float, float]:
            """Return the share of the region that the chosen zones cover, and the ground area of
            those that lie wholly in it.
            """
            in_whole = float(ground[choice & (shares == 1.0)].sum())
            return round(float(ground[choice].sum()) / whole, 6), in_whole

        best = max(choices, key=covered)
        notes = (UNCOVERED,) if ground[best].sum() < whole * (1 - 1e-6) else ()
        return number[best], shares[best], notes

    def _cover(
        self,
        counts_of: Sequence[NDArray[np.int64]],
        chosen: Ints,
        share: Shares,
        notes: tuple[str, ...],
    ) -> Cover:
        part, times = share < 1.0, len(counts_of)
        parts = Parts(
            region=np.zeros(times * np.count_nonzero(part), dtype=np.int64),
            value=np.concatenate([counts[chosen[part]] for counts in counts_of]),
            noise=np.zeros(times * np.count_nonzero(part), dtype=np.int64),
            share=np.tile(share[part], times),
        )
        total = sum(counts[chosen[~part]].sum() for counts in counts_of)
        wholes = times * np.count_nonzero(~part)
        return covers_of([self._noise], np.array([total]), np.array([[wholes]]), parts, notes)[0]

    @cached_property
    def _overlaps(self) -> Ints:
        """The pairs (m, 2) of zones that overlap."""
        return overlapping_pairs(self._shapes, self._tree)

    def _overlaps_among(self, number: Ints) -> Ints:
        """Return the overlapping pairs (m, 2) among the zones with the indices `number`.

        The pairs hold positions in `number`.
        """
        rank = np.full(len(self._shapes), -1)
        rank[number] = np.arange(len(number))
        pairs = rank[self._overlaps]
        return pairs[(pairs >= 0).all(axis=1)]


def _disjoint(order: NDArray[np.intp], overlaps: Ints) -> NDArray[np.bool_]:
    """Choose disjoint zones greedily, in the given order; return a mask (n,).

    `overlaps` (m, 2) holds the pairs of zones that overlap.
    """
    others: dict[int, list[int]] = {}
    for one, other in overlaps.tolist():
        others.setdefault(one, []).append(other)
        others.setdefault(other, []).append(one)
    chosen = np.zeros(len(order), dtype=np.bool_)
    for index in order.tolist():
        chosen[index] = not chosen[others.get(index, [])].any()
    return chosen
