"""What a release shows, as layers of boxes of cells: first what was measured, then inferences.

Maps, files and statements are all made from these layers.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import (
    Content,
    GridRelease,
    PartitionRelease,
    PhasedRelease,
    Released,
    SparseRelease,
    TreeRelease,
)
from dpgeo.postprocess.consistency import LEAST_VARIANCE, consistent
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image, box_sums, summed_area
from dpgeo.spatial.grid import Grid

EXACT_NOISE = "exact noise"
"""The margin is an exact quantile of the noise that the value carries."""

NOISE_ONLY = "noise only"
"""The margin is exact for the noise, and something else of unknown size is not in it."""

NOMINAL = "nominal"
"""The margin follows from a formula whose conditions hold only in part."""


STEPS = 1000
"""Steps that a picture of an inferred layer has at least between 0 and its largest value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """Counts of n disjoint boxes of cells, each with what is known of its error.

    Only boxes that touch the study area are listed. No margin holds the bias of bounding
    contributions: values estimate the bounded counts. Arrays may be read-only and share memory.
    """

    name: str
    """Part of file names: "cells", "partitions" or "estimate"."""
    title: str
    kind: str
    """"measured" or "inferred"."""
    grid: Grid
    boxes: NDArray[np.int32]
    """(n, 4), see `PartitionRelease.boxes`."""
    cells: NDArray[np.int64]
    """(n,) cells of the box that touch the study area."""
    value: NDArray[np.int64] | NDArray[np.float64]
    """(n,) count of the box; where measured, the raw noisy integer."""
    margin: NDArray[np.float64]
    """(n,) half width of the 95 % interval."""
    margin_label: str
    """EXACT_NOISE, NOISE_ONLY or NOMINAL."""
    note: str
    """What the margin covers and what not, in a sentence for readers."""
    threshold: NDArray[np.float64]
    """(n,) what at most one empty box in a thousand reaches."""
    least_listed: int | None = None
    """Where not None, boxes of lower values are not listed: all that is known of them is that."""
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns (n,) for files."""


def layers(released: Released) -> list[Layer]:
    """The layers of a release, what was measured first."""
    return _layers(released.content, released.area)


def quantisation_step(layer: Layer) -> float:
    """To what a picture of the layer may round its values: a quarter of the noise's scale.

    Whole numbers of at least 1 for measured layers; inferred ones, whose shape says more than their
    margins do, keep STEPS steps below their largest value. Values rounded so always fit
    in 32 bits.
    """
    if not layer.value.size:
        return 1.0
    # The 95 % margin of Laplace noise is its scale times ln 20.
    quarter = float(layer.margin.min()) / math.log(20) / 4
    if layer.kind == "measured":
        quarter = max(1.0, math.floor(quarter))
    largest = max(float(layer.value.max()), -float(layer.value.min()))
    if layer.kind == "inferred" and largest > 0:
        quarter = min(quarter, largest / STEPS)
    largest = max(largest, 1.0)
    return max(quarter, largest / 2**30)


@singledispatch
def _layers(content: Content, area: StudyArea) -> list[Layer]:
    raise TypeError(f"There are no layers for a {type(content).__name__}.")


@_layers.register
def _grid_layers(content: GridRelease, area: StudyArea) -> list[Layer]:
    row, column = np.nonzero(content.grid.inside(area))
    margin, threshold = _noise_columns(content.noise, row.size)
    cells = Layer(
        name="cells",
        title="Counts of cells",
        kind="measured",
        grid=content.grid,
        boxes=_unit_boxes(row, column),
        cells=_same(1, row.size),
        value=content.counts[row, column],
        margin=margin,
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the noise added to the cell.",
        threshold=threshold,
        columns={
            "row": row.astype(np.int32),
            "column": column.astype(np.int32),
            "non_negative": non_negative(content.counts[row, column], np.ones(row.size)),
        },
    )
    return [cells] if content.threshold == 0 else [cells, _above(content, cells)]


def _above(content: GridRelease, cells: Layer) -> Layer:
    """Cells whose counts reach a threshold, all others 0: most empty cells come out empty.

    A cell that keeps its count x + X errs by X. One that is set to 0 held x < T - X, so it errs by
    less than T plus the margin unless X is below minus the margin: 95 % all the same.
    """
    kept = cells.value >= content.threshold
    margin = content.noise.margin()
    return dataclasses.replace(
        cells,
        name="estimate",
        title="Counts above the threshold",
        kind="inferred",
        value=np.where(kept, cells.value, 0),
        margin=np.where(kept, float(margin), float(margin + content.threshold - 1)),
        note=f"Cells whose noisy count is below {content.threshold} are shown as empty. The margin "
        "is exact, and wider where a count was set to 0.",
        columns={
            "row": cells.columns["row"],
            "column": cells.columns["column"],
            "noisy_cell": cells.value,
        },
    )


@_layers.register
def _partition_layers(content: PartitionRelease, area: StudyArea) -> list[Layer]:
    inside = content.grid.inside(area)
    sizes = box_sums(summed_area(inside), content.boxes)
    return [_partitions(content, sizes), _estimate(content, sizes, inside)]


def _partitions(content: PartitionRelease, sizes: NDArray[np.int64]) -> Layer:
    listed = np.flatnonzero(sizes)
    margin, threshold = _noise_columns(content.totals_noise, listed.size)
    return Layer(
        name="partitions",
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
) -> Layer:
    row, column = np.nonzero(inside)
    partition = box_image(content.boxes, content.grid.shape)[row, column]
    noisy = content.counts[row, column]
    infer = _uniform if content.answers == "uniform" else _least_squares
    value, margin, threshold, label, note = infer(content, sizes, partition, noisy)
    return Layer(
        name="estimate",
        title="Estimates of cells",
        kind="inferred",
        grid=content.grid,
        boxes=_unit_boxes(row, column),
        cells=_same(1, row.size),
        value=value,
        margin=margin,
        margin_label=label,
        note=note,
        threshold=threshold,
        columns={
            "row": row.astype(np.int32),
            "column": column.astype(np.int32),
            "partition": partition,
            "noisy_cell": noisy,
        },
    )


Inference = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], str, str]
"""Values, margins, thresholds (n,), margin label, note."""


def _uniform(
    content: PartitionRelease,
    sizes: NDArray[np.int64],
    partition: NDArray[np.int32],
    noisy: NDArray[np.int64],
) -> Inference:
    """Every cell gets an even share of its partition's total (seed 004, section 4.4)."""
    share = 1.0 / np.maximum(sizes, 1)
    noise = content.totals_noise
    return (
        (content.totals * share)[partition],
        (noise.margin() * share)[partition],
        (noise.threshold() * share)[partition],
        NOISE_ONLY,
        "An even share of the partition's count. The margin covers the noise alone: how unevenly "
        "the count is spread inside the partition is unknown and not in it.",
    )


