"""Profiles of a map along its two axes: sums of strips, each with a margin.

Strips add up only released counts, so they cost no privacy. A strip's margin is the root sum of
squares of the margins of its counts, which is never too narrow for the noise. The count of a box
that spans several strips is divided among them in proportion to the box's width in each. This
assumes that people are evenly spread within the box; the margin ignores the error of that
assumption.

If a surface was inferred from several phases, `postprocess.joint_sums` computes the profiles
instead.
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
"""Largest number of strips along an axis, so that each is a few pixels wide on a phone."""

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Strip:
    """A strip between two meridians or two parallels, in degrees.

    `value` is the sum of the counts in the strip, and `margin` the margin of that sum.
    """

    low: float
    high: float
    value: float
    margin: float


@dataclass(frozen=True, slots=True)
class Profiles:
    """Sums of a map's counts over strips, in both directions.

    `eastward` are strips from west to east, and `northward` strips from south to north.
    """

    eastward: tuple[Strip, ...]
    northward: tuple[Strip, ...]


def profiles(layer: BoxLayer) -> Profiles | None:
    """Return sums of a measured layer's counts over strips of columns and over strips of rows.

    Returns None if the layer is empty or omits low counts.
    """
    if layer.least_listed is not None or not len(layer):
        return None
    top, bottom, left, right = np.asarray(layer.boxes, dtype=np.int64).T
    east = _strips(layer, left, right)
    south = _strips(layer, top, bottom)
    return Profiles(
        eastward=placed(layer.grid, east, columns=True),
        northward=placed(layer.grid, south, columns=False)[::-1],
    )


def _strips(layer: BoxLayer, start: Cells, stop: Cells) -> tuple[Cells, Floats, Floats]:
    """Return the limits (s + 1,) of s strips, and the strips' sums (s,) and margins (s,).

    The limits are row or column indices of the grid. `start` (n,) holds the first row or column of
    each box, and `stop` (n,) the row or column after its last.
    """
    edges = strip_edges(int(start.min()), int(stop.max()))
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


def strip_edges(first: int, last: int) -> Cells:
    """Return the limits (s + 1,) of at most STRIPS strips from row or column `first` to `last`."""
    return np.unique(np.linspace(first, last, STRIPS + 1).round().astype(np.int64))


def placed(grid: Grid, strips: tuple[Cells, Floats, Floats], *, columns: bool) -> tuple[Strip, ...]:
    """Return strips of rows or columns, with limits in degrees.

    `strips` holds their limits (s + 1,), sums (s,) and margins (s,). The limits are indices of
    columns if `columns` is true, otherwise of rows.
    """
    edges, value, margin = strips
    x, y = grid.west + edges * grid.cell, grid.north - edges * grid.cell
    longitude, latitude = to_degrees(x, y)
    low, high = (longitude[:-1], longitude[1:]) if columns else (latitude[1:], latitude[:-1])
    lists = (each.tolist() for each in (low, high, value, margin))
    return tuple(Strip(*each) for each in zip(*lists, strict=True))
