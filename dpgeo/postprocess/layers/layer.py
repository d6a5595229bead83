"""Layer types: boxes of cells, shapes or points, with errors of their values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.layers.features import CELLS, POINTS, ZONES, Features
from dpgeo.spatial.grid import Grid

EXACT_NOISE = "exact noise"
"""The margin is an exact quantile of the noise of the value."""

NOISE_ONLY = "noise only"
"""The margin is exact for the noise, but there is another error, of unknown size."""

NOMINAL = "nominal"
"""The margin follows from a formula whose conditions hold only partly."""

CALIBRATED = "calibrated"
"""The margin follows from a rule whose coverage was measured on generated maps."""

NO_MARGIN = "none"
"""The layer has no values, or values without noise of their own."""

STEPS = 1000
"""Fewest steps between 0 and the largest value in a picture of an inferred layer."""

Numbers = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """One layer of a release: n features, with or without values.

    `columns` are further columns (n,) for files: numbers, or str in arrays of objects. Values
    estimate the bounded counts: no margin includes the bias of contribution bounding. Arrays may be
    read-only and share memory.
    """

    name: str
    """Part of file names, such as "cells", "partitions", "estimate" or "zones"."""
    title: str
    kind: Literal["measured", "inferred"]
    margin_label: str
    """EXACT_NOISE, NOISE_ONLY, NOMINAL, CALIBRATED or NO_MARGIN."""
    note: str
    """A sentence for readers on what the margin covers."""
    value: Numbers | None = None
    """(n,) count of the feature; where measured, the raw noisy integer."""
    margin: NDArray[np.float64] | None = None
    """(n,) half-width of the 95 % interval; None without a margin."""
    threshold: NDArray[np.float64] | None = None
    """(n,) the value that at most one empty feature in a thousand reaches."""
    coloured_from: NDArray[np.float64] | None = None
    """(n,) the value from which maps colour a feature; None where that is the threshold.

    It is lower inside a measured box that stands out: the map shows how its count is spread.
    """
    least_listed: int | None = None
    """Smallest listed value; features not listed have lower ones. None if all are listed."""
    time_slice: bool = False
    """Whether the layer shows one time slice alone, which `title` names."""
    opens: bool = False
    """Whether a map opens on this layer, whatever its figures."""
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    features: Features

    def __len__(self) -> int:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxLayer(Layer):
    """Counts of n disjoint boxes of cells that touch the study area."""

    grid: Grid
    boxes: NDArray[np.int32]
    """(n, 4), see `PartitionRelease.boxes`."""
    cells: NDArray[np.int64]
    """(n,) cells of the box that touch the study area."""
    value: Numbers
    margin: NDArray[np.float64]
    threshold: NDArray[np.float64]
    features: Features = CELLS

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def is_cells(self) -> bool:
        """Whether every box is one cell by design of the layer, not by coincidence."""
        return "row" in self.columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeLayer(Layer):
    """Polygons or lines in degrees, such as declared zones or contours."""

    shapes: NDArray[np.object_]
    """(n,) shapely geometries, longitude first, rings counterclockwise."""
    features: Features = ZONES

    def __len__(self) -> int:
        return len(self.shapes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointLayer(Layer):
    """Points in degrees, such as perturbed positions or centres of clusters."""

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    shift: float = 0.0
    """Metres by less than which noise moved half of the points; 0 where it moved none."""
    features: Features = POINTS

    def __len__(self) -> int:
        return len(self.longitude)


def quantisation_step(layer: Layer) -> float:
    """Return the step for rounding in pictures: a quarter noise scale.

    For measured layers the step is a whole number of at least 1. For inferred layers, whose shape
    tells more than their margins suggest, it is small enough for STEPS steps up to the largest
    value. It is always large enough for the number of steps to fit in 32 bits.
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
    """Return boxes (n, 4) of one cell each."""
    return np.column_stack([row, row + 1, column, column + 1]).astype(np.int32)


def noise_columns(
    noise: DiscreteLaplace, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return margin and threshold (n,) of values with the same noise."""
    return same(float(noise.margin()), size), same(float(noise.threshold()), size)


def same(value: float, size: int) -> NDArray[Any]:
    """Return an array (size,) of one repeated number, which takes the memory of one."""
    return np.broadcast_to(np.asarray(value), (size,))
