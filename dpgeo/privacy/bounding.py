"""Which of a person's places enter a measurement, where there are more than the bound allows.

Random. l of them by a keyed hash of their own content (SRA of Fan and Jin 2015). Costs nothing.

Popular. The l that lie in the most popular regions of a public list (their HPA), ties by the same
keyed hash. How popular a region is follows from a paid look: everybody adds one place, chosen
at random, to the count of its region.

Privacy argument of `popular`. A person adds 1 to the popularity of one region, chosen by a function
of their own rows and the salt, so the vector over the whole public list has L1 sensitivity 1, and
measuring it with epsilon/10 is (epsilon/10)-differentially private. Fix its noisy outcome. Ranks
are a function of it alone. For a fixed salt, which l places of a person are kept is then a function
of that person's own rows, so that adding or removing a person changes no other's choice: all
counts keep the L1 sensitivity l that `random` gives them, given any outcome of the look. Adaptive
composition adds the two shares up to epsilon. (A single place a person, rather than the source's
"minimum over persons" of how many there are, which looks at the data: with d places a person both
signal and noise would be d times as large.)

The list. Zones where zones are counted; otherwise the cells of a coarse grid over the same frame,
POPULAR_CELLS along each side, for on millions of cells the look would drown in its own noise. A
cell is as popular as the coarse cell that holds its centre, or, where it is larger than those, as
all coarse cells together whose centres it holds. Slices of time do not change how popular it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Bounding
from dpgeo.core.spend import Spend
from dpgeo.core.time_slices import SlicedGrid
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

Regions: TypeAlias = Grid | Zones
"""What popularity is measured on."""

CountedRegions: TypeAlias = Regions | SlicedGrid
"""What can be counted in."""

LOOK = "popularity of places"

LOOK_SHARE = Fraction(1, 10)

POPULAR_CELLS = 64
"""Along each side of the grid on which popularity is measured."""


def split(epsilon: Fraction, bounding: Bounding) -> tuple[list[Spend], Fraction]:
    """What choosing among a person's places costs, and what that leaves of epsilon."""
    if bounding is Bounding.RANDOM:
        return [], epsilon
    look = epsilon * LOOK_SHARE
    return [Spend(label=LOOK, epsilon=look)], epsilon - look


def usual_regions(_params: object, domain: Domain) -> Grid:
    """The coarse grid on which popularity is measured."""
    return Grid.over(domain.area, POPULAR_CELLS)


@dataclass(frozen=True, slots=True, eq=False)
class Popularity:
    """Noisy counts (n,) of public regions, by which a person's places are ranked."""

    regions: Regions
    counts: NDArray[np.int64]

    def table(self, regions: CountedRegions) -> RankTable:
        """The ranks by which places of these regions are chosen. Raises ValueError for others."""
        if isinstance(self.regions, Zones) or isinstance(regions, Zones):
            if self.regions is not regions:
                raise ValueError("Popularity was measured on other regions.")
            return RankTable(ranks_of(self.counts), 1, len(self.counts))
        grid = _grid_of(regions)
        if grid.rows >= self.regions.rows:
            return RankTable(ranks_of(self.counts), self.regions.rows, self.regions.columns)
        place = places(grid, self.regions)
        totals = np.zeros(grid.size, dtype=np.int64)
        np.add.at(totals, place, self.counts)
        return RankTable(ranks_of(totals), grid.rows, grid.columns)


@dataclass(frozen=True, slots=True, eq=False)
class RankTable:
    """Ranks int64 (rows * columns,), 0 for the most popular; equals share a rank.

    A cell of a grid of R x C cells looks its rank up at the place of its centre, in whole numbers:
    row (2r + 1) rows // 2R, column (2c + 1) columns // 2C.
    """

    ranks: NDArray[np.int64]
    rows: int
    columns: int

    def of_cells(self, cells: NDArray[np.int64], regions: CountedRegions) -> NDArray[np.int64]:
        """The ranks (n,) of cells or zones by number (n,)."""
        if isinstance(regions, Zones):
            return np.asarray(self.ranks[cells], dtype=np.int64)
        grid = _grid_of(regions)
        row, column = np.divmod(cells % grid.size, grid.columns)
        place_row = (2 * row + 1) * self.rows // (2 * grid.rows)
        place_column = (2 * column + 1) * self.columns // (2 * grid.columns)
        found = self.ranks[place_row * self.columns + place_column]
        return np.asarray(found, dtype=np.int64)


def _grid_of(cells: Grid | SlicedGrid) -> Grid:
    """The grid on the ground: popularity does not ask for the time."""
    return cells.grid if isinstance(cells, SlicedGrid) else cells


def ranks_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 for the largest count, 1 for the next smaller one, and so on (n,)."""
    return np.unique(-counts, return_inverse=True)[1].astype(np.int64)


def places(coarse: Grid, fine: Grid) -> NDArray[np.int64]:
    """The cell of a coarse grid that the centre of each cell of a finer one lies in (n,)."""
    row = (2 * np.arange(fine.rows) + 1) * coarse.rows // (2 * fine.rows)
    column = (2 * np.arange(fine.columns) + 1) * coarse.columns // (2 * fine.columns)
    return (row[:, None] * coarse.columns + column[None, :]).ravel().astype(np.int64)
