"""Distances between noisy and true counts, compared as distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_COUNT = 0.5
"""Smallest value used for an estimate, because an estimate of 0 would make the divergence infinite.
"""


def divergence(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """Return the Kullback-Leibler divergence of the estimate from the truth, in nats.

    Counts of any shape are compared as shares. Estimates below MIN_COUNT are raised to it. Raises
    ValueError if a true count is negative or all of them are 0.
    """
    p = np.asarray(truth, dtype=np.float64).ravel()
    q = np.maximum(np.asarray(estimate, dtype=np.float64).ravel(), MIN_COUNT)
    if p.min() < 0 or p.sum() <= 0:
        raise ValueError("The true counts must be counts of somebody.")
    p, q = p / p.sum(), q / q.sum()
    some = p > 0
    return float(np.sum(p[some] * np.log(p[some] / q[some])))


def precision_at(truth: NDArray[Any], estimate: NDArray[Any], top: int) -> float:
    """Return the share of the `top` largest estimates that are among the `top` largest true counts.

    Cells whose true count equals the smallest of the `top` largest ones count among these, too.
    """
    true, noisy = np.asarray(truth).ravel(), np.asarray(estimate).ravel()
    least = np.sort(true)[-top]
    chosen = np.argsort(-noisy, kind="stable")[:top]
    return float(np.mean(true[chosen] >= least))


def weighted_variance(cells: NDArray[Any], image: NDArray[np.integer[Any]]) -> float:
    """Return the mean squared deviation of true counts from their partition's mean (DPCube).

    `image` (rows, columns) contains each cell's partition, or -1 for a cell without one, which is
    left out. The result is 0 if the counts within every partition are equal.
    """
    counts = np.asarray(cells, dtype=np.float64)[image >= 0]
    partition = image[image >= 0]
    sizes = np.maximum(np.bincount(partition), 1)
    means = np.bincount(partition, weights=counts) / sizes
    return float(np.mean(np.square(counts - means[partition])))


def earth_movers(truth: NDArray[Any], estimate: NDArray[Any], side: float = 1.0) -> float:
    """Return the earth mover's distance between two maps, by sliced projection.

    This is the mean distance by which mass moves from one map to the other. Counts (rows, columns)
    are compared as shares; negative counts become 0. `side` is the side length of a cell. The
    result is the mean, over directions, of the exact earth mover's distance between the
    projections, times pi/2. It is exact for a shift, and otherwise at most pi/2 times the true
    distance (Rabin et al. 2011).
    """
    shares = []
    for counts in (truth, estimate):
        some = np.maximum(np.asarray(counts, dtype=np.float64), 0)
        if some.sum() <= 0:
            raise ValueError("A map without anybody cannot be moved.")
        shares.append((some / some.sum()).ravel())
    rows, columns = np.asarray(truth).shape
    y, x = (each.ravel() for each in np.mgrid[0:rows, 0:columns])
    distances = []
    for angle in np.linspace(0, np.pi, DIRECTIONS, endpoint=False):
        along = x * np.cos(angle) + y * np.sin(angle)
        order = np.argsort(along, kind="stable")
        difference = np.cumsum((shares[0] - shares[1])[order])[:-1]
        distances.append(float(np.sum(np.abs(difference) * np.diff(along[order]))))
    return side * float(np.mean(distances)) * np.pi / 2


DIRECTIONS = 64
