"""A kd-tree grown on noisy cells: disjoint boxes inside which even shares would do little harm.

It sees noisy counts and public facts alone, so growing it costs no privacy. Variances are those
of the noise, and n counts the cells of a box that touch the study area; all others are left out.

Where a box is cut. Of all cuts along rows and columns the one that lowers the sum of squared
deviations from the box's mean most (seed 004, algorithm 3). Since the squares add up to the same
on both sides, it is the cut with the greatest S1^2/n1 + S2^2/n2.

Whether it is cut. On *evidence* that noise alone does not explain the cells:
- their variance exceeds v1 (1 + 3 sqrt(5/n)), v1 being a noisy cell's variance: three standard
  deviations of the variance of n Laplace draws, whose kurtosis is 6; or
- the best of m cuts gains more than 2 v1 (ln m + 3), where a cut chosen beforehand would gain v1
  times a chi-square of one degree of freedom.
And on *suspicion*, where noise would hide an unevenness that matters: large sums of cells are so
noisy that half a city may leave no trace in them, while a fresh total of each half costs little.
Cutting a box into shares f and 1 - f, let d = S1 - f S be the imbalance seen, t^2 = 4 f (1 - f)
(0.2 T)^2 its variance before anything was seen, T the expected total of the box, v = v1 n f (1 - f)
the noise of d, and k = t^2/(t^2 + v). The expected square of the true imbalance is
k^2 d^2 + (1 - k) t^2; the box is cut in its middle when that exceeds four times the variance of a
box's fresh total. T is f T + k d for the children and max(S, 0) + sqrt(n v1) for the root.

The constants 0.2, 4 and 3 (in the gain) were chosen on generated maps (mixtures, cascades, roads,
spikes, corners, bands; 1e3 to 1e7 points), on which errors change by at most a quarter when any of
them is halved or doubled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.boxes import box_sums, summed_area

Boxes = NDArray[np.int64]
Floats = NDArray[np.float64]

CUTS_AT_ONCE = 1 << 19
"""Candidate cuts weighed at a time; bounds the memory."""

GAIN_MARGIN = 3.0
IMBALANCE = 0.2
WORTH = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When to cut: the variances of a noisy cell and of a box's fresh total; see the module.

    Without `suspicion` boxes are cut on the first kind of evidence alone, as in seed 004.
    """

    cell_variance: float
    total_variance: float
    suspicion: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """Summed-area tables of the inside mask, the noisy cells and their squares."""

    inside: NDArray[np.int64]
    sums: NDArray[np.int64]
    squares: NDArray[np.int64]
    rough_squares: Floats

    def squares_of(self, boxes: Boxes) -> Floats:
        """Sums of squares. Integers wrap around where millions fill a large grid; a box whose sum
        fits 63 bits comes out exactly all the same, and for others floating point will do."""
        exact = box_sums(self.squares, boxes).astype(np.float64)
        top, bottom, left, right = boxes.T
        table = self.rough_squares
        rough = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
        return np.where(rough < 2.0**62, exact, rough)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Boxes of one level with n, S and T of the module's docstring."""

    boxes: Boxes
    size: Floats
    total: Floats
    expected: Floats

    def take(self, chosen: NDArray[np.bool_] | slice) -> _Level:
        return _Level(
            self.boxes[chosen], self.size[chosen], self.total[chosen], self.expected[chosen]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Cuts:
    """All cuts of a level's boxes, box after box, rows before columns.

    `box` is the box of each cut, `first` the half before it, `size` and `total` n and S of that
    half; `starts` is where each box's cuts begin. `valid` cuts leave cells inside on both sides.
    """

    box: NDArray[np.intp]
    starts: NDArray[np.intp]
    first: Boxes
    across_rows: NDArray[np.bool_]
    size: Floats
    total: Floats
    valid: NDArray[np.bool_]


def grow_kdtree(
    cells: NDArray[np.int64], inside: NDArray[np.bool_], rule: Rule
) -> NDArray[np.int32]:
    """Boxes int32 (n, 4) that cover the grid, in order of their first row, then column.

    `cells` are noisy counts (rows, columns); those not `inside` are not looked at. A box is (first
    row, row after the last, first column, column after the last), and every box holds a cell that
    is inside (unless none is, then there is one box).
    """
    tables = _tables(np.where(inside, cells, 0), inside)
    level = _root(tables, rule)
    leaves: list[Boxes] = []
    while len(level.boxes):
        divisible = level.size > 1
        leaves.append(level.boxes[~divisible])
        parts = [_cut(tables, chunk, rule, leaves) for chunk in _chunks(level.take(divisible))]
        level = _join(parts)
    boxes = np.concatenate(leaves)
    return boxes[np.lexsort((boxes[:, 2], boxes[:, 0]))].astype(np.int32)


def _tables(cells: NDArray[np.int64], inside: NDArray[np.bool_]) -> _Tables:
    rough = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    np.cumsum(np.square(cells, dtype=np.float64), axis=0, out=rough[1:, 1:])
    np.cumsum(rough[1:, 1:], axis=1, out=rough[1:, 1:])
    return _Tables(summed_area(inside), summed_area(cells), summed_area(cells * cells), rough)


def _root(tables: _Tables, rule: Rule) -> _Level:
    rows, columns = tables.inside.shape
    boxes = np.array([[0, rows - 1, 0, columns - 1]], dtype=np.int64)
    size = box_sums(tables.inside, boxes).astype(np.float64)
    total = box_sums(tables.sums, boxes).astype(np.float64)
    expected = np.maximum(total, 0) + np.sqrt(size * rule.cell_variance)
    return _Level(boxes, size, total, expected)


def _chunks(level: _Level) -> Iterator[_Level]:
    """The level in parts of about CUTS_AT_ONCE cuts."""
    ends = np.cumsum(_cut_counts(level.boxes))
    parts = int(ends[-1]) // CUTS_AT_ONCE + 1 if len(ends) else 0
    limits = np.searchsorted(ends, np.arange(1, parts) * CUTS_AT_ONCE)
    edges = [0, *limits.tolist(), len(ends)]
    for first, after in itertools.pairwise(edges):
        if first < after:
            yield level.take(slice(first, after))


def _join(parts: list[_Level]) -> _Level:
    empty = np.zeros(0)
    return _Level(
        np.concatenate([np.zeros((0, 4), dtype=np.int64), *(part.boxes for part in parts)]),
        np.concatenate([empty, *(part.size for part in parts)]),
        np.concatenate([empty, *(part.total for part in parts)]),
        np.concatenate([empty, *(part.expected for part in parts)]),
    )


def _cut(tables: _Tables, level: _Level, rule: Rule, leaves: list[Boxes]) -> _Level:
    """The halves of the boxes that are cut; the others join `leaves`."""
    cuts = _all_cuts(tables, level)
    best, gain = _best_cut(cuts, level)
    chosen = _uneven(tables, level, rule)
    if not rule.suspicion:
        return _halves(level, cuts, best, level.expected, chosen, leaves)
    counts = _cut_counts(level.boxes)
    chosen |= gain > 2 * rule.cell_variance * (np.log(counts) + GAIN_MARGIN)
    cut = np.where(chosen, best, _middle_cut(cuts, level))
    expected, square = _imbalance(cuts, cut, level, rule)
    chosen |= square > WORTH * rule.total_variance
    return _halves(level, cuts, cut, expected, chosen, leaves)


def _cut_counts(boxes: Boxes) -> NDArray[np.int64]:
    return np.asarray(boxes[:, 1] - boxes[:, 0] + boxes[:, 3] - boxes[:, 2] - 2)


def _all_cuts(tables: _Tables, level: _Level) -> _Cuts:
    counts = _cut_counts(level.boxes)
    starts = np.cumsum(counts) - counts
    box = np.repeat(np.arange(len(counts)), counts)
    first = level.boxes[box]
    offset = np.arange(len(box)) - starts[box] + 1
    row_cuts = first[:, 1] - first[:, 0] - 1
    across_rows = offset <= row_cuts
    first[:, 1] = np.where(across_rows, first[:, 0] + offset, first[:, 1])
    first[:, 3] = np.where(across_rows, first[:, 3], first[:, 2] + offset - row_cuts)
    size = box_sums(tables.inside, first).astype(np.float64)
    return _Cuts(
        box=box,
        starts=starts,
        first=first,
        across_rows=across_rows,
        size=size,
        total=box_sums(tables.sums, first).astype(np.float64),
        valid=(size > 0) & (size < level.size[box]),
    )


def _argmax(cuts: _Cuts, score: Floats) -> NDArray[np.intp]:
    """The first valid cut of the greatest score (at least 0), for every box."""
    score = np.where(cuts.valid, score, -1.0)
    greatest = np.maximum.reduceat(score, cuts.starts)
    reached = np.flatnonzero(score == greatest[cuts.box])
    _, first = np.unique(cuts.box[reached], return_index=True)
    return np.asarray(reached[first])


def _best_cut(cuts: _Cuts, level: _Level) -> tuple[NDArray[np.intp], Floats]:
    """The cut that lowers the squared deviations most, and by how much, for every box."""
    other = level.total[cuts.box] - cuts.total
    with np.errstate(divide="ignore", invalid="ignore"):
        score = cuts.total**2 / cuts.size + other**2 / (level.size[cuts.box] - cuts.size)
    best = _argmax(cuts, score)
    return best, score[best] - level.total**2 / level.size


def _middle_cut(cuts: _Cuts, level: _Level) -> NDArray[np.intp]:
    """The cut that shares the inside cells most evenly, rather across the longer side."""
    rows, columns = np.diff(level.boxes)[:, ::2].T
    longer = cuts.across_rows == (rows >= columns)[cuts.box]
    smaller = np.minimum(cuts.size, level.size[cuts.box] - cuts.size)
    return _argmax(cuts, smaller * np.where(longer, 2, 1))


def _uneven(tables: _Tables, level: _Level, rule: Rule) -> NDArray[np.bool_]:
    """Whether the variance of a box's cells exceeds what their noise explains."""
    variance = (tables.squares_of(level.boxes) - level.total**2 / level.size) / level.size
    limit = rule.cell_variance * (1 + 3 * np.sqrt(5 / level.size))
    return np.asarray(variance > limit)


def _imbalance(
    cuts: _Cuts, cut: NDArray[np.intp], level: _Level, rule: Rule
) -> tuple[Floats, Floats]:
    """T of the half before the cut, and the expected square of the true imbalance."""
    share = cuts.size[cut] / level.size
    seen = cuts.total[cut] - share * level.total
    spread = share * (1 - share)
    before = 4 * spread * (IMBALANCE * level.expected) ** 2
    noise = rule.cell_variance * level.size * spread
    trust = np.divide(before, before + noise, out=np.zeros_like(before), where=before > 0)
    expected = np.clip(share * level.expected + trust * seen, 0, level.expected)
    return expected, (trust * seen) ** 2 + (1 - trust) * before


def _halves(
    level: _Level,
    cuts: _Cuts,
    cut: NDArray[np.intp],
    expected: Floats,
    chosen: NDArray[np.bool_],
    leaves: list[Boxes],
) -> _Level:
    leaves.append(level.boxes[~chosen])
    cut, expected, parent = cut[chosen], expected[chosen], level.take(chosen)
    first, across = cuts.first[cut], cuts.across_rows[cut]
    second = parent.boxes.copy()
    second[:, 0] = np.where(across, first[:, 1], second[:, 0])
    second[:, 2] = np.where(across, second[:, 2], first[:, 3])
    return _Level(
        np.concatenate([first, second]),
        np.concatenate([cuts.size[cut], parent.size - cuts.size[cut]]),
        np.concatenate([cuts.total[cut], parent.total - cuts.total[cut]]),
        np.concatenate([expected, parent.expected - expected]),
    )
