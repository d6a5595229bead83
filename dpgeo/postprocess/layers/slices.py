"""Layers of a heatmap by time: the noisy cells of each slice, in their order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from dpgeo.core.released import GridRelease, SlicesRelease
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    BoxLayer,
    Layer,
    noise_columns,
    same,
    unit_boxes,
)
from dpgeo.postprocess.layers.making import make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea


def slice_names(content: SlicesRelease) -> list[str]:
    """The names of the slices' layers (s,)."""
    return [f"cells-{key}" for key in content.keys]


def slice_grids(content: SlicesRelease) -> list[GridRelease]:
    """What each slice would be, were it released alone (s,)."""
    return [
        GridRelease(grid=content.grid, counts=counts, noise=content.noise)
        for counts in content.counts
    ]


def stacked(slices: Sequence[BoxLayer]) -> BoxLayer:
    """The features of all slices as one layer; the column `name` says of which slice each is."""
    first = slices[0]
    return dataclasses.replace(
        first,
        name="cells",
        boxes=np.concatenate([layer.boxes for layer in slices]),
        cells=np.concatenate([layer.cells for layer in slices]),
        value=np.concatenate([layer.value for layer in slices]),
        margin=np.concatenate([layer.margin for layer in slices]),
        threshold=np.concatenate([layer.threshold for layer in slices]),
        columns={"name": np.repeat([layer.title for layer in slices], len(first)).astype(object)},
    )


@make_layers.register
def _slice_layers(content: SlicesRelease, area: StudyArea) -> list[Layer]:
    row, column = np.nonzero(content.grid.inside(area))
    margin, threshold = noise_columns(content.noise, row.size)
    return [
        BoxLayer(
            name=name,
            title=title,
            kind="measured",
            time_slice=True,
            grid=content.grid,
            boxes=unit_boxes(row, column),
            cells=same(1, row.size),
            value=counts[row, column],
            margin=margin,
            margin_label=EXACT_NOISE,
            note="The margin is the exact 95 % quantile of the noise added to the cell. Local "
            f"time ({content.time_zone}); whoever was there in several slices is in each of them.",
            threshold=threshold,
            columns={
                "row": row.astype(np.int32),
                "column": column.astype(np.int32),
                "non_negative": non_negative(counts[row, column], np.ones(row.size)),
            },
        )
        for name, title, counts in zip(
            slice_names(content), content.titles, content.counts, strict=True
        )
    ]
