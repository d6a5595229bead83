"""A layer as a table: what the formats for analysts have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees

CHUNK = 65_536
"""Rows written at a time, which bounds the memory that a file of millions takes."""

POINT_DECIMALS = 7
"""Decimals of a degree that place a point to a centimetre."""


def columns(layer: Layer) -> dict[str, NDArray[Any]]:
    """The columns (n,) of a layer but its geometry and margin label, in the order of every file.

    `row` and `column` count from the north-west corner; `rows`, `columns` and `cells` say how
    large a box is where a layer does not consist of single cells.
    """
    place = _place(layer)
    further = {name: values for name, values in layer.columns.items() if name not in place}
    known = {"estimate": layer.value, "margin": layer.margin, "threshold": layer.threshold}
    return {
        **place,
        **further,
        **{name: values for name, values in known.items() if values is not None},
    }


def _place(layer: Layer) -> dict[str, NDArray[Any]]:
    if not isinstance(layer, BoxLayer):
        return {}
    top, bottom, left, right = layer.boxes.T
    place: dict[str, NDArray[Any]] = {"row": top, "column": left}
    if not layer.is_cells:
        place |= {"rows": bottom - top, "columns": right - left, "cells": layer.cells}
    return place


def is_text(values: NDArray[Any]) -> bool:
    """Whether a column holds text rather than numbers."""
    return values.dtype.kind in "OU"


def bounds(layer: Layer, part: slice) -> NDArray[np.float64]:
    """West, south, east and north (n, 4) of some features, in degrees."""
    if isinstance(layer, BoxLayer):
        return layer.grid.box_bounds(layer.boxes[part])
    if isinstance(layer, PointLayer):
        longitude, latitude = layer.longitude[part], layer.latitude[part]
        return np.column_stack([longitude, latitude, longitude, latitude])
    if isinstance(layer, ShapeLayer):
        return np.asarray(shapely.bounds(layer.shapes[part]), dtype=np.float64)
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def extent(released: Released, layer: Layer) -> list[float]:
    """West, south, east and north of a whole layer in degrees; of the frame where it is empty."""
    if isinstance(layer, BoxLayer):
        [around] = layer.grid.box_bounds(_envelope(layer)[None]).tolist()
        return list(around)
    if not len(layer):
        return list(released.area.bounds)
    every = bounds(layer, slice(None))
    return [*every[:, :2].min(axis=0).tolist(), *every[:, 2:].max(axis=0).tolist()]


def _envelope(layer: BoxLayer) -> NDArray[np.int32]:
    """The box (4,) around all boxes of a layer, the frame where it lists none."""
    if not len(layer.boxes):
        return np.array([0, layer.grid.rows, 0, layer.grid.columns], dtype=np.int32)
    top, bottom, left, right = layer.boxes.T
    return np.array([top.min(), bottom.max(), left.min(), right.max()], dtype=np.int32)


def decimals(grid: Grid) -> int:
    """Decimals of a degree that place a corner to a thousandth of a cell, and to 1 cm at least."""
    west, south, east, north = grid.bounds
    finest = min((east - west) / grid.columns, (north - south) / grid.rows)
    return min(12, max(POINT_DECIMALS, math.ceil(3 - math.log10(finest))))


def edges(grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitudes (columns + 1,) and latitudes (rows + 1,) of the grid's lines, rounded for text.

    Neighbours share an edge to the last digit.
    """
    longitude, latitude = to_degrees(
        grid.west + np.arange(grid.columns + 1) * grid.cell,
        grid.north - np.arange(grid.rows + 1) * grid.cell,
    )
    places = decimals(grid)
    return longitude.round(places), latitude.round(places)


def sides(layer: BoxLayer, part: slice) -> tuple[NDArray[np.float64], ...]:
    """West, south, east and north (n,) of some boxes, rounded for text."""
    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = layer.boxes[part].T
    return longitude[left], latitude[bottom], longitude[right], latitude[top]


def summary(released: Released, layer: Layer) -> dict[str, str]:
    """What a file says of itself, so that it explains itself when it travels alone."""
    about = released.about
    return {
        "title": about.get("title", ""),
        "layer": layer.title,
        "dataset": about.get("dataset", ""),
        "publisher": about.get("publisher", ""),
        "licence": about.get("licence", ""),
        "attribution": about.get("attribution", ""),
        "mechanism": released.mechanism,
        "epsilon": format_epsilon(released.guarantee.epsilon),
        "unit": released.guarantee.unit.value,
        "counting": released.counting.value,
        "bound": str(released.bound),
        "margin_label": layer.margin_label,
        "margin_note": layer.note,
        "statement": "statement.json",
    }
