"""Expected density of people at and around positions, from a release.

This is post-processing of noisy counts and costs no privacy.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, MERCATOR_RADIUS_METRES, to_mercator

Floats = NDArray[np.float64]

RINGS = 24
"""Number of rings around a task; the density is treated as constant within each ring."""

RING_POWER = 1.75
"""The outer radius of ring k of n is (k/n)^1.75 times the travel limit.

This makes rings narrower near the task, where more people accept.
"""

MIN_POINTS, MAX_POINTS = 8, 48
"""Smallest and largest number of points at which a ring is sampled.

Between these limits, the number of points is the ring's area divided by a cell's.
"""

TOGETHER = 1024
"""Number of tasks computed at once, so that arrays stay in the processor's cache."""

GOLDEN_SHARE = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class DensitySurface:
    """Surface of the expected number of people per square metre, never negative.

    `counts` (rows, columns) holds the expected people in each cell, and `noise` (rows, columns) the
    variance of each cell's noise.
    """

    grid: Grid
    counts: Floats
    noise: Floats

    @cached_property
    def ground(self) -> Floats:
        """Ground area (rows,) of a cell in each row, in square metres."""
        return self.grid.ground_areas

    @cached_property
    def _pyramid(self) -> list[Floats]:
        """Densities at full resolution, half of it, and so on, down to a single cell.

        Each array is padded by one cell that repeats the edge.
        """
        counts = self.counts
        area = np.broadcast_to(self.ground[:, None], counts.shape)
        levels = [counts / area]
        while max(counts.shape) > 1:
            counts, area = _halved(counts), _halved(area)
            levels.append(counts / np.maximum(area, np.finfo(np.float64).tiny))
        return [np.pad(level, 1, mode="edge") for level in levels]

    def at(self, longitude: Floats, latitude: Floats) -> Floats:
        """Return the number of people per square metre at positions (n,) in degrees.

        It is interpolated bilinearly between the centres of cells. Outside the grid it is 0.
        """
        x, y = to_mercator(longitude, latitude)
        column, row = self._place(x, y, 0)
        return self._read(column, row, 0)

    def noise_at(self, longitude: Floats, latitude: Floats) -> Floats:
        """Return, for each position (n,), the noise variance of its cell's count divided by the
        cell's ground area in square metres; 0 outside the grid.
        """
        x, y = to_mercator(longitude, latitude)
        cell = self.grid.locate(x, y)
        row = np.maximum(cell, 0) // self.grid.columns
        noise = self.noise.ravel()[np.maximum(cell, 0)] / self.ground[row]
        return np.where(cell >= 0, noise, 0.0)

    def rings(self, longitude: Floats, latitude: Floats, edges: Floats) -> Floats:
        """Return the mean densities (n, k) of k rings around each of n positions in degrees.

        `edges` (k + 1,) holds the radii that bound the rings, in metres. Each ring is sampled at
        the points of a golden-ratio lattice, which are evenly spread over the ring. The surface is
        read at a resolution of about the spacing of these points. Ground distances use the map
        scale at the position.
        """
        x, y = to_mercator(longitude, latitude)
        scale = np.cosh(y / MERCATOR_RADIUS_METRES) * MERCATOR_RADIUS_METRES / EARTH_RADIUS_METRES
        densities = np.empty((len(x), len(edges) - 1))
        for start in range(0, len(x), TOGETHER):
            chunk = slice(start, start + TOGETHER)
            densities[chunk] = self._rings(
                x[chunk, None], y[chunk, None], scale[chunk, None] / self.grid.cell, edges
            )
        return densities

    def _rings(self, x: Floats, y: Floats, scale: Floats, edges: Floats) -> Floats:
        """Return the mean densities (n, k) of rings for a chunk of positions; see `rings`.

        `x` and `y` (n, 1) are in Web Mercator; `scale` (n, 1) is in cells per metre on the ground.
        """
        cell = self.grid.ground_cell_metres
        densities = np.empty((len(x), len(edges) - 1))
        for ring, (inner, outer) in enumerate(itertools.pairwise(edges)):
            area = math.pi * (outer**2 - inner**2)
            points = int(np.clip(area / cell**2, MIN_POINTS, MAX_POINTS))
            spacing = math.sqrt(area / points)
            level = round(math.log2(max(spacing / cell, 1.0)))
            level = min(level, len(self._pyramid) - 1)
            index = np.arange(points) + 0.5
            angle = 2 * math.pi * index / points
            radius = np.sqrt(inner**2 + index * GOLDEN_SHARE % 1 * (outer**2 - inner**2))
            east, north = radius * np.cos(angle), radius * np.sin(angle)
            # Only the task's own position is converted to cells, and the offsets of the many points
            # around it are added to the result, to save time.
            column, row = self._place(x, y, level)
            step = scale / 2**level
            density = self._read(column + step * east, row - step * north, level)
            densities[:, ring] = density.mean(axis=1)
        return densities

    def _place(self, x: Floats, y: Floats, level: int) -> tuple[Floats, Floats]:
        """Return fractional columns and rows of Web Mercator positions at one level of the pyramid.

        They index the level's padded array: both are 0 at the centre of its first cell.
        """
        cell = self.grid.cell * 2**level
        return (x - self.grid.west) / cell + 0.5, (self.grid.north - y) / cell + 0.5

    def _read(self, column: Floats, row: Floats, level: int) -> Floats:
        """Interpolate bilinearly at one level of the pyramid; return 0 outside the grid.

        `column` and `row` are fractional, from `_place`. They are changed in place, since a radius
        map reads millions of points.
        """
        surface = self._pyramid[level]
        rows, columns = surface.shape[0] - 2, surface.shape[1] - 2
        across, along = np.clip(column, 0.5, columns + 0.5), np.clip(row, 0.5, rows + 0.5)
        outside = across != column
        outside |= along != row
        left, top = across.astype(np.int64), along.astype(np.int64)
        across -= left
        along -= top
        top *= columns + 2
        top += left
        flat = surface.ravel()
        upper, right = flat.take(top), flat[1:].take(top)
        right -= upper
        right *= across
        upper += right
        lower, right = flat[columns + 2 :].take(top), flat[columns + 3 :].take(top)
        right -= lower
        right *= across
        lower += right
        lower -= upper
        lower *= along
        upper += lower
        upper[outside] = 0.0
        return np.asarray(upper)


def ring_edges(travel_metres: float) -> Floats:
    """Return the radii of the circles that bound the RINGS rings, in metres.

    They ascend from 0 to the travel limit.
    """
    return travel_metres * (np.arange(RINGS + 1) / RINGS) ** RING_POWER


def _halved(values: Floats) -> Floats:
    """Return the sums over blocks of two rows and two columns.

    If the number of rows or columns is odd, the last blocks have only one row or column.
    """
    rows, columns = values.shape
    even = np.pad(values, ((0, rows % 2), (0, columns % 2)))
    return np.asarray(even.reshape((rows + 1) // 2, 2, (columns + 1) // 2, 2).sum(axis=(1, 3)))
