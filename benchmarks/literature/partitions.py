"""DPCube as its authors describe it, in any number of dimensions (Xiao et al. 2014, section 4.3).

Cells are counted with a part of epsilon. The noisy cells are divided by a kd-tree: a box is cut
where the sum of squared deviations from the means of its two parts is least, as long as the
variance of its cells is above a threshold (algorithm 3; the text beside it says the opposite). The
boxes are then counted with the rest of epsilon.

Privacy. A person is in one cell and in one box, so each of the two measurements has the sensitivity
1, and their epsilons add up. The tree reads noisy cells alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Boxes of cells: `label` is the index of every cell's box, `counts` (p,) the boxes' noisy
    counts.

    `cells` are the cells' own noisy counts. `of_cells` and `of_counts` are the variances of the
    noise of `cells` and of `counts`.
    """

    label: Ints
    counts: Floats
    cells: Floats
    of_cells: float
    of_counts: float

    def uniform(self) -> Floats:
        """Return an estimate of every cell: an even share of its box's count."""
        return np.asarray((self.counts / np.bincount(self.label.ravel()))[self.label])

    def least_squares(self) -> Floats:
        """Return an estimate of every cell: least squares from the noisy cells and their box's
        count.
        """
        size = np.bincount(self.label.ravel())
        missing = self.counts - np.bincount(self.label.ravel(), self.cells.ravel())
        share = missing * self.of_cells / (size * self.of_cells + self.of_counts)
        return np.asarray(self.cells + share[self.label])


def dpcube(
    counts: Floats,
    epsilon: float,
    random: Generator,
    *,
    cell_share: float = 0.5,
    threshold: float = 0.5,
) -> Partitions:
    """Divide counts (an array of any shape) into partitions of similar noisy counts (DPCube).

    `cell_share` is the share of epsilon for the noisy counts of the cells. A partition is divided
    if its variance is above `threshold` times the variance of that noise. The publication uses such
    a threshold, but does not state its value.
    """
    of_cells, of_counts = 1 / (cell_share * epsilon), 1 / ((1 - cell_share) * epsilon)
    cells = counts + random.laplace(0, of_cells, counts.shape)
    label = kd_boxes(cells, threshold * 2 * of_cells**2)
    totals = np.bincount(label.ravel(), counts.ravel())
    noisy = totals + random.laplace(0, of_counts, len(totals))
    return Partitions(label, noisy, cells, 2 * of_cells**2, 2 * of_counts**2)


def kd_boxes(values: Floats, threshold: float) -> Ints:
    """Return the number of every cell's box; boxes are cut until their variance is at most
    `threshold`.
    """
    label = np.zeros(values.shape, dtype=np.int64)
    waiting = [tuple(slice(0, size) for size in values.shape)]
    done = 0
    while waiting:
        box = waiting.pop()
        inside = values[box]
        if inside.size == 1 or inside.var() <= threshold:
            label[box] = done
            done += 1
        else:
            waiting += _cut(inside, box)
    return label


def _cut(inside: Floats, box: tuple[slice, ...]) -> list[tuple[slice, ...]]:
    best, chosen = -np.inf, (0, 0)
    for axis in range(inside.ndim):
        if inside.shape[axis] == 1:
            continue
        others = tuple(each for each in range(inside.ndim) if each != axis)
        before = inside.sum(axis=others).cumsum()
        here = np.arange(1, len(before)) * (inside.size / len(before))
        left, whole = before[:-1], before[-1]
        # The squared deviations are least where the sum of size times squared mean of the parts is
        # largest.
        gain = left**2 / here + (whole - left) ** 2 / (inside.size - here)
        if gain.max() > best:
            best, chosen = float(gain.max()), (axis, int(np.argmax(gain)) + 1)
    axis, at = chosen
    middle = box[axis].start + at
    return [
        (*box[:axis], part, *box[axis + 1 :])
        for part in (slice(box[axis].start, middle), slice(middle, box[axis].stop))
    ]


def unevenness(counts: Floats, label: Ints) -> tuple[float, float]:
    """Return two sums of the variances of true counts in boxes, weighted by people and by cells.

    DPCube's authors (section 6.2) measure partitions with the variance of a box times its people. A
    v-optimal histogram has the least sum with the number of cells as weights, which is the squared
    error of even shares without noise.
    """
    flat, values = label.ravel(), counts.ravel()
    size, people = np.bincount(flat), np.bincount(flat, values)
    variance = np.bincount(flat, values**2) / size - (people / size) ** 2
    return float((people * variance).sum()), float((size * variance).sum())
