"""Differentially private quadtree whose privacy cost does not depend on its depth.

What is drawn. The root is the whole grid. Consider a box at level d (0 for the root) with the
private count c and more than one cell of the study area. Its biased count is
b = max(-delta, c - d delta). It is split into four if b + X > 0, where X is fresh discrete Laplace
noise; boxes with one cell are never split. The release reveals only which boxes were split, never a
noisy biased count. With beta = 4, the contribution bound l (the L1 sensitivity of the counts) and
the epsilon of the splits,
    lambda = l (2 beta - 1)/((beta - 1) epsilon),  P(X = k) proportional to exp(-|k|/lambda),
    delta = lambda ln beta, rounded up to an integer.

Privacy argument. Claim: for every tree t, the log-ratio of its probabilities on neighbouring
datasets is at most epsilon in absolute value. A privacy unit adds at most l to all cells together,
so (by a chain of l histograms) it is enough to show that adding 1 to one cell changes log P(t) by
at most
    epsilon/l = (2 beta - 1)/((beta - 1) lambda).
Write a = exp(-1/lambda) and F(b) = P(b + X > 0) = P(X >= 1 - b). The draws are independent, so P(t)
is the product of F(b) over the boxes that t splits and of 1 - F(b) over the boxes that t leaves
whole although they could be split. Adding 1 to a cell raises c by 1 in the boxes on one path from
the root. It raises b by 1 in each of these, or not at all if c - d delta < -delta, and changes no
other box.

Decrease of P(t). Boxes that are split become more likely to be split. The path contains only one
box that is not split, at its end: (1 - F(b))/(1 - F(b + 1)) = P(X <= -b)/P(X <= -b - 1) <= 1/a.
Hence log P(t) decreases by at most 1/lambda.

Increase of P(t). The box that is not split becomes less likely to stay whole. Each split box on the
path adds log F(b + 1) - log F(b). P(X >= j) is a^j/(1 + a) for j >= 0, and for j <= 1 it is
1 - a^(1-j)/(1 + a). So for b <= 0 this is log P(X >= -b) - log P(X >= 1 - b) = 1/lambda exactly,
and for b = m >= 1
    log (1 - a^(m+1)/(1+a))/(1 - a^m/(1+a)) <= a^m (1-a)/(1 + a - a^m) <= a^m (1-a) <= a^m/lambda.
Let u = c - d delta. From a box to the next box down the path, c does not grow and d delta grows by
delta, so u decreases by at least delta. A box with u < -delta adds nothing. A box with
-delta <= u <= 0 adds 1/lambda; there are at most two such boxes, and two only if their u are 0 and
-delta. All other boxes lie above these: the lowest has u >= 1, and u grows by at least delta from
each box to the box above it. With a^delta <= 1/beta:
    - with two such boxes, the others have u >= delta, 2 delta, ...: in units of 1/lambda the sum is
      at most 2 + 1/beta + 1/beta^2 + ... = 2 + 1/(beta - 1) = (2 beta - 1)/(beta - 1);
    - with one, they have u >= 1, 1 + delta, ...: at most 1 + 1 + 1/beta + ..., the same;
    - with none, less.
That is epsilon/l. The argument uses only one path, so the depth, the shape and the number of boxes
do not matter: boxes outside the study area may be left out, and the grid may have any size.

The draws are compared with -b instead of being added to b, so that nothing overflows. Noise beyond
63 bits would wrap. At the smallest rate allowed, the probability of this is e^-128, which the claim
above neglects.

If lambda did not contain the contribution bound, the privacy loss at l = 10 would be up to ten
times epsilon.

References. Zhang, Xiao and Xie 2016 (PrivTree), theorem 3.1, for real-valued noise and one record
per person. The proof above is for integer noise, where two boxes can lie in the critical range, and
for any l.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.spatial.boxes import box_sums, summed_area, tiles

FAN_OUT = 4

LOG_FAN_OUT = Fraction(13862943611198907, 10**16)
"""A fraction just above ln 4 = 1.38629436111989061...

It is rounded up so that the bias, delta in the module docstring, is never too small.
"""

Split = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Function that takes biased counts b (n,), draws the noise X of each, and returns the mask b + X >
0.
"""


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """A public tree of boxes, ordered by level.

    `boxes`, int32 (n, 4), holds the first row, the row after the last, the first column and the
    column after the last of each box. `level` holds the level of each box, and `parent` the index
    of its parent box, or -1 for the root. Both are int32 (n,).
    """

    boxes: NDArray[np.int32]
    level: NDArray[np.int32]
    parent: NDArray[np.int32]

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Mask (n,) of the leaves, which are the boxes that were not split."""
        whole = np.ones(len(self.boxes), dtype=np.bool_)
        whole[self.parent[self.parent >= 0]] = False
        return whole


def split_noise(epsilon: Fraction, sensitivity: int) -> DiscreteLaplace:
    """Return the distribution of the noise X that decides whether a box is split.

    Its rate is (beta - 1) epsilon/((2 beta - 1) l). `sensitivity` is the contribution bound
    l, and beta is FAN_OUT.
    """
    return DiscreteLaplace(epsilon * Fraction(FAN_OUT - 1, 2 * FAN_OUT - 1), sensitivity)


def bias(noise: DiscreteLaplace) -> int:
    """Return delta, as defined in the module docstring: lambda ln 4, rounded up to an integer."""
    return -(-LOG_FAN_OUT // noise.rate)


def grow(
    counts: NDArray[np.int64], inside: NDArray[np.bool_], delta: int, split: Split
) -> GrownTree:
    """Grow and return the tree over private `counts` (rows, columns); see the module docstring.

    `inside` (rows, columns) is the public mask of the study area; cells outside it are left
    out of all counts. `delta` is what a box's count loses for each level of the box; it is the
    `bias` for the noise that `split` draws.
    """
    sums, inside_sums = summed_area(np.where(inside, counts, 0)), summed_area(inside)
    rows, columns = counts.shape
    boxes = [np.array([[0, rows, 0, columns]], dtype=np.int32)]
    parents = [np.array([-1], dtype=np.int32)]
    first = 0
    for level in range((max(rows, columns) - 1).bit_length()):
        divisible = np.flatnonzero(box_sums(inside_sums, boxes[-1]) > 1)
        biased = box_sums(sums, boxes[-1][divisible]) - level * delta
        cut = divisible[split(np.maximum(biased, -delta))]
        children, parent = tiles(boxes[-1][cut], FAN_OUT // 2, inside_sums)
        parents.append((first + cut[parent]).astype(np.int32))
        first += len(boxes[-1])
        boxes.append(children)
    levels = np.repeat(np.arange(len(boxes), dtype=np.int32), [len(each) for each in boxes])
    return GrownTree(np.concatenate(boxes), levels, np.concatenate(parents))
