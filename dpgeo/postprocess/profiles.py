"""Profiles of a map along its two axes: sums of strips, each with a margin.

Strips add up released counts alone, so they cost nothing. Like the margin of the map's total, a
strip's margin is the root sum of squares of its terms' margins, which is never too narrow for the
noise. A box of cells that spans several strips adds to each in proportion to its width in that
strip: how unevenly people are spread within the box is unknown, and no margin includes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees

STRIPS = 24
"""Largest number of strips along an axis: a few pixels each on a phone."""

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Strip:
    """Sum of the counts between two meridians or two parallels, and its margin."""

    low: float
    high: float
    value: float
    margin: float


@dataclass(frozen=True, slots=True)
class Profiles:
    """Strips from west to east, and from south to north."""

    eastward: tuple[Strip, ...]
    northward: tuple[Strip, ...]


def profiles(layer: BoxLayer) -> Profiles | None:
    """Compute a measured layer's strips; None if it omits low counts or is empty."""
    if layer.least_listed is not None or not len(layer):
        return None
    top, bottom, left, right = np.asarray(layer.boxes, dtype=np.int64).T
    east = _strips(layer, left, right)
    south = _strips(layer, top, bottom)
    return Profiles(
        eastward=tuple(Strip(*each) for each in _placed(layer.grid, east, columns=True)),
        northward=tuple(Strip(*each) for each in _placed(layer.grid, south, columns=False))[::-1],
    )


def _strips(layer: BoxLayer, start: Cells, stop: Cells) -> tuple[Cells, Floats, Floats]:
    """Return the strips' edges (s + 1,) in cells, and their sums and margins (s,).

    `start` and `stop` (n,) are the first cell of each box, and the one after its last, on one axis.
    """
    first, last = int(start.min()), int(stop.max())
    edges = np.unique(np.linspace(first, last, STRIPS + 1).round().astype(np.int64))
    strips = len(edges) - 1
    at = np.searchsorted(edges, start, side="right") - 1
    whole = stop <= edges[at + 1]
    value, square = np.zeros(strips), np.zeros(strips)
    value += np.bincount(at[whole], layer.value[whole], strips)
    square += np.bincount(at[whole], np.square(layer.margin[whole]), strips)
    begin, end = start[~whole], stop[~whole]
    for strip, (low, high) in enumerate(pairwise(edges)):
        share = (np.minimum(end, high) - np.maximum(begin, low)).clip(0) / (end - begin)
        value[strip] += share @ layer.value[~whole]
        square[strip] += np.square(share) @ np.square(layer.margin[~whole])
    return edges, value, np.sqrt(square)


def _placed(
    grid: Grid, strips: tuple[Cells, Floats, Floats], *, columns: bool
) -> list[tuple[float, float, float, float]]:
    edges, value, margin = strips
    x, y = grid.west + edges * grid.cell, grid.north - edges * grid.cell
    longitude, latitude = to_degrees(x, y)
    low, high = (longitude[:-1], longitude[1:]) if columns else (latitude[1:], latitude[:-1])
    return list(zip(*(each.tolist() for each in (low, high, value, margin)), strict=True))
