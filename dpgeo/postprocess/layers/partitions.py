"""Layers of a partition: fresh totals of its boxes, and estimates for cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import PartitionRelease
from dpgeo.postprocess.areas import Areas, Listed
from dpgeo.postprocess.layers.layer import (
    CALIBRATED,
    EXACT_NOISE,
    NOMINAL,
    BoxLayer,
    Layer,
    noise_columns,
    same,
    unit_boxes,
)
from dpgeo.postprocess.layers.margins import calibrated
from dpgeo.postprocess.layers.registry import PARTITIONS, make_areas, make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image, box_sums, summed_area


@make_layers.register
def _partition_layers(content: PartitionRelease, area: StudyArea) -> list[Layer]:
    inside = content.grid.inside(area)
    sizes = box_sums(summed_area(inside), content.boxes)
    return [_partitions(content, sizes), _estimate(content, sizes, inside)]


def _partitions(content: PartitionRelease, sizes: NDArray[np.int64]) -> BoxLayer:
    listed = np.flatnonzero(sizes)
    margin, threshold = noise_columns(content.totals_noise, listed.size)
    return BoxLayer(
        name=PARTITIONS,
        title="Counts of partitions",
        kind="measured",
        grid=content.grid,
        boxes=content.boxes[listed],
        cells=sizes[listed],
        value=content.totals[listed],
        margin=margin,
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the fresh noise added to the partition.",
        threshold=threshold,
        columns={
            "partition": listed.astype(np.int32),
            "non_negative": non_negative(content.totals[listed], np.ones(listed.size)),
        },
    )


def _estimate(
    content: PartitionRelease, sizes: NDArray[np.int64], inside: NDArray[np.bool_]
) -> BoxLayer:
    row, column = np.nonzero(inside)
    partition = box_image(content.boxes, content.grid.shape)[row, column]
    noisy = content.counts[row, column]
    infer = _uniform if content.answers == "uniform" else _least_squares
    estimates = infer(content, sizes, partition, noisy)
    return BoxLayer(
        name="estimate",
        title="Estimates of cells",
        kind="inferred",
        grid=content.grid,
        boxes=unit_boxes(row, column),
        cells=same(1, row.size),
        value=estimates.value,
        margin=estimates.margin,
        margin_label=estimates.margin_label,
        note=estimates.note,
        threshold=estimates.threshold,
        columns={
            "row": row.astype(np.int32),
            "column": column.astype(np.int32),
            "partition": partition,
            "noisy_cell": noisy,
            "non_negative": estimates.non_negative,
        },
    )


PER_ROOT = 8.0
"""Factor of the square root in the margins (`margins.calibrated`) of cells that get an even share
of their box's total.

The factor was chosen on generated maps (all kinds of `benchmarks/generated.py`, 1e4 to 1e6 people,
epsilon 0.1 and 1): in each map, and in each tenth of its cells by value and by true count, at least
91 % of the cells are within their margins. A factor of 6 gives 88 %, and 4 gives 81 %.
"""

MIN_VARIANCE = 1e-9
"""Smallest variance of a cell's estimate, as a share of the variance of the cell's noise.

It prevents a division by 0 in the projection to non-negative counts when totals have hardly any
noise.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """Estimated counts of n cells, with margins and thresholds, as arrays (n,).

    `non_negative` holds the nearest non-negative values with the same total as `value`.
    """

    value: NDArray[np.float64]
    non_negative: NDArray[np.float64]
    margin: NDArray[np.float64]
    threshold: NDArray[np.float64]
    margin_label: str
    note: str


def _uniform(
    content: PartitionRelease,
    sizes: NDArray[np.int64],
    partition: NDArray[np.int32],
    noisy: NDArray[np.int64],
) -> Estimates:
    """Divide each box's total evenly among its cells (DPCube, section 4.4).

    `sizes` holds the number of cells in each box. `partition` (n,) holds the index of each cell's
    box, and `noisy` (n,) each cell's noisy count. A margin is at least the margin of the total's
    noise, divided by the number of cells.
    """
    share = 1.0 / np.maximum(sizes, 1)
    noise = content.totals_noise
    projected = non_negative(content.totals, np.ones(len(sizes)))
    value = (content.totals * share)[partition]
    uneven = calibrated(
        np.maximum(value, 0.0), sizes[partition], content.totals[partition], noise, PER_ROOT
    )
    return Estimates(
        value=value,
        non_negative=(projected * share)[partition],
        margin=np.maximum(uneven, (noise.margin() * share)[partition]),
        threshold=(noise.threshold() * share)[partition],
        margin_label=CALIBRATED,
        note="An even share of the partition's count. The margin is calibrated: it allows for how "
        "unevenly the count may be spread inside the partition, as tested on generated maps, and "
        "no theorem says that it suffices elsewhere.",
    )


def _least_squares(
    content: PartitionRelease,
    sizes: NDArray[np.int64],
    partition: NDArray[np.int32],
    noisy: NDArray[np.int64],
) -> Estimates:
    """Reconcile the noisy counts of cells with the totals of their boxes.

    Let a box have n cells with noisy counts y_i of variance v1 and sum S, and a total Y of variance
    v2. The generalised least-squares solution is x_i = y_i + (Y - S) v1/(n v1 + v2). Its variance
    would be v1 - v1^2/(n v1 + v2) if the boxes did not depend on the y_i. But they were grown on
    the y_i, so the margin is nominal. It is the margin of a cell's own noise, reduced in proportion
    to the standard error; in large boxes it is hardly reduced. `sizes` holds the n of each box,
    `partition` each cell's box, and `noisy` the y_i.
    """
    cell, total = content.noise, content.totals_noise
    v1, v2 = cell.variance, total.variance
    weight = _weight(v1, v2, sizes)
    sums = np.bincount(partition, weights=noisy, minlength=len(sizes))
    correction = (content.totals - sums) * weight
    # An empty cell reaches the threshold with a probability of at most 1/1000: half of that is
    # allotted to the cell's noise, the other half to the noise of its box's total. This holds no
    # matter how the boxes were grown. The noise of the other cells in the box is neglected.
    threshold = (1 - weight) * cell.threshold(5e-4) + weight * total.threshold(5e-4)
    value = noisy + correction[partition]
    return Estimates(
        value=value,
        non_negative=non_negative(value, np.maximum(1 - weight, MIN_VARIANCE)[partition]),
        margin=(cell.margin() * np.sqrt(1 - weight))[partition],
        threshold=threshold[partition],
        margin_label=NOMINAL,
        note="Cell and partition counts reconciled by least squares. The margin is nominal: the "
        "partitions were drawn around the same noisy cells, so it is too narrow in places.",
    )


def _weight(v1: float, v2: float, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return v1/(n v1 + v2) for boxes of n cells, or 0 if v1 is 0.

    Each cell gets this share of the difference between a box's total and its cells' sum. v1 is the
    noise variance of a cell's count, and v2 that of a box's total.
    """
    if v1 == 0.0:
        return np.zeros(len(sizes))
    return 1.0 / (np.maximum(sizes, 1) + v2 / v1)


@make_areas.register
def _areas(content: PartitionRelease, area: StudyArea) -> Areas:
    sizes = box_sums(summed_area(content.grid.inside(area)), content.boxes)
    listed = np.flatnonzero(sizes)
    return Listed(
        content.grid, content.boxes[listed], content.totals[listed], content.totals_noise, area
    )
