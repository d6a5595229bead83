"""kd-tree grown on noisy cells, so that cells in one box have similar counts.

The tree uses only noisy counts and public inputs, so growing it costs no privacy. All variances are
variances of noise. For each box, n is the number of its cells that intersect the study area, and S
is the sum of the noisy counts of these cells; all other cells are ignored.

Where a box is split. Of all splits between two rows or two columns, the one that most reduces the
sum of squared deviations from the mean is chosen (DPCube, algorithm 3). Since the sum of squares is
the same for every split, this is the split with the greatest S1^2/n1 + S2^2/n2, where 1 and 2 are
the two halves.

Whether a box is split. It is split on *evidence* that noise alone does not explain its cells:
- their variance exceeds v1 (1 + 3 sqrt(5/n)), where v1 is the variance of one cell's noise. This is
  three standard deviations above the expected variance of n Laplace draws, whose kurtosis is 6; or
- the best of m splits gains more than 2 v1 (ln m + 3), where a split chosen beforehand would gain
  v1 times a chi-square of one degree of freedom.
It is also split on *suspicion*, if noise could hide an important imbalance. Sums of many cells
are so noisy that they may miss half a city, while a fresh total for each half adds little
noise. For a split of a box into shares f and 1 - f of its cells, let d = S1 - f S be the
observed imbalance, T the expected total of the box, t^2 = 4 f (1 - f) (0.2 T)^2 the prior variance
of the imbalance, v = v1 n f (1 - f) the noise variance of d, and k = t^2/(t^2 + v). The expected
square of the true imbalance is k^2 d^2 + (1 - k) t^2. If this exceeds four times the variance of a
box's fresh total, the box is split in the middle. The expected total of the root is
max(S, 0) + sqrt(n v1). The first child's expected total is f T + k d; the second child's is the
remainder of T. Neither may fall below the smaller of two values: its even share of T, and
0.75 sqrt((1 - k) t^2), which is three quarters of the standard deviation that the noise leaves.
Without this limit, a half that looks empty because of noise would never be suspected again, however
many people are in it.

The constants 0.2, 4 and 3 (in the gain) were chosen on generated maps (mixtures, cascades, roads,
spikes, corners, bands; 1e3 to 1e7 points). On these maps, halving or doubling any one of them
changes the error by at most a quarter. The constant 0.75 was chosen on the kinds of maps in
`benchmarks.generated`: between 0.5 and 1, the errors of range counts differ by only a few per cent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.boxes import accumulate, box_sums, summed_area

Boxes = NDArray[np.int64]
Floats = NDArray[np.float64]

CUTS_AT_ONCE = 1 << 17
"""Number of candidate splits evaluated at a time, so that arrays stay in the processor's cache."""

FITS = 2.0**62
"""If a floating-point sum is below this, the exact sum fits in 63 bits."""

GAIN_MARGIN = 3.0
IMBALANCE = 0.2
DOUBT = 0.75
WORTH = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Rule that decides whether a box is split.

    `cell_variance` is the noise variance of a cell, and `total_variance` the noise variance of a
    box's fresh total. Without `suspicion`, only an excess of variance, the first kind of evidence
    in the module docstring, leads to a split, as in DPCube.
    """

    cell_variance: float
    total_variance: float
    suspicion: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """Summed-area tables of cells: their number in the study area, noisy counts, and the squares of
    these counts.
    """

    inside: NDArray[np.integer[Any]]
    sums: NDArray[np.integer[Any]]
    squares: NDArray[np.int64]
    rough_squares: Floats | None
    """Summed-area table of the squared counts in floating point.

    It is None if `squares` is exact, because the sum over the whole grid fits in 63 bits.
    """

    def squares_of(self, boxes: Boxes) -> Floats:
        """Sum the squared counts of each box.

        The integers of the table may wrap around if large counts fill a large grid. A box's sum is
        still exact if it fits in 63 bits; for larger sums the floating-point value is used.
        """
        exact = box_sums(self.squares, boxes).astype(np.float64)
        table = self.rough_squares
        if table is None:
            return exact
        top, bottom, left, right = boxes.T
        rough = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
        return np.where(rough < FITS, exact, rough)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Boxes (k, 4) of one level of the tree.

    The arrays (k,) `size`, `total` and `expected` hold n, S and T of the module docstring: the
    number of a box's cells that intersect the study area, the sum of their noisy counts, and the
    box's expected total.
    """

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
    """All splits of a level's boxes, ordered by box; a box's splits between rows precede those
    between columns.

    `starts` has one entry per box: the index of its first split. All other arrays have one entry
    per split: `box` is the index of the box, and `lines` the number of rows or columns before the
    split. Of the half before the split, `size` is the number of cells that intersect the study
    area, and `total` the sum of their noisy counts. `valid` is true if both halves have such cells.
    """

    box: NDArray[np.int64]
    starts: NDArray[np.int64]
    lines: NDArray[np.int64]
    across_rows: NDArray[np.bool_]
    size: Floats
    total: Floats
    valid: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """The splits of n boxes as 2n runs: for each box, one run between rows and one between columns.

    `length` is the number of splits in a run, and `breadth` the number of cells in a row or column
    of the box. The other arrays locate, in a flattened summed-area table, the half of a box before
    its k-th split. Two corners of that half are at the indices `base + k * step + far` and `base +
    k * step + near`. The other two, at `base + far` and `base + near`, are the same for all splits
    of the run.
    """

    length: NDArray[np.int64]
    breadth: NDArray[np.int64]
    base: NDArray[np.int64]
    step: NDArray[np.int64]
    far: NDArray[np.int64]
    near: NDArray[np.int64]

    @classmethod
    def of(cls, boxes: Boxes, width: int) -> _Runs:
        """Build the two runs of each box (n, 4), for summed-area tables with `width` columns."""
        top, bottom, left, right = boxes.T
        height, breadth, one = bottom - top, right - left, np.ones_like(top)
        pairs = (
            (height - 1, breadth - 1),
            (breadth, height),
            (top * width, left),
            (width * one, one),
            (right, bottom * width),
            (left, top * width),
        )
        return cls(*(np.column_stack(pair).ravel() for pair in pairs))

    def before(
        self, table: NDArray[np.integer[Any]], run: NDArray[np.int64], lines: NDArray[np.int64]
    ) -> Floats:
        """Return, for m splits, the sum (m,) of the cells in the half of the box before the split.

        `table` is the summed-area table of the cells. A run is all splits of one box between rows,
        or all between columns: `run` (m,) holds the index of each split's run, and `lines` (m,) the
        number of rows or columns before the split.
        """
        flat = table.ravel()
        shared = flat[self.base + self.far] - flat[self.base + self.near]
        place = self.base[run] + lines * self.step[run]
        sums = flat[place + self.far[run]] - flat[place + self.near[run]] - shared[run]
        return np.asarray(sums, dtype=np.float64)


