"""Exact coverage of grid cells by polygons, computed where edges cross grid lines.

Every edge is divided where it crosses a line of the grid, so that each piece lies in one cell.
Lengths are in fractions of a cell. A piece of height dv, at a mean distance of 1 - u from the
cell's right edge, adds the area dv (1 - u) to its own cell and dv to every cell to the right in the
same row. The sign of the area follows the direction of the ring. This is the area-accumulation rule
of font rasterisers. Time and memory grow with the number of pieces, not with the number of cells.
Edges are straight in degrees; areas are ground areas, by an equal-area projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a grid, as longitudes and latitudes; latitudes are negated so that both
    ascend.
    """

    grid: Grid

    @cached_property
    def x(self) -> Floats:
        """Longitudes (columns + 1,) of the lines between columns."""
        grid = self.grid
        return to_degrees(grid.west + np.arange(grid.columns + 1.0) * grid.cell, 0)[0]

    @cached_property
    def y(self) -> Floats:
        """Negated latitudes (rows + 1,) of the lines between rows."""
        grid = self.grid
        return -to_degrees(0, grid.north - np.arange(grid.rows + 1.0) * grid.cell)[1]

    @cached_property
    def heights(self) -> Floats:
        """Heights (rows,) of the rows in an equal-area projection: differences of sin(latitude)."""
        return np.diff(np.sin(np.radians(self.y)))

    @cached_property
    def widths(self) -> Floats:
        """Widths (columns,) of the columns in degrees."""
        return np.diff(self.x)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges (n,) of polygons, each stored from its northern to its southern end.

    `polygon` is the index of the edge's polygon. `x0` and `x1` are the longitudes of the edge's end
    points, and `y0` and `y1` the end points' negated latitudes, in degrees. `sign` is -1 if the
    ring runs northwards along the edge, else 1.
    """

    polygon: Ints
    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    sign: Floats

    def pieces(self, lines: Lines) -> int:
        """Return an upper bound on the number of pieces into which grid lines divide the edges."""
        across = np.abs(np.searchsorted(lines.x, self.x1) - np.searchsorted(lines.x, self.x0))
        along = np.searchsorted(lines.y, self.y1) - np.searchsorted(lines.y, self.y0)
        return int(across.sum() + along.sum()) + len(self.sign)


def edges_of(polygons: NDArray[np.object_]) -> Edges:
    """Return the edges of valid polygons and multipolygons (n,) in degrees."""
    oriented = shapely.orient_polygons(polygons)
    parts, polygon = shapely.get_parts(oriented, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    following = np.flatnonzero(ring[1:] == ring[:-1])
    start, end = corners[following], corners[following + 1]
    north = end[:, 1] > start[:, 1]
    start[north], end[north] = end[north], start[north].copy()
    return Edges(
        polygon=polygon[part[ring[following]]].astype(np.int64),
        x0=start[:, 0],
        y0=-start[:, 1],
        x1=end[:, 0],
        y1=-end[:, 1],
        sign=np.where(north, -1.0, 1.0),
    )


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces (n,) of edges, each in one cell, ordered along each edge.

    `edge` is the index of the piece's edge. `x0` and `x1` are the longitudes of the piece's end
    points, `v0` and `v1` the sines of the end points' negated latitudes.
    """

    edge: Ints
    row: Ints
    column: Ints
    x0: Floats
    v0: Floats
    x1: Floats
    v1: Floats


def divide(edges: Edges, lines: Lines) -> Pieces:
    """Divide edges at the lines of a grid, first into rows and then into columns."""
    edge, row, (x0, y0, x1, y1) = _in_rows(edges, lines)
    # 1 for pieces that run eastwards across the columns, and -1 for those that run westwards
    turn = np.where(x1 < x0, -1.0, 1.0)
    low, high = np.minimum(x0, x1), np.maximum(x0, x1)
    first, number = _spans(lines.x, low, high)
    piece, step = _repeated(number)
    last_step = (number - 1)[piece]
    forward = turn[piece] > 0
    column = first[piece] + np.where(forward, step, last_step - step)
    enter = lines.x[column + np.where(forward, 0, 1)]
    leave = lines.x[column + np.where(forward, 1, 0)]
    starts, ends = step == 0, step == last_step
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = ((y1 - y0) / (x1 - x0))[piece]
        ya = np.where(starts, y0[piece], y0[piece] + (enter - x0[piece]) * slope)
        yb = np.where(ends, y1[piece], y0[piece] + (leave - x0[piece]) * slope)
    return Pieces(
        edge=edge[piece],
        row=row[piece],
        column=column,
        x0=np.where(starts, x0[piece], enter),
        v0=np.sin(np.radians(ya)),
        x1=np.where(ends, x1[piece], leave),
        v1=np.sin(np.radians(yb)),
    )


