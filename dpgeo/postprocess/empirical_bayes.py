"""Empirical Bayes estimation of true counts under Laplace noise.

A count y = x + noise of scale b comes with a guess mu of x from its surroundings. Given mu, x is
modelled as 0 or a draw from one of many gamma distributions, whose shapes are SHAPES and whose
means are mu times a power of two: the surroundings may mislead by much, and the mixture learns by
how much. Its weights are fitted by expectation maximisation (Dempster, Laird and Rubin 1977) to
all counts with similar mu/b, smoothed over neighbouring bins of mu/b. Then every count has a
posterior mean and variance.

All quantities are in units of b. Integrals over x are sums over the grid `x`; noisy values are
binned on the grid `y`, between whose points posterior moments are interpolated.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHAPES = (0.7, 3.0, 15.0)
RATIOS = 2.0 ** np.arange(-6, 10)
"""Means of the gamma distributions as multiples of the guess."""

LEAST_MEAN, GREATEST_MEAN = 0.1, 64.0
"""Smaller means are covered by the point mass at 0; larger ones lie beyond the grid."""

CLEAR = 35.0
"""A count of more than this many b is its own estimate, with a variance of 2 b^2."""

GREATEST_VARIANCE = 20.0
STEPS = 60
FEWEST = 40
"""With fewer counts than this the weights are not fitted and keep their initial values."""

PSEUDO_COUNT = 0.02
"""Prior pseudo-count of each gamma distribution."""

ZERO_SHARE, ZERO_LIMITS = 0.03, (1.0, 20.0)
"""Prior pseudo-count of the point mass at 0: this share of the counts, within limits."""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Means and variances (n,) of true counts, and the likelihood of the noisy ones.

    `log_likelihood` is the log-likelihood of the noisy counts under the fitted weights, leaving out
    counts in the last bin (above 39 b). It is 0 where there were too few counts to fit weights.
    """

    mean: Floats
    variance: Floats
    log_likelihood: float


