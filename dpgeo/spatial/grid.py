"""Grids of square cells in Web Mercator, over the frame of a study area.

The frame is a square around the study area; all grids of a study area have the same frame.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.cell_runs import CellRuns
from dpgeo.spatial.prepared import prepared
from dpgeo.spatial.projection import (
    EARTH_RADIUS_METRES,
    MERCATOR_RADIUS_METRES,
    ground_scale,
    to_degrees,
    to_mercator,
)

FRAME_STEP_METRES = 4.096
"""The side of every frame is a multiple of this length.

Dividing the side by a power of two up to 4096 then gives a whole number of millimetres, so that
grids with 64, 256 and 1024 cells along a side nest exactly.
"""

BLOCK_SIDES = (512, 64, 8, 1)
"""Side lengths, in cells, of the blocks used to find the cells on a shape's outline."""

BAND_ROWS = 512
"""Number of rows of a mask held in memory at a time; with 32768 columns they take 16 MB."""

EDGE_METRES = 1e-6
"""A cell within this distance (in Web Mercator metres) of the study area counts as intersecting it.

The distance is far above rounding errors and far below the side length of a cell.
"""


@dataclass(frozen=True, slots=True)
class Grid:
    """Square cells over the frame of a study area, a square around it in Web Mercator.

    Row 0 is the northernmost row and column 0 the westernmost, as in an image. `west`, `north` and
    `cell` are Web Mercator metres.
    """

    west: float
    north: float
    cell: float
    columns: int
    rows: int

    @classmethod
    def over(cls, area: StudyArea, cells: int) -> Self:
        """Divide the frame of `area` into `cells` rows and `cells` columns.

        Cells that do not intersect the area are publicly known to be empty, see `inside`.
        """
        if cells < 1:
            raise ValueError("A grid needs at least one cell along each side.")
        west, south, east, north = area.mercator_bounds
        # An extra centimetre ensures that the area stays inside the frame when the frame's corner
        # is rounded.
        steps = math.floor((max(east - west, north - south) + 0.01) / FRAME_STEP_METRES) + 1
        side = steps * FRAME_STEP_METRES
        return cls(
            west=round((west + east - side) / 2, 3),
            north=round((south + north + side) / 2, 3),
            cell=side / cells,
            columns=cells,
            rows=cells,
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the grid that a document from `to_json` defines."""
        return cls(**document)

    def to_json(self) -> dict[str, float | int]:
        """Return the grid's definition: `west`, `north`, `cell`, `columns` and `rows`."""
        return {
            "west": self.west,
            "north": self.north,
            "cell": self.cell,
            "columns": self.columns,
            "rows": self.rows,
        }

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (rows, columns) of an array of counts."""
        return self.rows, self.columns

    @property
    def size(self) -> int:
        """Number of cells in the grid."""
        return self.rows * self.columns

    @property
    def mercator_bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edges in Web Mercator metres."""
        return (
            self.west,
            self.north - self.rows * self.cell,
            self.west + self.columns * self.cell,
            self.north,
        )

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edges in degrees."""
        west, south, east, north = self.mercator_bounds
        lon, lat = to_degrees([west, east], [south, north])
        return float(lon[0]), float(lat[0]), float(lon[1]), float(lat[1])

    @property
    def ground_cell_metres(self) -> float:
        """Side of a cell in metres on the ground, at the middle of the frame."""
        _, south, _, north = self.bounds
        return self.cell * ground_scale((south + north) / 2)

    @property
    def ground_areas(self) -> NDArray[np.float64]:
        """Ground area (rows,), in square metres, of a cell in each row, exact on the sphere."""
        edges = self.north - np.arange(self.rows + 1) * self.cell
        latitude = np.radians(to_degrees(np.zeros(self.rows + 1), edges)[1])
        heights = -np.diff(np.sin(latitude)) * EARTH_RADIUS_METRES
        return np.asarray(heights * EARTH_RADIUS_METRES * self.cell / MERCATOR_RADIUS_METRES)

    def locate(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
        """Return the index of the cell at each Web Mercator position, row * columns + column.

        The index is -1 for positions outside the grid.
        """
        column = np.floor((np.asarray(x, dtype=np.float64) - self.west) / self.cell)
        row = np.floor((self.north - np.asarray(y, dtype=np.float64)) / self.cell)
        inside = (column >= 0) & (column < self.columns) & (row >= 0) & (row < self.rows)
        number = np.where(inside, row * self.columns + column, -1)
        return number.astype(np.int64)

    def inside(self, area: StudyArea) -> NDArray[np.bool_]:
        """Return a mask (rows, columns) of the cells that intersect the study area.

        Every position of a dataset is in its study area, so the other cells are publicly known to
        be empty. The mask depends on public inputs alone.
        """
        return self._inside_rows(area, 0, self.rows)

    def inside_runs(self, area: StudyArea) -> CellRuns:
        """Return the cells that intersect the study area, as runs of consecutive cell indices.

        These are the cells that `inside` marks. To save memory, they are computed for BAND_ROWS
        rows at a time.
        """
        starts, ends = [], []
        for first in range(0, self.rows, BAND_ROWS):
            mask = self._inside_rows(area, first, min(first + BAND_ROWS, self.rows))
            bounded = np.concatenate([[False], mask.ravel(), [False]])
            edges = np.flatnonzero(bounded[1:] != bounded[:-1]) + first * self.columns
            starts.append(edges[::2])
            ends.append(edges[1::2])
        return CellRuns(np.concatenate(starts), np.concatenate(ends))

    def most_inside(self, area: StudyArea) -> int:
        """Return an upper bound on the number of cells that intersect the area, from its bounds."""
        rows, columns = self._sides(0, self.rows)
        in_rows, in_columns = _overlap(area, rows, columns)
        return int(np.count_nonzero(in_rows)) * int(np.count_nonzero(in_columns))

    def touching(self, shape: Any) -> NDArray[np.bool_]:
        """Return a mask (rows, columns) of the cells that intersect a shape in degrees."""
        rows, columns = self._sides(0, self.rows)
        longitudes = to_degrees(columns, 0)[0]
        latitudes = to_degrees(0, rows)[1]
        return self._touching(shape, longitudes, latitudes)

    def window(self, bounds: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
        """Return the range of cells that intersect a box in degrees.

        `bounds` are (west, south, east, north). The range is (first row, row after the last, first
        column, column after the last); it is empty if no cell intersects the box.
        """
        (west, east), (south, north) = to_mercator(bounds[::2], bounds[1::2])
        top = math.floor((self.north - north - EDGE_METRES) / self.cell)
        bottom = math.floor((self.north - south + EDGE_METRES) / self.cell) + 1
        left = math.floor((west - self.west - EDGE_METRES) / self.cell)
        right = math.floor((east - self.west + EDGE_METRES) / self.cell) + 1
        top, left = max(0, top), max(0, left)
        return top, max(top, min(bottom, self.rows)), left, max(left, min(right, self.columns))

    def part(self, top: int, bottom: int, left: int, right: int) -> Self:
        """Return the part of the grid in the given range of rows and columns.

        Rows run from `top` to before `bottom`, and columns from `left` to before `right`.
        """
        return type(self)(
            west=self.west + left * self.cell,
            north=self.north - top * self.cell,
            cell=self.cell,
            columns=right - left,
            rows=bottom - top,
        )

    def _inside_rows(self, area: StudyArea, first: int, after: int) -> NDArray[np.bool_]:
        """Return the rows `first` to `after` - 1 of the mask that `inside` returns."""
        rows, columns = self._sides(first, after)
        in_rows, in_columns = _overlap(area, rows, columns)
        mask: NDArray[np.bool_] = in_rows[:, None] & in_columns[None, :]
        if not area.is_box:
            # Cells and area are compared in degrees, where cells are boxes and the area's edges are
            # straight, as in `StudyArea.covers`. In Web Mercator a long slanted edge is a curve.
            longitudes = to_degrees(columns, 0)[0]
            latitudes = to_degrees(0, rows)[1]
            mask &= self._touching(area.shape, longitudes, latitudes)
        return mask

    def _sides(self, first: int, after: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the edges of the rows `first` to `after` - 1, and of all columns.

        The first array (2, n) holds the southern and northern edges of the rows, the second (2,
        columns) the western and eastern edges of the columns. They are in Web Mercator metres,
        and lie EDGE_METRES outside the cells.
        """
        left = self.west + np.arange(self.columns) * self.cell - EDGE_METRES
        right = left + self.cell + 2 * EDGE_METRES
        top = self.north - np.arange(first, after) * self.cell + EDGE_METRES
        bottom = top - self.cell - 2 * EDGE_METRES
        return np.stack([bottom, top]), np.stack([left, right])

    def _touching(
        self, shape: Any, longitudes: NDArray[np.float64], latitudes: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return a mask (rows, columns) of the cells that intersect a shape in degrees.

        `longitudes` (2, columns) holds the western and eastern edges of the columns, and
        `latitudes` (2, rows) the southern and northern edges of the rows, in degrees. Whole blocks
        of cells are compared first, and only blocks on the outline are divided further. So time and
        memory grow with the length of the outline, not with the number of cells.
        """
        shape = prepared(shape)
        (west, east), (south, north) = longitudes, latitudes
        rows, columns = latitudes.shape[1], longitudes.shape[1]
        mask = np.zeros((rows, columns), dtype=np.bool_)
        starts = np.meshgrid(
            np.arange(0, rows, BLOCK_SIDES[0]),
            np.arange(0, columns, BLOCK_SIDES[0]),
            indexing="ij",
        )
        row, column = starts[0].ravel(), starts[1].ravel()
        for side, smaller in itertools.pairwise((*BLOCK_SIDES, 1)):
            end_row = np.minimum(row + side, rows)
            end_column = np.minimum(column + side, columns)
            squares = shapely.box(
                west[column], south[end_row - 1], east[end_column - 1], north[row]
            )
            touched = shapely.intersects(shape, squares)
            if side == 1:
                mask[row[touched], column[touched]] = True
                break
            whole = touched & shapely.covers(shape, squares)
            for block in np.nonzero(whole)[0]:
                block_rows = slice(row[block], end_row[block])
                mask[block_rows, column[block] : end_column[block]] = True
            cut = touched & ~whole
            row, column = _split(row[cut], column[cut], side, smaller)
            valid = (row < rows) & (column < columns)
            row, column = row[valid], column[valid]
        return mask

    def box_bounds(self, boxes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return the bounds of boxes of cells (n, 4) as (west, south, east, north) in degrees.

        A box is (first row, row after the last, first column, column after the last).
        """
        # Boxes share edges, so each edge of the grid is converted to degrees only once.
        longitude, latitude = to_degrees(
            self.west + np.arange(self.columns + 1) * self.cell,
            self.north - np.arange(self.rows + 1) * self.cell,
        )
        top, bottom, left, right = np.asarray(boxes).T
        return np.column_stack([longitude[left], latitude[bottom], longitude[right], latitude[top]])


def _overlap(
    area: StudyArea, rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the rows (n,) and the columns (m,) that intersect the area's bounds.

    `rows` (2, n) and `columns` (2, m) are edges, as returned by `Grid._sides`.
    """
    west, south, east, north = area.mercator_bounds
    in_rows = (rows[1] >= south) & (rows[0] <= north)
    in_columns = (columns[0] <= east) & (columns[1] >= west)
    return in_rows, in_columns


def _split(
    row: NDArray[np.int64], column: NDArray[np.int64], side: int, smaller: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide blocks of `side` x `side` cells into blocks of `smaller` x `smaller` cells.

    Returns the first row and the first column of each smaller block.
    """
    step_row, step_column = np.divmod(np.arange((side // smaller) ** 2), side // smaller)
    rows = row[:, None] + smaller * step_row
    columns = column[:, None] + smaller * step_column
    return rows.ravel(), columns.ravel()
