"""Hierarchical kd-tree: private medians, and counts on every level (to which the DPCube paper
compares itself).

Inan, Kantarcioglu, Ghinita and Bertino 2010; Cormode, Procopiuc, Srivastava, Shen and Yu 2012
("kd-standard"). Boxes of cells are halved along rows and columns in turn. Three tenths of epsilon
are spent on choosing the cuts, in equal shares for all levels, and the rest on measuring counts,
also in equal shares.

Privacy. A person is in one box of each level. A cut is chosen by the exponential mechanism with the
score -|people before - people after|, of sensitivity 1. Boxes of a level are disjoint, so a level
costs its share once, for cuts as for counts. The number of levels is public. Consistency by least
squares (`dpgeo.postprocess.consistency`) reads noisy counts and cuts alone.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpgeo.postprocess.consistency import consistent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CUT_SHARE = 0.3
"""Share of epsilon that is spent on choosing the cuts."""


def kd_tree(counts: Floats, epsilon: float, random: Generator, *, levels: int) -> Floats:
    """Return an estimate (rows, columns): the leaves' counts, spread evenly over their cells.

    `levels` is the number of levels below the root.
    """
    label, told = kd_tree_boxes(counts, epsilon, random, levels=levels)
    return np.asarray((told / np.bincount(label.ravel()))[label])


def kd_tree_boxes(
    counts: Floats, epsilon: float, random: Generator, *, levels: int
) -> tuple[Ints, Floats]:
    """Return the index of every cell's leaf (rows, columns), and estimated leaf counts (k,)."""
    cut_epsilon = CUT_SHARE * epsilon / levels
    count_epsilon = (1 - CUT_SHARE) * epsilon / (levels + 1)
    boxes = [(0, counts.shape[0], 0, counts.shape[1])]
    parent, level = [-1], [0]
    first = 0
    for depth in range(levels):
        here = range(first, len(boxes))
        first = len(boxes)
        for box in here:
            for half in _halves(counts, boxes[box], depth % 2, cut_epsilon, random):
                boxes.append(half)
                parent.append(box)
                level.append(depth + 1)
    truth = np.array([counts[top:low, left:right].sum() for top, low, left, right in boxes])
    noisy = truth + random.laplace(0, 1 / count_epsilon, len(truth))
    variance = np.full(len(boxes), 2 / count_epsilon**2)
    value = consistent(noisy, variance, np.array(parent), np.array(level)).value
    label = np.zeros(counts.shape, dtype=np.int64)
    leaves = sorted(set(range(len(boxes))) - set(parent))
    for leaf, box in enumerate(leaves):
        top, low, left, right = boxes[box]
        label[top:low, left:right] = leaf
    return label, value[leaves]


def _halves(
    counts: Floats,
    box: tuple[int, int, int, int],
    axis: int,
    epsilon: float,
    random: Generator,
) -> list[tuple[int, int, int, int]]:
    """Cut a box privately into halves with about equal numbers of people; a cell cannot be cut.

    A box is cut along `axis`, or along the other axis if it is only one cell wide.
    """
    top, low, left, right = box
    if low - top < 2 and right - left < 2:
        return []
    axis = 1 if low - top < 2 else 0 if right - left < 2 else axis
    before = counts[top:low, left:right].sum(axis=1 - axis).cumsum()
    score = -np.abs(2 * before[:-1] - before[-1]) * epsilon / 2
    cut = int(np.argmax(score + random.gumbel(size=len(score)))) + 1
    if axis == 0:
        return [(top, top + cut, left, right), (top + cut, low, left, right)]
    return [(top, low, left, left + cut), (top, low, left + cut, right)]
