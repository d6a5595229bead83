"""Projection of noisy counts to the nearest non-negative counts with the same total.

Noise makes some counts negative. Setting each of these to 0 would inflate every sum, since counts
with positive noise would stay. So all counts are projected together: of all y >= 0 with the same
sum as the noisy counts x (or the sum 0 if that is negative), the projection minimises the sum of
(x_i - y_i)^2/v_i, where v_i is the variance of x_i. The Karush-Kuhn-Tucker conditions give
    y_i = max(x_i - v_i t, 0)
with the unique t >= 0 that preserves the sum, found as by Michelot (1986). This is post-processing
of noisy counts: it costs no privacy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def non_negative(counts: NDArray[Any], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the non-negative counts (n,) nearest to noisy `counts` (n,), with the same total.

    Squared differences are divided by `variance` (n,), which may be scaled by any positive factor.
    A negative total becomes 0.
    """
    values = np.asarray(counts, dtype=np.float64)
    total = values.sum()
    if total <= 0:
        return np.zeros(len(values))
    # The t of the module docstring is (sum of counts - total) / (sum of variances), taken over the
    # counts that stay positive. It is too small if other counts are included. So the loop begins
    # with all positive counts and drops those that t makes negative, until none is dropped. A few
    # passes suffice; sorting takes longer.
    kept = np.flatnonzero(values > 0)
    own, spread = values[kept], variance[kept]
    while True:
        cut = max((own.sum() - total) / spread.sum(), 0.0)
        stays = own > cut * spread
        # If no count stays positive, the total is so small that it was lost in rounding errors.
        if stays.all() or not stays.any():
            break
        own, spread = own[stays], spread[stays]
    # Large maps almost fill the memory, so all arrays except the result are freed here.
    del kept, own, spread, stays
    nearest = np.asarray(np.multiply(variance, -cut))
    nearest += values
    np.maximum(nearest, 0.0, out=nearest)
    return nearest
