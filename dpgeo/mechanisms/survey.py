"""Measurements of quadtree nodes in phases, and the surface inferred from them.

The mechanisms auto, auto-by-time and quadtree share this code. They decide which nodes are
measured, and under which labels; `phases_after` and `phases_after_look` choose the phases of auto.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise, DiscreteLaplace
from dpgeo.core.released import PhasedRelease
from dpgeo.postprocess.empirical_bayes import NoiseKind
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import boxes
from dpgeo.postprocess.pyramid import Floats, padded, pooled
from dpgeo.postprocess.surface import infer, quiet, smooth
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid

UNALLOCATED = "counts of areas, allocated after the pilot"
LATER = "counts of areas, allocated after the grid of equal squares"

PILOT_SHARE = Fraction(2, 100)
LAST_SHARE = Fraction(40, 100)
"""Smallest share of epsilon for the last phase."""

MANY, VERY_MANY = 3000.0, 30_000.0
"""Thresholds on the expected number of records, in units of l/epsilon, for `phases_after`.

Below MANY, two phases have squares of different sizes; above it, one. Above VERY_MANY, a coarser
grid is counted as well, because counts of large squares would otherwise be sums of many noisy
counts.
"""

FEWER = 4
"""Under zCDP, every cell is counted by itself if squares that sum several cells would have at least
this many times the squared sensitivity of single cells (`counts_every_cell`).
"""

FIRST_SHARE = Fraction(35, 100)
"""Share of epsilon for equal squares if the phases after them are chosen from their counts."""

MEDIUM = 15_000.0
"""Threshold on the expected number of records, in units of l/epsilon.

Between MANY and MEDIUM, the phases after the equal squares are chosen from their counts. On
generated maps with 4,000 and 10,000 such units, this lowers errors by 10 to 20 % on average; with
25,000 it would raise them by 5 %.
"""

CONCENTRATED = 50.0
"""If the `concentration` of the equal squares' counts is above this, one phase of squares of
different sizes follows, otherwise two.

