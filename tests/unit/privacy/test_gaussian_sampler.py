"""The discrete Gaussian sampler: each step has exactly the probabilities that it should have.

The random 64-bit words are crafted or come from fixed seeds, so nothing here depends on chance.
Whether many draws together follow the right distribution is tested in tests/statistical.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.privacy import gaussian_sampler, sampler
from dpgeo.privacy.gaussian_sampler import (
    AcceptanceTable,
    acceptance_table,
    proposal_scale,
    sample,
)
from tests.randomness import CraftedWords, SeededWords, ZeroWords

MAX = (1 << 64) - 1
SQUARES = [
    Fraction(1, 100),
    Fraction(1),
    Fraction(10, 3),
    Fraction(9),
    Fraction(123457, 10),
    Fraction(5 * 10**7),
    Fraction(10**20, 7),
    Fraction((1 << 80) - 1),
]


def of_square(square: Fraction | int) -> DiscreteGaussian:
    """Return the noise with P(k) proportional to exp(-k^2 / 2s), for s = `square`."""
    return DiscreteGaussian(1 / Fraction(2 * square), 1)


def table_of(square: Fraction) -> AcceptanceTable:
    """Return the sampler's table of acceptance probabilities for the squared scale `square`."""
    scale = proposal_scale(square)
    return acceptance_table(square, square / scale, gaussian_sampler.TABLE_SCALES * scale)


def chance(square: Fraction, size: int) -> Any:
    """Return the probability that a proposal of this size is accepted, as 700-bit mpmath number."""
    t = mpmath.floor(mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)) + 1
    s = mpmath.mpf(square.numerator) / square.denominator
    return mpmath.exp(-((size - s / t) ** 2) / (2 * s))


@pytest.mark.parametrize(
    ("square", "scale"),
    [(Fraction(1, 9), 1), (Fraction(99, 100), 1), (1, 2), (4, 3), (Fraction(899, 100), 3)],
)
def test_the_scale_of_proposals_is_the_next_integer(square: Fraction, scale: int) -> None:
    assert proposal_scale(Fraction(square)) == scale


def test_rho_and_sensitivity_fix_the_parameter_exactly() -> None:
    assert DiscreteGaussian(Fraction(1, 8), 9).square_scale == 36
    assert DiscreteGaussian(Fraction(3, 10**9), 7).square_scale == Fraction(7 * 10**9, 6)


@pytest.mark.parametrize("size", [0, 1, sampler.CHUNK, sampler.CHUNK + 1])
def test_it_draws_the_requested_number(size: int) -> None:
    drawn = sample(of_square(9), size, SeededWords(1))
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    assert np.array_equal(drawn, sample(of_square(9), size, SeededWords(1)))


