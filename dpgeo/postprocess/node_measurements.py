"""Noisy counts of quadtree nodes, reconciled over the tree by least squares.

The nodes of level l form an array (2^l, 2^l), see `pyramid`. A node's size is the number of its
cells that intersect the study area. If a node was measured several times, its counts are averaged
with inverse-variance weights. A *leaf* is a measured node below which nothing was measured. Nodes
outside the study area are known to be empty: their size, value and variance are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.empirical_bayes import NoiseKind
from dpgeo.postprocess.pyramid import Floats, expanded, neighbours, pooled, ratio

Masks = list[NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Estimated counts of a quadtree's nodes, and variances: one array (2^l, 2^l) per level l.

    `value` holds the estimates from all counts of the tree. `variance` holds the variances of
    estimates from fewer counts: only the counts of the node itself and of nodes below it. Nodes
    below a leaf have no estimate; both arrays hold 0 for them.
    """

    value: list[Floats]
    variance: list[Floats]


class NodeMeasurements:
    """All measurements made so far of quadtree nodes over 2^depth by 2^depth cells."""

    def __init__(self, inside: NDArray[np.bool_], kind: NoiseKind = NoiseKind.LAPLACE) -> None:
        """Create an object without measurements.

        `inside` (2^depth, 2^depth) marks the cells that intersect the study area, and `kind` is the
        kind of noise in all measurements.
        """
        self.inside, self.kind = inside, kind
        self.depth = len(inside).bit_length() - 1
        sizes = [inside.astype(np.float64)]
        for level in range(self.depth - 1, -1, -1):
            sizes.insert(0, pooled(sizes[0], 1 << level))
        self.sizes = sizes
        self.sizes_around = [neighbours(size) for size in sizes]
        self.value = [np.zeros_like(size) for size in sizes]
        self.precision = [np.zeros_like(size) for size in sizes]

    def add(self, nodes: Masks, counts: NDArray[np.int64], scale: float) -> None:
        """Add the counts (n,) of the n nodes where `nodes` is true.

        The variance of their noise is 2 `scale`^2. The counts are ordered by level, row and column.
        The nodes must be disjoint and together cover every cell that intersects the study area.
        """
        start = 0
        precision = 1 / (2 * scale**2)
        for level, chosen in enumerate(nodes):
            end = start + int(np.count_nonzero(chosen))
            prior = self.precision[level][chosen]
            combined = self.value[level][chosen] * prior + counts[start:end] * precision
            self.value[level][chosen] = combined / (prior + precision)
            self.precision[level][chosen] = prior + precision
            start = end

    def leaves(self) -> Masks:
        """Return the masks of the nodes that are leaves, one mask per level."""
        measured_below = np.zeros_like(self.inside)
        leaves: Masks = []
        for level in range(self.depth, -1, -1):
            if level < self.depth:
                measured_below = pooled_any(measured_below)
            measured = self.precision[level] > 0
            leaves.insert(0, measured & ~measured_below)
            measured_below = measured_below | measured
        return leaves

    def scales(self) -> list[Floats]:
        """Return the scale of each node's combined noise, as if it were Laplace noise.

        The scale is 0 for nodes without a measurement.
        """
        return [np.sqrt(ratio(np.full_like(each, 0.5), each)) for each in self.precision]

    def tree(self, leaves: Masks, value: list[Floats], variance: list[Floats]) -> Tree:
        """Reconcile the tree by least squares, given the values and variances of the leaves.

        Going up, each node's own count is combined with the sum of its children, using
        inverse-variance weights. Going down, the difference between a node's estimate and the sum
        of its children is divided among the children in proportion to their variances (Hay et al.
        2010, here for unequal variances).
        """
        values, variances, sums, sum_variances = self._upwards(leaves, value, variance)
        best = [values[0]]
        for level in range(1, self.depth + 1):
            side = 1 << level
            difference = expanded(best[-1] - sums[level - 1], side)
            share = ratio(variances[level], expanded(sum_variances[level - 1], side))
            best.append(values[level] + share * difference)
        return Tree(best, variances)

    def _upwards(
        self, leaves: Masks, value: list[Floats], variance: list[Floats]
    ) -> tuple[list[Floats], list[Floats], list[Floats], list[Floats]]:
        values: list[Floats] = []
        variances: list[Floats] = []
        sums: list[Floats] = []
        sum_variances: list[Floats] = []
        for level in range(self.depth, -1, -1):
            zeros = np.zeros_like(self.sizes[level])
            total = pooled(values[0], 1 << level) if values else zeros
            spread = pooled(variances[0], 1 << level) if variances else zeros
            own = np.where(leaves[level] | (spread <= 0), 0.0, self.precision[level])
            combined = spread / (1 + spread * own)
            mean = total + (self.value[level] - total) * own * combined
            sums.insert(0, total)
            sum_variances.insert(0, spread)
            values.insert(0, np.where(leaves[level], value[level], mean))
            variances.insert(0, np.where(leaves[level], variance[level], combined))
        return values, variances, sums, sum_variances

    def raw_tree(self, leaves: Masks) -> Tree:
        """Reconcile the tree, given the leaves' measured counts and their noise variances."""
        variance = [ratio(np.ones_like(each), each) for each in self.precision]
        return self.tree(leaves, self.value, variance)

    def labels(self, leaves: Masks) -> NDArray[np.int64]:
        """Number the leaves from 1; return the number of each cell's leaf, or 0 outside the study
        area.
        """
        image = np.zeros(self.inside.shape, dtype=np.int64)
        start = 1
        for chosen in leaves:
            number = np.zeros(chosen.shape, dtype=np.int64)
            end = start + int(np.count_nonzero(chosen))
            number[chosen] = np.arange(start, end)
            image += expanded(number, len(image))
            start = end
        return np.where(self.inside, image, 0)

    def spread(self, leaves: Masks, value: list[Floats]) -> Floats:
        """Divide each leaf's value evenly among its cells; cells outside the study area get 0."""
        side = 1 << self.depth
        cells = np.zeros((side, side))
        for level, chosen in enumerate(leaves):
            if chosen.any():
                density = ratio(np.where(chosen, value[level], 0.0), self.sizes[level])
                cells += expanded(density, side)
        return np.where(self.inside, cells, 0.0)


def pooled_any(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the parent nodes with a child in the mask `chosen` (2^l, 2^l)."""
    side = len(chosen) // 2
    return np.asarray(chosen.reshape(side, 2, side, 2).any(axis=(1, 3)))
