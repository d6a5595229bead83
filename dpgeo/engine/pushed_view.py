"""Private view of a table whose counts by cell are made by the table's own engine.

Counts of people, visits or records in the cells of a grid, which most maps are made of, are bounded
and counted at the source (`engine.source_sql`), and only the bounded counts come here. Everything
else needs more than cells: zones, slices of time and categories, popular bounding, averages, trips,
points. For that, rows are read in batches as from a registered folder (`engine.in_place`), by the
same view.

Privacy argument. Both ways bound each person's contributions by a function of that person's own
rows. Which way is taken depends on what is asked for and on the declared types of the columns, and
never on rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.guarantees import Counting
from dpgeo.engine.in_place import InPlaceView, Rows
from dpgeo.privacy.bounding import ValuedRegions
from dpgeo.spatial.grid import Grid

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Cells (n,) and their bounded counts (n,)."""


class Counter(Protocol):
    """Counts the rows of a table at their source."""

    def count(self, grid: Grid, *, counting: Counting, bound: int, draw: int) -> Iterator[Counts]:
        """Yield the bounded counts of the occupied cells, each cell once."""


class PushedView(InPlaceView):
    """A `PrivateView` of `rows` whose counts by cell come from `counter`."""

    def __init__(self, rows: Rows, counter: Counter, **settings: Any) -> None:
        super().__init__(rows, **settings)
        self._counter = counter

    def _counted(self, regions: ValuedRegions) -> Iterator[Counts]:
        if not isinstance(regions, Grid) or self._popularity is not None:
            yield from super()._counted(regions)
            return
        draw = public_draw(self._file.salt)
        empty = np.zeros(0, dtype=np.int64)
        yield empty, empty
        yield from self._counter.count(
            regions, counting=self._counting, bound=self._bound, draw=draw
        )
        if self._progress:
            self._progress(1, 1)


def public_draw(salt: bytes) -> int:
    """Return a public number below 2^62 that does not reveal the secret salt it follows from.

    A job that is repeated uses the same one, so it draws the same sample.
    """
    digest = hashlib.blake2b(b"sample at the source", key=salt, digest_size=8).digest()
    return int.from_bytes(digest) >> 2
