"""Optimal remapping of perturbed points by a public prior.

Idea. A public prior on where people are adds information to a perturbed point z: its report was
made in cell x with a posterior probability proportional to prior(x) exp(-rate d(x, z)). Remapping
moves z to the geometric median of this posterior, the position with the smallest expected distance
to the report. If people are distributed as the prior says, no other function of z gives positions
that are nearer to the reports on average.

Privacy. Remapping uses only the perturbed point and public numbers, so it costs no privacy, no
matter which prior is used.

Method. The posterior is computed on cells no wider than half of the noise scale, within a distance
that only a share TAIL of the reports exceeds. The median is computed by Weiszfeld's iteration,
starting from the mean. To avoid division by zero, the distance to a cell is the square root of
(distance to its centre)^2 + (mean distance within a cell)^2. Points are remapped by bilinear
interpolation between the medians of the cells around them, so the computing time hardly grows with
the number of points. Truncation is neglected: a point on the edge of the study area is treated as
if noise alone had moved it there. At most MAX_SIDE cells span the area. If they are wider than
MAX_CELL_SCALES noise scales, remapping would move points further than noise does, and points are
left unchanged.

References. Chatzikokolakis, ElSalamouny and Palamidessi, PoPETs 2017(4); Weiszfeld 1937.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import PlanarLaplace
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import ground_scale, to_degrees, to_mercator

Floats = NDArray[np.float64]

FINE_SCALE = 0.5
"""Largest width of a cell of the grid for remapping, as a multiple of the noise scale.

MAX_SIDE takes precedence and may make cells wider.
"""

MAX_SIDE = 512

MAX_CELL_SCALES = 2.0
"""Points are left unchanged if the grid for remapping has cells wider than this multiple of the
noise scale.
"""

TAIL = 0.01
"""The posterior leaves out cells so far away that noise moves only this share of reports further.
"""

MIN_PRIOR_SHARE = 1e-3
"""Smallest prior of a cell, as a share of the mean prior, so that no cell has probability 0."""

WITHIN = 0.3826
"""Mean distance between the centre of a square of side 1 and a point of that square."""

UPDATES = 8

CHUNK = 1 << 16
"""Number of distances computed at a time."""


def idle(noise: PlanarLaplace, prior: Density, area: StudyArea) -> list[Phrase]:
    """Return a list with a warning if a prior would hardly move the points, else an empty list.

    A prior assumes that people are spread evenly within each of its zones. If half of the people
    are expected in zones at least as wide as the circle that contains a point's report with 95 %
    probability, most reports lie in the same zone as their points, and the prior adds little. If
    the noise is too fine for the grid of cells, no point is moved at all.
    """
    if _too_coarse(_grid(area, noise), noise):
        none = Phrase(
            "The prior would move no point: noise as fine as this leaves reports within less than "
            "a cell of {side} x {side} of the study area. Leave it out.",
            side=MAX_SIDE,
        )
        return [none]
    far = noise.radius(0.95)
    if prior.ground_metres < 2 * far:
        return []
    few = Phrase(
        "The prior would hardly move a point: half of the people it expects are in areas at "
        "least {width:,.0f} m wide, and 19 of 20 points lie within {far:,.0f} m of their "
        "reports anyway. Declare one with smaller areas, or leave it out.",
        width=prior.ground_metres,
        far=far,
    )
    return [few]


def _too_coarse(grid: Grid, noise: PlanarLaplace) -> bool:
    return grid.ground_cell_metres * noise.rate > MAX_CELL_SCALES


class Remapping:
    """Remapping by a prior, prepared from public inputs before any noise is drawn."""

    def __init__(self, noise: PlanarLaplace, prior: Density, area: StudyArea) -> None:
        self._grid = grid = _grid(area, noise)
        self._medians = None
        if _too_coarse(grid, noise):
            return
        inside = grid.inside(area)
        expected = np.where(inside, prior.on(grid), 0.0)
        least = MIN_PRIOR_SHARE * expected.sum() / np.count_nonzero(inside)
        self._medians = Medians(grid, np.where(inside, np.maximum(expected, least), 0.0), noise)

    def apply(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Remap perturbed points (n,) in degrees, which must lie in the study area."""
        if self._medians is None:
            return longitude, latitude
        grid = self._grid
        x, y = to_mercator(longitude, latitude)
        column, row = self._medians.at((x - grid.west) / grid.cell, (grid.north - y) / grid.cell)
        return to_degrees(grid.west + column * grid.cell, grid.north - row * grid.cell)


