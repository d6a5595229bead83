"""Sets of cells as runs of consecutive indices, for grids too fine for a mask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CellRuns:
    """Set of cells as n ascending runs of consecutive cell indices.

    Each run starts at its index in `starts` and stops before its index in `ends`. Both arrays are
    int64 (n,).
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """Number of cells before each run, int64 (n + 1,).

        The last entry is the number of cells in all runs.
        """
        return np.concatenate([[0], np.cumsum(self.ends - self.starts)])

    @property
    def size(self) -> int:
        """Number of cells in the set."""
        return int(self.before[-1])

    def numbers(self, ranks: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the index (m,) of each cell in the set, given the ranks (m,) of the cells.

        The cell with the lowest index in the set has the rank 0.
        """
        run = np.searchsorted(self.before, ranks, side="right") - 1
        return np.asarray(self.starts[run] + ranks - self.before[run], dtype=np.int64)

    def ranks(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the rank (m,) of each cell in the set, given the indices (m,) of the cells.

        The cell with the lowest index has the rank 0; a cell that is not in the set gets -1.
        """
        run = np.searchsorted(self.starts, numbers, side="right") - 1
        inside = (run >= 0) & (numbers < self.ends[run])
        return np.where(inside, self.before[run] + numbers - self.starts[run], -1)
