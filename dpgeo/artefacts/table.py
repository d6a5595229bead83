"""Tables of layers, from which the file formats for analysts are written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.counted_words import noun_of_layer, nouns_of
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees

CHUNK = 65_536
"""Rows written at a time, which bounds memory for files with millions of rows."""

POINT_DECIMALS = 7
"""Decimals of a degree for a precision of a centimetre."""


def columns(layer: Layer) -> dict[str, NDArray[Any]]:
    """Return a layer's columns (n,) except geometry and margin label.

    `row` and `column` count from the north-west corner; `rows`, `columns` and `cells` give the size
    of a box where a layer does not consist of single cells.
    """
    place = _place(layer)
    further = {name: values for name, values in layer.columns.items() if name not in place}
    measures = {"estimate": layer.value, "margin": layer.margin, "threshold": layer.threshold}
    return {
        **place,
        **further,
        **{name: values for name, values in measures.items() if values is not None},
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
    """Return whether a column holds text rather than numbers."""
    return values.dtype.kind in "OU"


def bounds(layer: Layer, part: slice) -> NDArray[np.float64]:
    """Return west, south, east and north (n, 4) of some features, in degrees."""
    if isinstance(layer, BoxLayer):
        return layer.grid.box_bounds(layer.boxes[part])
    if isinstance(layer, PointLayer):
        longitude, latitude = layer.longitude[part], layer.latitude[part]
        return np.column_stack([longitude, latitude, longitude, latitude])
    if isinstance(layer, ShapeLayer):
        return np.asarray(shapely.bounds(layer.shapes[part]), dtype=np.float64)
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def extent(released: Released, layer: Layer) -> list[float]:
    """Return west, south, east and north in degrees of a layer.

    The extent of an empty layer is that of its grid, or of the study area.
    """
    if isinstance(layer, BoxLayer):
        [total] = layer.grid.box_bounds(_envelope(layer)[None]).tolist()
        return list(total)
    if not len(layer):
        return list(released.area.bounds)
    every = bounds(layer, slice(None))
    return [*every[:, :2].min(axis=0).tolist(), *every[:, 2:].max(axis=0).tolist()]


def _envelope(layer: BoxLayer) -> NDArray[np.int32]:
    """Return the box (4,) around all boxes of a layer, or around the grid if it has none."""
    if not len(layer.boxes):
        return np.array([0, layer.grid.rows, 0, layer.grid.columns], dtype=np.int32)
    top, bottom, left, right = layer.boxes.T
    return np.array([top.min(), bottom.max(), left.min(), right.max()], dtype=np.int32)


def decimals(grid: Grid) -> int:
    """Return the number of decimals of a degree that resolves 1/1000 of a cell, and 1 cm."""
    west, south, east, north = grid.bounds
    finest = min((east - west) / grid.columns, (north - south) / grid.rows)
    return min(12, max(POINT_DECIMALS, math.ceil(3 - math.log10(finest))))


def edges(grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return longitudes (columns + 1,) and latitudes (rows + 1,) of the grid's lines.

    They are rounded; neighbouring cells share an edge to the last digit.
    """
    longitude, latitude = to_degrees(
        grid.west + np.arange(grid.columns + 1) * grid.cell,
        grid.north - np.arange(grid.rows + 1) * grid.cell,
    )
    places = decimals(grid)
    return longitude.round(places), latitude.round(places)


def sides(layer: BoxLayer, part: slice) -> tuple[NDArray[np.float64], ...]:
    """Return west, south, east and north (n,) of some boxes, rounded for text."""
    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = layer.boxes[part].T
    return longitude[left], latitude[bottom], longitude[right], latitude[top]


def summary(released: Released, layer: Layer) -> dict[str, str]:
    """Return a file's self-description, so that it can be understood on its own."""
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
        "counted": noun_of_layer(released, layer),
        "counted_in_sums": nouns_of(released).sum,
        "bound": str(released.bound),
        "margin_label": layer.margin_label,
        "margin_note": layer.note,
        "statement": "statement.json",
    }
