"""Layers of a sparse grid: the cells whose noisy counts reach a threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.core.released import SparseRelease
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.compared import Compared, table_of_lists
from dpgeo.postprocess.layers.layer import EXACT_NOISE, BoxLayer, Layer, same, unit_boxes
from dpgeo.postprocess.layers.registry import (
    can_compare,
    make_areas,
    make_compared,
    make_layers,
)
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
        margin=selected_margin(content.counts, content.threshold, content.noise),
        margin_label=EXACT_NOISE,
        note="Only cells whose noisy count reached the threshold are listed; all others stayed "
        "below it. The margin allows for that choice: at least 95 of 100 listed cells are within "
        "it, and a cell not far above the threshold may be empty.",
        threshold=same(float(threshold), row.size),
        least_listed=content.threshold,
        columns={"non_negative": non_negative(content.counts, np.ones(row.size))},
    )
    return [cells]


def selected_margin(
    noisy: NDArray[np.int64], threshold: int, noise: CountNoise
) -> NDArray[np.float64]:
    """Return the half-widths (n,) of the 95 % intervals of cells that reached the threshold.

    Let c be a cell's true count, X its noise, z = c + X its noisy count, and T the threshold. The
    cell is listed if z >= T. Each end of the interval fails with probability at most 1/40. Negative
    noise: P(z <= c - m | z >= T) <= P(X <= -m), which is at most 1/40 for m above the margin of the
    noise. Positive noise: let f(k) = P(X >= k | X >= 0), which is a^k with a = exp(-rate) for
    Laplace noise, and k the smallest number with f(k) <= 1/40. Both distributions are log-concave,
    so P(X >= t + j | X >= t) falls as t rises, and for c <= T, P(z >= T + j | z >= T) <= f(j). So c
    <= T can be ruled out only if z - T >= k. In that case P(z - c >= k | z >= T) <= P(X >= k)/P(X
    >= 0) = f(k) holds for c > T as well, and the half-width k suffices. Otherwise the cell may be
    empty, and the half-width is z, or the margin of the noise if that is larger.
    """
    reach = noise.reach(1 / 40)
    counts = noisy.astype(np.float64)
    far = counts - threshold >= reach
    return np.where(far, reach, np.maximum(counts, noise.margin()))


@make_areas.register
def _areas(content: SparseRelease, area: StudyArea) -> Areas:
    note = UNLISTED.format(least=f"{content.threshold:,}")
    return Cells(
        content.grid, [content.counts], content.noise, area, cells=content.cells, note=note
    )


@can_compare.register
def _can_compare(content: SparseRelease) -> bool:
    return True


@make_compared.register
def _compared(
    first: SparseRelease, contents: Sequence[SparseRelease], area: StudyArea
) -> Compared | None:
    if len({(each.noise, each.threshold, each.grid) for each in contents}) > 1:
        return None
    possible = first.grid.inside_runs(area).size
    listed = [(each.cells, each.counts) for each in contents]
    return Compared(table_of_lists(listed, first.noise, possible, first.threshold))
