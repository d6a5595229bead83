"""map.bin: compact typed arrays from which browsers draw a release.

The file consists of "DPGM", the version (uint32), the length of the header (uint32), a JSON header,
and arrays. The first array starts at a multiple of 8 bytes, and the header states the offset of
each array from the first. All numbers are little-endian. Values are rounded to steps of about a
quarter of the noise scale; the download files are exact. Shapes are drawn from their GeoJSON file,
which the header names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts import geojson
from dpgeo.artefacts.counted_words import released_nouns
from dpgeo.artefacts.table import cell_numbers
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer, quantisation_step
from dpgeo.postprocess.layers.features import RANKS
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

MAGIC = b"DPGM"
VERSION = 1
NAME = "map.bin"
MEDIA_TYPE = "application/octet-stream"

MAX_NOISES = 256
"""Largest number of distinct noise levels in a layer, since indices of noise levels are uint8."""

MAX_MASK = 1 << 24
"""Largest number of cells for which the file has a mask of the study area. Layers on finer grids
list single cells; for these, the study area is drawn from the outline in the header.
"""

NAMES = ("unit", "name")
"""Columns that may hold the names of points; the first one that a layer has is used."""

MAX_POINTS = 200_000
"""Largest number of points that the file stores for a layer.

If there are more, only an evenly spaced selection is stored, in their published order.
"""

DEGREE = 10_000_000
"""Number of position units in a degree; a unit is about a centimetre."""

_ALIGNMENT = 8


class _Data:
    """The arrays added so far, each aligned to 8 bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: NDArray[Any]) -> dict[str, str | int]:
        """Append an array; return its type, offset in bytes and length in elements."""
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        offset = self._size
        padded = data + bytes(-len(data) % _ALIGNMENT)
        self._parts.append(padded)
        self._size += len(padded)
        return {"type": array.dtype.name, "offset": offset, "length": array.size}

    def tobytes(self) -> bytes:
        return b"".join(self._parts)


def write(released: Released, shown: Sequence[Layer], path: Path) -> None:
    """Write the layers of a release as map.bin; all layers of boxes share one grid."""
    path.write_bytes(encode(released, shown))


class Further(Protocol):
    """Function that returns additional members of the header, and may append arrays to the file."""

    def __call__(self, add: Callable[[NDArray[Any]], dict[str, str | int]], /) -> dict[str, Any]:
        """Return the members to add to the header, as a dictionary.

        `add` appends an array to the file and returns the header's entry for it.
        """


def encode(released: Released, shown: Sequence[Layer], further: Further = lambda _: {}) -> bytes:
    """Return the bytes of map.bin for these layers; all layers of boxes share one grid.

    `further` returns the additional members of the header.
    """
    grid = next((layer.grid for layer in shown if isinstance(layer, BoxLayer)), None)
    inside = None if grid is None else _inside(grid, released.area)
    data, nouns = _Data(), released_nouns(released)
    header = {
        "grid": None if grid is None else grid.to_json(),
        "bounds": list(released.area.bounds if grid is None else grid.bounds),
        "area": released.area.to_geojson(),
        "counting": released.counting.value,
        "nouns": {"one": nouns.one, "sum": nouns.sum},
        "inside": None if inside is None else data.add(inside.ravel().astype(np.uint8)),
        "layers": [_layer(layer, data) for layer in shown if layer.on_map],
        **further(data.add),
    }
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(len(MAGIC) + 8 + len(text)) % _ALIGNMENT)
    numbers = np.array([VERSION, len(text)], dtype="<u4").tobytes()
    return MAGIC + numbers + text + data.tobytes()


def _inside(grid: Grid, area: StudyArea) -> NDArray[np.bool_] | None:
    """Return a mask of the cells that intersect the study area.

    Returns None if all cells intersect it, or if the grid is too large.
    """
    if grid.size > MAX_MASK:
        return None
    inside = grid.inside(area)
    return None if inside.all() else inside


def _layer(layer: Layer, data: _Data) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": layer.name, "title": layer.title, "kind": layer.kind}
    if layer.sliced:
        value, time = layer.of
        entry |= {"slice": True, "of_value": value, "of_time": time}
    if layer.unit:
        entry["unit"] = layer.unit
    if isinstance(layer, BoxLayer):
        return entry | _boxes(layer, data)
    if isinstance(layer, PointLayer):
        return entry | _points(layer, data)
    if isinstance(layer, ShapeLayer):
        file = layer.name + geojson.FORMAT.suffix if len(layer) <= geojson.MAX_FEATURES else None
        return entry | {"shape": "shapes", "length": len(layer), "file": file}
    raise TypeError(f"There is no picture of a {type(layer).__name__}.")


