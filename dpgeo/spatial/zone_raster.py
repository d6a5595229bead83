"""Raster that says which zones contain a position, for most positions without geometry.

Every cell of the raster that an outline may intersect is marked. No outline separates positions in
two adjoining cells that are not marked, so the same zones contain both positions: one exact test
for a patch of such cells answers for all positions in the patch. Positions in marked cells are left
to the exact test. The zones of a position follow from the position and the zones alone, as with the
exact test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Positions and zones (m,) each, ordered by position, then zone."""

CELLS_PER_ZONE = 40
"""Number of cells along each side of a zone of average size."""

MOST_CELLS, FEWEST_CELLS = 4096, 32
"""Largest and smallest number of cells along each side."""

MOST_SAMPLES = 16_000_000
"""Largest number of samples of all outlines; the raster is coarser if outlines are long."""

SAMPLES_AT_ONCE = 1_000_000

STEP = 0.25
"""Largest distance, in cells, between samples of an outline; cells this close to a sample are
marked.

Every point of an outline is within half of this distance from a sample; the other half allows for
rounding.
"""

MARKED, OUTSIDE = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class ZoneRaster:
    """Patches of cells (rows, columns), numbered from 0, and the zones that contain each patch.

    Zones of patch i are `zones[first[i] : first[i + 1]]`. Cells that an outline may intersect are
    `MARKED`.
    """

    low: NDArray[np.float64]
    scale: NDArray[np.float64]
    patches: NDArray[np.int32]
    first: NDArray[np.int64]
    zones: NDArray[np.int64]

    @classmethod
    def over(cls, shapes: NDArray[np.object_], exact: Callable[..., Pairs]) -> ZoneRaster | None:
        """Make the raster of zones, or return None if outlines are too long for a raster.

        `exact(longitude, latitude)` returns the pairs of a position and a zone that contains it.
        """
        starts, ends = _edges(shapes)
        low, high = starts.min(axis=0), starts.max(axis=0)
        span = np.maximum(high - low, 1e-9)
        length = float((np.abs(ends - starts) / span).max(axis=1).sum())
        side = min(MOST_CELLS, CELLS_PER_ZONE * math.isqrt(len(shapes) - 1) + CELLS_PER_ZONE)
        side = min(side, int((MOST_SAMPLES - 2 * len(starts)) * STEP / max(length, 1.0)))
        if side < FEWEST_CELLS:
            return None
        scale = (side - 2) / span  # this leaves a row or column of free cells on every side
        low = low - 1 / scale
        marked = _marked((starts - low) * scale, (ends - low) * scale, side)
        patches, row, column = _patches(marked)
        centres = np.stack([column, row], axis=1) / scale + low + 0.5 / scale
        patch, zones = exact(centres[:, 0], centres[:, 1])
        first = np.searchsorted(patch, np.arange(len(row) + 1))
        return cls(low, scale, patches, first, zones)

    def locate(self, longitude: Any, latitude: Any) -> tuple[Pairs, NDArray[np.int64]]:
        """Return pairs for positions in patches, and the indices of positions left to test exactly.

        A pair is a position and a zone that contains it. Positions (n,) are in degrees. Positions
        outside the raster are in no zone.
        """
        side = len(self.patches)
        column = np.floor((longitude - self.low[0]) * self.scale[0])
        row = np.floor((latitude - self.low[1]) * self.scale[1])
        inside = (column >= 0) & (column < side) & (row >= 0) & (row < side)
        cell = np.where(inside, row * side + column, 0).astype(np.int64)
        patch = np.where(inside, self.patches.ravel()[cell], OUTSIDE)
        open_ = np.flatnonzero(patch >= 0)
        patch_of = patch[open_]
        number = np.diff(self.first)[patch_of]
        position = np.repeat(open_, number)
        place = np.arange(len(position)) - np.repeat(np.cumsum(number) - number, number)
        zone = self.zones[np.repeat(self.first[patch_of], number) + place]
        return (position, zone), np.flatnonzero(patch == MARKED)


def _edges(shapes: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the edges of all outlines begin and end, (n, 2) each, in degrees."""
    rings = shapely.get_rings(shapely.get_parts(shapes))
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    same = np.flatnonzero(ring[1:] == ring[:-1])
    return corners[same], corners[same + 1]


def _marked(starts: NDArray[np.float64], ends: NDArray[np.float64], side: int) -> NDArray[np.bool_]:
    """Return a mask (side, side) of the cells within STEP of an edge, in units of cells."""
    marked = np.zeros((side, side), dtype=bool)
    steps = np.ceil(np.abs(ends - starts).max(axis=1) / STEP).astype(np.int64) + 1
    after = np.cumsum(steps + 1)
    edge = 0
    while edge < len(steps):
        done = after[edge - 1] if edge else 0
        last = max(edge + 1, int(np.searchsorted(after, done + SAMPLES_AT_ONCE)))
        number = steps[edge:last] + 1
        which = np.repeat(np.arange(edge, last), number)
        place = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number)
        share = (place / steps[which])[:, np.newaxis]
        samples = starts[which] * (1 - share) + ends[which] * share
        for across in (-STEP, STEP):
            columns = (samples[:, 0] + across).astype(np.int64)
            for up in (-STEP, STEP):
                marked[(samples[:, 1] + up).astype(np.int64), columns] = True
        edge = last
    return marked


def _patches(
    marked: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Number the patches of unmarked cells; return them with a row and a column of each.

    A run of cells in a row belongs to the patch of the first run that it adjoins in the row before.
    Cells of one number are therefore connected, but a connected part may have several numbers.
    """
    patches = np.full(marked.shape, MARKED, dtype=np.int32)
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    number = 0
    empty = np.zeros(0, dtype=np.int64)
    starts_before, ends_before, patch_before = empty, empty, empty
    for row, line in enumerate(marked):
        turns = np.flatnonzero(np.diff(np.concatenate([[True], line, [True]]).astype(np.int8)))
        starts, ends = turns[::2], turns[1::2]
        above = np.searchsorted(ends_before, starts, side="right")
        known = above < len(ends_before)
        known[known] = starts_before[above[known]] < ends[known]
        patch = np.empty(len(starts), dtype=np.int64)
        patch[known] = patch_before[above[known]]
        fresh = np.flatnonzero(~known)
        patch[fresh] = number + np.arange(len(fresh))
        number += len(fresh)
        rows.append(np.full(len(fresh), row))
        columns.append(starts[fresh])
        patches[row, ~line] = np.repeat(patch, ends - starts)
        starts_before, ends_before, patch_before = starts, ends, patch
    return patches, np.concatenate(rows), np.concatenate(columns)
