"""Types of layers: boxes of cells, shapes or points, with values and margins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.postprocess.layers.features import CELLS, POINTS, ZONES, Features
from dpgeo.spatial.grid import Grid

EXACT_NOISE = "exact noise"
"""Label of margins that are an exact quantile of the value's noise."""

NOMINAL = "nominal"
"""Label of margins from a formula of which not all assumptions hold."""

CALIBRATED = "calibrated"
"""Label of margins from a rule whose coverage was measured on generated maps."""

NO_MARGIN = "none"
"""Label of layers without values, or whose values have no noise of their own."""

STEPS = 1000
"""A map rounds the values of an inferred layer to steps no larger than the largest value divided
by STEPS.
"""

Numbers = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """A layer of a release, made of n features that may have values.

    `columns` holds further columns (n,) for files: numbers, or texts in object arrays. Values are
    estimates of bounded counts: margins do not include the bias of contribution bounding. Arrays
    may be read-only and may share memory.
    """

    name: str
    """Name of the layer in file names, such as "cells", "partitions", "estimate" or "zones"."""
    title: str
    kind: Literal["measured", "inferred"]
    margin_label: str
    """How the margins were obtained: EXACT_NOISE, NOMINAL, CALIBRATED or NO_MARGIN."""
    note: str
    """Sentences that tell readers what the margin includes."""
    value: Numbers | None = None
    """Counts (n,) of the features; in a measured layer, the noisy integers as drawn."""
    margin: NDArray[np.float64] | None = None
    """Half-widths (n,) of the 95 % intervals; None if the layer has no margins."""
    threshold: NDArray[np.float64] | None = None
    """Values (n,) that noise alone reaches in at most one empty feature in a thousand."""
    coloured_from: NDArray[np.float64] | None = None
    """Lowest values (n,) at which a map colours the features; None if equal to `threshold`.

    Inside a measured box that stands out from the noise, this is lower than the threshold, so that
    the map shows how the box's count is spread over its cells.
    """
    least_listed: int | None = None
    """Smallest count that is published; the features left out have lower counts. None if all
    counts are published.
    """
    sliced: bool = False
    """Whether the layer shows a single slice of time or of a category; its title names the slice.
    """
    of: tuple[str, str] = ("", "")
    """Titles of the category value and of the time of the layer's slice, each "" if there is none.
    """
    on_map: bool = True
    """Whether maps draw the layer; other layers exist only as files."""
    opens: bool = False
    """Whether the map shows this layer first, regardless of its values."""
    told: NDArray[np.bool_] | None = None
    """Mask (n,) of the features with enough records for a value; a map hatches all other features.

    If it is None, a map hatches the features that do not stand out from the noise.
    """
    unit: str = ""
    """Unit of the values, as the publisher declared it; empty for counts."""
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    features: Features

    def __len__(self) -> int:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxLayer(Layer):
    """Counts of n disjoint boxes of cells that intersect the study area."""

    grid: Grid
    boxes: NDArray[np.int32]
    """Boxes (n, 4): first row, row after the last, first column, column after the last."""
    cells: NDArray[np.int64]
    """Number (n,) of cells in each box that intersect the study area."""
    value: Numbers
    margin: NDArray[np.float64]
    threshold: NDArray[np.float64]
    features: Features = CELLS

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def is_cells(self) -> bool:
        """Whether every box is a single cell by design, and not just by coincidence."""
        return "row" in self.columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeLayer(Layer):
    """Polygons or lines in degrees, such as declared zones or contours."""

    shapes: NDArray[np.object_]
    """Shapely geometries (n,), longitude first, with counterclockwise outer rings."""
    features: Features = ZONES

    def __len__(self) -> int:
        return len(self.shapes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointLayer(Layer):
    """Points in degrees, such as perturbed positions or centres of clusters."""

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    shift: float = 0.0
    """Median distance in metres by which noise moved the points; 0 if they are not perturbed."""
    features: Features = POINTS

    def __len__(self) -> int:
        return len(self.longitude)


def quantisation_step(layer: Layer) -> float:
    """Return the step to which a map rounds values: a quarter of the noise scale.

    For a measured layer, the step is an integer of at least 1. For an inferred layer, whose values
    are usually more accurate than their margins suggest, the step is at most the largest value
    divided by STEPS. It is always large enough that the number of steps fits in 32 bits.
    """
    if layer.value is None or not layer.value.size:
        return 1.0
    # The 95 % margin of Laplace noise is its scale times ln 20.
    margin = 0.0 if layer.margin is None else float(layer.margin.min())
    quarter = margin / math.log(20) / 4
    if layer.kind == "measured":
        quarter = max(1.0, math.floor(quarter))
    largest = max(float(layer.value.max()), -float(layer.value.min()))
    if layer.kind == "inferred" and largest > 0:
        quarter = min(quarter, largest / STEPS) or largest / STEPS
    largest = max(largest, 1.0)
    return max(quarter, largest / 2**30)


def unit_boxes(row: NDArray[Any], column: NDArray[Any]) -> NDArray[np.int32]:
    """Return boxes (n, 4) with one cell each, given the cells' rows and columns."""
    boxes = np.empty((len(row), 4), dtype=np.int32)
    boxes[:, 0], boxes[:, 2] = row, column
    np.add(boxes[:, ::2], 1, out=boxes[:, 1::2])
    return boxes


def noise_columns(noise: CountNoise, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the margins (size,) and thresholds (size,) of values with the same noise."""
    return same(float(noise.margin()), size), same(float(noise.threshold()), size)


def same(value: float, size: int) -> NDArray[Any]:
    """Return a read-only array (size,) that repeats a number but stores it only once."""
    return np.broadcast_to(np.asarray(value), (size,))
