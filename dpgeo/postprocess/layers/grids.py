"""Layers of a grid: noisy counts of cells, and counts above a threshold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import GridRelease
from dpgeo.phrases import translatable
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.compared import Compared, table_of_all
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    BoxLayer,
    Layer,
    noise_columns,
    same,
    unit_boxes,
)
from dpgeo.postprocess.layers.registry import (
    can_compare,
    make_areas,
    make_compared,
    make_layers,
)
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea


@make_layers.register
def _grid_layers(content: GridRelease, area: StudyArea) -> list[Layer]:
    cells = cells_layer(content, area)
    return [cells] if content.threshold == 0 else [cells, _above(content, cells)]


def cells_layer(content: GridRelease, area: StudyArea) -> BoxLayer:
    """Return the layer with the noisy counts of all cells that intersect the study area."""
    inside = content.grid.inside(area)
    value = _counts_inside(content, inside)
    boxes = unit_boxes(*np.nonzero(inside))
    margin, threshold = noise_columns(content.noise, value.size)
    return BoxLayer(
        name="cells",
        title="Counts of cells",
        kind="measured",
        grid=content.grid,
        boxes=boxes,
        cells=same(1, value.size),
        value=value,
        margin=margin,
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the noise added to the cell.",
        threshold=threshold,
        columns={
            "row": boxes[:, 0],
            "column": boxes[:, 2],
            "non_negative": non_negative(value, same(1.0, value.size)),
        },
    )


def _counts_inside(content: GridRelease, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the counts (n,) of the cells in a mask.

    To save memory on large grids, the result is a view of the counts, not a copy, if the mask
    consists of whole rows, as for a rectangular study area as wide as the grid.
    """
    rows = np.flatnonzero(inside.any(axis=1))
    whole = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0)
    return content.counts[whole].ravel() if inside[whole].all() else content.counts[inside]


def _above(content: GridRelease, cells: BoxLayer) -> BoxLayer:
    """Return a layer with counts below the threshold set to 0, so that empty cells mostly show 0.

    Let x be the true count of a cell, X its noise, T the threshold and m the margin of X. A cell
    that keeps its noisy count x + X has the error X. A cell set to 0 had x + X < T; its error is x,
    which is less than T + m unless X < -m. The margin T + m - 1 therefore covers 95 % as well.
    """
    above = cells.value >= content.threshold
    margin = content.noise.margin()
    return dataclasses.replace(
        cells,
        name="estimate",
        title=translatable("Counts above the threshold"),
        kind="inferred",
        value=np.where(above, cells.value, 0),
        margin=np.where(above, float(margin), float(margin + content.threshold - 1)),
        note=f"Cells whose noisy count is below {content.threshold} are shown as empty. The margin "
        "is exact, and wider where a count was set to 0.",
        columns={
            "row": cells.columns["row"],
            "column": cells.columns["column"],
            "noisy_cell": cells.value,
        },
    )


@make_areas.register
def _areas(content: GridRelease, area: StudyArea) -> Areas:
    return Cells(content.grid, [content.counts], content.noise, area)


@can_compare.register
def _can_compare(content: GridRelease) -> bool:
    return True


@make_compared.register
def _compared(
    first: GridRelease, contents: Sequence[GridRelease], area: StudyArea
) -> Compared | None:
    if len({(each.noise, each.grid) for each in contents}) > 1:
        return None
    inside = first.grid.inside(area)
    return Compared(table_of_all([each.counts[inside] for each in contents], first.noise))