def posterior(values: Floats, guesses: Floats) -> Posterior:
    """Compute the posterior of true counts, given noisy values and guesses (n,).

    All are in units of each count's noise scale b: values y/b, guesses mu/b, variances over b^2.
    """
    model = _model()
    row = np.searchsorted(model.guess_edges, guesses)
    if values.size < FEWEST:
        mean, variance = _unfitted_moments()
        log_likelihood = 0.0
    else:
        histogram = model.histogram(values, row)
        weights = model.fitted(histogram)
        mean, variance = model.moments(weights)
        log_likelihood = model.log_likelihood(weights, histogram)
    position = np.interp(values, model.y, np.arange(model.y.size))
    left = np.minimum(position.astype(np.int64), model.y.size - 2)
    fraction = position - left
    mean = mean[row, left] * (1 - fraction) + mean[row, left + 1] * fraction
    variance = variance[row, left] * (1 - fraction) + variance[row, left + 1] * fraction
    clear = values > CLEAR
    return Posterior(
        np.where(clear, values, mean),
        np.where(clear, 2.0, np.minimum(variance, GREATEST_VARIANCE)),
        log_likelihood,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """Tables that do not depend on any count.

    `priors` (guesses, components, x) are the components' distributions of the true count, `chances`
    (guesses, components, y) their distributions of the noisy count. Components that a
    guess does not use are all 0.
    """

    x: Floats
    y: Floats
    guess_edges: Floats
    noise: Floats
    priors: Floats
    chances: Floats
    smoothing: Floats

    def initial_weights(self, zeros: float) -> tuple[Floats, Floats]:
        """Return pseudo-counts (components,) and weights (guesses, components)."""
        pseudo_counts = np.full(self.priors.shape[1], PSEUDO_COUNT)
        pseudo_counts[0] = zeros
        start = 0.5 * pseudo_counts / pseudo_counts.sum() + 0.5 / pseudo_counts.size
        return pseudo_counts, np.tile(start, (len(self.priors), 1))

    def fitted(self, seen: Floats) -> Floats:
        """Fit weights (guesses, components), rows adding up to 1, to a histogram."""
        zeros = float(np.clip(ZERO_SHARE * seen.sum(), *ZERO_LIMITS))
        pseudo_counts, weights = self.initial_weights(zeros)
        used = np.flatnonzero(seen.any(axis=1))
        chances, seen = self.chances[used], seen[used]
        smoothing = self.smoothing[:, used]
        for _ in range(STEPS):
            expected = (weights[used][:, None, :] @ chances)[:, 0, :]
            likelihood_ratio = seen / np.maximum(expected, 1e-300)
            explained = weights[used] * (chances @ likelihood_ratio[:, :, None])[:, :, 0]
            weights = smoothing @ explained + pseudo_counts
            weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def log_likelihood(self, weights: Floats, seen: Floats) -> float:
        """Return the log-likelihood of a histogram of counts under weights."""
        used = np.flatnonzero(seen.any(axis=1))
        expected = (weights[used][:, None, :] @ self.chances[used])[:, 0, :]
        return float((seen[used] * np.log(np.maximum(expected, 1e-300))).sum())

    def histogram(self, values: Floats, row: NDArray[np.int64]) -> Floats:
        """Count the values in each bin (guesses, y), without those in the last bin."""
        column = np.searchsorted((self.y[1:] + self.y[:-1]) / 2, values)
        shape = (len(self.priors), self.y.size)
        place = np.ravel_multi_index((row, column), shape)
        seen = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        seen[:, -1] = 0
        return seen

    def moments(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return posterior means and variances (guesses, y)."""
        prior = (weights[:, None, :] @ self.priors)[:, 0, :]
        total = np.maximum(prior @ self.noise, 1e-300)
        mean = (prior * self.x) @ self.noise / total
        square = (prior * self.x**2) @ self.noise / total
        return mean, np.maximum(square - mean**2, 1e-4)


@functools.cache
def _unfitted_moments() -> tuple[Floats, Floats]:
    """Return posterior means and variances under the initial weights."""
    model = _model()
    return model.moments(model.initial_weights(ZERO_LIMITS[0])[1])


@functools.cache
def _model() -> _Model:
    x = np.concatenate(
        [[0.0], np.geomspace(0.03, 1, 18)[:-1], np.arange(1, 12, 0.3), np.arange(12, 70, 0.6)]
    )
    y = np.concatenate([np.arange(-12, 12, 0.25), np.arange(12, 40, 0.5)])
    guesses = np.geomspace(0.003, 45, 27)
    noise = 0.5 * np.exp(-np.abs(x[:, None] - y))
    priors = np.stack([_components(guess, x) for guess in guesses])
    index = np.arange(guesses.size)
    return _Model(
        x=x,
        y=y,
        guess_edges=np.sqrt(guesses[1:] * guesses[:-1]),
        noise=noise,
        priors=priors,
        chances=priors @ noise,
        smoothing=np.exp(-0.5 * ((index[:, None] - index) / 2.0) ** 2),
    )


def _components(guess: float, x: Floats) -> Floats:
    """Return distributions (components, x): the mass at 0, then the gammas."""
    components = [np.where(x == 0, 1.0, 0.0)]
    for shape in SHAPES:
        for ratio in RATIOS:
            mean = guess * ratio
            # Narrow distributions far from the guess would duplicate wide ones.
            near = shape <= 1 or 0.4 < ratio < 3
            fits = near and LEAST_MEAN <= mean <= GREATEST_MEAN
            components.append(_gamma(shape, mean, x) if fits else np.zeros_like(x))
    return np.stack(components)


def _gamma(shape: float, mean: float, x: Floats) -> Floats:
    """Return the probabilities of the grid points `x` under a gamma distribution."""
    width = np.where(x == 0, 0.015, np.gradient(x))
    point = np.maximum(x, 0.008)
    scale = mean / shape
    log_norm = math.lgamma(shape) + shape * math.log(scale)
    chance = np.exp((shape - 1) * np.log(point) - point / scale - log_norm) * width
    total = chance.sum()
    return chance / total if total > 1e-9 else np.zeros_like(x)
