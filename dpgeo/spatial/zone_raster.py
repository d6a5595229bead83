"""Raster that finds the zones of almost all positions without comparing them with outlines.

Every cell of the raster near an outline is marked. No outline runs between two adjoining cells that
are not marked, so the same zones contain all positions in both. Such cells form patches, and one
exact test for each patch finds the zones of all positions in it.

If only one edge is near a marked cell, and neither end of that edge, the edge's line divides the
cell into two parts (or misses the cell, and then the same zones contain the whole cell). Each part
is convex and no other outline is near, so the zones of a part are those of any unmarked cell that
has a point in common with it. On which side of the line a position lies is computed in floating
point, and relied on only if the position's distance from the line is far above rounding errors.
Positions in other marked cells, or too near to a line, are left to the exact test. The result
depends on the position and the zones alone, as with the exact test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.latitudes import Latitudes
from dpgeo.spatial.projection import METRES_PER_DEGREE, to_degrees

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Pairs of a position and a zone: arrays (m,) of their indices, sorted by position, then zone."""

CELLS_PER_ZONE = 20
"""Number of cells along each side of a zone of average size."""

MAX_CELLS, USUAL_CELLS, MIN_CELLS = 4096, 256, 32
"""Limits on the number of cells along each side of the raster: the largest number; the number used
if there are few zones; and the number below which no raster is made.
"""

MAX_MARKS = 5_000_000
"""Largest number of pairs of an edge and a cell near it; the raster is coarser for long outlines.
"""

MARKS_AT_ONCE = 1_000_000

NEAR = 2.0**-10
"""Distance in cells up to which a cell counts as near an edge.

It is far above the errors of positions, which are below CERTAIN.
"""

CERTAIN = 2.0**-20
"""Smallest distance in cells from an edge's line at which a position's side of it is certain.

Half of it allows for errors of approximate latitudes, half for rounding.
"""

MIN_CELL = 2.0**-20
"""Smallest side of a cell, in degrees, some 10 cm.

Where a position is converted from metres, it is rounded to some 2^-43 degrees, however small the
zones are. In cells of this size, that is less than a quarter of CERTAIN. In smaller cells, the
raster could contradict the exact test.
"""

MARKED, OUTSIDE, BESIDE = -1, -2, -3
"""Numbers that stand for no patch of cells.

MARKED is for cells left to the exact test, and OUTSIDE for positions outside the raster. Cells with
only one edge near them are numbered downwards from BESIDE.
"""