def _boxes(layer: BoxLayer, data: _Data) -> dict[str, Any]:
    step = quantisation_step(layer)
    steps = layer.value / step
    stored = smallest(np.rint(steps, out=steps))
    del steps  # frees an eighth of a gigabyte in a layer of 4096 x 4096 cells
    coloured_from = layer.threshold if layer.coloured_from is None else layer.coloured_from
    noise, index = _noises(layer.margin, coloured_from, layer.margin_label)
    if layer.is_cells:
        place = cell_numbers(layer)
        stored = spread(stored, place, layer.grid.size)
        index = spread(index, place, layer.grid.size) if len(noise) > 1 else index
    boxes = not layer.is_cells
    return {
        "shape": "boxes" if boxes else "cells",
        "length": stored.size,
        "step": step,
        "value": data.add(stored),
        "box": data.add(layer.boxes.astype(np.uint16)) if boxes else None,
        "cells": data.add(layer.cells.astype(np.int32)) if boxes else None,
        "noise": noise,
        "noise_index": data.add(index) if len(noise) > 1 else None,
    }


def _points(layer: PointLayer, data: _Data) -> dict[str, Any]:
    """Add a layer of points, and return its entry in the header.

    "length" is the number of points stored, "of" the number of points in the layer.
    """
    drawn = np.linspace(0, len(layer) - 1, min(len(layer), MAX_POINTS)).astype(np.int64)
    named = next((name for name in NAMES if name in layer.columns), "")
    step = quantisation_step(layer)
    position = np.column_stack([layer.longitude[drawn], layer.latitude[drawn]])
    value = None if layer.value is None else np.rint(layer.value[drawn] / step).astype(np.int64)
    return {
        "shape": "points",
        "length": len(drawn),
        "of": len(layer),
        "degree": DEGREE,
        "position": data.add(np.rint(position * DEGREE).astype(np.int32).ravel()),
        "step": step,
        "value": None if value is None else data.add(smallest(value)),
        "margin": None if layer.margin is None else data.add(layer.margin[drawn].astype("f4")),
        "threshold": None
        if layer.threshold is None
        else data.add(layer.threshold[drawn].astype("f4")),
        "names": layer.columns[named][drawn].tolist() if named else None,
        "ranks": [data.add(layer.columns[name][drawn].astype("i4")) for name in RANKS]
        if RANKS[0] in layer.columns
        else None,
    }


def smallest(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[Any]:
    """Return whole numbers in the smallest signed integer type that can hold them."""
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    kinds = (np.int8, np.int16, np.int32)
    return values.astype(next(kind for kind in kinds if largest <= np.iinfo(kind).max))


def spread(values: NDArray[Any], place: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Return an array (size,) with a value for each cell; cells without a value get 0.

    `place` (n,) holds the indices of the cells to which `values` (n,) belong.
    """
    image = np.zeros(size, dtype=values.dtype)
    image[place] = values
    return image


def _noises(
    margin: NDArray[np.float64], threshold: NDArray[np.float64], label: str
) -> tuple[list[dict[str, Any]], NDArray[np.uint8]]:
    """Return the distinct pairs of a margin and a threshold, and the index of each box's pair.

    If there are more than MAX_NOISES pairs, similar ones are merged. Each group gets its largest
    margin and largest threshold, so that neither is too small for any box.
    """
    if not margin.size:
        # Clients expect at least one noise level, even for an empty layer.
        return [{"margin": 0.0, "threshold": 0.0, "label": label}], np.zeros(0, dtype=np.uint8)
    # The margin and the threshold are the same for all boxes, and are stored once.
    if margin.strides == threshold.strides == (0,):
        only = {"margin": float(margin[0]), "threshold": float(threshold[0]), "label": label}
        return [only], np.zeros(margin.size, dtype=np.uint8)
    # Pairs are sorted much faster as complex numbers than as rows.
    distinct, index = np.unique(threshold + 1j * margin, return_inverse=True)
    pairs = np.column_stack([distinct.imag, distinct.real])
    if len(pairs) > MAX_NOISES:
        group = np.arange(len(pairs)) * MAX_NOISES // len(pairs)
        starts = np.searchsorted(group, np.arange(MAX_NOISES))
        pairs, index = np.maximum.reduceat(pairs, starts, axis=0), group[index]
    noise = [{"margin": pair[0], "threshold": pair[1], "label": label} for pair in pairs.tolist()]
    return noise, index.astype(np.uint8)
