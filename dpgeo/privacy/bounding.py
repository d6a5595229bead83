"""Contribution bounding: choosing which contributions of each person are counted.

If a person has places in more regions than the contribution bound l, places in l regions are kept.

Random. The places with the smallest keyed hashes are kept (SRA of Fan and Jin 2015). This costs no
epsilon.

Popular. The places in the most popular regions of a public list are kept (HPA of the same paper);
the keyed hash breaks ties. Popularity comes from a pilot measurement, which has its own epsilon:
every person adds one of their places, chosen at random, to the count of that place's region.

Privacy argument of `popular`. A person adds 1 to the popularity of one region, chosen by a function
of their own rows and the salt. So the vector of counts over the whole public list has L1
sensitivity 1, and measuring it with epsilon/10 is (epsilon/10)-differentially private. Fix its
noisy outcome. The ranks of regions are a function of that outcome alone. For a fixed salt, the
choice of which of a person's places are kept is then a function of that person's own rows, so
adding or removing a person does not change which places of other persons are kept. Given any
outcome of the pilot measurement, all counts therefore have the L1 sensitivity l, as with `random`.
By adaptive composition the two shares add up to epsilon. (Every person adds a single place. The
paper uses the smallest number of places of any person, which depends on the data; with d places per
person, both signal and noise would be d times as large.)

The public list. If zones or places are counted, they are the list. Otherwise it consists of the
cells of a coarse grid over the same frame, with POPULAR_CELLS along each side: over millions of
cells, noise would hide the popularity. A counted cell has the popularity of the coarse cell that
contains its centre. A counted cell larger than the coarse cells has the sum of the popularities of
all coarse cells whose centres lie in it. Popularity does not depend on slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Bounding
from dpgeo.core.slices import SlicedGrid, SlicedZones
from dpgeo.core.spend import Spend
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.zones import Zones

Listed: TypeAlias = Zones | NearPlaces
"""Declared regions: zones, or places, where a place's region is the ground nearer to that place
than to any other.
"""

Regions: TypeAlias = Grid | Listed
"""Cells of a grid, or declared zones or places: public regions that can be ranked by popularity.

To measure popularity, each person is counted in one region. It contains a position of that person,
chosen at random. A region's noisy count is its popularity.
"""

CountedRegions: TypeAlias = Regions | SlicedGrid
"""Public regions in which privacy units can be counted, with or without slices."""

ValuedRegions: TypeAlias = CountedRegions | SlicedZones
"""Public regions in which values can be added up, with or without slices."""

PILOT = "popularity of places"

PILOT_SHARE = Fraction(1, 10)
"""Share of epsilon that is spent on the pilot measurement of popularity."""

POPULAR_CELLS = 64
"""Number of cells along each side of the grid on which popularity is measured."""


def split(epsilon: Fraction, bounding: Bounding) -> tuple[list[Spend], Fraction]:
    """Return the spends for contribution bounding, and the epsilon that remains for the map."""
    if bounding is Bounding.RANDOM:
        return [], epsilon
    pilot = epsilon * PILOT_SHARE
    return [Spend(label=PILOT, epsilon=pilot)], epsilon - pilot


def usual_regions(_params: object, domain: Domain) -> Grid:
    """Return the coarse grid on which popularity is measured if no zones or places are counted."""
    return Grid.over(domain.area, POPULAR_CELLS)


class _WithCells(Protocol):
    @property
    def cells(self) -> int: ...


def counted_cells(params: _WithCells, domain: Domain) -> Grid:
    """Return the grid in whose cells a mechanism counts, with `params.cells` along each side."""
    return Grid.over(domain.area, params.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Popularity:
    """Noisy popularity counts (n,) of public regions, used to rank each person's places."""

    regions: Regions
    counts: NDArray[np.int64]

    def table(self, regions: ValuedRegions) -> RankTable:
        """Return the popularity ranks of `regions`.

        If zones or places are ranked, their own popularity must have been measured, and that of
        zones or places ranks no other regions. Otherwise raises ValueError.
        """
        if isinstance(regions, SlicedZones):
            regions = regions.zones
        if isinstance(self.regions, Listed) or isinstance(regions, Listed):
            if self.regions != regions:
                raise ValueError("Popularity was measured on other regions.")
            return RankTable(popularity_ranks(self.counts), 1, len(self.counts))
        grid = _grid_of(regions)
        if grid.rows >= self.regions.rows:
            return RankTable(popularity_ranks(self.counts), self.regions.rows, self.regions.columns)
        coarse_cell = coarse_cells(grid, self.regions)
        totals = np.zeros(grid.size, dtype=np.int64)
        np.add.at(totals, coarse_cell, self.counts)
        return RankTable(popularity_ranks(totals), grid.rows, grid.columns)


@dataclass(frozen=True, slots=True, eq=False)
class RankTable:
    """Popularity ranks of the cells of a coarse grid, int64 of shape (rows * columns,).

    Rank 0 is the most popular; equal counts have equal ranks. The cell in row r and column c of a
    fine grid of R rows and C columns has the rank of the coarse cell that contains its centre,
    computed in integers: row (2r + 1) * rows // (2R), column (2c + 1) * columns // (2C).
    """

    ranks: NDArray[np.int64]
    rows: int
    columns: int

    def of_cells(self, cells: NDArray[np.int64], regions: ValuedRegions) -> NDArray[np.int64]:
        """Return the popularity rank (n,) of each of `cells` (n,).

        `cells` are indices of cells or zones of `regions`.
        """
        if isinstance(regions, Listed | SlicedZones):
            return np.asarray(self.ranks[cells % len(self.ranks)], dtype=np.int64)
        grid = _grid_of(regions)
        row, column = np.divmod(cells % grid.size, grid.columns)
        table_row = (2 * row + 1) * self.rows // (2 * grid.rows)
        table_column = (2 * column + 1) * self.columns // (2 * grid.columns)
        ranks = self.ranks[table_row * self.columns + table_column]
        return np.asarray(ranks, dtype=np.int64)


def _grid_of(cells: Grid | SlicedGrid) -> Grid:
    """Return a grid without its slices, since popularity does not depend on them."""
    return cells.grid if isinstance(cells, SlicedGrid) else cells


def popularity_ranks(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks (n,) of counts (n,): 0 for the largest; equal counts have equal ranks."""
    return np.unique(-counts, return_inverse=True)[1].astype(np.int64)


def coarse_cells(coarse: Grid, fine: Grid) -> NDArray[np.int64]:
    """Return the index of the coarse cell that contains the centre of each fine cell (n,)."""
    row = (2 * np.arange(fine.rows) + 1) * coarse.rows // (2 * fine.rows)
    column = (2 * np.arange(fine.columns) + 1) * coarse.columns // (2 * fine.columns)
    return (row[:, None] * coarse.columns + column[None, :]).ravel().astype(np.int64)
