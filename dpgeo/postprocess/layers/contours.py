"""Layers of contours: noisy cells, the density surface, and its bands and lines."""

from __future__ import annotations

import numpy as np

from dpgeo.core.released import ContourRelease
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.contours import SQUARE_KILOMETRE, draw_bands, draw_lines
from dpgeo.postprocess.layers.features import CONTOURS
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    NO_MARGIN,
    NOMINAL,
    BoxLayer,
    Layer,
    ShapeLayer,
    noise_columns,
    same,
    unit_boxes,
)
from dpgeo.postprocess.layers.registry import make_areas, make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea

DENSITY = "people_per_km2"
"""Name of the column with the density of each contour line."""

FROM = "from_people_per_km2"
"""Name of the column with the lower density of each band between two contour lines."""

TO = "to_people_per_km2"
"""Name of the column with the upper density of each band between two contour lines."""

WHERE = (
    "Drawn on the surface of estimates, in people per square kilometre of ground. Lines have no "
    "margin of their own: where the estimates of cells are off, so are they."
)


@make_layers.register
def _contour_layers(content: ContourRelease, area: StudyArea) -> list[Layer]:
    values = content.lines.tolist()
    bands = draw_bands(content.surface, content.grid, values, area)
    lines = draw_lines(content.surface, content.grid, values, area)
    density = content.surface / content.grid.ground_areas[:, None] * SQUARE_KILOMETRE
    upper = np.append(content.lines[1:], density.max(initial=0.0))[: len(values)]
    return [
        *_cells(content, area),
        ShapeLayer(
            name="bands",
            opens=True,
            title="Bands between contour lines",
            kind="inferred",
            margin_label=NO_MARGIN,
            note=WHERE,
            features=CONTOURS,
            shapes=bands,
            columns={
                FROM: content.lines,
                TO: upper,
            },
        ),
        ShapeLayer(
            name="lines",
            title="Contour lines",
            kind="inferred",
            margin_label=NO_MARGIN,
            note=WHERE,
            features=CONTOURS,
            shapes=lines,
            columns={DENSITY: content.lines},
        ),
    ]


def _cells(content: ContourRelease, area: StudyArea) -> list[BoxLayer]:
    row, column = np.nonzero(content.grid.inside(area))
    margin, threshold = noise_columns(content.noise, row.size)
    noisy = content.counts[row, column]
    place = {"row": row.astype(np.int32), "column": column.astype(np.int32)}
    measured = BoxLayer(
        name="cells",
        title="Counts of cells",
        kind="measured",
        grid=content.grid,
        boxes=unit_boxes(row, column),
        cells=same(1, row.size),
        value=noisy,
        margin=margin,
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the noise added to the cell.",
        threshold=threshold,
        columns={**place, "non_negative": non_negative(noisy, np.ones(row.size))},
    )
    estimate = BoxLayer(
        name="estimate",
        title="Estimates of cells",
        kind="inferred",
        grid=content.grid,
        boxes=measured.boxes,
        cells=measured.cells,
        value=content.surface[row, column],
        margin=margin,
        margin_label=NOMINAL,
        note="The count expected given the noisy cells, never negative. The margin is nominal: "
        "that of the noise in the cell.",
        threshold=threshold,
        columns={**place, "noisy_cell": noisy},
    )
    return [measured, estimate]


@make_areas.register
def _areas(content: ContourRelease, area: StudyArea) -> Areas:
    return Cells(content.grid, [content.counts], content.noise, area)
