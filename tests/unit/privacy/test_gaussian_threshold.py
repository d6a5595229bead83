"""Cells that reach a threshold under discrete Gaussian noise have their exact probabilities."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput, PrivacyError
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.spend import Spend
from dpgeo.privacy import gaussian_threshold
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.gaussian_threshold import (
    MAX_SCALE,
    sample_beyond,
    sample_passing,
)
from dpgeo.privacy.law import GAUSSIAN
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.sparse_threshold import ABOVE
from tests.randomness import CountingEntropy, CraftedWords, SeededEntropy, SeededWords, ZeroNoise

CASES = [(Fraction(1), 1), (Fraction(10, 3), 6), (Fraction(400), 70), (Fraction(10**5), 1500)]
"""Pairs of the noise's squared scale, as `of_square` takes it, and a threshold."""

PLAN = [Spend(label="cells", epsilon=Fraction(1, 8))]


def of_square(square: Fraction | int) -> DiscreteGaussian:
    """Return the noise with P(k) proportional to exp(-k^2 / 2s), for s = `square`."""
    return DiscreteGaussian(1 / Fraction(2 * square), 1)


def chance_to_pass(square: Fraction, threshold: int) -> Any:
    """Return P(X >= threshold) as an mpmath number of 600 bits."""
    s = mpmath.mpf(square.numerator) / square.denominator
    whole = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s)))
    below = mpmath.fsum(mpmath.exp(-mpmath.mpf(k * k) / (2 * s)) for k in range(1, threshold))
    return ((whole - 1) / 2 - below) / whole


@pytest.mark.parametrize(("square", "threshold"), CASES, ids=str)
@pytest.mark.parametrize("bits", [64, 192])
def test_bounds_enclose_the_chance_to_pass_tightly(
    square: Fraction, threshold: int, bits: int
) -> None:
    rate = Fraction(of_square(square).above(threshold) * 1.5)
    low, high = gaussian_threshold._passing_bounds(square, threshold, rate, bits)
    with mpmath.workprec(900):
        candidate = -mpmath.expm1(-mpmath.mpf(rate.numerator) / rate.denominator)
        exact = chance_to_pass(square, threshold) / candidate * mpmath.mpf(2) ** bits
        assert low <= exact <= high
    assert high - low <= 2


def test_too_few_candidates_are_noticed() -> None:
    noise = of_square(Fraction(10, 3))
    rate = Fraction(noise.above(6) * 0.999)
    with pytest.raises(ArithmeticError, match="too few"):
        gaussian_threshold._passing_bounds(noise.square_scale, 6, rate, 64)


def test_a_candidate_passes_by_the_exact_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = of_square(Fraction(10, 3))
    one = np.array([0], dtype=np.int64)
    monkeypatch.setattr(gaussian_threshold, "sample_candidates", lambda *_: one)
    rate = Fraction(noise.above(6) / (1 - noise.above(6)) * ABOVE)
    low, high = gaussian_threshold._passing_bounds(noise.square_scale, 6, rate, 192)
    assert low >> 128 == high >> 128
    first, second = low >> 128, low >> 64 & (1 << 64) - 1
    flip = (1 << 64) - 1
    for words, passes in [
        ([first - 1], True),
        ([first + 1], False),
        ([first, second - 1], True),
        ([first, second + 1], False),
    ]:
        # The sampler inverts the bits of the first random word of a comparison; `flip` undoes that.
        # Further words, which settle ties, are used as they are.
        crafted = CraftedWords([words[0] ^ flip, *words[1:]])
        assert sample_passing(noise, 6, 1, crafted).size == passes


@pytest.mark.parametrize(("square", "threshold"), CASES, ids=str)
def test_values_beyond_the_threshold_have_their_probabilities(
    square: Fraction, threshold: int
) -> None:
    drawn = sample_beyond(of_square(square), threshold, 20_000, SeededWords(3))
    assert drawn.shape == (20_000,)
    assert drawn.min() == threshold
    values = np.arange(threshold, threshold + 3000, dtype=np.float64)
    masses = np.exp((threshold**2 - values**2) / (2 * float(square)))
    masses /= masses.sum()
    mean = (values * masses).sum()
    deviation = np.sqrt(((values - mean) ** 2 * masses).sum() / drawn.size)
    # The seed is fixed, so the outcome is always the same.
    assert abs(drawn.mean() - mean) < 4 * deviation
    first = masses[0]
    assert abs((drawn == threshold).mean() - first) < 4 * np.sqrt(first / drawn.size)