class Medians:
    """Posterior medians of reports, for perturbed points at the centres of a grid's cells.

    `expected` is the prior, in the grid's shape. Positions are fractional columns and rows, counted
    from the grid's north-western corner.
    """

    def __init__(self, grid: Grid, expected: Floats, noise: PlanarLaplace) -> None:
        self._grid, self._rate = grid, noise.rate
        _, south, _, north = grid.bounds
        narrowest = grid.cell * min(ground_scale(south), ground_scale(north))
        self._reach = min(math.ceil(noise.radius(1 - TAIL) / narrowest), MAX_SIDE)
        self._around = np.pad(expected, self._reach)

    def at(self, column: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Return the columns and rows (n,) of remapped points.

        They are interpolated between the posterior medians for the four nearest cell centres.
        """
        rows, columns = self._grid.shape
        west = np.clip(np.floor(column - 0.5), 0, max(columns - 2, 0)).astype(np.int64)
        north = np.clip(np.floor(row - 0.5), 0, max(rows - 2, 0)).astype(np.int64)
        east = np.clip(column - 0.5 - west, 0, 1)
        south = np.clip(row - 0.5 - north, 0, 1)
        corners = [
            (np.minimum(north + down, rows - 1) * columns + np.minimum(west + right, columns - 1),
             (south if down else 1 - south) * (east if right else 1 - east))
            for down in (0, 1)
            for right in (0, 1)
        ]  # fmt: skip
        cells = np.unique(np.concatenate([cell for cell, _ in corners]))
        table = self._of_cells(cells)
        medians = np.zeros((2, len(column)))
        for cell, share in corners:
            medians += share * table[:, np.searchsorted(cells, cell)]
        return medians[0], medians[1]

    def _of_cells(self, cells: NDArray[np.int64]) -> Floats:
        """Return the posterior medians (2, n) for perturbed points at the centres of `cells` (n,).

        The first row holds fractional columns of the grid, the second fractional rows.
        """
        medians = np.empty((2, len(cells)))
        size = max(1, CHUNK // (2 * self._reach + 1) ** 2)
        for start in range(0, len(cells), size):
            row, column = np.divmod(cells[start : start + size], self._grid.columns)
            medians[:, start : start + size] = self._medians(column, row)
        return medians

    def _medians(self, column: NDArray[np.int64], row: NDArray[np.int64]) -> Floats:
        latitude = to_degrees(0, self._grid.north - (row + 0.5) * self._grid.cell)[1]
        metres = self._grid.cell * ground_scale(0) * np.cos(np.radians(latitude))
        steps = np.arange(-self._reach, self._reach + 1)
        distance = np.hypot(steps[None, :], steps[:, None])
        window = steps + self._reach
        weight = self._around[
            row[:, None, None] + window[:, None], column[:, None, None] + window[None, :]
        ] * np.exp(-(self._rate * metres)[:, None, None] * distance)
        east, south = _mean(weight, steps)
        for _ in range(UPDATES):
            offset_east, offset_south = steps - east[:, None], steps - south[:, None]
            squared = (offset_east**2)[:, None, :] + (offset_south**2)[:, :, None]
            east, south = _mean(weight / np.sqrt(squared + WITHIN**2), steps)
        return np.stack([column + 0.5 + east, row + 0.5 + south])


def _mean(weight: Floats, steps: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the weighted mean column (n,) and row (n,) of the cells in each of n square windows.

    `weight` (n, rows, columns) holds the cells' weights. `steps` holds the positions of a window's
    rows, and also of its columns, relative to its middle. The means are 0 for a window in which all
    weights are 0, such as one outside the study area.
    """
    columns, rows = weight.sum(axis=1), weight.sum(axis=2)
    total = rows.sum(axis=1)
    total[total == 0] = 1
    return columns @ steps / total, rows @ steps / total


def _grid(area: StudyArea, noise: PlanarLaplace) -> Grid:
    """Return a grid over the study area, with cells as fine as FINE_SCALE requires."""
    side = Grid.over(area, 1)
    wanted = math.ceil(side.ground_cell_metres * noise.rate / FINE_SCALE)
    return Grid.over(area, max(1, min(wanted, MAX_SIDE)))