def _in_rows(edges: Edges, lines: Lines) -> tuple[Ints, Ints, tuple[Floats, ...]]:
    """Divide edges at the lines between rows.

    Returns the index of each part's edge, the part's row, and its end points as arrays x0, y0, x1,
    y1.
    """
    first, number = _spans(lines.y, edges.y0, edges.y1)
    edge, step = _repeated(number)
    row = first[edge] + step
    starts, ends = step == 0, step == (number - 1)[edge]
    enter, leave = lines.y[row], lines.y[row + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = ((edges.x1 - edges.x0) / (edges.y1 - edges.y0))[edge]
        xa = np.where(starts, edges.x0[edge], edges.x0[edge] + (enter - edges.y0[edge]) * slope)
        xb = np.where(ends, edges.x1[edge], edges.x0[edge] + (leave - edges.y0[edge]) * slope)
    ya = np.where(starts, edges.y0[edge], enter)
    yb = np.where(ends, edges.y1[edge], leave)
    return edge, row, (xa, ya, xb, yb)


def _spans(lines: Floats, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """Return which intervals between ascending `lines` each range [low, high] overlaps.

    The first result holds the index of the first interval of each range, the second the
    number of intervals.
    """
    last = len(lines) - 2
    first = np.clip(np.searchsorted(lines, low, side="right") - 1, 0, last)
    final = np.clip(np.searchsorted(lines, high, side="left") - 1, 0, last)
    return first, np.maximum(final - first, 0) + 1


def _repeated(number: Ints) -> tuple[Ints, Ints]:
    """Return each index i of `number` (n,) as many times as `number[i]` says.

    The second result is the position of each repetition among those of the same index, counted from
    0.
    """
    index = np.repeat(np.arange(len(number)), number)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(number) - number, number)


@dataclass(frozen=True, eq=False)
class Coverage:
    """The cells of a grid that polygons cover, and the covered share of each.

    `key`, int64 (n,) ascending, has one entry for each cell that a polygon's outline intersects:
    the polygon's index times the number of cells, plus the cell's index. `share` (n,) is the share
    of that cell's ground that the polygon covers. `after` (n,) is the covered share, 0 or 1, of
    every cell to the right of that cell, up to the next one in its row that the outline intersects.
    """

    lines: Lines
    polygons: int
    edges: Edges
    pieces: Pieces
    key: Ints
    share: Floats
    after: Floats

    @property
    def polygon(self) -> Ints:
        """The index (n,) of the polygon in each entry of `key`; its outline intersects the cell."""
        return self.key // self.lines.grid.size

    @property
    def cell(self) -> Ints:
        """Indices (n,) of the cells in `key`, each row * columns + column."""
        return self.key % self.lines.grid.size

    @cached_property
    def runs(self) -> tuple[Ints, Ints, Ints]:
        """Runs of wholly covered cells that no outline intersects.

        The three arrays hold each run's polygon, its first cell, and the cell after its last.
        """
        columns = self.lines.grid.columns
        row = self.key // columns
        gap = (row[1:] == row[:-1]) & (np.diff(self.key) > 1) & (self.after[:-1] > 0.5)
        index = np.flatnonzero(gap)
        return self.polygon[index], self.cell[index] + 1, self.cell[index + 1]

    def to_the_left(self, polygon: Ints, row: Ints, column: Ints) -> Floats:
        """Return the share (n,) of each cell's left edge that the cell's polygon covers.

        `polygon`, `row` and `column` are (n,): the i-th cell is paired with the i-th polygon.
        """
        grid = self.lines.grid
        first = polygon * grid.size + row * grid.columns
        index = np.searchsorted(self.key, first + column) - 1
        known = (index >= 0) & (self.key[index] >= first)
        return np.where(known, self.after[index], 0.0)

    def untouched_inside(self, polygon: Ints, cell: Ints) -> NDArray[np.bool_]:
        """Return a mask (n,) of the cells that lie inside their polygon and off its outline.

        `polygon` (n,) holds the index of each cell's polygon.
        """
        grid = self.lines.grid
        key = polygon * grid.size + cell
        index = np.searchsorted(self.key, key)
        touched = self.key[np.minimum(index, len(self.key) - 1)] == key
        index -= 1
        known = (index >= 0) & (self.key[index] >= key - cell % grid.columns)
        return np.asarray(known & ~touched & (self.after[index] > 0.5))


def coverage(lines: Lines, edges: Edges, polygons: int) -> Coverage:
    """Return the cells that each polygon intersects, and the share of each cell that it covers."""
    pieces = divide(edges, lines)
    grid = lines.grid
    sign = edges.sign[pieces.edge]
    height = sign * (pieces.v1 - pieces.v0) / lines.heights[pieces.row]
    left = (pieces.x0 + pieces.x1) / 2 - lines.x[pieces.column]
    area = height * (1 - left / lines.widths[pieces.column])
    key = (edges.polygon[pieces.edge] * grid.rows + pieces.row) * grid.columns + pieces.column
    order = np.argsort(key, kind="stable")
    key, height, area = key[order], height[order], area[order]
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    key = key[begins]
    height, area = np.add.reduceat(height, begins), np.add.reduceat(area, begins)
    # The cumulative sums start anew in each row, by subtracting the sum of everything before the
    # row.
    row = key // grid.columns
    first = np.flatnonzero(np.diff(row, prepend=-1))
    total = np.cumsum(height)
    before = np.repeat((total - height)[first], np.diff(first, append=len(row)))
    after = total - before
    return Coverage(lines, polygons, edges, pieces, key, area + after - height, after)


def distinct(numbers: Ints) -> Ints:
    """Return the distinct numbers in ascending order; all numbers must be at least 0.

    Used instead of `numpy.unique`, whose hashing is a hundred times slower for keys that are
    products, such as polygon * size + cell.
    """
    numbers = np.sort(numbers)
    return numbers[np.diff(numbers, prepend=-1) > 0]


def as_array(shapes: Any) -> NDArray[np.object_]:
    """Convert a sequence of shapes to an object array (n,)."""
    array = np.empty(len(shapes), dtype=object)
    array[:] = shapes
    return array
