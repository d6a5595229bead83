"""Blocking for record linkage: two parties compare only records in the same block.

Inan et al. 2010, and section 6.4 of the DPCube paper. The first party publishes blocks and their
noisy counts; the second counts its own people in the same blocks with noise. Records of a block
are then compared under encryption. So that the number of comparisons tells no more than the noisy
counts do, each party fills a block up with dummies to its noisy count, or leaves records out at
random if that count is too small. Each party's epsilon is for its own people, one record each.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def reduction(first: Floats, second: Floats, people: tuple[int, int]) -> float:
    """Return the reduction ratio (equation 36) for the two parties' counts (k,) of blocks.

    It is 1 minus the share of compared pairs among all pairs of their `people`.
    """
    return float(1 - (first * second).sum() / (people[0] * people[1]))


def linked(
    label: Ints, first: Ints, second: Ints, told: tuple[Floats, Floats], pairs: int
) -> Mapping[str, float]:
    """Return how well one division of cells into blocks serves two parties: three figures.

    `label` (n,) is the block of every cell, and `first` and `second` are the cells of the parties'
    records; the first `pairs` records of both belong to the same people. `told` are the noisy
    counts (k,) of blocks that the two parties publish. `reduction` is the ratio of equation 36 for
    true counts; `padded` is the same ratio for the comparisons that are really made, including
    those with dummies; `kept` is the expected share of the `pairs` that are compared.
    """
    blocks = len(told[0])
    of_first, of_second = label[first], label[second]
    true = [np.bincount(each, minlength=blocks).astype(float) for each in (of_first, of_second)]
    sizes = [np.maximum(np.rint(each), 0) for each in told]
    stays = [
        np.minimum(size / np.maximum(people, 1), 1)
        for size, people in zip(sizes, true, strict=True)
    ]
    same = of_first[:pairs][of_first[:pairs] == of_second[:pairs]]
    everybody = (len(first), len(second))
    return {
        "reduction": reduction(true[0], true[1], everybody),
        "padded": reduction(sizes[0], sizes[1], everybody),
        "kept": float((stays[0][same] * stays[1][same]).sum() / pairs),
    }