NEIGHBOURS = ((0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""Steps (rows, columns) to a cell's eight neighbours; those that share a side come first."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Distinct edges of outlines, from `starts` to `ends` (n, 2), in units of cells."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]

    def lines(self) -> NDArray[np.float64]:
        """Return (n, 3) with a, b, c of each line; (x, y) is a x + b y - c cells to the left of
        it.
        """
        step_x, step_y = (self.ends - self.starts).T
        normals = np.stack([-step_y, step_x], axis=1) / np.hypot(step_x, step_y)[:, np.newaxis]
        return np.column_stack([normals, (normals * self.starts).sum(axis=1)])


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """Cells (n,) with only one edge near them, and the patches to the left and right of that edge.

    A patch is a number of `ZoneRaster.patches`, or `MARKED` if no unmarked cell touches that side
    of the cell. `lines` are the lines of all edges (`Edges.lines`), and `edge` (n,) holds the index
    of each cell's edge.
    """

    lines: NDArray[np.float64]
    edge: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    def patches(
        self, cell: NDArray[np.int32], x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        """Return the patch (m,) in which each position lies, or `MARKED` if uncertain.

        `x` and `y` (m,) are the positions, and `cell` (m,) the index among these cells of the one
        that each position is in.
        """
        distance = _distances(self.lines, self.edge[cell], x, y)
        patch = np.where(distance > 0, self.left[cell], self.right[cell])
        patch[~(np.abs(distance) > CERTAIN)] = MARKED
        return patch


@dataclass(frozen=True, slots=True, eq=False)
class ZoneRaster:
    """Patches of cells (rows, columns), numbered from 0, and the zones that contain each patch.

    `patches` holds the number of each cell's patch, `BESIDE - i` for cell i of `crossed`, and
    `MARKED` for other cells near an outline. The zones of patch i are `zones[first[i] : first[i +
    1]]`. If no patch is in several zones, `single` holds the zone of each patch, or a negative
    number for a patch in none; two more entries at its end are for `OUTSIDE` and `MARKED`.
    `latitudes` converts Web Mercator metres, with errors of at most half of `CERTAIN`.
    """

    low: NDArray[np.float64]
    scale: NDArray[np.float64]
    patches: NDArray[np.int32]
    first: NDArray[np.int64]
    zones: NDArray[np.int64]
    crossed: Crossed
    single: NDArray[np.int64] | None
    latitudes: Latitudes | None

    @classmethod
    def over(cls, shapes: NDArray[np.object_], exact: Callable[..., Pairs]) -> ZoneRaster | None:
        """Make the raster of zones, or return None if outlines are too long for a raster.

        `exact(longitude, latitude)` returns the pairs of a position and a zone that contains it.
        """
        starts, ends = _edges(shapes)
        low = np.minimum(starts, ends).min(axis=0)
        span = np.maximum(np.maximum(starts, ends).max(axis=0) - low, 1e-9)
        length = float((np.abs(ends - starts) / span).sum())
        side = max(USUAL_CELLS, CELLS_PER_ZONE * math.isqrt(len(shapes)))
        side = min(side, MAX_CELLS, int((MAX_MARKS - 3 * len(starts)) / max(length, 1.0)))
        side = min(side, 4 + int(span.min() / MIN_CELL))
        if side < MIN_CELLS:
            return None
        # Two more rows or columns on every side, so that every cell near an outline has all of its
        # neighbours.
        scale = (side - 4) / span
        low = low - 2 / scale
        edges = Edges((starts - low) * scale, (ends - low) * scale)
        marks = _marks(edges, side)
        patches, row, column = _patches(marks != OUTSIDE)
        centres = np.stack([column, row], axis=1) / scale + low + 0.5 / scale
        patch, zones = exact(centres[:, 0], centres[:, 1])
        first = np.searchsorted(patch, np.arange(len(row) + 1))
        crossed = _add_crossed(patches, marks, edges)
        single = None
        if np.diff(first).max(initial=0) <= 1:
            single = np.full(len(row) + 2, OUTSIDE, dtype=np.int64)
            single[patch] = zones
        highest = low[1] + side / scale[1]
        latitudes = Latitudes.between(low[1], highest, error=CERTAIN / 2 / scale[1])
        return cls(low, scale, patches, first, zones, crossed, single, latitudes)

    def locate(self, longitude: Any, latitude: Any) -> tuple[Pairs, NDArray[np.int64]]:
        """Return the zones of positions as far as the raster shows them, and the positions it
        leaves open.

        The first result holds pairs of a position and a zone that contains it, the second the
        indices of the positions that are left to the exact test. Positions (n,) are in degrees.
        Positions outside the raster are in no zone.
        """
        x = (longitude - self.low[0]) * self.scale[0]
        y = (latitude - self.low[1]) * self.scale[1]
        return self._located(x, y)

    def locate_projected(self, x: Any, y: Any) -> tuple[Pairs, NDArray[np.int64]]:
        """Return the zones of positions (n,) in Web Mercator metres, and the positions to test.

        The form of the results is that of `locate`. Latitudes are approximated, unless the zones
        extend too far north and south for that. So other positions than with `locate` may be left
        to the exact test.
        """
        if self.latitudes is None:
            return self.locate(*to_degrees(x, y))
        across = np.multiply(x, self.scale[0] / METRES_PER_DEGREE)
        across -= self.low[0] * self.scale[0]
        up = self.latitudes(y)
        up -= self.low[1]
        up *= self.scale[1]
        return self._located(across, up)

    def _located(
        self, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> tuple[Pairs, NDArray[np.int64]]:
        """Return the zones of positions (n,) in units of cells, and the positions to test exactly.

        The form of the results is that of `locate`. A position with a NaN is in no zone.
        """
        side = len(self.patches)
        outside = None
        if x.size and not all(each.min() >= 0 and each.max() < side for each in (x, y)):
            outside = ~((x >= 0) & (x < side) & (y >= 0) & (y < side))
            x, y = np.where(outside, 0, x), np.where(outside, 0, y)
        patch = self.patches.ravel()[y.astype(np.int64) * side + x.astype(np.int64)]
        if outside is not None:
            patch[outside] = OUTSIDE
        beside = np.flatnonzero(patch <= BESIDE)
        patch[beside] = self.crossed.patches(BESIDE - patch[beside], x[beside], y[beside])
        left = np.flatnonzero(patch == MARKED)
        if self.single is not None:
            zone = self.single[patch]
            position = np.flatnonzero(zone >= 0)
            return (position, zone[position]), left
        open_ = np.flatnonzero(patch >= 0)
        which, place = _repeated(np.diff(self.first)[patch[open_]])
        position = open_[which]
        return (position, self.zones[self.first[patch[position]] + place]), left


def _distances(
    lines: NDArray[np.float64],
    edge: NDArray[np.int32],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return how far each position (m,) lies to the left of the line of its edge, in cells."""
    of_edge = lines[edge]
    return np.asarray(of_edge[:, 0] * x + of_edge[:, 1] * y - of_edge[:, 2])


def _edges(shapes: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the distinct edges of all outlines begin and end, (n, 2) each, in degrees.

    Outlines of neighbouring zones contain the same edge in opposite directions; it is returned
    once.
    """
    rings = shapely.get_rings(shapely.get_parts(shapes))
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    same = np.flatnonzero(ring[1:] == ring[:-1])
    starts, ends = corners[same], corners[same + 1]
    backwards = (starts[:, 0] > ends[:, 0]) | (
        (starts[:, 0] == ends[:, 0]) & (starts[:, 1] > ends[:, 1])
    )
    starts[backwards], ends[backwards] = ends[backwards], starts[backwards]
    both = np.hstack([starts, ends])
    both = both[np.lexsort(both.T)]
    fresh = np.any(np.diff(both, axis=0, prepend=np.nan) != 0, axis=1)
    fresh &= (both[:, :2] != both[:, 2:]).any(axis=1)
    return both[fresh, :2], both[fresh, 2:]


def _marks(edges: Edges, side: int) -> NDArray[np.int32]:
    """Return for each cell (side, side) whether edges are near it, and which if there is only one.

    The mark is `OUTSIDE` if no edge is near the cell. It is `BESIDE - i` if edge i is near, but no
    other edge and neither end of edge i. Otherwise it is `MARKED`.
    """
    marks = np.full(side * side, OUTSIDE, dtype=np.int32)
    several = []
    for cell, edge in _near(edges, side):
        known = marks[cell]
        several.append(cell[known != OUTSIDE])
        marks[cell] = BESIDE - edge
        # If several edges in this chunk are near a cell, `marks` keeps only the last one. The
        # cell's pairs with the others then differ from `marks`, which shows that several edges are
        # near.
        several.append(cell[marks[cell] != BESIDE - edge])
    for cells in several:
        marks[cells] = MARKED
    for corner in (edges.starts, edges.ends):
        for across in (-NEAR, NEAR):
            column = (corner[:, 0] + across).astype(np.int64)
            for up in (-NEAR, NEAR):
                marks[(corner[:, 1] + up).astype(np.int64) * side + column] = MARKED
    return marks.reshape(side, side)


def _near(edges: Edges, side: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield all pairs of a cell and an edge at most `NEAR` cells apart, each pair once, in chunks.

    A chunk is two arrays (m,): the indices of cells, row * side + column, and of edges.
    """
    x, y = edges.starts.T
    step_x, step_y = (edges.ends - edges.starts).T
    low = np.floor(np.minimum(y, y + step_y) - NEAR).astype(np.int64)
    rows = np.floor(np.maximum(y, y + step_y) + NEAR).astype(np.int64) - low + 1
    after = np.cumsum(rows + np.abs(step_x).astype(np.int64) + 2)
    begin = 0
    while begin < len(rows):
        done = after[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(after, done + MARKS_AT_ONCE)))
        edge, index = _repeated(rows[begin:end])
        edge += begin
        row = low[edge] + index
        # If an edge is nearly parallel to the rows, all of it is near each of its rows. Otherwise,
        # only the part between the two lines that bound a row is near that row.
        flat = np.abs(step_y[edge]) < NEAR
        slope = np.where(flat, 1.0, step_y[edge])
        shares = [np.clip((row + more - y[edge]) / slope, 0, 1) for more in (-NEAR, 1 + NEAR)]
        shares = [
            np.where(flat, share, each) for share, each in zip((0.0, 1.0), shares, strict=True)
        ]
        one, other = (x[edge] + share * step_x[edge] for share in shares)
        west = np.floor(np.minimum(one, other) - NEAR).astype(np.int64)
        columns = np.floor(np.maximum(one, other) + NEAR).astype(np.int64) - west + 1
        which, index = _repeated(columns)
        yield row[which] * side + west[which] + index, edge[which].astype(np.int32)
        begin = end


def _repeated(number: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each index i of `number` (n,) as many times as `number[i]` says.

    The second result is the number of earlier repetitions of the same index.
    """
    which = np.repeat(np.arange(len(number)), number)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number)


def _add_crossed(patches: NDArray[np.int32], marks: NDArray[np.int32], edges: Edges) -> Crossed:
    """Return the cells with only one edge near them; enter cell i as BESIDE - i in `patches`."""
    row, column = np.nonzero(marks <= BESIDE)
    lines, edge = edges.lines(), BESIDE - marks[row, column]
    left, right = np.full((2, len(edge)), MARKED, dtype=np.int32)
    for up, across in NEIGHBOURS:
        unknown = np.flatnonzero((left == MARKED) | (right == MARKED))
        patch = patches[row[unknown] + up, column[unknown] + across]
        open_, patch = unknown[patch >= 0], patch[patch >= 0]
        # The cell is divided by its edge. The middle of the side that it shares with the neighbour,
        # or the shared corner, lies in the part that touches the neighbour's patch.
        shared_x = np.asarray(column[open_] + (1 + across) / 2, dtype=np.float64)
        shared_y = np.asarray(row[open_] + (1 + up) / 2, dtype=np.float64)
        distance = _distances(lines, edge[open_], shared_x, shared_y)
        for part, there in ((left, distance > CERTAIN), (right, distance < -CERTAIN)):
            part[open_[there]] = patch[there]
    patches[row, column] = BESIDE - np.arange(len(row), dtype=np.int32)
    return Crossed(lines, edge, left, right)


def _patches(
    marked: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Divide the unmarked cells into patches, and number the patches.

    Returns the number of each cell's patch, or MARKED, and the row and column of one cell of each
    patch. A run of cells in a row belongs to the patch of the first run that it adjoins in the row
    before. So a patch is connected, but neighbouring patches may adjoin.
    """
    framed = np.pad(marked, ((0, 0), (1, 1)), constant_values=True)
    row, column = np.nonzero(framed[:, 1:] != framed[:, :-1])
    row_of_run, starts, ends = row[::2], column[::2], column[1::2]
    patch = np.empty(len(starts), dtype=np.int32)
    fresh: list[NDArray[np.int64]] = []
    number = 0
    before = slice(0, 0)
    bounds = np.searchsorted(row_of_run, np.arange(len(marked) + 1)).tolist()
    for begin, end in itertools.pairwise(bounds):
        here = slice(begin, end)
        ends_before = ends[before]
        above = np.searchsorted(ends_before, starts[here], side="right")
        known = above < len(ends_before)
        known[known] = starts[before][above[known]] < ends[here][known]
        patch[here][known] = patch[before][above[known]]
        new = begin + np.flatnonzero(~known)
        patch[new] = number + np.arange(len(new))
        number += len(new)
        fresh.append(new)
        before = here
    first = np.concatenate(fresh)
    patches = np.full(marked.shape, MARKED, dtype=np.int32)
    patches[~marked] = np.repeat(patch, ends - starts)
    return patches, row_of_run[first], starts[first]
