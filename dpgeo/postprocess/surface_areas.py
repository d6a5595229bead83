"""Range answers from an inferred surface, with calibrated intervals.

Estimate. An answer is the sum of the release's surface over the query region; a cell that the
outline cuts adds the share of its ground. So boxes along cells have exactly the error of the
surface, which was inferred from all counts of all phases.

Interval. Everything is computed from published counts and the surface, so it costs no privacy.
Two variances are computed for every region:

- *Noise*: the variance of the sum if people were spread evenly in each leaf, in the model of
  `postprocess.surface`: leaves have independent posteriors (`empirical_bayes`), on which the counts
  of all nodes above them are conditioned. For a node with the sum S, the part L of S that lies in
  the region is L = slope S + rest, with independent terms. Going up, the children's sums S_c have
  variances v_c, so slope = sum(slope_c v_c)/sum(v_c) and Var(rest) = sum(Var(rest_c)) + sum(v_c
  (slope_c - slope)^2); the node's own count changes the variance of S alone. This is exact for
  normal variables. Only nodes that the region's outline intersects, and their children, are
  visited.
- *Unevenness*: m^2 s (1 - s) for each leaf that the region cuts, where m is the leaf's expected
  count and s the share of its ground in the region; see `tree_areas.unevenness`.

In units of the last phase's noise variance, let V = NOISE_WEIGHT noise + MODEL_WEIGHT unevenness.
The half-width is the noise scale times sqrt(V^POWER); its two parts are in proportion to the two
terms of V. The exponent allows for errors of leaves that have a common cause, such as shrinkage of
quiet areas; they weigh more in large regions. The three constants were chosen by quantile
regression on generated maps (docs/mechanisms/accuracy.md): they are calibrated, not proved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import PhasedRelease
from dpgeo.postprocess.areas import Areas, Covering, Inferred, Ints, Shapes
from dpgeo.postprocess.empirical_bayes import noise_kind
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import boxes
from dpgeo.postprocess.pyramid import Floats, expanded, padded, pooled, ratio
from dpgeo.postprocess.surface import posterior_tree
from dpgeo.postprocess.tree_areas import BoxTree, noise_variances, unevenness
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.coverage import Coverage

NOISE_WEIGHT, MODEL_WEIGHT, POWER = 3.2, 1.8, 1.12
FIXED_WEIGHT = 4.0
"""Constants of the intervals, whose half-width is the noise scale times sqrt(V^POWER).

V is NOISE_WEIGHT times the noise variance plus MODEL_WEIGHT times the unevenness; see the module
docstring. If the measured nodes do not depend on the data, FIXED_WEIGHT replaces NOISE_WEIGHT, and
the exponent is 1 instead of POWER.
"""

WORK = 2
"""Work that a piece of a query's outline causes, as a multiple of that on a plain grid."""


def read_measurements(content: PhasedRelease, area: StudyArea) -> NodeMeasurements:
    """Return the measurements of a release's boxes as measurements of quadtree nodes.

    A box at the edge of the grid is clipped, so several nodes may have the same cells. The smallest
    of them is taken, so that counts of the same cells in several phases belong to one node.
    """
    measurements = NodeMeasurements(
        padded(content.grid.inside(area)), noise_kind(content.noises[0])
    )
    levels, rows, columns = _nodes(content.boxes, measurements.depth)
    for phase, noise in enumerate(content.noises):
        chosen = np.flatnonzero(content.phase == phase)
        order = chosen[np.lexsort((columns[chosen], rows[chosen], levels[chosen]))]
        masks: Masks = [np.zeros(size.shape, dtype=np.bool_) for size in measurements.sizes]
        for level, mask in enumerate(masks):
            here = order[levels[order] == level]
            mask[rows[here], columns[here]] = True
        measurements.add(masks, content.counts[order], noise.scale)
    return measurements


def _nodes(boxes: NDArray[np.int32], depth: int) -> tuple[Ints, Ints, Ints]:
    """Return, for each box, the level, row and column of the smallest quadtree node around it."""
    top, bottom, left, right = boxes.astype(np.int64).T
    longest = np.maximum(bottom - top, right - left)
    power = np.ceil(np.log2(longest)).astype(np.int64)
    return depth - power, top >> power, left >> power


