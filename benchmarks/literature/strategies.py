"""Matrix mechanism: answers to a workload of queries from noisy answers to other queries.

The queries that are measured are called the strategy.

Li, Miklau, Hay, McGregor and Rastogi 2015. The strategy A (m, n) is measured with noise of scale
s/epsilon, where s is the sensitivity of A: the greatest L1 norm of a column of A, since a person
adds one column to the answers. Counts are then the least-squares solution, and the workload is
answered from them, which is post-processing. The strategy depends on the workload alone, never on
the data. The expected squared error of the workload W is 2 (s/epsilon)^2 tr(W (A'A)^-1 W').

Strategies here are given: the identity (Laplace), the workload itself, a binary tree (Hay et al.
2010) and Haar's wavelets (Privelet). `benchmarks.peers` has the strategy of HDMM, which is
optimised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sensitivity(strategy: Floats) -> float:
    """Return the sensitivity of a strategy (m, n), the greatest L1 norm of a column."""
    return float(np.abs(strategy).sum(axis=0).max())


def answered(counts: Floats, strategy: Floats, epsilon: float, random: Generator) -> Floats:
    """Return least-squares estimates (n,) of counts from noisy answers to a strategy's queries."""
    answers = strategy @ counts
    noisy = answers + random.laplace(0, sensitivity(strategy) / epsilon, len(answers))
    return np.asarray(np.linalg.lstsq(strategy, noisy, rcond=None)[0])


def expected_error(workload: Floats, strategy: Floats, epsilon: float) -> float:
    """Return the root of the expected mean squared error of the workload's answers."""
    inverse = np.linalg.pinv(strategy.T @ strategy)
    total = 2 * (sensitivity(strategy) / epsilon) ** 2 * np.trace(workload @ inverse @ workload.T)
    return float(np.sqrt(total / len(workload)))


def all_ranges(bins: int) -> Floats:
    """Return every range of n bins, one in each row of an array (n (n + 1)/2, n)."""
    place = np.arange(bins)
    first, last = np.triu_indices(bins)
    inside = (place >= first[:, None]) & (place <= last[:, None])
    return inside.astype(np.float64)


def binary_tree(bins: int) -> Floats:
    """Return the nodes of the binary tree over 2^h bins, one in each row, the root first."""
    rows = [np.kron(np.eye(parts), np.ones(bins // parts)) for parts in _powers(bins)]
    return np.vstack(rows)


def haar(bins: int) -> Floats:
    """Return Haar's wavelets over 2^h bins with entries 0, 1 and -1, one in each row."""
    rows = [np.ones((1, bins))]
    for parts in _powers(bins)[:-1]:
        half = bins // parts // 2
        rows.append(np.kron(np.eye(parts), np.repeat([1.0, -1.0], half)))
    return np.vstack(rows)


def _powers(bins: int) -> list[int]:
    height = bins.bit_length() - 1
    if bins != 1 << height:
        raise ValueError("The number of bins must be a power of two.")
    return [1 << level for level in range(height + 1)]


STRATEGIES: Mapping[str, Callable[[int], Floats]] = {
    "identity": np.eye,
    "the workload itself": all_ranges,
    "binary tree": binary_tree,
    "Haar": haar,
}
