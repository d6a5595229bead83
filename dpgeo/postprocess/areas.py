"""Measured regions, and how a query region is composed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import TreeRelease
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

Shares = NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""A share this close to 0 or to 1 is rounded to 0 or to 1.

The limit is far above rounding errors, and such a share of a region's people is far below one.
"""

SLIVER = 1e-6
"""Zones that overlap by less than this part of the smaller one count as disjoint.

Published borders are imprecise, so zones that meet often overlap by as little as that.
"""

UNCOVERED = "Part of the region lies in no zone that was used, and adds nothing."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cover:
    """Whole and partial measured regions that make up a query region.

    `whole` maps each noise to the number of whole regions whose counts carry it, and `total` is the
    sum of the noisy counts of all whole regions. For the partial regions, `values`, `rates` and
    `shares` (n,) are their noisy counts, the rates of their noise and the shares of their ground
    that lie in the query region.
    """

    whole: dict[DiscreteLaplace, int]
    total: float
    values: NDArray[np.float64]
    rates: NDArray[np.float64]
    shares: Shares
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Footprints:
    """Shapes of measured regions (n,), and the study area, outside which there is nobody."""

    shapes: NDArray[np.object_]
    area: StudyArea

    def shares(self, region: Any, number: NDArray[np.int64]) -> Shares:
        """Return the share of the ground of each region (m,) that lies in a query region.

        `number` (m,) are indices of measured regions. Only ground within the study area counts.
        """
        shapes = self.shapes[number]
        share = np.ones(len(shapes))
        beyond = ~shapely.covers(region, shapes)
        if beyond.any():
            cut = shapes[beyond]
            inside = shapely.intersection(cut, region)
            outside = ~shapely.covers(self.area.shape, cut)
            cut[outside] = shapely.intersection(cut[outside], self.area.shape)
            ground = np.maximum(_ground(cut), 1e-300)
            share[beyond] = np.clip(_ground(inside) / ground, 0.0, 1.0)
        share[share > 1 - NEGLIGIBLE] = 1.0
        share[share < NEGLIGIBLE] = 0.0
        return share


def _ground(shapes: NDArray[np.object_]) -> NDArray[np.float64]:
    """Return areas (n,) in proportion to the ground (equal-area projection)."""
    flat = shapely.transform(
        shapes, lambda degrees: np.column_stack([degrees[:, 0], np.sin(np.radians(degrees[:, 1]))])
    )
    return np.asarray(shapely.area(flat))


def squares(grid: Grid, boxes: NDArray[np.integer[Any]]) -> NDArray[np.object_]:
    """Return boxes (n, 4) of cells as shapes (n,) in degrees."""
    west, south, east, north = grid.box_bounds(boxes).T
    return np.asarray(shapely.box(west, south, east, north), dtype=object)


def _cover(
    values: NDArray[Any],
    noises: Sequence[DiscreteLaplace],
    noise: NDArray[np.integer[Any]],
    shares: Shares,
    notes: tuple[str, ...] = (),
) -> Cover:
    """Build a cover from regions' values, indices into `noises` and shares (n,)."""
    whole = shares == 1.0
    partial = (shares > 0.0) & ~whole
    rates = np.array([float(each.rate) for each in noises])
    counts = np.bincount(noise[whole], minlength=len(noises))
    wholes: dict[DiscreteLaplace, int] = {}
    for each, count in zip(noises, counts.tolist(), strict=True):
        if count:  # Add up: two levels of a tree may have equal noise, which is one key.
            wholes[each] = wholes.get(each, 0) + count
    return Cover(
        whole=wholes,
        total=float(values[whole].sum()),
        values=values[partial].astype(np.float64),
        rates=rates[noise[partial]],
        shares=shares[partial],
        notes=notes,
    )


class Areas:
    """The measured regions of a release's content."""

    def cover(self, region: Any) -> Cover:
        """Return the measured regions that make up a query region within the study area."""
        raise NotImplementedError


class Listed(Areas):
    """Regions listed one by one, found by a spatial index."""

    def __init__(
        self,
        shapes: NDArray[np.object_],
        values: NDArray[np.int64],
        noise: DiscreteLaplace,
        area: StudyArea,
        note: str = "",
    ) -> None:
        self._footprints = _Footprints(shapes, area)
        self._tree = shapely.STRtree(shapes)
        self._values, self._noise = values, noise
        self._notes = (note,) if note else ()

    def cover(self, region: Any) -> Cover:
        """Cover the query region by the listed regions that touch it."""
        number = np.sort(self._tree.query(region))
        shares = self._footprints.shares(region, number)
        return _cover(
            self._values[number], [self._noise], np.zeros_like(number), shares, self._notes
        )