def grow_kdtree(
    cells: NDArray[np.int64], inside: NDArray[np.bool_], rule: Rule
) -> NDArray[np.int32]:
    """Return the leaves of the kd-tree as boxes, int32 (n, 4), by first row and first column.

    `cells` holds noisy counts (rows, columns); cells that are not `inside` are ignored. A box is
    (first row, row after the last, first column, column after the last). Every box contains at
    least one cell that is `inside`; if there is none, a single box covers the whole grid.
    """
    if not inside.all():
        cells = np.where(inside, cells, 0)
    tables = _tables(cells, inside)
    level = _root(tables, rule)
    leaves: list[Boxes] = []
    while len(level.boxes):
        divisible = level.size > 1
        leaves.append(level.boxes[~divisible])
        halves = [_cut(tables, chunk, rule, leaves) for chunk in _chunks(level.take(divisible))]
        level = _join(halves)
    boxes = np.concatenate(leaves)
    return boxes[np.lexsort((boxes[:, 2], boxes[:, 0]))].astype(np.int32)


def _tables(cells: NDArray[np.int64], inside: NDArray[np.bool_]) -> _Tables:
    fits = float(np.einsum("ij,ij", cells, cells, dtype=np.float64)) < FITS
    return _Tables(
        inside=summed_area(inside),
        sums=summed_area(cells),
        squares=_squared_area(cells, np.int64),
        rough_squares=None if fits else _squared_area(cells, np.float64),
    )


def _squared_area(cells: NDArray[np.int64], dtype: type[Any]) -> NDArray[Any]:
    """Return the summed-area table (see `summed_area`) of the squares of counts."""
    table = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1), dtype=dtype)
    np.square(cells, out=table[1:, 1:], dtype=dtype)
    accumulate(table)
    return table


def _root(tables: _Tables, rule: Rule) -> _Level:
    rows, columns = tables.inside.shape
    boxes = np.array([[0, rows - 1, 0, columns - 1]], dtype=np.int64)
    size = box_sums(tables.inside, boxes).astype(np.float64)
    total = box_sums(tables.sums, boxes).astype(np.float64)
    expected = np.maximum(total, 0) + np.sqrt(size * rule.cell_variance)
    return _Level(boxes, size, total, expected)


def _chunks(level: _Level) -> Iterator[_Level]:
    """Divide the boxes of a level into chunks with about CUTS_AT_ONCE possible splits each."""
    ends = np.cumsum(_cut_counts(level.boxes))
    chunks = int(ends[-1]) // CUTS_AT_ONCE + 1 if len(ends) else 0
    limits = np.searchsorted(ends, np.arange(1, chunks) * CUTS_AT_ONCE)
    edges = [0, *limits.tolist(), len(ends)]
    for first, after in itertools.pairwise(edges):
        if first < after:
            yield level.take(slice(first, after))


def _join(chunks: list[_Level]) -> _Level:
    empty = np.zeros(0)
    return _Level(
        np.concatenate([np.zeros((0, 4), dtype=np.int64), *(chunk.boxes for chunk in chunks)]),
        np.concatenate([empty, *(chunk.size for chunk in chunks)]),
        np.concatenate([empty, *(chunk.total for chunk in chunks)]),
        np.concatenate([empty, *(chunk.expected for chunk in chunks)]),
    )


