"""Moved points put where their reports were likeliest made, by a public prior.

Idea. Who knows beforehand how many people are where can say more of a moved point z than z: its
report was made in cell x with a probability proportional to prior(x) exp(-rate d(x, z)). The place
whose expected distance from there is least is that distribution's geometric median, and no other
place that is worked out from z is nearer to where the report was made, on average over people who
are spread as the prior says.

Privacy. A map of the moved point and of public numbers alone: free, whatever the prior.

How. The posterior is taken on cells no wider than half of the noise's scale, within the distance
that all but TAIL of the reports stay in; the median by Weiszfeld's iteration from the mean. To the
distance from a cell's centre the mean distance within a cell is added, by squares, so that there
is no division by nothing. Points share the medians of the cells around them, bilinearly: what it
takes is limited however many points there are. That points beyond the study area were put on its
edge is left out: what lies on an edge is taken to have been carried there. There are no more cells
than FINEST_SIDE across the area; where noise is so fine that these are wider than COARSEST of its
scales, they would move points further than noise does, and points stay where they are.

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
"""Cells are at most so many scales of the noise wide, as far as FINEST_SIDE allows."""

FINEST_SIDE = 512

COARSEST = 2.0
"""On cells of more scales of the noise than this there is no telling where a report was made."""

TAIL = 0.01
"""Share of reports that are moved further than the posterior is looked at."""

LEAST = 1e-3
"""A cell is expected to hold at least so many times the mean: no place is impossible."""

WITHIN = 0.3826
"""Mean distance of a square's points from its centre, in sides."""

UPDATES = 8

CHUNK = 1 << 16
"""Distances in hand at a time."""


def idle(noise: PlanarLaplace, prior: Density, area: StudyArea) -> list[Phrase]:
    """Say why a prior would leave points about where they are; nothing where it would not.

    Within an area as wide as the circle that holds 95 % of the reports a prior expects people
    evenly, and most points come from no other.
    """
    if _too_coarse(_grid(area, noise), noise):
        none = Phrase(
            "The prior would move no point: noise as fine as this leaves reports within less than "
            "a cell of {side} x {side} of the study area. Leave it out.",
            side=FINEST_SIDE,
        )
        return [none]
    far = noise.radius(0.95)
    if prior.ground_metres < 2 * far:
        return []
    few = Phrase(
        "The prior would hardly move a point: half of the people it expects are in areas at least "
        "{width:,.0f} m wide, and 19 of 20 points lie within {far:,.0f} m of their reports anyway. "
        "Declare one of finer areas, or leave it out.",
        width=prior.ground_metres,
        far=far,
    )
    return [few]


def _too_coarse(grid: Grid, noise: PlanarLaplace) -> bool:
    return grid.ground_cell_metres * noise.rate > COARSEST


class Remapping:
    """Where a prior puts moved points: made of public inputs alone, so before anything is drawn."""

    def __init__(self, noise: PlanarLaplace, prior: Density, area: StudyArea) -> None:
        self._grid = grid = _grid(area, noise)
        self._medians = None
        if _too_coarse(grid, noise):
            return
        inside = grid.inside(area)
        expected = np.where(inside, prior.on(grid), 0.0)
        least = LEAST * expected.sum() / np.count_nonzero(inside)
        self._medians = Medians(grid, np.where(inside, np.maximum(expected, least), 0.0), noise)

    def apply(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Where moved points (n,) in degrees, all in the area, are put; in degrees."""
        if self._medians is None:
            return longitude, latitude
        grid = self._grid
        x, y = to_mercator(longitude, latitude)
        column, row = self._medians.at((x - grid.west) / grid.cell, (grid.north - y) / grid.cell)
        return to_degrees(grid.west + column * grid.cell, grid.north - row * grid.cell)


class Medians:
    """Posterior medians by cell of a grid: for moved points at the cells' centres.

    `expected` is the prior, of the grid's shape. Columns and rows are counted in cells from the
    grid's north-western corner, fractions included.
    """

    def __init__(self, grid: Grid, expected: Floats, noise: PlanarLaplace) -> None:
        self._grid, self._rate = grid, noise.rate
        _, south, _, north = grid.bounds
        narrowest = grid.cell * min(ground_scale(south), ground_scale(north))
        self._reach = min(math.ceil(noise.radius(1 - TAIL) / narrowest), FINEST_SIDE)
        self._around = np.pad(expected, self._reach)

    def at(self, column: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Medians of points (n,): bilinear between those of the four cells around each."""
        rows, columns = self._grid.shape
        west = np.clip(np.floor(column - 0.5), 0, max(columns - 2, 0)).astype(np.int64)
        north = np.clip(np.floor(row - 0.5), 0, max(rows - 2, 0)).astype(np.int64)
        across = np.clip(column - 0.5 - west, 0, 1)
        along = np.clip(row - 0.5 - north, 0, 1)
        corners = [
            (np.minimum(north + down, rows - 1) * columns + np.minimum(west + right, columns - 1),
             (along if down else 1 - along) * (across if right else 1 - across))
            for down in (0, 1)
            for right in (0, 1)
        ]  # fmt: skip
        cells = np.unique(np.concatenate([cell for cell, _ in corners]))
        table = self._of_cells(cells)
        found = np.zeros((2, len(column)))
        for cell, share in corners:
            found += share * table[:, np.searchsorted(cells, cell)]
        return found[0], found[1]

    def _of_cells(self, cells: NDArray[np.int64]) -> Floats:
        """Medians' columns and rows (2, n) of the centres of cells by number (n,)."""
        found = np.empty((2, len(cells)))
        size = max(1, CHUNK // (2 * self._reach + 1) ** 2)
        for start in range(0, len(cells), size):
            row, column = np.divmod(cells[start : start + size], self._grid.columns)
            found[:, start : start + size] = self._medians(column, row)
        return found

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
            across, along = steps - east[:, None], steps - south[:, None]
            off = (across**2)[:, None, :] + (along**2)[:, :, None]
            east, south = _mean(weight / np.sqrt(off + WITHIN**2), steps)
        return np.stack([column + 0.5 + east, row + 0.5 + south])


def _mean(weight: Floats, steps: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Mean column and row (n,), of weights (n, rows, columns) at so many steps.

    0 where all weights are, as beside an area that nothing within reach lies in.
    """
    columns, rows = weight.sum(axis=1), weight.sum(axis=2)
    total = rows.sum(axis=1)
    total[total == 0] = 1
    return columns @ steps / total, rows @ steps / total


def _grid(area: StudyArea, noise: PlanarLaplace) -> Grid:
    """Cells as narrow as FINE_SCALE asks for."""
    side = Grid.over(area, 1)
    wanted = math.ceil(side.ground_cell_metres * noise.rate / FINE_SCALE)
    return Grid.over(area, max(1, min(wanted, FINEST_SIDE)))
