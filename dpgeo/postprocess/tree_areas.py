"""Covering of query regions with the boxes of a tree."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import TreeRelease
from dpgeo.postprocess.areas import (
    Areas,
    Boxes,
    Cover,
    Ints,
    Parts,
    Shapes,
    Shares,
    covers_of,
    snapped,
)
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.coverage import Coverage, distinct
from dpgeo.spatial.grid import Grid

TREE_WEIGHT = 6
"""Work per piece of outline, as a multiple of that for a grid.

It is higher because every level of the tree is visited.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Visited:
    """Pairs (n,) of a query region and a tree node that may be used for the region.

    `key`, int64 ascending, is the region's index times the number of nodes, plus the node's index.
    `touched` says whether the region's outline touches the node, and `inside` whether the node lies
    entirely inside the region, untouched by the outline.
    """

    key: Ints
    touched: NDArray[np.bool_]
    inside: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Touched:
    """Pairs (n,) of a query region and a tree node, ordered by region, then by node.

    A region is paired with each root, and with the children of each node that its outline touches.
    `region` and `node` are indices, `above` is the index of the parent's pair (unused for roots),
    and `share` is the share of the node's ground in the study area that the region covers. `inner`
    marks the pairs whose node's children are paired as well, and `levels` holds the indices of the
    pairs of each level of the tree.
    """

    region: Ints
    node: Ints
    above: Ints
    share: Shares
    inner: NDArray[np.bool_]
    levels: list[NDArray[np.intp]]