def _cut(tables: _Tables, level: _Level, rule: Rule, leaves: list[Boxes]) -> _Level:
    """Split the boxes whose cells differ, or may differ, in their counts; return the halves.

    The module docstring and `rule` say when a box is split. Boxes that stay whole are added to
    `leaves`.
    """
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
    runs = _Runs.of(level.boxes, tables.sums.shape[1])
    starts = np.cumsum(runs.length) - runs.length
    run = np.repeat(np.arange(len(starts)), runs.length)
    lines = np.arange(len(run)) - starts[run] + 1
    box = run >> 1
    # Most boxes lie entirely inside the study area. All of their cells count, so no lookup is
    # needed.
    size = (lines * runs.breadth[run]).astype(np.float64)
    partly = np.flatnonzero((level.size < _areas(level.boxes))[box])
    size[partly] = runs.before(tables.inside, run[partly], lines[partly])
    return _Cuts(
        box=box,
        starts=starts[::2],
        lines=lines,
        across_rows=run % 2 == 0,
        size=size,
        total=runs.before(tables.sums, run, lines),
        valid=(size > 0) & (size < level.size[box]),
    )


def _areas(boxes: Boxes) -> NDArray[np.int64]:
    top, bottom, left, right = boxes.T
    return np.asarray((bottom - top) * (right - left))


def _argmax(cuts: _Cuts, score: Floats) -> NDArray[np.intp]:
    """Return the index of each box's valid split with the greatest score, or the first in a tie.

    Scores must not be negative.
    """
    score = np.where(cuts.valid, score, -1.0)
    greatest = np.maximum.reduceat(score, cuts.starts)
    candidates = np.flatnonzero(score == greatest[cuts.box])
    box = cuts.box[candidates]
    return np.asarray(candidates[np.flatnonzero(np.diff(box, prepend=-1))])


def _best_cut(cuts: _Cuts, level: _Level) -> tuple[NDArray[np.intp], Floats]:
    """Return each box's best split, and its reduction of the sum of squared deviations."""
    other = level.total[cuts.box] - cuts.total
    with np.errstate(divide="ignore", invalid="ignore"):
        score = cuts.total**2 / cuts.size + other**2 / (level.size[cuts.box] - cuts.size)
    best = _argmax(cuts, score)
    return best, score[best] - level.total**2 / level.size


def _middle_cut(cuts: _Cuts, level: _Level) -> NDArray[np.intp]:
    """Return each box's most balanced split, preferring splits across the longer side.

    A split's score is the number of cells in the smaller half that intersect the study area. It is
    doubled for splits across the longer side.
    """
    rows, columns = np.diff(level.boxes)[:, ::2].T
    longer = cuts.across_rows == (rows >= columns)[cuts.box]
    smaller = np.minimum(cuts.size, level.size[cuts.box] - cuts.size)
    return _argmax(cuts, smaller * np.where(longer, 2, 1))


def _uneven(tables: _Tables, level: _Level, rule: Rule) -> NDArray[np.bool_]:
    """Return a mask of the boxes whose cells vary more than noise alone explains."""
    variance = (tables.squares_of(level.boxes) - level.total**2 / level.size) / level.size
    limit = rule.cell_variance * (1 + 3 * np.sqrt(5 / level.size))
    return np.asarray(variance > limit)


def _imbalance(
    cuts: _Cuts, cut: NDArray[np.intp], level: _Level, rule: Rule
) -> tuple[Floats, Floats]:
    """Return, for the split `cut` of each box, two expectations about its first half.

    They are the first half's total, and the square of its imbalance: of how far its true total is
    from its share, by number of cells, of the box's true total. The module docstring has the
    formulas.
    """
    share = cuts.size[cut] / level.size
    observed = cuts.total[cut] - share * level.total
    spread = share * (1 - share)
    prior_variance = 4 * spread * (IMBALANCE * level.expected) ** 2
    noise = rule.cell_variance * level.size * spread
    trust = np.divide(
        prior_variance,
        prior_variance + noise,
        out=np.zeros_like(prior_variance),
        where=prior_variance > 0,
    )
    left_open = (1 - trust) * prior_variance
    least = DOUBT * np.sqrt(left_open)
    expected = np.clip(
        share * level.expected + trust * observed,
        np.minimum(least, share * level.expected),
        level.expected - np.minimum(least, (1 - share) * level.expected),
    )
    return expected, (trust * observed) ** 2 + left_open


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
    lines, across = cuts.lines[cut], cuts.across_rows[cut]
    first, second = parent.boxes.copy(), parent.boxes.copy()
    first[across, 1] = second[across, 0] = (first[:, 0] + lines)[across]
    first[~across, 3] = second[~across, 2] = (first[:, 2] + lines)[~across]
    return _Level(
        np.concatenate([first, second]),
        np.concatenate([cuts.size[cut], parent.size - cuts.size[cut]]),
        np.concatenate([cuts.total[cut], parent.total - cuts.total[cut]]),
        np.concatenate([expected, parent.expected - expected]),
    )
