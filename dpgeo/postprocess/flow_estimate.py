"""Flows estimated from noisy counts of pairs, departures and arrivals.

Weighted least squares. Let y be the noisy counts (n, n) of pairs, of variance v, and r and c the
noisy departures and arrivals (n,), of variances v_r and v_c. The estimate x minimises
    sum (x_ij - y_ij)^2/v + sum (x_i. - r_i)^2/v_r + sum (x_.j - c_j)^2/v_c,
where x_i. and x_.j are sums of rows and columns. Its normal equations say that x_ij - y_ij = a_i +
b_j. With R_i = r_i - y_i., C_j = c_j - y_.j, and sums A of the a_i and B of the b_j:

with the diagonal: kr = v_r/v + n, kc = v_c/v + n, and
    [kr, n; n, kc] (A, B)' = (sum R, sum C)',   a_i = (R_i - B)/kr,   b_j = (C_j - A)/kc;

without it (pairs i = j do not exist): kr = v_r/v + n - 1, kc = v_c/v + n - 1, d = kr kc - 1, and
    [d + n, n kc; n kr, d + n] (A, B)' = (kc sum R + sum C, kr sum C + sum R)',
    a_i = (kc (R_i - B) + C_i - A)/d,   b_j = (kr (C_j - A) + R_j - B)/d.

Everything is post-processing of noisy counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def least_squares(
    pairs: Floats, leaving: Floats, arriving: Floats, ratios: tuple[float, float], *, within: bool
) -> Floats:
    """Return the least-squares estimates (n, n) of pairs, origins by destinations.

    `leaving` and `arriving` (n,) are the measured departures and arrivals. Without `within`, pairs
    of a region with itself were not counted, and stay 0.

    `ratios` are v_r/v and v_c/v: the variances of departures and of arrivals, divided by the
    variance of a pair.
    """
    n = len(pairs)
    row = leaving - pairs.sum(axis=1)
    column = arriving - pairs.sum(axis=0)
    if within:
        kr, kc = ratios[0] + n, ratios[1] + n
        a, b = np.linalg.solve([[kr, n], [n, kc]], [row.sum(), column.sum()])
        return np.asarray(pairs + ((row - b) / kr)[:, None] + ((column - a) / kc)[None, :])
    if n == 1:
        return np.zeros_like(pairs)
    kr, kc = ratios[0] + n - 1, ratios[1] + n - 1
    d = kr * kc - 1
    a, b = np.linalg.solve(
        [[d + n, n * kc], [n * kr, d + n]],
        [kc * row.sum() + column.sum(), kr * column.sum() + row.sum()],
    )
    of_row = (kc * (row - b) + column - a) / d
    of_column = (kr * (column - a) + row - b) / d
    estimate = pairs + of_row[:, None] + of_column[None, :]
    np.fill_diagonal(estimate, 0.0)
    return np.asarray(estimate)
