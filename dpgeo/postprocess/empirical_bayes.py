"""Empirical Bayes estimation of true counts under Laplace or Gaussian noise.

Every true count x has a noisy count y, with noise of scale b, and a prior guess mu, which is
computed from its surroundings. Given mu, x is modelled as a mixture of a point mass at 0 and gamma
distributions with the shapes SHAPES and means that are mu times powers of two, since guesses may be
far off. The weights of the mixture are fitted by expectation maximisation (Dempster, Laird and
Rubin 1977) to all counts with similar mu/b, and smoothed over neighbouring bins of mu/b. This gives
every count a posterior mean and variance.

The noise has the variance 2 b^2: Laplace noise of scale b, or Gaussian noise of the standard
deviation sqrt(2) b. All quantities are in units of b. Integrals over x are sums over the grid `x`.
Noisy values are binned on the grid `y`, and posterior moments are interpolated between its points.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise, DiscreteLaplace

Floats = NDArray[np.float64]


class NoiseKind(Enum):
    """The kind of noise in counts: Laplace or Gaussian."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


def noise_kind(noise: CountNoise) -> NoiseKind:
    """Return whether a noise distribution is (discrete) Laplace or Gaussian."""
    return NoiseKind.LAPLACE if isinstance(noise, DiscreteLaplace) else NoiseKind.GAUSSIAN


SHAPES = (0.7, 3.0, 15.0)
RATIOS = 2.0 ** np.arange(-6, 10)
"""Means of the gamma distributions, as multiples of the prior guess mu."""

MIN_MEAN, MAX_MEAN = 0.1, 64.0
"""Limits of the means of the gamma distributions, in units of the noise scale b.

Means below the range are represented by the point mass at 0; those above it lie beyond the grid of
values x.
"""

CLEAR = 35.0
"""Noisy counts above CLEAR * b are left unchanged and keep the variance of their noise, 2 b^2."""

MAX_VARIANCE = 20.0
STEPS = 60
MIN_VALUES = 40
"""Weights are fitted only to at least this many counts; otherwise they keep their initial values.
"""

PSEUDO_COUNT = 0.02
"""Prior pseudo-count of each gamma distribution when the weights of the mixture are fitted."""

ZERO_SHARE, ZERO_LIMITS = 0.03, (1.0, 20.0)
"""Prior pseudo-count of the point mass at 0.

It is ZERO_SHARE times the number of counts, kept within ZERO_LIMITS.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posterior means (n,) and variances (n,) of true counts, in units of b and b^2.

    b is the scale of a count's noise. `log_likelihood` is the log-likelihood of the noisy counts
    under the fitted weights, without the counts in the last bin (above 39 b). It is 0 if there were
    too few counts to fit weights.
    """

    mean: Floats
    variance: Floats
    log_likelihood: float


