"""Layers of perturbed points: the points, and the density estimated from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.attributes import separate
from dpgeo.core.released import NO_TIME, PointsRelease
from dpgeo.postprocess.deconvolution import Channel
from dpgeo.postprocess.layers.layer import (
    NO_MARGIN,
    NOMINAL,
    BoxLayer,
    Layer,
    PointLayer,
    unit_boxes,
)
from dpgeo.postprocess.layers.registry import make_layers
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.truncation import UNITS

NORMAL_95 = 1.96
NORMAL_THOUSANDTH = 3.09


@make_layers.register
def _points_layers(content: PointsRelease, area: StudyArea) -> list[Layer]:
    return [_points(content), _density(content, area)]


def _points(content: PointsRelease) -> PointLayer:
    near, far = content.noise.radius(0.5), content.noise.radius(0.95)
    details = ""
    if content.padded:
        details = (
            f" Everybody has {content.padded} of them; some stand for invented reports anywhere in "
            "the study area."
        )
    if content.prior:
        details += (
            " Each was then put where its report was most likely made, given a public density "
            f"({content.prior}), so that points gather where people are expected. Only the layer "
            "density tells how many there are anywhere."
        )
    return PointLayer(
        name="points",
        title="Moved points",
        kind="measured",
        margin_label=NO_MARGIN,
        note=f"Each point is a report that was moved at random: half of them by less than "
        f"{near:,.0f} m, 19 of 20 by less than {far:,.0f} m.{details}",
        columns=_columns(content),
        shift=near,
        longitude=content.longitude / UNITS,
        latitude=content.latitude / UNITS,
    )


def _columns(content: PointsRelease) -> dict[str, NDArray[Any]]:
    """Return the layer's columns with the points' published times and public attributes, if any."""
    columns: dict[str, NDArray[Any]] = {}
    if content.time.size:
        columns["time"] = _times(content.time)
    if content.combination.size:
        columns |= separate(content.combination, content.attributes)
    return columns


def _times(seconds: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return times (n,) as UTC text, with "" for reports without a time."""
    known = seconds != NO_TIME
    text = np.full(len(seconds), "", dtype=object)
    moments = np.datetime_as_string(seconds[known].astype("datetime64[s]"), timezone="UTC")
    text[known] = moments.tolist()
    return text


def _density(content: PointsRelease, area: StudyArea) -> BoxLayer:
    """Return the layer with the expected number of reports in each cell.

    Margins are nominal: they are margins of the number of points published in the cell, and ignore
    the effect of deconvolution. Thresholds refer to the number of points that noise carries into an
    empty cell.
    """
    row, column = np.nonzero(content.grid.inside(area))
    density = content.density[row, column]
    carried, foreign = _carried(content, area)
    return BoxLayer(
        name="density",
        opens=True,
        title="Density recovered from the points",
        kind="inferred",
        margin_label=NOMINAL,
        note="Where the reports were made, estimated from the moved points in "
        f"{content.updates} updates by the known noise. The margin is nominal: it covers chance, "
        "but not the error of the estimation.",
        grid=content.grid,
        boxes=unit_boxes(row, column),
        cells=np.ones(row.size, dtype=np.int64),
        value=density,
        margin=NORMAL_95 * np.sqrt(carried[row, column]),
        threshold=NORMAL_THOUSANDTH * np.sqrt(foreign[row, column]),
        columns={"row": row.astype(np.int32), "column": column.astype(np.int32)},
    )


def _carried(
    content: PointsRelease, area: StudyArea
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many published points each cell is expected to have, by the estimated density.

    The second array says how many of these are from other cells, and were moved there by noise.
    """
    channel = Channel(content.grid, area, content.noise, factor=1)
    carried = channel.forward(content.density)
    return carried, np.maximum(carried - channel.staying * content.density, 0)