class BoxTree:
    """Tree of boxes, with methods for the share of each that polygons cover.

    The boxes (n, 4) are ordered by `level` (n,), from 0 for the roots; `parent` (n,) holds the
    index of each box's parent, or -1. The estimated work is multiplied by `weight`.
    """

    def __init__(
        self,
        grid: Grid,
        boxes: NDArray[np.integer[Any]],
        level: NDArray[np.integer[Any]],
        parent: NDArray[np.integer[Any]],
        area: StudyArea,
        *,
        weight: int,
    ) -> None:
        self.level, self.parent, self._weight = level, parent, weight
        # Stable, so that a million boxes that are in order already are sorted in no time.
        self._children = np.argsort(parent, kind="stable")
        self._after = np.cumsum(np.bincount(parent + 1, minlength=len(parent) + 1))[1:]
        self._first = np.concatenate([[np.count_nonzero(parent < 0)], self._after[:-1]])
        self.leaf = self._first == self._after
        """A mask (n,) of the nodes without children."""
        self._leaves = np.flatnonzero(self.leaf)
        self._boxes = Boxes(grid, boxes[self._leaves], area)
        self._anchors = boxes[:, 0].astype(np.int64) * grid.columns
        self._anchors += boxes[:, 2]
        edges = np.searchsorted(level, np.arange(int(level[-1]) + 2)).tolist()
        self.levels = [np.arange(*each) for each in itertools.pairwise(edges)]
        """The nodes of each level."""
        self.ground = self.up(self._on_leaves(self._boxes.ground))
        """The ground (n,) of each node that lies in the study area."""

    def _on_leaves(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return an array over all nodes: the leaves' values (n,), and 0 for inner nodes."""
        spread = np.zeros(len(self.leaf), dtype=values.dtype)
        spread[self._leaves] = values
        return spread

    def up(
        self,
        values: NDArray[Any],
        keep: NDArray[np.bool_] | None = None,
        lowest: int | None = None,
    ) -> NDArray[Any]:
        """Add the values (n,) of nodes to their parents' values, in place, from the leaves up.

        Parents that `keep` (n,) marks keep their own values unchanged. Below the level `lowest`,
        all values must be 0.
        """
        for nodes in self.levels[: len(self.levels) - 1 if lowest is None else lowest][::-1]:
            inner = nodes[~self.leaf[nodes]]
            if not inner.size:
                continue
            # The children of a level's nodes follow each other, and those of each node, too.
            first = self._first[inner]
            below = self._children[first[0] : self._after[inner[-1]]]
            sums = np.add.reduceat(values[below], first - first[0])
            if keep is not None:
                inner, sums = inner[~keep[inner]], sums[~keep[inner]]
            values[inner] += sums
        return values

    def touched(self, regions: Shapes) -> tuple[Coverage, Touched]:
        """Return the covered cells, and the nodes to consider for each region.

        Raises InvalidInput if the work would take too long.
        """
        covered, region, leaf, share = self._boxes.covered(regions, self._weight)
        visited = self._visited(covered, region, self._leaves[leaf])
        key, inside = visited.key, visited.inside
        size = len(self.leaf)
        where, nodes = np.divmod(key, size)
        ground = np.where(inside, self.ground[nodes], 0.0)
        shares = np.where(inside, 1.0, 0.0)
        touched = np.searchsorted(key, region * size + self._leaves[leaf])
        shares[touched] = share
        ground[touched] = share * self.ground[self._leaves[leaf]]
        above = np.searchsorted(key, where * size + self.parent[nodes])
        level = self.level[nodes]
        levels = [np.flatnonzero(level == each) for each in range(len(self.levels))]
        inner = visited.touched & ~self.leaf[nodes]
        for each in levels[:0:-1]:
            np.add.at(ground, above[each], ground[each])
        shares[inner] = snapped(ground[inner] / np.maximum(self.ground[nodes[inner]], 1e-300))
        return covered, Touched(
            region=where, node=nodes, above=above, share=shares, inner=inner, levels=levels
        )

    def _visited(self, covered: Coverage, region: Ints, leaf: Ints) -> _Visited:
        """Return the nodes to consider: roots, and children of inner nodes that an outline touches.

        `region` (n,) and `leaf` (n,) list the pairs of a region and a leaf that its outline
        touches.
        """
        size = len(self.leaf)
        current = region * size + leaf
        reached = [current]
        while current.size:
            parent = self.parent[current % size]
            current = distinct((current - current % size + parent)[parent >= 0])
            reached.append(current)
        touched = distinct(np.concatenate(reached))
        inner = touched[~self.leaf[touched % size]]
        below, which = self._children_of(inner % size)
        roots = np.flatnonzero(self.parent < 0)
        start = np.add.outer(np.arange(covered.polygons) * size, roots).ravel()
        # Every touched node is a root or a child of a touched node, so `key` contains it.
        key = np.sort(np.concatenate([start, (inner - inner % size)[which] + below]))
        is_touched = np.zeros(len(key), dtype=np.bool_)
        is_touched[np.searchsorted(key, touched)] = True
        inside = np.zeros(len(key), dtype=np.bool_)
        region, node = np.divmod(key[~is_touched], size)
        inside[~is_touched] = covered.untouched_inside(region, self._anchors[node])
        return _Visited(key=key, touched=is_touched, inside=inside)

    def _children_of(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return the children of `nodes` (n,), and the index in `nodes` of each child's parent."""
        sizes = self._after[nodes] - self._first[nodes]
        which = np.repeat(np.arange(len(nodes)), sizes)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._children[self._first[nodes][which] + offset], which


class Tree(Areas):
    """Tree of boxes that answers a query by adding up the counts of leaves.

    If the boxes do not depend on the data (`fixed`), the count of an inner box replaces the counts
    below it, provided that its noise variance is at most the sum of theirs.
    """

    def __init__(self, content: TreeRelease, area: StudyArea, *, fixed: bool) -> None:
        self._content = content
        self._boxes = BoxTree(
            content.grid,
            content.boxes,
            content.level,
            content.parent,
            area,
            weight=TREE_WEIGHT,
        )
        answers = self._boxes.leaf | (self._better() if fixed else False)
        self._total, self._number = self._best(answers)

    def _better(self) -> NDArray[np.bool_]:
        """Return a mask (n,) of the nodes at least as precise as the best counts below them.

        Their noise variance is at most the total variance of those counts.
        """
        content = self._content
        own = np.array([noise.variance for noise in content.noises])[content.level]
        own = np.where(content.measured, own, np.inf)
        best = own.copy()
        below = np.zeros(len(own))
        for nodes in self._boxes.levels[::-1]:
            inner = nodes[~self._boxes.leaf[nodes]]
            best[inner] = np.minimum(own[inner], below[inner])
            above = content.parent[nodes]
            np.add.at(below, above[above >= 0], best[nodes][above >= 0])
        return np.asarray(content.measured & (own <= below))

    def _best(self, answers: NDArray[np.bool_]) -> tuple[Ints, NDArray[np.int32]]:
        """Return, for each node, the sum (n,) of the counts that are used for the whole node.

        `answers` (n,) marks nodes whose own count is used. The second result (n, k) is the number
        of counts used with each of the k noise distributions.
        """
        content = self._content
        used = answers & ((self._boxes.ground > 0) | ~self._boxes.leaf)
        totals = np.where(used, content.counts, 0)
        numbers = np.zeros((len(content.noises), len(used)), dtype=np.int32)
        for level, nodes in enumerate(self._boxes.levels):
            numbers[level, nodes] = used[nodes]
            self._boxes.up(numbers[level], answers, level)
        return self._boxes.up(totals, answers), numbers.T

    def covers(self, regions: Shapes) -> list[Cover]:
        """Return the cover of each region by tree nodes; only leaves can be used in part."""
        touched = self._boxes.touched(regions)[1]
        where, nodes, shares = touched.region, touched.node, touched.share
        # A node is free if none of its ancestors is used whole.
        free = np.ones(len(nodes), dtype=np.bool_)
        for each in touched.levels[1:]:
            above = touched.above[each]
            free[each] = free[above] & (shares[above] < 1.0)
        whole = np.flatnonzero(free & (shares == 1.0))
        part = np.flatnonzero(free & self._boxes.leaf[nodes] & (shares > 0.0) & (shares < 1.0))
        totals = np.zeros(len(regions))
        wholes = np.zeros((len(regions), len(self._content.noises)), dtype=np.int64)
        np.add.at(totals, where[whole], self._total[nodes[whole]])
        single = self._number[nodes[whole]]
        for column in range(wholes.shape[1]):
            np.add.at(wholes[:, column], where[whole], single[:, column])
        parts = Parts(
            region=where[part],
            value=self._content.counts[nodes[part]],
            noise=self._content.level[nodes[part]].astype(np.int64),
            share=shares[part],
        )
        return covers_of(self._content.noises, totals, wholes, parts)
