"""Groups of neighbouring boxes whose counts stand out from the noise only when added up.

A box is clear if its noisy count reaches a threshold that at most one empty box in a thousand
reaches. Where boxes are small and people few, hardly any box is clear, although many of them
together hold people. Their counts have independent noise, so boxes that are not clear are added up
within squares of 2, 4, 8, ... cells a side, up to a MIN_SQUARES_ACROSS-th of the map. If the noise
of one count has the standard deviation sd, the noise of a sum of m counts has the standard
deviation sd sqrt(m). A group is clear if its sum reaches q sd sqrt(m), where q is the number of
standard deviations that a single count exceeds once in a thousand by noise (ln 500/sqrt(2) for
Laplace noise, 3.09 for Gaussian noise); relative to its standard deviation, a sum has no heavier
tails. A box belongs to the smallest group that is clear. Boxes whose own count is clear are left
out of all sums, so one busy box never makes its neighbours look busy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise

MIN_SQUARES_ACROSS = 8
"""Boxes are added up within squares whose sides are at most 1/MIN_SQUARES_ACROSS of the map's side.

Larger squares would no longer show where people are.
"""

Array = NDArray[np.float64]


def coloured_from(
    boxes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    noise: CountNoise,
    side: int,
) -> Array:
    """Return, for each box (n,), the lowest value at which a map colours the box's cells.

    `boxes` (n, 4; rows, then columns), `sizes` (n,) and `counts` (n,) hold each box, its number of
    cells and its noisy count; `side` is the number of cells along the map. The value is the
    threshold of the box or of its group, divided by the number of cells there. In a box that is
    clear neither on its own nor in a group, the value is the box's threshold.
    """
    alone = float(noise.threshold())
    least = np.where(counts >= alone, alone * _share(sizes), alone)
    open_boxes = (counts < alone) & (sizes > 0)
    extent = np.maximum(boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2])
    middle = np.column_stack([boxes[:, 0] + boxes[:, 1], boxes[:, 2] + boxes[:, 3]]) // 2
    block = 2
    while block * MIN_SQUARES_ACROSS <= side:
        chosen = np.flatnonzero(open_boxes & (extent <= block))
        row, column = (middle[chosen] // block).T
        _, group = np.unique(row * (side + 1) + column, return_inverse=True)
        number, cells, sums = (
            np.bincount(group, weights) for weights in (None, sizes[chosen], counts[chosen])
        )
        threshold = noise.tail(1e-3) * np.sqrt(number * noise.variance)
        clear = (number > 1) & (sums >= threshold)
        value = threshold * _share(np.maximum(cells, 1))
        least[chosen] = np.where(clear[group], value[group], least[chosen])
        open_boxes[chosen[clear[group]]] = False
        block *= 2
    return least


def _share(cells: NDArray[np.generic]) -> Array:
    """Return 1/c for each number of cells c (n,), where c is rounded up to a power of 4.

    Rounding leaves few distinct values, so files compress well.
    """
    return np.asarray(4.0 ** -np.ceil(np.log2(np.maximum(cells, 1)) / 2), dtype=np.float64)
