"""What a mechanism may ask of a private dataset."""

from __future__ import annotations

from typing import Protocol

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.spatial.grid import Grid


class PrivateView(Protocol):
    """A dataset with contributions bounded to `bound` per unit; counts come out opaque."""

    @property
    def domain(self) -> Domain:
        """The public study area, outside which there is no position, and the layers named."""

    @property
    def unit(self) -> Unit:
        """Whose presence is hidden."""

    @property
    def counting(self) -> Counting:
        """Whether a cell counts distinct people or visits."""

    @property
    def bound(self) -> int:
        """The most cells (people) or records (visits) that one unit adds."""

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Counts per cell, of the grid's shape and L1 sensitivity `bound`."""

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """The same counts of cells by number, row * columns + column, for very fine grids."""