def _least_squares(
    content: PartitionRelease,
    sizes: NDArray[np.int64],
    partition: NDArray[np.int32],
    noisy: NDArray[np.int64],
) -> Inference:
    """Cells and totals reconciled by inverse variances.

    With n cells y_i of variance v1, their sum S, and a total Y of variance v2, the generalised
    least-squares solution is x_i = y_i + (Y - S) v1/(n v1 + v2), of variance
    v1 - v1^2/(n v1 + v2) if the partition did not depend on the y_i. It does (it was grown on
    them), hence a nominal margin: that of a cell's noise, which is what is left in large
    partitions, made smaller as the standard error is.
    """
    cell, total = content.noise, content.totals_noise
    v1, v2 = cell.variance, total.variance
    weight = _weight(v1, v2, sizes)
    sums = np.bincount(partition, weights=noisy, minlength=len(sizes))
    correction = (content.totals - sums) * weight
    # An empty cell reaches the threshold when its own noise or its partition's is rare enough,
    # each with half of the chance, whatever the partition was grown on.
    threshold = (1 - weight) * cell.threshold(5e-4) + weight * total.threshold(5e-4)
    return (
        noisy + correction[partition],
        (cell.margin() * np.sqrt(1 - weight))[partition],
        threshold[partition],
        NOMINAL,
        "Cell and partition counts reconciled by least squares. The margin is nominal: the "
        "partitions were drawn around the same noisy cells, so it is too narrow in places.",
    )


