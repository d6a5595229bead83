"""Two-way empirical Bayes estimate of a table of noisy counts, such as hours by weekdays.

The row sums and column sums of such a table predict its entries well: the count of Tuesday noon is
roughly what the totals of Tuesdays and of noons suggest. Let X be the noisy counts, each with noise
of variance v, and P the table of products of row sums and column sums, divided by the total (all
clipped at 0). With the variance tau = max(mean (X - P)^2 - v, 0) of the true entries around P, the
estimate is

P + tau/(tau + v) (X - P).

If the true table is such a product, the noise is averaged out; if it is far from one, the counts
hardly change. For a table with one row or one column, P is its mean. The estimate is
post-processing. Sums of many estimates are biased, so sums are computed from the measured counts
instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def two_way_estimate(counts: NDArray[np.int64], variance: float) -> NDArray[np.float64]:
    """Return empirical Bayes estimates (r, c) of the true counts behind noisy `counts` (r, c).

    The module docstring has the formula; negative estimates are raised to 0. `variance` is the
    variance of the noise of each count.
    """
    measured = counts.astype(np.float64)
    expected = _expected(measured)
    around = float(np.mean((measured - expected) ** 2))
    true_variance = max(around - variance, 0.0)
    weight = true_variance / (true_variance + variance) if true_variance + variance > 0 else 1.0
    return np.asarray(np.maximum(expected + weight * (measured - expected), 0.0))


def _expected(measured: NDArray[np.float64]) -> NDArray[np.float64]:
    total = max(float(measured.sum()), 0.0)
    if min(measured.shape) == 1:
        return np.full(measured.shape, total / measured.size)
    rows = np.maximum(measured.sum(axis=1, keepdims=True), 0.0)
    columns = np.maximum(measured.sum(axis=0, keepdims=True), 0.0)
    if not total:
        return np.zeros(measured.shape)
    return np.asarray(rows * columns / total)
