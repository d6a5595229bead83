"""Layers of a tree of boxes: its leaves with their measured counts, and with estimates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import TreeRelease
from dpgeo.postprocess.areas import Areas
from dpgeo.postprocess.consistency import MIN_VARIANCE, consistent
from dpgeo.postprocess.layers.layer import EXACT_NOISE, NOMINAL, BoxLayer, Layer
from dpgeo.postprocess.layers.registry import (
    PARTITIONS,
    make_areas,
    make_inferred,
    make_layers,
    no_slices,
    select_slice,
)
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.tree_areas import Reconciled, Tree
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_sums, summed_area


@make_layers.register
def _tree_layers(content: TreeRelease, area: StudyArea) -> list[Layer]:
    sizes = box_sums(summed_area(content.grid.inside(area)), content.boxes)
    leaf = np.ones(len(sizes), dtype=np.bool_)
    leaf[content.parent[content.parent >= 0]] = False
    leaves = np.flatnonzero(leaf & (sizes > 0))
    tree_layers: list[Layer] = [_leaves(content, leaves, sizes[leaves])]
    if content.measured[~leaf].any():
        tree_layers.append(_reconciled(content, leaves, sizes[leaves]))
    return tree_layers


def _leaves(content: TreeRelease, leaves: NDArray[np.intp], sizes: NDArray[np.int64]) -> BoxLayer:
    level = content.level[leaves]
    variances = np.array([max(noise.variance, MIN_VARIANCE) for noise in content.noises])
    margins = np.array([float(noise.margin()) for noise in content.noises])
    thresholds = np.array([float(noise.threshold()) for noise in content.noises])
    return BoxLayer(
        name=PARTITIONS,
        title="Counts of partitions",
        kind="measured",
        grid=content.grid,
        boxes=content.boxes[leaves],
        cells=sizes,
        value=content.counts[leaves],
        margin=margins[level],
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the fresh noise added to the partition.",
        threshold=thresholds[level],
        columns={
            "partition": leaves.astype(np.int32),
            "level": level,
            "non_negative": non_negative(content.counts[leaves], variances[level]),
        },
    )


def _reconciled(
    content: TreeRelease, leaves: NDArray[np.intp], sizes: NDArray[np.int64]
) -> BoxLayer:
    """Return the layer of leaf estimates, reconciled over all levels by least squares.

    Margin and threshold are the standard error times the factors for Laplace noise, ln 20 / sqrt 2
    and ln 500 / sqrt 2. They also suffice for sums of several Laplace variables, since such sums
    have lighter tails relative to their standard error. `sizes` holds the number of cells in each
    of the `leaves`.
    """
    variances = np.array([noise.variance for noise in content.noises])[content.level]
    variances = np.where(content.measured, variances, np.inf)
    estimates = consistent(content.counts, variances, content.parent, content.level)
    deviation = np.sqrt(estimates.variance[leaves] / 2)
    return BoxLayer(
        name="estimate",
        title="Estimates of partitions",
        kind="inferred",
        grid=content.grid,
        boxes=content.boxes[leaves],
        cells=sizes,
        value=estimates.value[leaves],
        margin=deviation * math.log(20),
        margin_label=NOMINAL,
        note="The counts of all levels reconciled by least squares. The margin is nominal: it "
        "follows from the standard error, as if the partitions had not been drawn around the "
        "counts of larger ones.",
        threshold=deviation * math.log(500),
        columns={
            "partition": leaves.astype(np.int32),
            "level": content.level[leaves],
            "noisy_count": content.counts[leaves],
            "non_negative": non_negative(estimates.value[leaves], estimates.variance[leaves]),
        },
    )


@make_areas.register
def _areas(content: TreeRelease, area: StudyArea) -> Areas:
    return _inferred(content, area) or Tree(content, area)


@make_inferred.register
def _inferred(content: TreeRelease, area: StudyArea) -> Areas | None:
    """Return the reconciled counts of a tree, or None if only one level was measured."""
    several = content.measured[content.parent[content.parent >= 0]].any()
    return Reconciled(content, area) if several else None


@select_slice.register
def _measured(content: TreeRelease, layer: str) -> TreeRelease:
    """Return the tree with its leaves' measured counts, and none for the other nodes.

    `layer` must be the name of the layer with the leaves' counts.
    """
    if layer != PARTITIONS:
        raise no_slices()
    leaf = np.ones(len(content.measured), dtype=np.bool_)
    leaf[content.parent[content.parent >= 0]] = False
    return replace(content, measured=leaf)
