"""Layers of grid cells as xarray datasets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PLACE = {"row", "column", "rows", "columns", "cells"}
"""Columns that are left out, because the coordinates of the arrays replace them."""

MAX_VALUES = 20_000_000
"""Largest number of cells in an array, over all slices: 160 MB for each column."""


def to_dataset(table: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a table from `to_arrow` as an xarray.Dataset.

    Its dimensions are latitude and longitude; a map by time has the dimension slice before them.
    Raises LookupError if the features are not single cells of a grid or there are none, or
    ValueError if the grid around them is too large for arrays.
    """
    import numpy as np
    import xarray

    names = table.column_names
    larger = "rows" in names and any(
        np.any(table[side].to_numpy() > 1) for side in ("rows", "columns")
    )
    if "row" not in names or larger:
        raise LookupError("This layer is no grid of single cells; to_geopandas() returns it.")
    if not len(table):
        raise LookupError("This layer lists no cell.")
    row, column = table["row"].to_numpy(), table["column"].to_numpy()
    slices = _slices(table)
    height, width = int(np.ptp(row)) + 1, int(np.ptp(column)) + 1
    if height * width * max(1, len(slices)) > MAX_VALUES:
        raise ValueError(f"{height} x {width} cells are too many; to_geopandas() has those listed.")
    dimensions = ("slice", "latitude", "longitude") if slices else ("latitude", "longitude")
    shape = (len(slices), height, width) if slices else (height, width)
    place: tuple[Any, ...] = (row - row.min(), column - column.min())
    if slices:
        order = {title: number for number, (title, _, _) in enumerate(slices)}
        place = (np.array([order[title] for title in table["slice"].to_pylist()]), *place)
    variables = {}
    for name in names:
        values = table[name].to_numpy() if _is_number(table[name].type) else None
        if values is None or name in PLACE:
            continue
        filled = np.full(shape, np.nan)
        filled[place] = values
        variables[name] = (dimensions, filled)
    latitude, longitude = _centres(table, row, column)
    coordinates: dict[str, Any] = {
        "latitude": ("latitude", latitude, {"units": "degrees_north"}),
        "longitude": ("longitude", longitude, {"units": "degrees_east"}),
    }
    if slices:
        titles, starts, ends = (list(each) for each in zip(*slices, strict=True))
        coordinates |= {"slice": titles, "start": ("slice", starts), "end": ("slice", ends)}
    attrs = {
        name: json.dumps(value) if isinstance(value, dict | list) else value
        for name, value in attributes.items()
        if value is not None
    }
    return xarray.Dataset(variables, coordinates, attrs)


def _slices(table: Any) -> list[tuple[str, str, str]]:
    """Return the title, start and end of each slice in order; the list is empty without slices."""
    if "slice" not in table.column_names:
        return []
    said = (table[name].to_pylist() for name in ("slice", "start", "end"))
    return list(dict.fromkeys(zip(*said, strict=True)))


def _is_number(kind: Any) -> bool:
    import pyarrow.types

    return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind))


def _centres(table: Any, row: Any, column: Any) -> tuple[Any, Any]:
    """Return the latitudes and longitudes of the centres of all rows and columns, in degrees.

    Cells are squares in Web Mercator, so the position of a single cell determines the positions of
    all others, including cells that are not listed.
    """
    import numpy as np

    sides = table["bbox"][0].as_py()
    wide = sides["xmax"] - sides["xmin"]
    south, north = np.arcsinh(np.tan(np.radians([sides["ymin"], sides["ymax"]])))
    right = np.arange(column.min(), column.max() + 1) - column[0]
    down = np.arange(row.min(), row.max() + 1) - row[0]
    middle = (south + north) / 2 - down * (north - south)
    longitude = (sides["xmin"] + sides["xmax"]) / 2 + right * wide
    return np.degrees(np.arctan(np.sinh(middle))), longitude
