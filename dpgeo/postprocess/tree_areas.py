"""Covering of query regions with the boxes of a tree."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import TreeRelease
from dpgeo.postprocess.areas import (
    UNEVEN_ERRORS,
    Areas,
    Boxes,
    Cover,
    Inferred,
    Ints,
    Parts,
    Shapes,
    Shares,
    covers_of,
    snapped,
)
from dpgeo.postprocess.consistency import consistent
from dpgeo.postprocess.pyramid import ratio
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.coverage import Coverage, distinct
from dpgeo.spatial.grid import Grid

TREE_WEIGHT = 6
"""Work that a piece of a query's outline causes, as a multiple of that on a plain grid.

It is larger because every level of the tree is visited.
"""


NOISE_ERRORS = 2.0
"""Number of standard errors in the margin of a sum of reconciled counts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Visited:
    """Pairs (n,) of a query region and a tree node that may contribute to the region's sum.

    `key`, int64 ascending, is the region's index times the number of nodes, plus the node's index.
    `touched` says whether the region's outline intersects the node, and `inside` whether the node
    lies entirely inside the region and off its outline.
    """

    key: Ints
    touched: NDArray[np.bool_]
    inside: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Touched:
    """Pairs (n,) of a query region and a tree node, ordered by region, then by node.

    A region is paired with each root, and with the children of each node that its outline
    intersects. `region` and `node` are indices, `above` is the index of the parent's pair (unused
    for roots), and `share` is the share of the node's ground in the study area that the region
    covers. `inner` marks the pairs whose node's children are paired as well, and `levels` holds the
    indices of the pairs of each level of the tree.
    """

    region: Ints
    node: Ints
    above: Ints
    share: Shares
    inner: NDArray[np.bool_]
    levels: list[NDArray[np.intp]]


class BoxTree:
    """Tree of boxes, with methods that return the share of each box that polygons cover.

    The boxes (n, 4) are ordered by `level` (n,), from 0 for the roots; `parent` (n,) holds the
    index of each box's parent, or -1. `weight` is the work that a piece of a polygon's outline
    causes, as a multiple of that on a plain grid.
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
        # The sort is stable, so it takes hardly any time for a million boxes that are already in
        # order.
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
        """Indices of the nodes of each level."""
        self.ground = self.up(self._on_leaves(self._boxes.ground))
        """For each node, its ground area (n,) inside the study area, in any unit."""

    def _on_leaves(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return an array over all nodes: the leaves' values (n,), and 0 for inner nodes."""
        spread = np.zeros(len(self.leaf), dtype=values.dtype)
        spread[self._leaves] = values
        return spread

    def up(self, values: NDArray[Any], lowest: int | None = None) -> NDArray[Any]:
        """Add the values (n,) of nodes to their parents' values, in place, from the leaves up.

        Below the level `lowest`, all values must be 0.
        """
        for nodes in self.levels[: len(self.levels) - 1 if lowest is None else lowest][::-1]:
            inner = nodes[~self.leaf[nodes]]
            if not inner.size:
                continue
            # All children of a level's nodes are consecutive, ordered by node, so `reduceat` can
            # sum over the children of each node.
            first = self._first[inner]
            below = self._children[first[0] : self._after[inner[-1]]]
            values[inner] += np.add.reduceat(values[below], first - first[0])
        return values

    def touched(self, regions: Shapes) -> tuple[Coverage, Touched]:
        """Return the cells that regions cover, and the pairs of a region and a tree node needed for
        the region's sum.

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
        """Return the nodes whose counts may be used for each query region: roots, and the children
        of inner nodes that the region's outline intersects.

        `region` (n,) and `leaf` (n,) list all pairs of a region and a leaf that the region's
        outline intersects.
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
        # `key` holds, for each region, all roots, and the children of all nodes that the region's
        # outline intersects. So it contains every node that the outline intersects.
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
    """Tree of boxes that answers a query by adding up the counts of leaves."""

    modelled = True

    def __init__(self, content: TreeRelease, area: StudyArea) -> None:
        self._content = content
        self._boxes = _boxes_of(content, area)
        used = self._boxes.leaf & (self._boxes.ground > 0)
        self._total = self._boxes.up(np.where(used, content.counts, 0))
        """The sum (n,) of the leaves' counts at and below each node."""
        numbers = np.zeros((len(content.noises), len(used)), dtype=np.int32)
        for level, nodes in enumerate(self._boxes.levels):
            numbers[level, nodes] = used[nodes]
            self._boxes.up(numbers[level], level)
        self._number = numbers.T
        """The number (n, k) of leaves at and below each node that were measured with each of k
        noises.
        """

    def covers(self, regions: Shapes) -> list[Cover]:
        """Return the tree nodes that make up each query region; only leaves can be used in part."""
        touched = self._boxes.touched(regions)[1]
        where, nodes, shares = touched.region, touched.node, touched.share
        # A node's count may be used unless that of an ancestor is used whole, which includes it.
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


