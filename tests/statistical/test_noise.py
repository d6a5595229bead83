"""The noise has its declared distribution, and the tests detect other distributions."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.sampler import sample, sample_geometric
from tests.randomness import SeededWords
from tests.requirements import need
from tests.statistical.bounds import (
    EFFORT,
    LOG_FALSE_ALARM,
    MIN_EXPECTED,
    log_misfit,
    log_pairs,
    log_two_samples,
    seed,
)

pytestmark = pytest.mark.statistical

Ints = NDArray[np.int64]

SCALES = ["0.3", "0.5", "1", "10", "200", "1000", "100000", "10000000000"]
DRAWS = 2_000_000 * EFFORT


def noise_of(scale: str | float) -> DiscreteLaplace:
    return DiscreteLaplace(1 / Fraction(scale), 1)


def less_than(edges: Ints, rate: float) -> NDArray[np.float64]:
    """Return P(X < edge) of discrete Laplace noise.

    This is the closed form, which the sampler does not use.
    """
    ratio_plus_one = 1 + math.exp(-rate)
    above = np.exp(-rate * np.maximum(edges, 0)) / ratio_plus_one
    below = np.exp(-rate * np.maximum(1 - edges, 0)) / ratio_plus_one
    return np.where(edges > 0, 1 - above, below)


def classes(noise: DiscreteLaplace, draws: int) -> Ints:
    """Return the edges of at most 400 classes of noise values.

    In each class, MIN_EXPECTED draws or more are expected.
    """
    rate = float(noise.rate)
    share = max(MIN_EXPECTED / draws, 1 / 400)
    levels = np.arange(share, 0.5, share)
    reach = np.unique(np.floor(-np.log(levels * (1 + math.exp(-rate))) / rate).astype(np.int64))
    reach = reach[reach >= 0]
    edges = np.unique(np.concatenate([-reach, 1 + reach]))
    expected = draws * np.diff(less_than(edges, rate), prepend=0.0)
    return edges[expected >= MIN_EXPECTED]


def log_chance_of_misfit(draws: Ints, noise: DiscreteLaplace) -> float:
    """Return an upper bound on the log probability that draws fit as badly as these do.

    The probability is that for draws that really have this noise.
    """
    edges = classes(noise, draws.size)
    return log_misfit(draws, edges, less_than(edges, float(noise.rate)))


@pytest.fixture(params=SCALES)
def scale(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_noise_fits_its_scale_and_no_other(scale: str) -> None:
    draws = sample(noise_of(scale), DRAWS, SeededWords(seed(1)))
    assert log_chance_of_misfit(draws, noise_of(scale)) > LOG_FALSE_ALARM
    for factor in (0.7, 0.98, 1.02, 1.3):
        other = noise_of(float(scale) * factor)
        assert log_chance_of_misfit(draws, other) < LOG_FALSE_ALARM, factor


def test_noise_from_the_operating_system_fits_its_scale() -> None:
    draws = sample(noise_of("10"), DRAWS, SystemEntropy().stream())
    assert log_chance_of_misfit(draws, noise_of("10")) > LOG_FALSE_ALARM


@pytest.mark.parametrize("scale", ["0.5", "10", "200"])
def test_a_zero_counted_twice_is_noticed(scale: str) -> None:
    words = SeededWords(seed(2))
    magnitude = sample_geometric(noise_of(scale).rate, DRAWS, words)
    sign = np.where(words.words(DRAWS) >> np.uint64(63), -1, 1)
    assert log_chance_of_misfit(magnitude * sign, noise_of(scale)) < LOG_FALSE_ALARM


def test_digits_that_depend_on_each_other_are_noticed() -> None:
    noise = noise_of("100000")
    draws = sample(noise, DRAWS, SeededWords(seed(3)))
    # The low 12 bits copy the next 12 bits, as if one random word had been used twice.
    entangled = draws & ~4095 | draws >> 12 & 4095
    assert log_pairs(draws & 15, draws >> 12 & 15, 16) > LOG_FALSE_ALARM
    assert log_pairs(entangled & 15, entangled >> 12 & 15, 16) < LOG_FALSE_ALARM


def test_neighbouring_draws_are_independent() -> None:
    draws = np.clip(sample(noise_of("1"), DRAWS, SeededWords(seed(4))), -3, 3) + 3
    for lag in (1, 2, 1 << 15):
        assert log_pairs(draws[:-lag], draws[lag:], 7) > LOG_FALSE_ALARM
    echoing = np.where(draws[1:] % 3, draws[1:], draws[:-1])
    assert log_pairs(draws[:-1], echoing, 7) < LOG_FALSE_ALARM


@pytest.mark.parametrize("scale", ["0.5", "3", "40", "5000"])
def test_noise_is_distributed_like_that_of_opendp(scale: str) -> None:
    need(importlib.util.find_spec("opendp"), "opendp: pip install --group full")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    size = 30_000 * EFFORT
    theirs = np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * size), dtype=np.int64)
    edges = classes(noise_of(scale), size)
    ours = sample(noise_of(scale), DRAWS, SeededWords(seed(5)))
    assert log_two_samples(ours, theirs, edges) > LOG_FALSE_ALARM
    for factor in (0.7, 1.3):
        other = sample(noise_of(float(scale) * factor), DRAWS, SeededWords(seed(6)))
        assert log_two_samples(other, theirs, edges) < LOG_FALSE_ALARM, factor
