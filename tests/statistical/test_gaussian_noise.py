"""Discrete Gaussian noise has its declared distribution, and the tests detect other ones."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.zcdp import NANO, epsilon_at
from dpgeo.privacy import sampler
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.gaussian_sampler import proposal_scale, sample
from tests.randomness import SeededWords
from tests.requirements import need
from tests.statistical.bounds import (
    EFFORT,
    LOG_FALSE_ALARM,
    MIN_EXPECTED,
    log_chi_square_tail,
    log_misfit,
    log_pairs,
    log_two_samples,
    seed,
)

pytestmark = pytest.mark.statistical

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SCALES = ["0.4", "1", "2.5", "30", "1000", "10000", "10000000", "10000000000"]
DRAWS = 2_000_000 * EFFORT


def noise_of(scale: str | float) -> DiscreteGaussian:
    return DiscreteGaussian(1 / (2 * Fraction(scale) ** 2), 1)


def less_than(edges: Ints, scale: float) -> Floats:
    """Return P(X < edge), by adding up masses or, for large scales, from a normal distribution.

    The sum of masses equals the normal distribution function at edge - 1/2 up to a relative error
    of 1/scale^2, which is at most 1e-8 from a scale of 10^4 on.
    """
    if scale <= 2000:
        reach = math.ceil(40 * scale)
        values = np.arange(-reach, reach + 1)
        masses = np.exp(-(values**2) / (2 * scale**2))
        below = np.concatenate([[0.0], np.cumsum(masses / masses.sum())])
        return below[np.clip(edges + reach, 0, below.size - 1)]
    return np.array([math.erfc(-(edge - 0.5) / scale / math.sqrt(2)) / 2 for edge in edges])


def classes(scale: float, draws: int) -> Ints:
    """Return the edges of at most 400 classes of noise values, each with enough expected draws.

    Beyond each outermost edge, at least MIN_EXPECTED draws are expected.
    """
    share = max(MIN_EXPECTED / draws, 1 / 400)
    reach = scale * math.sqrt(2 * math.log(draws / MIN_EXPECTED))
    grid = np.unique(np.floor(np.linspace(-reach, reach, 4001)).astype(np.int64))
    edges: list[int] = []
    last = 0.0
    for edge, below in zip(grid.tolist(), less_than(grid, scale).tolist(), strict=True):
        tail = min(below, 1 - below)
        if below - last >= min(share, max(tail / 4, MIN_EXPECTED / draws)):
            edges.append(edge)
            last = below
    while (1 - less_than(np.array(edges[-1:]), scale)[0]) * draws < MIN_EXPECTED:
        edges.pop()
    return np.array(edges)


def log_chance_of_misfit(draws: Ints, scale: float) -> float:
    """Return an upper bound on the log probability that draws fit as badly as these do."""
    edges = classes(scale, draws.size)
    return log_misfit(draws, edges, less_than(edges, scale))


@pytest.mark.parametrize("scale", SCALES)
def test_noise_fits_its_scale_and_no_other(scale: str) -> None:
    draws = sample(noise_of(scale), DRAWS, SeededWords(seed(11)))
    assert log_chance_of_misfit(draws, float(scale)) > LOG_FALSE_ALARM
    for factor in (0.7, 0.98, 1.02, 1.3):
        assert log_chance_of_misfit(draws, float(scale) * factor) < LOG_FALSE_ALARM, factor


def test_the_classes_reach_far_into_the_tails() -> None:
    for scale in SCALES:
        edges = classes(float(scale), DRAWS)
        outermost, further = less_than(edges[0] - np.array([0, 1]), float(scale))
        # At small scales, the outermost class may have more draws, because edges are integers:
        # with its edge one integer further out, the class would have too few draws.
        assert outermost * DRAWS < 30 * MIN_EXPECTED or further * DRAWS < MIN_EXPECTED


@pytest.mark.parametrize("scale", ["1", "30", "1000"])
def test_the_tail_beyond_three_scales_fits_by_itself(scale: str) -> None:
    """Draws beyond three scales, one in 370, have the right conditional distribution."""
    edge = math.ceil(3 * float(scale))
    sizes = np.abs(sample(noise_of(scale), 10 * DRAWS, SeededWords(seed(12))))
    tail = sizes[sizes >= edge]
    assert log_tail_misfit(tail, edge, float(scale)) > LOG_FALSE_ALARM
    for factor in (0.9, 1.1):
        assert log_tail_misfit(tail, edge, float(scale) * factor) < LOG_FALSE_ALARM, factor


def log_tail_misfit(tail: Ints, edge: int, scale: float) -> float:
    """Return an upper bound on the log probability that the tail fits as badly as it does.

    `tail` holds absolute values of draws, all >= `edge`. They are compared with the conditional
    distribution of such values.
    """
    values = np.arange(edge, edge + math.ceil(9 * scale))
    masses = np.exp(-(values.astype(float) ** 2) / (2 * scale**2))
    masses /= masses.sum()
    # Group values from the far end, so that every class has enough expected draws.
    group = np.zeros(values.size, dtype=np.int64)
    gathered, number = 0.0, 0
    for at in range(values.size - 1, -1, -1):
        group[at] = number
        gathered += masses[at] * tail.size
        if gathered >= max(MIN_EXPECTED, tail.size / 100):
            gathered, number = 0.0, number + 1
    group = np.minimum(group, number - 1)
    expected = np.bincount(group, masses * tail.size)
    seen = np.bincount(group[np.minimum(tail - edge, values.size - 1)], minlength=expected.size)
    return log_chi_square_tail(
        float(((seen - expected) ** 2 / expected).sum()), max(expected.size - 1, 1)
    )


def test_noise_from_the_operating_system_fits_its_scale() -> None:
    draws = sample(noise_of("30"), DRAWS, SystemEntropy().stream())
    assert log_chance_of_misfit(draws, 30.0) > LOG_FALSE_ALARM


@pytest.mark.parametrize("scale", ["1", "2.5", "30", "1000"])
def test_proposals_that_are_all_accepted_are_noticed(scale: str) -> None:
    proposal = DiscreteLaplace(Fraction(1, proposal_scale(noise_of(scale).square_scale)), 1)
    proposals = sampler.sample(proposal, DRAWS, SeededWords(seed(13)))
    assert log_chance_of_misfit(proposals, float(scale)) < LOG_FALSE_ALARM


@pytest.mark.parametrize("scale", ["1", "2.5", "30"])
def test_a_zero_counted_twice_is_noticed(scale: str) -> None:
    draws = sample(noise_of(scale), DRAWS, SeededWords(seed(19)))
    mass_of_zero = np.mean(draws == 0)
    # If zero is drawn too often, the other values are drawn less often by as much.
    replaced = np.arange(DRAWS) % round(1 / mass_of_zero) == 0
    doubled = np.where(replaced, 0, draws)
    assert log_chance_of_misfit(doubled, float(scale)) < LOG_FALSE_ALARM


def test_a_variance_taken_for_a_scale_is_noticed() -> None:
    draws = sample(noise_of("9"), DRAWS, SeededWords(seed(20)))
    assert log_chance_of_misfit(draws, 3.0) < LOG_FALSE_ALARM


def test_a_scale_rounded_down_to_an_integer_is_noticed() -> None:
    draws = sample(noise_of("2"), DRAWS, SeededWords(seed(14)))
    assert log_chance_of_misfit(draws, 2.05) < LOG_FALSE_ALARM


def test_rounded_normal_numbers_are_noticed() -> None:
    scale = 1.0
    normal = np.random.default_rng(seed(15)).normal(0, scale, DRAWS)
    assert log_chance_of_misfit(np.rint(normal).astype(np.int64), scale) < LOG_FALSE_ALARM


def test_neighbouring_draws_are_independent() -> None:
    draws = np.clip(sample(noise_of("1.5"), DRAWS, SeededWords(seed(16))), -3, 3) + 3
    for lag in (1, 2, 1 << 15):
        assert log_pairs(draws[:-lag], draws[lag:], 7) > LOG_FALSE_ALARM
    echoing = np.where(draws[1:] % 3, draws[1:], draws[:-1])
    assert log_pairs(draws[:-1], echoing, 7) < LOG_FALSE_ALARM


@pytest.mark.parametrize("scale", ["0.7", "3", "40", "5000"])
def test_noise_is_distributed_like_that_of_opendp(scale: str) -> None:
    need(importlib.util.find_spec("opendp"), "opendp: pip install --group full")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    measurement = dp.m.make_gaussian(*space, scale=float(scale))
    rho = measurement.map(1.0)  # type: ignore[no-untyped-call]
    assert rho == pytest.approx(float(noise_of(scale).rho), rel=1e-9)
    theirs = np.array(measurement([0] * (30_000 * EFFORT)), dtype=np.int64)
    edges = classes(float(scale), theirs.size)
    ours = sample(noise_of(scale), DRAWS, SeededWords(seed(17)))
    assert log_two_samples(ours, theirs, edges) > LOG_FALSE_ALARM
    for factor in (0.7, 1.3):
        other = sample(noise_of(float(scale) * factor), DRAWS, SeededWords(seed(18)))
        assert log_two_samples(other, theirs, edges) < LOG_FALSE_ALARM, factor


@pytest.mark.parametrize("scale", ["0.5", "4", "60"])
def test_opendp_converts_rho_to_the_same_epsilon(scale: str) -> None:
    need(importlib.util.find_spec("opendp"), "opendp: pip install --group full")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    measurement = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=float(scale)))
    curve = measurement.map(1.0)  # type: ignore[no-untyped-call]
    rho = Fraction(math.ceil(NANO / (2 * Fraction(scale) ** 2)), NANO)
    for delta in (1e-6, 1e-9):
        ours = float(epsilon_at(rho, Fraction(str(delta))))
        assert ours == pytest.approx(curve.epsilon(delta), abs=2e-6)
