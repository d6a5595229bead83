"""Layers of a release in phases: the boxes of the last one, and the surface inferred from all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import PhasedRelease
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    NOMINAL,
    BoxLayer,
    Layer,
    noise_columns,
    same,
    unit_boxes,
)
from dpgeo.postprocess.layers.making import make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image, box_sums, summed_area


@make_layers.register
def _phased_layers(content: PhasedRelease, area: StudyArea) -> list[Layer]:
    inside = content.grid.inside(area)
    last = content.phase == content.phase[-1]
    boxes, counts = content.boxes[last], content.counts[last]
    sizes = box_sums(summed_area(inside), boxes)
    noise = content.noises[-1]
    margin, threshold = noise_columns(noise, len(boxes))
    partitions = BoxLayer(
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
        columns={
            "partition": np.arange(len(boxes), dtype=np.int32),
            "non_negative": non_negative(counts, np.ones(len(boxes))),
        },
    )
    return [partitions, _surface(content, boxes, counts, inside)]


def _surface(
    content: PhasedRelease,
    boxes: NDArray[np.int32],
    counts: NDArray[np.int64],
    inside: NDArray[np.bool_],
) -> BoxLayer:
    row, column = np.nonzero(inside)
    partition = box_image(boxes, content.grid.shape)[row, column]
    margin, threshold = noise_columns(content.noises[-1], row.size)
    return BoxLayer(
        name="estimate",
        title="Estimates of cells",
        kind="inferred",
        grid=content.grid,
        boxes=unit_boxes(row, column),
        cells=same(1, row.size),
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
