"""Layers of a sparse grid: the cells whose noisy counts reach a threshold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import SparseRelease
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.layers.layer import EXACT_NOISE, BoxLayer, Layer, same, unit_boxes
from dpgeo.postprocess.layers.registry import make_areas, make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea

UNLISTED = (
    "Cells whose noisy counts stayed below {least} are not listed and add nothing; what they hold "
    "is not in the interval."
)


@make_layers.register
def _sparse_layers(content: SparseRelease, area: StudyArea) -> list[Layer]:
    row, column = np.divmod(content.cells, content.grid.columns)
    threshold = max(content.threshold, content.noise.threshold())
    cells = BoxLayer(
        name="cells",
        title="Counts of cells above the threshold",
        kind="measured",
        grid=content.grid,
        boxes=unit_boxes(row, column),
        cells=same(1, row.size),
        value=content.counts,
        margin=_selected_margin(content),
        margin_label=EXACT_NOISE,
        note="Only cells whose noisy count reached the threshold are listed; all others stayed "
        "below it. The margin allows for that choice: at least 95 of 100 listed cells are within "
        "it, and a cell not far above the threshold may be empty.",
        threshold=same(float(threshold), row.size),
        least_listed=content.threshold,
        columns={"non_negative": non_negative(content.counts, np.ones(row.size))},
    )
    return [cells]


def _selected_margin(content: SparseRelease) -> NDArray[np.float64]:
    """Return the half-width of a 95 % interval for a listed cell.

    For a true count c, let z = c + X be listed when z >= T. Each end of the interval errs with
    probability at most 1/40. Noise below: P(z <= c - m | z >= T) <= P(X <= -m), which is at most
    1/40 for m above the noise's margin. Noise above: for c <= T, P(z >= T + j | z >= T) = a^j, so
    c <= T can be ruled out only where a^(z-T) <= 1/40. There P(z - c >= k | z >= T) <= a^k for
    c > T too, so k = ln 40/rate suffices. Elsewhere the cell may be empty, and the margin is z, or
    the noise's margin if that is larger.
    """
    rate = float(content.noise.rate)
    reach = math.log(40) / rate
    counts = content.counts.astype(np.float64)
    far = counts - content.threshold >= reach
    return np.where(far, math.ceil(reach), np.maximum(counts, content.noise.margin()))


@make_areas.register
def _areas(content: SparseRelease, area: StudyArea, mechanism: str) -> Areas:
    note = UNLISTED.format(least=f"{content.threshold:,}")
    return Cells(
        content.grid, [content.counts], content.noise, area, cells=content.cells, note=note
    )
