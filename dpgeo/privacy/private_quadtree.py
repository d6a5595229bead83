"""Differentially private quadtree whose privacy cost does not depend on its depth.

What is drawn. The root is the frame. A box that holds more than one cell of the study area, at
level d (0 for the root), with the private count c, has the biased count b = max(-delta, c - d
delta). It is split into four when b + X > 0, where X is fresh discrete Laplace noise; boxes of one
cell are never split. Only which boxes were split is released, never a noisy biased count. With
beta = 4, the contribution bound l (the counts' L1 sensitivity) and the epsilon of the splits,
    lambda = l (2 beta - 1)/((beta - 1) epsilon),  P(X = k) proportional to exp(-|k|/lambda),
    delta = lambda ln beta, rounded up to a whole number.

Privacy argument. Claim: for every tree t, the log-ratio of its probabilities on neighbouring
datasets is at most epsilon in absolute value. A privacy unit adds at most l to all cells together,
so (by a chain of l histograms) it is enough to show that adding 1 to one cell changes log P(t) by
at most
    epsilon/l = (2 beta - 1)/((beta - 1) lambda).
Write a = exp(-1/lambda) and F(b) = P(b + X > 0) = P(X >= 1 - b). The draws are independent, so P(t)
is the product of F(b) over the boxes that t splits and of 1 - F(b) over those that it could have
split and did not. Adding 1 to a cell raises c by 1 along one path from the root, and every b on it
by 1 or, where c - d delta < -delta, not at all; it changes no other box.

Decrease of P(t). Boxes that are split become more likely to be split. Of the boxes that are not
split, the path meets one, at its end: (1 - F(b))/(1 - F(b + 1)) = P(X <= -b)/P(X <= -b - 1) <= 1/a.
Hence log P(t) decreases by at most 1/lambda.

Increase of P(t). The box that is not split becomes less likely to stay whole. Each split box on the
path adds log F(b + 1) - log F(b). P(X >= j) is a^j/(1 + a) for j >= 0, and for j <= 1 it is
1 - a^(1-j)/(1 + a). So for b <= 0 this is log P(X >= -b) - log P(X >= 1 - b) = 1/lambda exactly,
and for b = m >= 1
    log (1 - a^(m+1)/(1+a))/(1 - a^m/(1+a)) <= a^m (1-a)/(1 + a - a^m) <= a^m (1-a) <= a^m/lambda.
Let u = c - d delta. From a box to the next one on the path c does not grow and d delta grows by
delta, so u decreases by at least delta. Where u < -delta nothing is added. Where -delta <= u <= 0,
1/lambda is added: on two boxes at most, and on two only if u = 0 and u = -delta. Above these boxes
u is at least 1 on the last and at least delta more on each one before. With a^delta <= 1/beta:
    - with two such boxes, the others have u >= delta, 2 delta, ...: in units of 1/lambda the sum is
      at most 2 + 1/beta + 1/beta^2 + ... = 2 + 1/(beta - 1) = (2 beta - 1)/(beta - 1);
    - with one, they have u >= 1, 1 + delta, ...: at most 1 + 1 + 1/beta + ..., the same;
    - with none, less.
That is epsilon/l. The argument uses one path only, so depth, shape and the number of boxes do not
matter: boxes outside the study area may be left out, and the grid may end anywhere.

The draws are compared with -b and not added to it, so that nothing overflows. Noise beyond 63 bits
would wrap; at the smallest rate allowed its probability is e^-128, which the claim above neglects.

Without the contribution bound in lambda the loss at l = 10 would be up to ten times epsilon.

References. Zhang, Xiao and Xie 2016 (PrivTree), theorem 3.1, for real-valued noise and one record
a person; here for whole numbers, where two boxes can lie in the critical range, and for any l.
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
"""Just above ln 4 = 1.38629436111989061..., so that delta is never too small."""

Split = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Decides which boxes to split, given their biased counts b (n,): those with b + X > 0."""


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """Boxes, int32 (n, 4), ordered by level, with their levels and parents (n,).

    Levels and parents are int32. A parent is the index of a box; that of the root is -1. The whole
    tree is public.
    """

    boxes: NDArray[np.int32]
    level: NDArray[np.int32]
    parent: NDArray[np.int32]

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Which boxes were not split (n,)."""
        whole = np.ones(len(self.boxes), dtype=np.bool_)
        whole[self.parent[self.parent >= 0]] = False
        return whole


def split_noise(epsilon: Fraction, sensitivity: int) -> DiscreteLaplace:
    """Return the noise X of splits, of rate (beta - 1) epsilon/((2 beta - 1) l).

    `sensitivity` is the contribution bound l, and beta is FAN_OUT.
    """
    return DiscreteLaplace(epsilon * Fraction(FAN_OUT - 1, 2 * FAN_OUT - 1), sensitivity)


def bias(noise: DiscreteLaplace) -> int:
    """Return delta of the module docstring: lambda ln 4, rounded up to a whole number."""
    return -(-LOG_FAN_OUT // noise.rate)


def grow(
    counts: NDArray[np.int64], inside: NDArray[np.bool_], delta: int, split: Split
) -> GrownTree:
    """Split the frame of private `counts` (rows, columns); see the module docstring.

    `inside` is the public mask of the study area; cells outside it are left out of all counts.
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