def _weight(v1: float, v2: float, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """v1/(n v1 + v2), with its limits where both variances vanish in floating point."""
    if v1 == 0.0:
        return np.zeros(len(sizes))
    return 1.0 / (np.maximum(sizes, 1) + v2 / v1)


@_layers.register
def _tree_layers(content: TreeRelease, area: StudyArea) -> list[Layer]:
    sizes = box_sums(summed_area(content.grid.inside(area)), content.boxes)
    leaf = np.ones(len(sizes), dtype=np.bool_)
    leaf[content.parent[content.parent >= 0]] = False
    leaves = np.flatnonzero(leaf & (sizes > 0))
    shown = [_leaves(content, leaves, sizes[leaves])]
    if content.measured[~leaf].any():
        shown.append(_reconciled(content, leaves, sizes[leaves]))
    return shown


def _leaves(content: TreeRelease, leaves: NDArray[np.intp], sizes: NDArray[np.int64]) -> Layer:
    level = content.level[leaves]
    variances = np.array([max(noise.variance, LEAST_VARIANCE) for noise in content.noises])
    margins = np.array([float(noise.margin()) for noise in content.noises])
    thresholds = np.array([float(noise.threshold()) for noise in content.noises])
    return Layer(
        name="partitions",
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


def _reconciled(content: TreeRelease, leaves: NDArray[np.intp], sizes: NDArray[np.int64]) -> Layer:
    """All counts of the tree reconciled by least squares, and what they say of its leaves.

    Margin and threshold are the standard error times that of Laplace noise, ln 20 / sqrt 2 and
    ln 500 / sqrt 2: sums of several noises have lighter tails, in standard errors.
    """
    variances = np.array([noise.variance for noise in content.noises])[content.level]
    variances = np.where(content.measured, variances, np.inf)
    found = consistent(content.counts, variances, content.parent, content.level)
    deviation = np.sqrt(found.variance[leaves] / 2)
    return Layer(
        name="estimate",
        title="Estimates of partitions",
        kind="inferred",
        grid=content.grid,
        boxes=content.boxes[leaves],
        cells=sizes,
        value=found.value[leaves],
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
            "non_negative": non_negative(found.value[leaves], found.variance[leaves]),
        },
    )


@_layers.register
def _phased_layers(content: PhasedRelease, area: StudyArea) -> list[Layer]:
    inside = content.grid.inside(area)
    last = content.phase == content.phase[-1]
    boxes, counts = content.boxes[last], content.counts[last]
    sizes = box_sums(summed_area(inside), boxes)
    noise = content.noises[-1]
    margin, threshold = _noise_columns(noise, len(boxes))
    partitions = Layer(
        name="partitions",
        title="Counts of partitions",
        kind="measured",
        grid=content.grid,
        boxes=boxes,
        cells=sizes,
        value=counts,
        margin=margin,
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the fresh noise added to the partition.",
        threshold=threshold,
        columns={"partition": np.arange(len(boxes), dtype=np.int32)},
    )
    return [partitions, _surface(content, boxes, counts, inside)]


def _surface(
    content: PhasedRelease,
    boxes: NDArray[np.int32],
    counts: NDArray[np.int64],
    inside: NDArray[np.bool_],
) -> Layer:
    row, column = np.nonzero(inside)
    partition = box_image(boxes, content.grid.shape)[row, column]
    margin, threshold = _noise_columns(content.noises[-1], row.size)
    return Layer(
        name="estimate",
        title="Estimates of cells",
        kind="inferred",
        grid=content.grid,
        boxes=_unit_boxes(row, column),
        cells=_same(1, row.size),
        value=content.surface[row, column],
        margin=margin,
        margin_label=NOMINAL,
        note="What all counts together lead to expect in the cell. The margin is nominal: that of "
        "the whole last count of the cell's partition. On generated maps it covered 98 to 100 % of "
        "cells, and no theorem says that it must: people may be spread unevenly in a partition.",
        threshold=threshold,
        columns={
            "row": row.astype(np.int32),
            "column": column.astype(np.int32),
            "partition": partition,
            "noisy_count": counts[partition],
        },
    )


@_layers.register
def _sparse_layers(content: SparseRelease, area: StudyArea) -> list[Layer]:
    row, column = np.divmod(content.cells, content.grid.columns)
    threshold = max(content.threshold, content.noise.threshold())
    cells = Layer(
        name="cells",
        title="Counts of cells above the threshold",
        kind="measured",
        grid=content.grid,
        boxes=_unit_boxes(row, column),
        cells=_same(1, row.size),
        value=content.counts,
        margin=_selected_margin(content),
        margin_label=EXACT_NOISE,
        note="Only cells whose noisy count reached the threshold are listed; all others stayed "
        "below it. The margin allows for that choice: at least 95 of 100 listed cells are within "
        "it, and a cell not far above the threshold may be empty.",
        threshold=_same(float(threshold), row.size),
        least_listed=content.threshold,
    )
    return [cells]


def _selected_margin(content: SparseRelease) -> NDArray[np.float64]:
    """Half the width of an interval that covers in 95 of 100 cases in which a cell is listed.

    For a count c, let z = c + X be listed when z >= T. Both ends err with at most 1/40. Too low:
    P(z <= c - m | z >= T) <= P(X <= -m), at most 1/40 beyond the noise's margin. Too high: for
    c <= T, P(z >= T + j | z >= T) = a^j, so c <= T can be ruled out only where a^(z-T) <= 1/40;
    there P(z - c >= k | z >= T) <= a^k for c > T too, so k = ln 40/rate will do. Elsewhere the cell
    may be empty, and the margin is z.
    """
    rate = float(content.noise.rate)
    reach = math.log(40) / rate
    counts = content.counts.astype(np.float64)
    far = counts - content.threshold >= reach
    return np.where(far, math.ceil(reach), np.maximum(counts, content.noise.margin()))


def _unit_boxes(row: NDArray[np.intp], column: NDArray[np.intp]) -> NDArray[np.int32]:
    return np.column_stack([row, row + 1, column, column + 1]).astype(np.int32)


def _noise_columns(
    noise: DiscreteLaplace, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return _same(float(noise.margin()), size), _same(float(noise.threshold()), size)


def _same(value: float, size: int) -> NDArray[Any]:
    """The same number n times, in the memory of one."""
    return np.broadcast_to(np.asarray(value), (size,))