@pytest.mark.parametrize("square", SQUARES, ids=str)
def test_the_words_of_a_table_enclose_the_probability_at_all_values(square: Fraction) -> None:
    table = table_of(square)
    width = 1 << table.shift
    assert table.low.size <= gaussian_sampler.MAX_TABLE_LENGTH
    assert 14 * proposal_scale(square) <= table.low.size * width
    peak = math.floor(table.peak) >> table.shift
    entries = {0, 1, peak, peak + 1, table.low.size // 3, table.low.size - 1}
    with mpmath.workprec(700):
        for entry in entries | {max(peak - 1, 0)}:
            low, high = int(table.low[entry]), int(table.high[entry])
            for value in {entry * width, entry * width + width // 2, (entry + 1) * width - 1}:
                exact = chance(square, value) * 2**64
                assert min(low, MAX) <= exact
                assert exact < high + 1 or high == MAX
            if table.shift == 0:
                assert high - low <= 1, "the table should leave almost nothing to be settled"


@pytest.mark.parametrize("square", SQUARES, ids=str)
@pytest.mark.parametrize("size", [0, 1, 2, 5000])
def test_acceptance_is_decided_by_the_exact_probability(square: Fraction, size: int) -> None:
    table = table_of(square)
    with mpmath.workprec(700):
        bits = int(mpmath.floor(chance(square, size) * mpmath.mpf(2) ** 192))
    first, second, third = bits >> 128, bits >> 64 & MAX, bits & MAX
    sizes = np.array([size])
    if bits >> 192:  # The probability is 1.
        assert table.accepts(sizes, CraftedWords([MAX]))[0]
        return
    for word, accepted in [(first - 1, True), (first + 1, False)]:
        if 0 <= word <= MAX:
            assert table.accepts(sizes, CraftedWords([word]))[0] == accepted
    for more, accepted in [(second - 1, True), (second + 1, False)]:
        if 0 <= more <= MAX:
            assert table.accepts(sizes, CraftedWords([first, more]))[0] == accepted
    for more, accepted in [(third - 1, True), (third + 1, False)]:
        if 0 <= more <= MAX:
            assert table.accepts(sizes, CraftedWords([first, second, more]))[0] == accepted


def test_a_proposal_beyond_the_table_is_compared_exactly() -> None:
    square = Fraction(9)
    table = table_of(square)
    size = 60
    assert table.low.size <= size
    with mpmath.workprec(700):
        leading = int(mpmath.floor(chance(square, size) * mpmath.mpf(2) ** 320)) >> 64
    # A proposal of this size is accepted with probability exp(-184) = 2^-265, so after four 64-bit
    # words of zeros, it takes a fifth word to decide whether it is.
    assert leading >> 256 == 0
    assert not table.accepts(np.array([size]), CraftedWords([1]))[0]
    assert not table.accepts(np.array([size]), CraftedWords([0, 0, 0, 1]))[0]
    assert table.accepts(np.array([size]), CraftedWords([0, 0, 0, 0, 0]))[0]


def test_a_rejected_proposal_is_drawn_again() -> None:
    # Proposals are made ten at a time: ten words for signs, ten for sizes, ten for acceptance. All
    # sizes are 0, which is accepted with probability exp(-(1/2)^2/2) = 0.88; the words reject all
    # but the last two.
    words = [0] * 20 + [MAX] * 8 + [0, 0]
    assert sample(of_square(1), 1, CraftedWords(words)).tolist() == [0]
    once_more = [0] * 20 + [MAX] * 10 + words
    assert sample(of_square(1), 1, CraftedWords(once_more)).tolist() == [0]


def test_every_integer_has_its_probability() -> None:
    square = Fraction(10, 3)
    with mpmath.workprec(700):
        rate = mpmath.mpf(1) / proposal_scale(square)
        s = mpmath.mpf(10) / 3
        ratios = [
            mpmath.exp(-rate * k) * chance(square, k) / mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s))
            for k in range(40)
        ]
        assert max(abs(ratio / ratios[0] - 1) for ratio in ratios) < mpmath.mpf(2) ** -600


def test_words_of_zeros_give_no_noise_at_any_scale() -> None:
    for square in SQUARES:
        assert not sample(of_square(square), 10, ZeroWords()).any()


def test_the_largest_scale_fits_64_bits() -> None:
    largest = DiscreteGaussian(Fraction(1, 1 << 80), 1)
    drawn = sample(largest, 2000, SeededWords(5))
    # P(|X| > 8 scales) < 2e-15 for each draw.
    assert np.abs(drawn).max() < 8 << 40
    assert np.abs(drawn).max() > 1 << 39


def test_scales_beyond_64_bits_are_refused_before_any_word() -> None:
    with pytest.raises(InvalidInput, match="Raise epsilon or lower the bound") as refusal:
        DiscreteGaussian(Fraction(1, 1 << 81), 1)
    assert refusal.value.field == "epsilon"
    with pytest.raises(TypeError):
        DiscreteGaussian(0.5, 1)  # type: ignore[arg-type]
    for rho, sensitivity in [(Fraction(0), 1), (Fraction(1), 0)]:
        with pytest.raises(ValueError, match="positive"):
            DiscreteGaussian(rho, sensitivity)
