"""Layers as tables, from which files in the various formats are written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.counted_words import noun_of_layer, released_nouns
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import ZCDP, Guarantee
from dpgeo.core.released import Released
from dpgeo.core.zcdp import delta_text
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees

CHUNK = 65_536
"""Number of rows written at a time, which bounds memory for files with millions of rows."""

POINT_DECIMALS = 7
"""Decimal places of degrees for points; seven are enough to resolve a centimetre."""

EVERY = slice(None)
"""Python slice of all of a layer's features."""

MEASURES = ("estimate", "margin", "threshold", "coloured_from")
"""Names of the columns with a layer's figures. The column "coloured_from" exists only in layers
in which the map also colours some features whose estimate is below their threshold.
"""


def columns(layer: Layer, part: slice = EVERY) -> dict[str, NDArray[Any]]:
    """Return the columns (n,) of the features in `part`, by name, except geometry and margin label.

    The columns "row" and "column" count from the north-western corner. If boxes may have several
    cells, the columns "rows", "columns" and "cells" give their sizes. Nothing is computed for
    features outside `part`, so writing a file part by part takes memory for one part.
    """
    place = _place(layer, part)
    further = {name: values[part] for name, values in layer.columns.items() if name not in place}
    figures = (layer.value, layer.margin, layer.threshold, layer.coloured_from)
    return {
        **place,
        **further,
        **{
            name: values[part]
            for name, values in zip(MEASURES, figures, strict=True)
            if values is not None
        },
    }


def _place(layer: Layer, part: slice) -> dict[str, NDArray[Any]]:
    if not isinstance(layer, BoxLayer):
        return {}
    top, bottom, left, right = layer.boxes[part].T
    place: dict[str, NDArray[Any]] = {"row": top, "column": left}
    if not layer.is_cells:
        place |= {"rows": bottom - top, "columns": right - left, "cells": layer.cells[part]}
    return place


def parts(layer: Layer) -> Iterator[slice]:
    """Yield Python slices of at most CHUNK features that together cover a layer."""
    for start in range(0, len(layer), CHUNK):
        yield slice(start, min(start + CHUNK, len(layer)))


def cell_numbers(layer: BoxLayer) -> NDArray[np.int64]:
    """Return the numbers (n,) of a layer's cells, row by row from the north-western corner."""
    numbers = layer.boxes[:, 0].astype(np.int64)
    numbers *= layer.grid.columns
    numbers += layer.boxes[:, 2]
    return numbers


def is_text(values: NDArray[Any]) -> bool:
    """Return whether a column's values are texts rather than numbers."""
    return values.dtype.kind in "OU"


def bounds(layer: Layer, part: slice) -> NDArray[np.float64]:
    """Return an array (n, 4) of the bounds of the features in `part` of a layer, in degrees.

    The columns are west, south, east and north.
    """
    if isinstance(layer, BoxLayer):
        return layer.grid.box_bounds(layer.boxes[part])
    if isinstance(layer, PointLayer):
        longitude, latitude = layer.longitude[part], layer.latitude[part]
        return np.column_stack([longitude, latitude, longitude, latitude])
    if isinstance(layer, ShapeLayer):
        return np.asarray(shapely.bounds(layer.shapes[part]), dtype=np.float64)
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def extent(released: Released, layer: Layer) -> list[float]:
    """Return the extent of a layer: west, south, east and north in degrees.

    For an empty layer, this is the extent of its grid or, if it has no grid, of the study area.
    """
    if isinstance(layer, BoxLayer):
        [total] = layer.grid.box_bounds(_envelope(layer)[None]).tolist()
        return list(total)
    if not len(layer):
        return list(released.area.bounds)
    every = bounds(layer, slice(None))
    return [*every[:, :2].min(axis=0).tolist(), *every[:, 2:].max(axis=0).tolist()]


def _envelope(layer: BoxLayer) -> NDArray[np.int32]:
    """Return the smallest box (4,) around all boxes of a layer.

    A layer without boxes gets the whole grid.
    """
    if not len(layer.boxes):
        return np.array([0, layer.grid.rows, 0, layer.grid.columns], dtype=np.int32)
    top, bottom, left, right = layer.boxes.T
    return np.array([top.min(), bottom.max(), left.min(), right.max()], dtype=np.int32)


def decimals(grid: Grid) -> int:
    """Return how many decimal places of degrees resolve both 1/1000 of a cell and 1 cm."""
    west, south, east, north = grid.bounds
    finest = min((east - west) / grid.columns, (north - south) / grid.rows)
    return min(12, max(POINT_DECIMALS, math.ceil(3 - math.log10(finest))))


def edges(grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the longitudes and the latitudes of the lines between a grid's cells.

    Their shapes are (columns + 1,) and (rows + 1,). Lines are rounded before boxes are made of
    them, so neighbouring cells have exactly the same edge in common.
    """
    longitude, latitude = to_degrees(
        grid.west + np.arange(grid.columns + 1) * grid.cell,
        grid.north - np.arange(grid.rows + 1) * grid.cell,
    )
    places = decimals(grid)
    return longitude.round(places), latitude.round(places)


def sides(layer: BoxLayer, part: slice) -> tuple[NDArray[np.float64], ...]:
    """Return the west, south, east and north sides, each (n,), of the boxes in `part` of a layer.

    They are rounded for writing as text.
    """
    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = layer.boxes[part].T
    return longitude[left], latitude[bottom], longitude[right], latitude[top]


def _rho(paid: Guarantee) -> dict[str, str]:
    """Return the rho that was spent and its delta, at which the epsilon holds; {} without a rho."""
    if not isinstance(paid, ZCDP):
        return {}
    return {"rho": format_epsilon(paid.rho), "delta": delta_text(paid.delta)}


def summary(released: Released, layer: Layer) -> dict[str, str]:
    """Return the facts that a file states about itself: its title, source, licence, guarantee and
    so on.
    """
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
        **_rho(released.guarantee),
        "unit": released.guarantee.unit.value,
        "counting": released.counting.value,
        "counted": noun_of_layer(released, layer),
        "counted_in_sums": released_nouns(released).sum,
        "bound": str(released.bound),
        **released.request.options(),
        "margin_label": layer.margin_label,
        "margin_note": layer.note,
        "statement": "statement.json",
    }
