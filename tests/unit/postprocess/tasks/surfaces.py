"""Population density surfaces for tests of task plans."""

from __future__ import annotations

import numpy as np

from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

AREA = StudyArea.from_bounds(17.9, 59.2, 18.3, 59.4)


def even_surface(people_per_cell: float = 2.0, cells: int = 64) -> DensitySurface:
    """Return a surface with the same count in every cell of a grid over AREA."""
    grid = Grid.over(AREA, cells)
    counts = np.full(grid.shape, people_per_cell)
    return surface_of(grid, counts)


def two_towns(cells: int = 64) -> DensitySurface:
    """Return a surface with a large town and a small one, surrounded by empty land."""
    grid = Grid.over(AREA, cells)
    row, column = np.mgrid[0:cells, 0:cells] / cells
    large = 60 * np.exp(-((column - 0.45) ** 2 + (row - 0.4) ** 2) / 0.006)
    small = 15 * np.exp(-((column - 0.7) ** 2 + (row - 0.6) ** 2) / 0.003)
    counts = np.floor(large + small)
    return surface_of(grid, counts)


def surface_of(grid: Grid, counts: np.ndarray) -> DensitySurface:
    """Return a surface with the counts `counts`, whose noise has the variance 2 in each cell."""
    return DensitySurface(grid=grid, counts=counts, noise=np.full(grid.shape, 2.0))
