"""Layers of a release whose mechanism measures in phases: the boxes of the last phase, and the
surface inferred from the counts of all phases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import PartitionRelease, PhasedRelease
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.clear_groups import coloured_from
from dpgeo.postprocess.layers.layer import (
    CALIBRATED,
    EXACT_NOISE,
    BoxLayer,
    Layer,
    noise_columns,
    same,
    unit_boxes,
)
from dpgeo.postprocess.layers.margins import calibrated
from dpgeo.postprocess.layers.registry import (
    PARTITIONS,
    make_areas,
    make_inferred,
    make_layers,
    no_slices,
    select_slice,
)
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.surface_areas import SurfaceAreas
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image, box_sums, summed_area

PER_ROOT = 4.0
"""Factor of the square root in the margins of the surface's cells; see `margins.calibrated`.

Errors grow roughly with the square root of a cell's value. The factor was chosen on generated maps
(all kinds of `benchmarks/generated.py`, up to a million people, epsilon 0.1). On nearly all of
these maps, the margins cover 95 % of the cells of any given value. `python -m benchmarks coverage`
measures this; no theorem proves it.
"""


@make_layers.register
def _phased_layers(content: PhasedRelease, area: StudyArea) -> list[Layer]:
    inside = content.grid.inside(area)
    last = content.phase == content.phase[-1]
    boxes, counts = content.boxes[last], content.counts[last]
    sizes = box_sums(summed_area(inside), boxes)
    noise = content.noises[-1]
    margin, threshold = noise_columns(noise, len(boxes))
    partitions = BoxLayer(
        name=PARTITIONS,
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
    value, noise = content.surface[row, column], content.noises[-1]
    sizes = np.bincount(partition, minlength=len(boxes))
    threshold = float(noise.threshold())
    least = coloured_from(boxes, sizes, counts, noise, max(content.grid.shape))
    return BoxLayer(
        name="estimate",
        title="Estimates of cells",
        kind="inferred",
        grid=content.grid,
        boxes=unit_boxes(row, column),
        cells=same(1, row.size),
        value=value,
        margin=calibrated(value, sizes[partition], counts[partition], noise, PER_ROOT),
        margin_label=CALIBRATED,
        note="The count expected in the cell given all counts. The margin is calibrated: on "
        "generated maps it covered 97 to 100 % of all cells, and no theorem says that it must "
        "elsewhere: people may be spread unevenly in a partition.",
        threshold=same(threshold, row.size),
        coloured_from=least[partition],
        columns={
            "row": row.astype(np.int32),
            "column": column.astype(np.int32),
            "partition": partition,
            "noisy_count": counts[partition],
        },
    )


@make_areas.register
def _areas(content: PhasedRelease, area: StudyArea) -> Areas:
    cells = counted_cells(content, area)
    if cells is not None:
        return Cells(content.grid, [cells], content.noises[-1], area)
    return SurfaceAreas(content, area, fixed=content.fixed)


@make_inferred.register
def _inferred(content: PhasedRelease, area: StudyArea) -> Areas | None:
    if counted_cells(content, area) is not None:
        return None
    return SurfaceAreas(content, area, fixed=content.fixed)


def counted_cells(content: PhasedRelease, area: StudyArea) -> NDArray[np.int64] | None:
    """Return the noisy counts of cells if the last phase counted every cell with Gaussian noise.

    Sums of these counts have exact margins, and smaller errors than sums of a surface that was
    inferred from them alone: shrinking each cell adds a bias, which grows with the number of cells.
    """
    last = content.phase == content.phase[-1]
    boxes, noise = content.boxes[last], content.noises[-1]
    if isinstance(noise, DiscreteLaplace):
        return None
    if len(boxes) != np.count_nonzero(content.grid.inside(area)):
        return None
    cells = np.zeros(content.grid.shape, dtype=np.int64)
    cells[boxes[:, 0], boxes[:, 2]] = content.counts[last]
    return cells


@select_slice.register
def _measured(content: PhasedRelease, layer: str) -> PartitionRelease:
    """Return the boxes of the last phase and their counts as a partition.

    A partition also needs noisy counts of cells; they are 0, and are not used.
    """
    if layer != PARTITIONS:
        raise no_slices()
    last = np.flatnonzero(content.phase == content.phase[-1])
    return PartitionRelease(
        grid=content.grid,
        counts=np.zeros(content.grid.shape, dtype=np.int64),
        noise=content.noises[-1],
        boxes=content.boxes[last],
        totals=content.counts[last],
        totals_noise=content.noises[-1],
        answers="uniform",
    )