class ZoneAreas(Areas):
    """Zones, which may overlap; an answer adds up only disjoint ones."""

    def __init__(
        self, zones: Zones, counts: NDArray[np.int64], noise: DiscreteLaplace, area: StudyArea
    ) -> None:
        self._counts, self._noise = counts, noise
        self._footprints = _Footprints(zones.shapes.copy(), area)
        self._tree = shapely.STRtree(self._footprints.shapes)
        self._ground = _ground(self._footprints.shapes)

    def cover(self, region: Any) -> Cover:
        """Cover as much as possible of the query region by disjoint zones that touch it."""
        number = np.sort(self._tree.query(region))
        shares = self._footprints.shares(region, number)
        number, shares = number[shares > 0], shares[shares > 0]
        ground = self._ground[number] * shares
        overlaps = self._overlaps(number)
        most = np.bincount(overlaps.ravel(), minlength=len(number))
        choices = [
            _disjoint(np.lexsort(keys), overlaps)
            for keys in ((-ground, shares < 1.0), (-ground, most), (-ground, most, shares < 1.0))
        ]
        whole = float(_ground(np.array([region], dtype=object))[0])

        def coverage(choice: NDArray[np.bool_]) -> tuple[float, float]:
            """Return the share of the region that is covered, and the ground in whole zones."""
            in_whole = float(ground[choice & (shares == 1.0)].sum())
            return round(float(ground[choice].sum()) / whole, 6), in_whole

        best = max(choices, key=coverage)
        notes = (UNCOVERED,) if ground[best].sum() < whole * (1 - 1e-6) else ()
        chosen = number[best]
        return _cover(
            self._counts[chosen],
            [self._noise],
            np.zeros_like(chosen),
            shares[best],
            notes,
        )

    def _overlaps(self, number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return pairs (m, 2) of indices of zones that share ground."""
        shapes = self._footprints.shapes[number]
        first, second = shapely.STRtree(shapes).query(shapes, predicate="intersects")
        pair = first < second
        first, second = first[pair], second[pair]
        shared = shapely.area(shapely.intersection(shapes[first], shapes[second]))
        smaller = np.minimum(shapely.area(shapes[first]), shapely.area(shapes[second]))
        pairs = np.column_stack([first, second])[shared > SLIVER * smaller]
        return np.asarray(pairs, dtype=np.int64)


def _disjoint(order: NDArray[np.intp], overlaps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Choose disjoint regions (n,) greedily, in the given order."""
    others: dict[int, list[int]] = {}
    for one, other in overlaps.tolist():
        others.setdefault(one, []).append(other)
        others.setdefault(other, []).append(one)
    chosen = np.zeros(len(order), dtype=np.bool_)
    for index in order.tolist():
        chosen[index] = not chosen[others.get(index, [])].any()
    return chosen


class Cells(Areas):
    """All cells of a grid; only cells on the outline of a query region can be cut."""

    def __init__(
        self, grid: Grid, counts: NDArray[np.int64], noise: DiscreteLaplace, area: StudyArea
    ) -> None:
        self._grid, self._counts, self._noise, self._area = grid, counts, noise, area

    def cover(self, region: Any) -> Cover:
        """Cover the query region by the cells that touch it."""
        top, bottom, left, right = window = self._grid.window(shapely.bounds(region))
        part = self._grid.part(*window)
        edge = part.touching(region.boundary)
        inner = part.touching(region) & ~edge
        row, column = np.nonzero(edge)
        boxes = np.column_stack([row, row + 1, column, column + 1])
        footprints = _Footprints(squares(part, boxes), self._area)
        shares = footprints.shares(region, np.arange(len(boxes)))
        counts = self._counts[top:bottom, left:right]
        cover = _cover(
            counts[row, column], [self._noise], np.zeros(len(boxes), dtype=np.int64), shares
        )
        whole = int(np.count_nonzero(inner)) + cover.whole.get(self._noise, 0)
        return Cover(
            whole={self._noise: whole} if whole else {},
            total=cover.total + float(counts[inner].sum()),
            values=cover.values,
            rates=cover.rates,
            shares=cover.shares,
        )


class Tree(Areas):
    """A tree of boxes, of which an answer adds up leaves.

    If the boxes do not depend on the data (`fixed`), a larger box is used instead of the boxes
    below it where its noise is no higher than theirs together.
    """

    def __init__(self, content: TreeRelease, area: StudyArea, *, fixed: bool) -> None:
        self._content = content
        self._area = area
        order = np.argsort(content.parent, kind="stable")
        parents = content.parent[order]
        size = len(content.parent)
        self._children = order
        self._first = np.searchsorted(parents, np.arange(size), side="left")
        self._after = np.searchsorted(parents, np.arange(size), side="right")
        self._leaf = self._first == self._after
        self._answers = self._leaf | (self._better() if fixed else False)

    def _better(self) -> NDArray[np.bool_]:
        """Return which nodes have no more noise than the best nodes below them together."""
        content = self._content
        own = np.array([noise.variance for noise in content.noises])[content.level]
        own = np.where(content.measured, own, np.inf)
        best = own.copy()
        below = np.zeros(len(own))
        for level in range(int(content.level[-1]), -1, -1):
            nodes = np.flatnonzero(content.level == level)
            inner = nodes[~self._leaf[nodes]]
            best[inner] = np.minimum(own[inner], below[inner])
            above = content.parent[nodes]
            np.add.at(below, above[above >= 0], best[nodes][above >= 0])
        return np.asarray(content.measured & (own <= below))

    def cover(self, region: Any) -> Cover:
        """Cover the query region from the roots down; only leaves are used in part."""
        content = self._content
        nodes = np.flatnonzero(content.parent < 0)
        covering, covering_shares = [nodes[:0]], [np.zeros(0)]
        while nodes.size:
            footprints = _Footprints(squares(content.grid, content.boxes[nodes]), self._area)
            shares = footprints.shares(region, np.arange(len(nodes)))
            used = (self._answers[nodes] & (shares == 1.0)) | (self._leaf[nodes] & (shares > 0))
            covering.append(nodes[used])
            covering_shares.append(shares[used])
            nodes = self._children_of(nodes[~used & (shares > 0)])
        chosen = np.concatenate(covering)
        return _cover(
            content.counts[chosen],
            content.noises,
            content.level[chosen],
            np.concatenate(covering_shares),
        )

    def _children_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the children of nodes."""
        sizes = self._after[nodes] - self._first[nodes]
        offset = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.asarray(self._children[np.repeat(self._first[nodes], sizes) + offset])