def test_the_number_of_passing_cells_is_that_of_dense_noise() -> None:
    noise, cells = of_square(400), 5_000_000
    for threshold in (60, 80):
        passing = sample_passing(noise, threshold, cells, SeededWords(4))
        expected = cells * noise.above(threshold)
        assert abs(passing.size - expected) < 4 * np.sqrt(expected)
        assert (np.diff(passing) > 0).all()
        assert 0 <= passing[0] < passing[-1] < cells


def sparse_counts(size: int = 50_000) -> PrivateSparseCounts:
    cells = np.array([3, 7, 500, 40_000])
    values = np.array([90, 1, 30, 4])
    return PrivateSparseCounts(cells, values, size=size, sensitivity=4, distinct=True)


def test_the_release_has_the_distribution_of_dense_noise_and_a_threshold() -> None:
    facts: dict[str, list[list[float]]] = {"sparse": [], "dense": []}
    values = np.zeros(50_000, dtype=np.int64)
    values[[3, 7, 500, 40_000]] = [90, 1, 30, 4]
    counts = PrivateCounts(values, sensitivity=4, distinct=True)
    for seed in range(200):
        meter = Meter(PLAN, SeededEntropy(seed), GAUSSIAN)
        cells, found = meter.measure_sparse("cells", sparse_counts(), 12)
        noisy = Meter(PLAN, SeededEntropy(1000 + seed), GAUSSIAN).measure("cells", counts)
        dense = np.flatnonzero(noisy >= 12)
        for name, places, amounts in (("sparse", cells, found), ("dense", dense, noisy[dense])):
            assert (np.diff(places) > 0).all()
            facts[name].append(
                [
                    *(float(amounts[places == cell].sum()) for cell in (3, 4, 500)),
                    float(places.size),
                    float(amounts.mean()),
                    float((amounts == 12).mean()),
                ]
            )
    sparse, dense_facts = (np.array(facts[name]) for name in ("sparse", "dense"))
    error = np.sqrt((sparse.var(axis=0) + dense_facts.var(axis=0)) / 200) + 1e-9
    # The seeds are fixed, so the outcome is always the same.
    assert (np.abs(sparse.mean(axis=0) - dense_facts.mean(axis=0)) < 5 * error).all()


def test_without_noise_occupied_cells_above_the_threshold_are_unchanged() -> None:
    meter = Meter(PLAN, ZeroNoise(), GAUSSIAN)
    cells, values = meter.measure_sparse("cells", sparse_counts(), 5)
    assert cells.tolist() == [3, 500]
    assert values.tolist() == [90, 30]
    assert meter.finish()[0].noise == DiscreteGaussian(Fraction(1, 8), 4)


def test_requests_that_would_list_too_much_are_refused_before_any_draw() -> None:
    entropy = CountingEntropy()
    meter = Meter(PLAN, entropy, GAUSSIAN)
    for threshold in (0, -3, 1):
        with pytest.raises(PrivacyError, match="threshold"):
            meter.measure_sparse("cells", sparse_counts(2**30), threshold)
    with pytest.raises(PrivacyError, match="Only private counts"):
        meter.measure("cells", sparse_counts())  # type: ignore[arg-type]
    small = Meter([Spend(label="cells", epsilon=Fraction(1, 10**9))], entropy, GAUSSIAN)
    noise = small.noise("cells", sparse_counts())
    assert isinstance(noise, DiscreteGaussian)
    assert noise.square_scale > MAX_SCALE**2
    with pytest.raises(InvalidInput, match="raise epsilon or lower the bound"):
        small.measure_sparse("cells", sparse_counts(), 10**6)
    assert entropy.opened == 0
