"""How many people a release lets one expect on a square metre of ground, anywhere and around it.

Post-processing: what is read here has been paid for.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, MERCATOR_RADIUS_METRES, to_mercator

Floats = NDArray[np.float64]

RINGS = 24
"""Rings around a task within which its surroundings count as even."""

RING_POWER = 1.75
"""Ring k of n ends at (k/n)^1.75 of the travel limit: finer where more people accept."""

FEWEST_POINTS, MOST_POINTS = 8, 48
"""Places at which a ring's density is read: one for each cell it holds, within these limits."""

GOLDEN_SHARE = (math.sqrt(5) - 1) / 2


class DensityRule(StrEnum):
    """How the density between the centres of cells follows."""

    BILINEAR = "bilinear"
    CONTOURS = "contours"


@dataclass(frozen=True, eq=False)
class DensitySurface:
    """Expected people on each square metre of ground, by cell, never negative.

    `counts` (rows, columns) are expected people in each cell, `noise` the variance of what noise
    each carries by itself, and `lines` (m,) the contour lines of the release, ascending, in people
    per square metre; empty where it has none.
    """

    grid: Grid
    counts: Floats
    noise: Floats
    lines: Floats

    @cached_property
    def ground(self) -> Floats:
        """Square metres of ground under a cell of each row (rows,)."""
        return self.grid.ground_areas

    @cached_property
    def _pyramid(self) -> list[Floats]:
        """Density at each halving of the resolution, (rows, columns) each."""
        counts = self.counts
        area = np.broadcast_to(self.ground[:, None], counts.shape)
        levels = [counts / area]
        while max(counts.shape) > 1:
            counts, area = _halved(counts), _halved(area)
            levels.append(counts / np.maximum(area, np.finfo(np.float64).tiny))
        return levels

    def at(
        self, longitude: Floats, latitude: Floats, rule: DensityRule = DensityRule.BILINEAR
    ) -> Floats:
        """People per square metre at positions (n,) in degrees; 0 outside the grid."""
        x, y = to_mercator(longitude, latitude)
        return self._ruled(self._read(x, y, 0), rule)

    def noise_at(self, longitude: Floats, latitude: Floats) -> Floats:
        """Variance of the noise for each square metre, by the cell around each position (n,)."""
        x, y = to_mercator(longitude, latitude)
        cell = self.grid.locate(x, y)
        row = np.maximum(cell, 0) // self.grid.columns
        noise = self.noise.ravel()[np.maximum(cell, 0)] / self.ground[row]
        return np.where(cell >= 0, noise, 0.0)

    def rings(
        self, longitude: Floats, latitude: Floats, edges: Floats, rule: DensityRule
    ) -> Floats:
        """Mean densities (n, k) of the rings between radii `edges` (k + 1,) around n positions.

        Each ring is read at points that a lattice of the golden ratio spreads evenly over it, from
        the surface at the resolution of their spacing. Distances on the ground are those of
        the scale at the position.
        """
        x, y = to_mercator(longitude, latitude)
        scale = np.cosh(y / MERCATOR_RADIUS_METRES) * MERCATOR_RADIUS_METRES / EARTH_RADIUS_METRES
        cell = self.grid.ground_cell_metres
        found = np.empty((len(x), len(edges) - 1))
        for ring, (inner, outer) in enumerate(itertools.pairwise(edges)):
            area = math.pi * (outer**2 - inner**2)
            points = int(np.clip(area / cell**2, FEWEST_POINTS, MOST_POINTS))
            spacing = math.sqrt(area / points)
            level = round(math.log2(max(spacing / cell, 1.0)))
            level = min(level, len(self._pyramid) - 1)
            index = np.arange(points) + 0.5
            angle = 2 * math.pi * index / points
            radius = np.sqrt(inner**2 + index * GOLDEN_SHARE % 1 * (outer**2 - inner**2))
            across, along = radius * np.cos(angle), radius * np.sin(angle)
            density = self._read(
                x[:, None] + scale[:, None] * across, y[:, None] + scale[:, None] * along, level
            )
            found[:, ring] = self._ruled(density, rule).mean(axis=1)
        return found

    def _read(self, x: Floats, y: Floats, level: int) -> Floats:
        """Bilinear between the centres of cells at a level of the pyramid, 0 outside the grid."""
        surface = self._pyramid[level]
        rows, columns = surface.shape
        cell = self.grid.cell * 2**level
        column = (x - self.grid.west) / cell
        row = (self.grid.north - y) / cell
        outside = (column < 0) | (column > columns) | (row < 0) | (row > rows)
        column = np.clip(column - 0.5, 0, columns - 1)
        row = np.clip(row - 0.5, 0, rows - 1)
        left, top = column.astype(np.int64), row.astype(np.int64)
        column -= left
        row -= top
        right = np.minimum(left + 1, columns - 1) - left
        place = top * columns + left
        below = np.where(top + 1 < rows, columns, 0)
        flat = surface.ravel()
        upper = flat[place] * (1 - column) + flat[place + right] * column
        place += below
        lower = flat[place] * (1 - column) + flat[place + right] * column
        return np.where(outside, 0.0, upper * (1 - row) + lower * row)

    def _ruled(self, density: Floats, rule: DensityRule) -> Floats:
        return between_lines(density, self.lines) if rule is DensityRule.CONTOURS else density


def between_lines(density: Floats, lines: Floats) -> Floats:
    """The source's rule: on a line its value, between two lines their mean.

    Beyond the highest line the highest, and 0 below the lowest, where the contour map shows
    nothing. `lines` (m,) ascend; shapes of `density` are kept.
    """
    if not lines.size:
        return np.zeros_like(density)
    values = np.concatenate([[0.0], (lines[1:] + lines[:-1]) / 2, lines[-1:]])
    above = np.searchsorted(lines, density, side="right")
    on_line = lines[np.maximum(above - 1, 0)] == density
    return np.where(on_line, density, values[above])


def ring_edges(travel_metres: float) -> Floats:
    """Radii (RINGS + 1,) from 0 to the travel limit."""
    return travel_metres * (np.arange(RINGS + 1) / RINGS) ** RING_POWER


def _halved(values: Floats) -> Floats:
    """Sums over blocks of two by two, the last row and column alone where they are odd."""
    rows, columns = values.shape
    even = np.pad(values, ((0, rows % 2), (0, columns % 2)))
    return np.asarray(even.reshape((rows + 1) // 2, 2, (columns + 1) // 2, 2).sum(axis=(1, 3)))