The limit was chosen on generated maps with 100,000 records at epsilon 0.1. Of these, the only ones
above it are a table of two attributes, both mostly zero, people in a corner, and roads that meet in
one square.
"""

PER_SQUARE = 40.0
"""Target for the average count per square in the grid of equal squares, in units of l/epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A phase after the pilot measurement: its share of epsilon and its squares.

    If `level` is not None, the phase counts all squares of that level of the quadtree. Otherwise,
    it counts the squares that result from splitting, from the root down, every square with an
    expected count above `limit` times the phase's noise scale. `coarser` is the number of levels by
    which the grid of equal squares is coarser than `level_for` chooses.
    """

    share: Fraction
    level: int | None = None
    limit: float = 0.0
    coarser: int = 0


def whole_scale(pilot: CountNoise) -> float:
    """Return the noise scale of a measurement that would get the whole epsilon or rho.

    `pilot` is the noise of the pilot measurement, which gets the share PILOT_SHARE.
    """
    if isinstance(pilot, DiscreteLaplace):
        return pilot.scale * float(PILOT_SHARE)
    return pilot.scale * math.sqrt(PILOT_SHARE)


def phases_after(signal: float, inside: NDArray[np.bool_]) -> list[Phase]:
    """Choose the phases for an expected number of records; their shares add up to 1 - PILOT_SHARE.

    `signal` is the expected number of records in units of l/epsilon. The level of the grid of equal
    squares is chosen so that squares in the study area have an average count of PER_SQUARE of these
    units.
    """
    level = level_for(signal, inside)
    if signal < MANY:
        return [
            Phase(share=Fraction(38, 100), level=level),
            Phase(share=Fraction(20, 100), limit=4.0),
            Phase(share=Fraction(40, 100), limit=7.0),
        ]
    if signal < VERY_MANY:
        return [
            Phase(share=Fraction(50, 100), level=level),
            Phase(share=Fraction(48, 100), limit=4.0),
        ]
    return [
        Phase(share=Fraction(15, 100), level=max(level - 2, 0), coarser=2),
        Phase(share=Fraction(30, 100), level=level),
        Phase(share=Fraction(53, 100), limit=5.0),
    ]


def looks_twice(signal: float) -> bool:
    """Return whether the phases after the grid of equal squares are chosen from its counts.

    `signal` is the expected number of records in units of l/epsilon.
    """
    return MANY <= signal < MEDIUM


def phases_after_look(measurements: NodeMeasurements, cells: Floats, level: int) -> list[Phase]:
    """Choose the phases after a grid of equal squares that cost FIRST_SHARE.

    Their shares add up to 1 - PILOT_SHARE - FIRST_SHARE. `cells` (2^depth, 2^depth) holds the
    expected counts inferred so far, and `level` is the grid's level in the quadtree. If nearly
    everybody is in a few squares, squares of different sizes are chosen once: there is little to
    find elsewhere, and noise in these few matters most. Otherwise they are chosen twice, and the
    first counts show where the second squares should be small.
    """
    if concentration(measurements, cells, level) > CONCENTRATED:
        return [Phase(share=Fraction(63, 100), limit=5.0)]
    return [
        Phase(share=Fraction(15, 100), limit=6.0),
        Phase(share=Fraction(48, 100), limit=6.0),
    ]


def concentration(measurements: NodeMeasurements, cells: Floats, level: int) -> float:
    """Return how concentrated expected counts are: n sum(c^2)/sum(c)^2 over the n squares of a
    level.

    It is 1 if all squares have the same count, and n if one square has everything; 1 for no counts.
    """
    counts = pooled(cells, 1 << level)[measurements.sizes[level] > 0]
    total = float(counts.sum())
    return counts.size * float((counts**2).sum()) / total**2 if total > 0 else 1.0


def level_for(signal: float, inside: NDArray[np.bool_]) -> int:
    """Return the level of the quadtree whose squares are counted in the phase of equal squares.

    `signal` is the expected number of records in units of l/epsilon.
    """
    depth = len(inside).bit_length() - 1
    filled = float(inside.mean())
    level = round(math.log2(max(signal / PER_SQUARE, 1.0) / filled) / 2)
    return min(max(level, min(3, depth)), max(depth - 2, min(3, depth)))


def counts_every_cell(meter: Meter, cells: PrivateCounts) -> bool:
    """Return whether every cell is counted in the only phase after the pilot.

    That is so under zCDP if squares that sum several cells have at least FEWER times the squared
    sensitivity of single cells. It depends on public numbers alone.
    """
    sums = sum_counts(cells)
    return meter.law.gaussian and FEWER * cells.squared_sensitivity <= sums.squared_sensitivity


def noise_kind(meter: Meter) -> NoiseKind:
    """Return the kind of noise that `meter` adds to the counts that it measures."""
    return NoiseKind.GAUSSIAN if meter.law.gaussian else NoiseKind.LAPLACE


def sum_counts(cells: PrivateCounts) -> PrivateCounts:
    """Return the sum (1,) of all cells; sums over disjoint squares have the same sensitivities."""
    return cells.regroup(np.zeros(cells.shape, dtype=np.int64), 1)


class Survey:
    """Measures the nodes of a quadtree over a grid and stores the noisy counts.

    The nodes of one measurement are disjoint, so every cell is in at most one of them, and their
    counts have the same L1 sensitivity as the counts of cells (`PrivateCounts.regroup`). If all
    nodes are single cells, the squared sensitivity is the same, too (`PrivateCounts.selected`).
    """

    def __init__(
        self, grid: Grid, cells: PrivateCounts, inside: NDArray[np.bool_], meter: Meter
    ) -> None:
        self.measurements = NodeMeasurements(padded(inside), noise_kind(meter))
        self.noise: list[CountNoise] = []
        self._boxes: list[NDArray[np.int32]] = []
        self._counts: list[NDArray[np.int64]] = []
        self._grid, self._cells, self._inside, self._meter = grid, cells, inside, meter

    def measure(self, label: str, nodes: Masks) -> NDArray[np.int64]:
        """Measure the counts (n,) of the marked nodes under a label; store and return them."""
        squares = boxes(nodes, self._inside.shape)
        if nodes[-1].sum() == self._inside.sum():
            private = self._cells.selected(self._inside)
        else:
            region = np.where(self._inside, box_image(squares, self._inside.shape), -1)
            private = self._cells.regroup(region, len(squares))
        noise = self._meter.noise(label, private)
        counts = self._meter.measure(label, private)
        self.measurements.add(nodes, counts, noise.scale)
        self.noise.append(noise)
        self._boxes.append(squares)
        self._counts.append(counts)
        return counts

    def scale_of(self, label: str) -> float:
        """Return the noise scale of the measurement `label` in the plan, for squares of cells."""
        return self._meter.noise(label, sum_counts(self._cells)).scale

    def content(self, *, fixed: bool = False) -> PhasedRelease:
        """Return the release: all measurements, and the surface inferred from them.

        `fixed` is true if the measured nodes were chosen without looking at any noisy count.
        """
        surface = smooth(self.measurements, quiet(self.measurements, infer(self.measurements)))
        sizes = [len(phase) for phase in self._boxes]
        return PhasedRelease(
            grid=self._grid,
            boxes=np.concatenate(self._boxes),
            phase=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            counts=np.concatenate(self._counts),
            noises=tuple(self.noise),
            surface=np.ascontiguousarray(surface[: self._grid.rows, : self._grid.columns]),
            fixed=fixed,
        )
