"""Margins of error for sums of counts with independent noise.

Whole counts. The sum S of independent discrete Laplace variables is a symmetric integer variable.
Its characteristic function phi(u) is the product over its terms of
(1-a)^2/((1-a)^2 + 4a sin^2(u/2)), where a = exp(-rate). By Fourier inversion on the integers
    P(|S| <= m) = 1/pi int_0^pi phi(u) sin((m + 1/2) u)/sin(u/2) du,
which is evaluated by Gauss-Legendre quadrature where phi is above e^-30. The margin is the smallest
m with 95 % coverage. For one term it is the exact quantile of the noise (its `margin`).

For discrete Gaussian noise with the parameter s, Poisson's summation formula gives phi(u) as the
sum of exp(-s (u - 2 pi j)^2/2) over all integers j, divided by the same sum at u = 0. From s = 2
on, the terms j = 0 and j = 1 suffice for u up to pi, the next being below e^-78; for smaller s, the
probabilities are added up.

Shares of counts. The noise of a share w of a count is w X, where X is discrete Laplace. There is a
variable F between -1 and 1, independent of X, such that X + F is Laplace of scale 1/rate. (X is the
difference of two geometric variables; each is the integer part of an exponential variable, and the
fractional part of that variable is independent of its integer part.) A sum of terms w X is
therefore treated as a sum of Laplace variables. In standard errors, its 95 % quantile is at most
that of a single variable, ln 20/sqrt 2, since tails become lighter with more terms. The largest
share is added to allow for F. Sums of Gaussian noise are treated as normal variables in the same
way. Computations confirm that this margin suffices; it is not proved
(tests/statistical/test_range_coverage.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise, DiscreteGaussian, DiscreteLaplace

MIN_PANELS, MAX_PANELS, NODES = 16, 128, 32
"""Fewest and most quadrature panels, and nodes per panel.

They give at least ten nodes per period of the integrand, a sine.
"""

MIN_LOG = 30.0
"""If -ln of the characteristic function phi exceeds this, phi is treated as 0."""

FEW = 1000
"""Numbers of terms with equal noise above this are rounded up to three significant digits.

Otherwise nearly every sum would need a quadrature of its own.
"""


Terms: TypeAlias = tuple[tuple[CountNoise, int], ...]


def margin_of_sum(terms: Mapping[CountNoise, int]) -> int:
    """Return the smallest m such that |sum of the noises| <= m with probability at least 95 %.

    `terms` maps each noise distribution to its number of terms.
    """
    rounded = tuple((noise, _few_digits(count)) for noise, count in terms.items() if count)
    if not rounded:
        return 0
    if len(rounded) == 1 and rounded[0][1] == 1:
        return rounded[0][0].margin()
    return _margin(tuple(sorted(rounded, key=lambda term: (-term[0].variance, term[1]))))


def margin_of_shares(
    scales: NDArray[np.float64], shares: NDArray[np.float64], tail: float
) -> float:
    """Return the half-width of a 95 % interval for the noise of a sum of shares of counts.

    Term i of the sum is `shares[i]` times a count whose noise has the scale `scales[i]`. `tail` is
    the 97.5 % quantile of the noise in standard deviations, `noise.tail(0.025)`.
    """
    if not shares.size:
        return 0.0
    deviation = math.sqrt(2 * float(np.sum(np.square(shares * scales))))
    return tail * deviation + float(shares.max())


def _few_digits(count: int) -> int:
    """Round a large number of terms up to three significant digits, to reuse cached margins."""
    if count <= FEW:
        return count
    step = int(10 ** (len(str(count)) - 3))
    return -(-count // step) * step


@lru_cache(maxsize=4096)
def _margin(terms: Terms) -> int:
    deviation = math.sqrt(sum(count * noise.variance for noise, count in terms))
    node, weight = _quadrature(terms, deviation)
    below, enough = -1, math.ceil(4 * deviation) + 1
    while enough - below > 1:
        middle = (below + enough) // 2
        covered = float(weight @ np.sin((middle + 0.5) * node))
        below, enough = (below, middle) if covered >= 0.95 - 1e-9 else (middle, enough)
    return enough


def _quadrature(terms: Terms, deviation: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the quadrature nodes u, and the weight of sin((m + 1/2) u) at each of them."""
    last = _last_node(terms)
    # Number of periods of sin((m + 1/2) u) over the range of integration. The margin m is not known
    # yet, but it is at most 2.12 standard errors.
    waves = 2.2 * deviation * last / (2 * math.pi)
    panels = min(max(MIN_PANELS, math.ceil(2 * waves)), MAX_PANELS)
    # Panels get wider outwards, since the integrand is steep near 0.
    edges = last * np.linspace(0, 1, panels + 1) ** 2
    x, w = _rule()
    half = np.diff(edges)[:, None] / 2
    node = (edges[:-1, None] + half * (1 + x)).ravel()
    phi = np.exp(-_minus_log(terms, node))
    return node, (half * w).ravel() * phi / (math.pi * np.sin(node / 2))


@lru_cache(maxsize=1)
def _rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.polynomial.legendre.leggauss(NODES)


def _last_node(terms: Terms) -> float:
    """Return the u at which the characteristic function phi falls below e^-MIN_LOG, or pi if phi
    stays above.
    """
    low, high = 0.0, math.pi
    if float(_minus_log(terms, np.array(high))) <= MIN_LOG:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        if float(_minus_log(terms, np.array(middle))) > MIN_LOG:
            high = middle
        else:
            low = middle
    return high


def _minus_log(terms: Terms, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute -ln phi(u) of the characteristic function phi, in a form that is accurate even for
    large scales.
    """
    total = np.zeros_like(u)
    for noise, count in terms:
        if isinstance(noise, DiscreteLaplace):
            total += count * _of_laplace(noise, u)
        else:
            total += count * _of_gaussian(noise, u)
    return total


def _of_laplace(noise: DiscreteLaplace, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -ln phi(u) of one term, ln(1 + 4a/(1-a)^2 sin^2(u/2)); a = exp(-rate).

    The quotient is computed as 1/sinh^2(rate/2). It is set to 0 for rates above 700, which stand
    for no noise.
    """
    rate = float(noise.rate)
    spread = 0.0 if rate > 700 else 1 / math.sinh(rate / 2) ** 2
    return np.asarray(np.log1p(spread * np.sin(u / 2) ** 2))


def _of_gaussian(noise: DiscreteGaussian, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -ln phi(u) of one discrete Gaussian term, by the module docstring's formula."""
    s = float(noise.square_scale)
    if s >= 2:
        return np.asarray(s * u**2 / 2 - np.log1p(np.exp(-2 * s * math.pi * (math.pi - u))))
    values = np.arange(1.0, 65)
    weights = np.exp(-(values**2) / (2 * s))
    waves = np.cos(u[..., None] * values) @ weights
    # Where phi is tiny, rounding may make the sum 0 or negative, which has no logarithm.
    return np.asarray(-np.log(np.maximum(1 + 2 * waves, 1e-15) / (1 + 2 * weights.sum())))