class Reconciled(Areas):
    """Tree of boxes that was measured at several levels; see `postprocess.consistency`.

    An answer is the sum of the reconciled counts of leaves. Its margin is NOISE_ERRORS standard
    errors of that sum, which are nominal if the boxes were chosen from counts of their parents,
    combined with UNEVEN_ERRORS times the root of `unevenness`.
    """

    def __init__(self, content: TreeRelease, area: StudyArea) -> None:
        variances = np.array([noise.variance for noise in content.noises])[content.level]
        variances = np.where(content.measured, variances, np.inf)
        found = consistent(content.counts, variances, content.parent, content.level)
        self._boxes = _boxes_of(content, area)
        self._value, self._variance = found.value, found.below
        self._leaves = self._boxes.up(self._boxes.leaf.astype(np.int64))

    def covers(self, regions: Shapes) -> list[Inferred]:
        """Add up the reconciled counts of the leaves in each query region.

        A leaf that an outline cuts adds its count times the share of its ground in the region.
        """
        touched = self._boxes.touched(regions)[1]
        share, last = touched.share, ~touched.inner
        value = np.where(last, share * self._value[touched.node], 0.0)
        noise = noise_variances(touched, self._variance, len(regions))
        uneven = unevenness(touched, np.square(np.maximum(self._value, 0.0)), len(regions))
        cut = last & (share > 0.0) & (share < 1.0)
        used = np.where(last & (share > 0.0), self._leaves[touched.node], 0)
        columns = (
            np.bincount(touched.region, weights=each, minlength=len(regions))
            for each in (value, used, cut)
        )
        margins = (NOISE_ERRORS * np.sqrt(noise), UNEVEN_ERRORS * np.sqrt(uneven))
        return [
            Inferred(
                estimate=float(total), noise=float(n), model=float(m), areas=int(a), cut=int(c)
            )
            for total, a, c, n, m in zip(*columns, *margins, strict=True)
        ]


def _boxes_of(content: TreeRelease, area: StudyArea) -> BoxTree:
    return BoxTree(
        content.grid, content.boxes, content.level, content.parent, area, weight=TREE_WEIGHT
    )


def noise_variances(touched: Touched, variance: Shares, regions: int) -> Shares:
    """Return the variance (regions,) that noise causes in the sum over each region.

    `variance` (nodes,) is the variance of each node's sum, given the counts at and below the node.
    The formulas are in `postprocess.surface_areas`.
    """
    share, node = touched.share, touched.node
    slope, rest = share.copy(), np.zeros(len(share))
    for level in range(len(touched.levels) - 1, 0, -1):
        pairs = touched.levels[level]
        sums, products, squares, below = (np.zeros(len(share)) for _ in range(4))
        above, own = touched.above[pairs], variance[node[pairs]]
        np.add.at(sums, above, own)
        np.add.at(products, above, own * slope[pairs])
        np.add.at(squares, above, own * np.square(slope[pairs]))
        np.add.at(below, above, rest[pairs])
        here = touched.levels[level - 1]
        here = here[touched.inner[here]]
        slope[here] = np.where(sums[here] > 0, ratio(products[here], sums[here]), share[here])
        left = squares[here] - slope[here] * products[here]
        rest[here] = below[here] + np.maximum(left, 0.0)
    roots = touched.levels[0]
    whole = np.square(slope[roots]) * variance[node[roots]] + rest[roots]
    return np.asarray(np.bincount(touched.region[roots], weights=whole, minlength=regions), float)


def unevenness(touched: Touched, square: Shares, regions: int) -> Shares:
    """Return for each region (regions,) the sum of m^2 s (1 - s) over the leaves that it cuts.

    m is a leaf's expected count (`square` (nodes,) has m^2 of all nodes), and s is the share of
    the leaf's ground that lies in the region. If all people of a leaf were together in one place
    that is equally likely to be anywhere in it, this would be the variance of their number in the
    region.
    """
    share = touched.share
    uneven = np.where(touched.inner, 0.0, share * (1 - share) * square[touched.node])
    return np.asarray(np.bincount(touched.region, weights=uneven, minlength=regions), float)