class SurfaceAreas(Areas):
    """Inferred surface of a release measured in phases, whose sums come with their variances.

    `fixed` is true if the choice of the measured nodes does not depend on the data.
    """

    def __init__(self, content: PhasedRelease, area: StudyArea, *, fixed: bool) -> None:
        measurements = read_measurements(content, area)
        surface = padded(content.surface)
        tree = (
            measurements.raw_tree(measurements.leaves())
            if fixed
            else posterior_tree(measurements, surface)
        )
        self._weight, self._power = (FIXED_WEIGHT, 1.0) if fixed else (NOISE_WEIGHT, POWER)
        nodes = _tree_of(measurements, content.grid.shape)
        self._tree = BoxTree(
            content.grid, nodes.boxes, nodes.level, nodes.parent, area, weight=WORK
        )
        self._variance = _at_nodes(tree.variance, nodes)
        counts = [pooled(surface, 1 << level) for level in range(measurements.depth + 1)]
        self._square = np.square(_at_nodes(counts, nodes))
        self._leaves = self._tree.up(self._tree.leaf.astype(np.int64))
        self._scale = content.noises[-1].scale
        self._covering = Covering(content.grid, area)
        self._surface = content.surface.ravel()
        self._before = np.concatenate([[0.0], np.cumsum(self._surface)])

    def covers(self, regions: Shapes) -> list[Inferred]:
        """Add up the surface in each query region; a cell that the outline cuts adds a share of its
        count: the share of its ground in the region.
        """
        covered, touched = self._tree.touched(regions)
        totals = self._sums(covered, regions)
        noise = noise_variances(touched, self._variance, len(regions))
        model = unevenness(touched, self._square, len(regions))
        part = (touched.share > 0.0) & (touched.share < 1.0) & ~touched.inner
        used = np.where((touched.share > 0.0) & ~touched.inner, self._leaves[touched.node], 0)
        areas = np.bincount(touched.region, weights=used, minlength=len(regions))
        cut = np.bincount(touched.region, weights=part, minlength=len(regions))
        margins = self._margins(noise, model)
        columns = zip(totals, *margins, areas, cut, strict=True)
        return [
            Inferred(
                estimate=float(total), noise=float(n), model=float(m), areas=int(a), cut=int(c)
            )
            for total, n, m, a, c in columns
        ]

    def _margins(self, noise: Floats, model: Floats) -> tuple[Floats, Floats]:
        """Return the parts (n,) of the margins due to noise and to the model, computed from the
        variances of both.

        A margin is the root of the sum of the squares of its two parts.
        """
        noise, model = self._weight * noise, MODEL_WEIGHT * model
        total = noise + model
        square = self._scale**2 * (total / self._scale**2) ** self._power
        return np.sqrt(square * ratio(noise, total)), np.sqrt(square * ratio(model, total))

    def _sums(self, covered: Coverage, regions: Shapes) -> Floats:
        """Return the sum (n,) of the surface over each region."""
        share = self._covering.shares(covered, regions)
        region, start, end = covered.runs
        totals = np.zeros(len(regions))
        np.add.at(totals, region, self._before[end] - self._before[start])
        np.add.at(totals, covered.polygon, share * self._surface[covered.cell])
        return totals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Nodes:
    """Quadtree nodes (n,) at or above the leaves that intersect the study area, ordered by level.

    `boxes` (n, 4) are the nodes' boxes of cells, and `parent` (n,) the index of each node's parent,
    or -1. `row` and `column` are indices in the node's level.
    """

    level: Ints
    row: Ints
    column: Ints
    parent: Ints
    boxes: NDArray[np.int32]


def _tree_of(measurements: NodeMeasurements, shape: tuple[int, int]) -> _Nodes:
    levels, rows, columns, parents = [], [], [], []
    reached = np.ones((1, 1), dtype=np.bool_)
    above, start = np.full((1, 1), -1), 0
    masks: Masks = []
    for level, (leaf, size) in enumerate(
        zip(measurements.leaves(), measurements.sizes, strict=True)
    ):
        reached = reached & (size > 0)
        masks.append(reached)
        row, column = np.nonzero(reached)
        rows.append(row)
        columns.append(column)
        parents.append(above[row, column])
        levels.append(np.full(len(row), level))
        if level < measurements.depth:
            number = np.full(reached.shape, -1)
            number[row, column] = np.arange(start, start + len(row))
            start += len(row)
            above = expanded(number, 2 << level)
            reached = expanded(reached & ~leaf, 2 << level)
    return _Nodes(
        level=np.concatenate(levels),
        row=np.concatenate(rows),
        column=np.concatenate(columns),
        parent=np.concatenate(parents),
        boxes=boxes(masks, shape),
    )


def _at_nodes(values: list[Floats], nodes: _Nodes) -> Floats:
    """Return the value (n,) at each node, from `values`, which holds one array for each level."""
    sums = [
        values[level][nodes.row[here], nodes.column[here]]
        for level in range(int(nodes.level[-1]) + 1)
        for here in [nodes.level == level]
    ]
    return np.concatenate(sums)
