"""Margins of error for sums of counts with independent noise.

Whole counts. The sum S of independent discrete Laplace variables is a symmetric integer variable.
Its characteristic function phi(u) is the product over its terms of
(1-a)^2/((1-a)^2 + 4a sin^2(u/2)), where a = exp(-rate). By Fourier inversion on the integers
    P(|S| <= m) = 1/pi int_0^pi phi(u) sin((m + 1/2) u)/sin(u/2) du,
which is evaluated by Gauss-Legendre quadrature where phi is above e^-30. The margin is the smallest
m with 95 % coverage. For one term it is the exact quantile of `DiscreteLaplace.margin`.

Shares of counts. The noise of a share w of a count is w X, where X is discrete Laplace. There is a
variable F between -1 and 1, independent of X, such that X + F is Laplace of scale 1/rate. (X is the
difference of two geometric variables; each is the integer part of an exponential variable, and the
fractional part of that variable is independent of its integer part.) A sum of terms w X is
therefore treated as a sum of Laplace variables. In standard errors, its 95 % quantile is at most
that of a single variable, ln 20/sqrt 2, since tails become lighter with more terms. The largest
share is added to allow for F. Computations confirm that this margin suffices; it is not proved
(tests/statistical/test_range_coverage.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace

FEWEST_PANELS, MOST_PANELS, NODES = 16, 128, 32
"""Fewest and most quadrature panels, and nodes per panel.

They give at least ten nodes per wave of the integrand.
"""

LEAST_LOG = 30.0
"""If -ln phi exceeds this, phi is treated as 0."""

FEW = 1000
"""If more terms than this have equal noise, their number is rounded up to three digits."""


Spreads = Sequence[tuple[float, int]]


def margin_of_sum(terms: Mapping[DiscreteLaplace, int]) -> int:
    """Return the smallest m such that |sum of the noises| <= m with probability at least 95 %.

    `terms` maps each noise distribution to its number of terms.
    """
    rounded = tuple((noise, _few_digits(count)) for noise, count in terms.items() if count)
    if not rounded:
        return 0
    if len(rounded) == 1 and rounded[0][1] == 1:
        return rounded[0][0].margin()
    return _margin(tuple(sorted(rounded, key=lambda term: (term[0].rate, term[1]))))


def margin_of_shares(rates: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return the half-width of a 95 % interval for the noise of a sum of shares of counts.

    Term i of the sum is `shares[i]` times a count whose noise has the rate `rates[i]`.
    """
    if not shares.size:
        return 0.0
    deviation = math.sqrt(2 * float(np.sum(np.square(shares / rates))))
    return math.log(20) / math.sqrt(2) * deviation + float(shares.max())


def _few_digits(count: int) -> int:
    """Round a large number of terms up to three digits, so that cached margins are reused."""
    if count <= FEW:
        return count
    step = int(10 ** (len(str(count)) - 3))
    return -(-count // step) * step


@lru_cache(maxsize=4096)
def _margin(terms: tuple[tuple[DiscreteLaplace, int], ...]) -> int:
    deviation = math.sqrt(sum(count * noise.variance for noise, count in terms))
    node, weight = _quadrature(terms, deviation)
    below, enough = -1, math.ceil(4 * deviation) + 1
    while enough - below > 1:
        middle = (below + enough) // 2
        covered = float(weight @ np.sin((middle + 0.5) * node))
        below, enough = (below, middle) if covered >= 0.95 - 1e-9 else (middle, enough)
    return enough


def _quadrature(
    terms: tuple[tuple[DiscreteLaplace, int], ...], deviation: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the quadrature nodes u, and the weight of sin((m + 1/2) u) at each of them."""
    spreads = _spreads(terms)
    last = _last_node(spreads)
    waves = 2.2 * deviation * last / (2 * math.pi)  # the margin m is at most 2.12 standard errors
    panels = min(max(FEWEST_PANELS, math.ceil(2 * waves)), MOST_PANELS)
    # Panels get wider outwards, since the integrand is steep near 0.
    edges = last * np.linspace(0, 1, panels + 1) ** 2
    x, w = _rule()
    half = np.diff(edges)[:, None] / 2
    node = (edges[:-1, None] + half * (1 + x)).ravel()
    phi = np.exp(-_minus_log(spreads, node))
    return node, (half * w).ravel() * phi / (math.pi * np.sin(node / 2))


@lru_cache(maxsize=1)
def _rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.polynomial.legendre.leggauss(NODES)


def _last_node(spreads: Spreads) -> float:
    """Return the u at which phi falls below e^-LEAST_LOG, or pi if phi stays above."""
    low, high = 0.0, math.pi
    if sum(count * math.log1p(spread) for spread, count in spreads) <= LEAST_LOG:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        square = math.sin(middle / 2) ** 2
        if sum(count * math.log1p(spread * square) for spread, count in spreads) > LEAST_LOG:
            high = middle
        else:
            low = middle
    return high


def _spreads(terms: tuple[tuple[DiscreteLaplace, int], ...]) -> Spreads:
    """Return 4a/(1-a)^2 and the number of terms for each noise distribution; a = exp(-rate).

    The quotient is computed as 1/sinh^2(rate/2). It is set to 0 for rates above 700, which stand
    for no noise.
    """
    rates = [(float(noise.rate), count) for noise, count in terms]
    return [(0.0 if rate > 700 else 1 / math.sinh(rate / 2) ** 2, n) for rate, n in rates]


def _minus_log(spreads: Spreads, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute -ln phi(u), in a form that is accurate even for small rates."""
    total, square = np.zeros_like(u), np.sin(u / 2) ** 2
    for spread, count in spreads:
        total += count * np.log1p(spread * square)
    return total