def posterior(values: Floats, guesses: Floats, kind: NoiseKind = NoiseKind.LAPLACE) -> Posterior:
    """Compute the posteriors of true counts, given noisy values (n,) and guesses (n,).

    Both are in units of each count's noise scale b: `values` are y/b and `guesses` are mu/b.
    """
    model = _model(kind)
    row = np.searchsorted(model.guess_edges, guesses)
    if values.size < MIN_VALUES:
        mean, variance = _unfitted_moments(kind)
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
        np.where(clear, 2.0, np.minimum(variance, MAX_VARIANCE)),
        log_likelihood,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """Tables shared by all counts.

    For each bin of guesses and each component of the mixture, `priors` (guesses, components, x)
    holds the distribution of the true count, and `chances` (guesses, components, y) the
    distribution of the noisy count. Both are 0 for components that are not used with a bin's
    guesses. `smoothing` (guesses, guesses) holds the weights for smoothing over bins of guesses.
    """

    x: Floats
    y: Floats
    guess_edges: Floats
    noise: Floats
    priors: Floats
    chances: Floats
    smoothing: Floats

    def initial_weights(self, zeros: float) -> tuple[Floats, Floats]:
        """Return pseudo-counts (components,) and initial weights (guesses, components).

        `zeros` is the pseudo-count of the point mass at 0.
        """
        pseudo_counts = np.full(self.priors.shape[1], PSEUDO_COUNT)
        pseudo_counts[0] = zeros
        start = 0.5 * pseudo_counts / pseudo_counts.sum() + 0.5 / pseudo_counts.size
        return pseudo_counts, np.tile(start, (len(self.priors), 1))

    def fitted(self, seen: Floats) -> Floats:
        """Return the weights (guesses, components) of the mixture for each bin of prior guesses.

        They are fitted to `seen` (guesses, y): how many noisy counts there are by bin of their
        guess and bin of their value. Each row of weights sums to 1.
        """
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
        """Return the log-likelihood of a histogram `seen` (guesses, y) under `weights`."""
        used = np.flatnonzero(seen.any(axis=1))
        expected = (weights[used][:, None, :] @ self.chances[used])[:, 0, :]
        return float((seen[used] * np.log(np.maximum(expected, 1e-300))).sum())

    def histogram(self, values: Floats, row: NDArray[np.int64]) -> Floats:
        """Return the number of noisy values in each bin (guesses, y).

        `row` holds, for each value, the bin of its guess. The last bin of y is set to 0,
        because all larger values fall into it, too.
        """
        column = np.searchsorted((self.y[1:] + self.y[:-1]) / 2, values)
        shape = (len(self.priors), self.y.size)
        place = np.ravel_multi_index((row, column), shape)
        seen = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        seen[:, -1] = 0
        return seen

    def moments(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return posterior means and variances (guesses, y), by bin of guesses and noisy count.

        `weights` (guesses, components) are the weights of the mixture's components.
        """
        prior = (weights[:, None, :] @ self.priors)[:, 0, :]
        total = np.maximum(prior @ self.noise, 1e-300)
        mean = (prior * self.x) @ self.noise / total
        square = (prior * self.x**2) @ self.noise / total
        return mean, np.maximum(square - mean**2, 1e-4)


@functools.cache
def _unfitted_moments(kind: NoiseKind) -> tuple[Floats, Floats]:
    """Return posterior means and variances under the mixture weights from which the fit starts.

    They are used where there are too few counts to fit weights.
    """
    model = _model(kind)
    return model.moments(model.initial_weights(ZERO_LIMITS[0])[1])


@functools.cache
def _model(kind: NoiseKind) -> _Model:
    x = np.concatenate(
        [[0.0], np.geomspace(0.03, 1, 18)[:-1], np.arange(1, 12, 0.3), np.arange(12, 70, 0.6)]
    )
    y = np.concatenate([np.arange(-12, 12, 0.25), np.arange(12, 40, 0.5)])
    guesses = np.geomspace(0.003, 45, 27)
    away = np.abs(x[:, None] - y)
    noise = 0.5 * np.exp(-away)
    if kind is NoiseKind.GAUSSIAN:
        noise = np.exp(-(away**2) / 4) / math.sqrt(4 * math.pi)
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
    """Return the distributions (components, x) that are mixed for a guess.

    They are the point mass at 0, then gamma distributions, or zeros for those not used.
    """
    components = [np.where(x == 0, 1.0, 0.0)]
    for shape in SHAPES:
        for ratio in RATIOS:
            mean = guess * ratio
            # A narrow distribution far from the prior guess adds nothing to a wide one and is left
            # out.
            near = shape <= 1 or 0.4 < ratio < 3
            fits = near and MIN_MEAN <= mean <= MAX_MEAN
            components.append(_gamma(shape, mean, x) if fits else np.zeros_like(x))
    return np.stack(components)


def _gamma(shape: float, mean: float, x: Floats) -> Floats:
    """Return the probabilities of the values `x` in a gamma distribution discretised to them."""
    width = np.where(x == 0, 0.015, np.gradient(x))
    point = np.maximum(x, 0.008)
    scale = mean / shape
    log_norm = math.lgamma(shape) + shape * math.log(scale)
    chance = np.exp((shape - 1) * np.log(point) - point / scale - log_norm) * width
    total = chance.sum()
    return chance / total if total > 1e-9 else np.zeros_like(x)
