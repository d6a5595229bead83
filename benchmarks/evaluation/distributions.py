"""How far noisy counts are from the true ones as distributions; for tests and benchmarks alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_COUNT = 0.5
"""Stands for estimates that are not positive: they would make the divergence infinite."""


def divergence(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """Kullback and Leibler's KL(truth || estimate) in nats, of counts of any shape as shares.

    Estimates below LEAST_COUNT count as that. Raises ValueError where nothing was counted.
    """
    p = np.asarray(truth, dtype=np.float64).ravel()
    q = np.maximum(np.asarray(estimate, dtype=np.float64).ravel(), LEAST_COUNT)
    if p.min() < 0 or p.sum() <= 0:
        raise ValueError("The true counts must be counts of somebody.")
    p, q = p / p.sum(), q / q.sum()
    some = p > 0
    return float(np.sum(p[some] * np.log(p[some] / q[some])))


def precision_at(truth: NDArray[Any], estimate: NDArray[Any], top: int) -> float:
    """Which share of the `top` largest estimates are among the `top` largest true counts.

    What equals the last of these counts as one of them.
    """
    true, noisy = np.asarray(truth).ravel(), np.asarray(estimate).ravel()
    least = np.sort(true)[-top]
    chosen = np.argsort(-noisy, kind="stable")[:top]
    return float(np.mean(true[chosen] >= least))


def weighted_variance(cells: NDArray[Any], image: NDArray[np.integer[Any]]) -> float:
    """Sum over partitions of size times variance inside, divided by the cells (DPCube).

    `image` has the cells' shape and holds each cell's partition, -1 where there is none. 0 where
    every partition holds equal cells.
    """
    counts = np.asarray(cells, dtype=np.float64)[image >= 0]
    partition = image[image >= 0]
    sizes = np.maximum(np.bincount(partition), 1)
    means = np.bincount(partition, weights=counts) / sizes
    return float(np.mean(np.square(counts - means[partition])))


def earth_movers(truth: NDArray[Any], estimate: NDArray[Any], side: float = 1.0) -> float:
    """How far, on average, a unit of one map must move to make the other, by sliced projection.

    Of counts (rows, columns), negatives taken as 0, as shares; `side` is that of a cell. The mean
    over directions of the exact earth mover's distance of the projections, times pi/2: exact for
    a shift, and at most pi/2 times the true distance otherwise (Rabin et al. 2011).
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
