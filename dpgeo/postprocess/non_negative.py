"""Projection of noisy counts to the nearest non-negative ones of the same total.

Noise makes counts negative, and setting those to 0 one by one inflates every sum: on a map that is
nine tenths empty, half of the empty cells would keep their positive noise. So all counts are
projected together. Of all y >= 0 whose sum is that of the noisy counts x (or 0 if that sum is
negative), the one is taken that minimises the sum of (x_i - y_i)^2/v_i, where v_i is the variance
of x_i.
The Karush-Kuhn-Tucker conditions give
    y_i = max(x_i - v_i t, 0)
with the one t >= 0 that keeps the sum. This is post-processing of paid counts and costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def non_negative(counts: NDArray[Any], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the non-negative counts nearest to noisy `counts` (n,), with the same total.

    A negative total becomes 0. Only the ratios of the variances (n,) matter.
    """
    values = np.asarray(counts, dtype=np.float64)
    total = values.sum()
    if total <= 0:
        return np.zeros(len(values))
    positive = np.flatnonzero(values > 0)
    ratio = values[positive] / variance[positive]
    order = positive[np.argsort(-ratio, kind="stable")]
    # If the k counts of largest ratio stay positive, t is (sum of these counts - total)/(sum of
    # their variances).
    cut = (np.cumsum(values[order]) - total) / np.cumsum(variance[order])
    last = np.flatnonzero(values[order] > cut * variance[order])[-1]
    return np.asarray(np.maximum(values - max(cut[last], 0.0) * variance, 0.0))
