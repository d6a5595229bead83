"""The noise sampler: each step of a draw has exactly the probabilities that it should have.

The random 64-bit words are crafted or come from fixed seeds, so nothing here depends on chance.
Whether many draws together follow the right distribution is tested in tests/statistical.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import MIN_RATE, DiscreteLaplace
from dpgeo.privacy import sampler
from dpgeo.privacy.sampler import boundary_bits, sample, sample_geometric
from tests.randomness import CraftedWords, SeededWords, ZeroWords

MAX = (1 << 64) - 1
ONE = DiscreteLaplace(Fraction(1), 1)
PRECISION = 512


def mass(rate: Fraction, outcomes: int | None, value: int) -> Fraction:
    """Return the probability with which a draw has this `value`, to within 2^-511.

    The draw is a digit with `outcomes` possible values or, if this is None, a geometric variable.
    """
    below = boundary_bits(rate, outcomes, value - 1, PRECISION) if value else 0
    last = outcomes is not None and value == outcomes - 1
    upto = 1 << PRECISION if last else boundary_bits(rate, outcomes, value, PRECISION)
    return Fraction(upto - below, 1 << PRECISION)


def test_the_same_words_give_the_same_noise() -> None:
    first = sample(ONE, 1000, SeededWords(1))
    assert first.dtype == np.int64
    assert np.array_equal(first, sample(ONE, 1000, SeededWords(1)))
    assert not np.array_equal(first, sample(ONE, 1000, SeededWords(2)))


@pytest.mark.parametrize("size", [0, 1, sampler.CHUNK, 2 * sampler.CHUNK + 1])
def test_it_draws_the_requested_number(size: int) -> None:
    assert sample(ONE, size, SeededWords(1)).shape == (size,)
    assert sample_geometric(Fraction(1, 2), size, SeededWords(1)).shape == (size,)


def test_only_one_sign_draws_zero() -> None:
    # The Bernoulli draw takes the first word, and the magnitude takes the second.
    assert sample(ONE, 1, CraftedWords([0, 0]))[0] == 0
    assert sample(ONE, 1, CraftedWords([MAX, 0]))[0] == -1


@pytest.mark.parametrize("rate", [Fraction(1, 300), Fraction(1, 3), Fraction(5)])
def test_the_bernoulli_draw_has_the_rate_of_the_noise(rate: Fraction) -> None:
    # The draw is 1 with probability p = 1 / (1 + e^-rate): if the 64-bit word is below 2^64 p, up
    # to the rounding error of the float.
    heads = round(2**64 / (1 + math.exp(-rate)))
    for word, expected in [(heads - 2**14, 0), (heads + 2**14, -1)]:
        assert sample(DiscreteLaplace(rate, 1), 1, CraftedWords([word, 0]))[0] == expected


@pytest.mark.parametrize("rate", [Fraction(1, 300), Fraction(1, 3), Fraction(5)])
def test_both_signs_have_the_probabilities_of_discrete_laplace(rate: Fraction) -> None:
    heads = mass(rate, 2, 0)
    zero = heads * mass(rate, None, 0)
    ratio = 1 - mass(rate, None, 0)
    for value in range(1, 6):
        positive = heads * mass(rate, None, value)
        negative = (1 - heads) * mass(rate, None, value - 1)
        assert abs(positive - negative) < Fraction(1, 1 << 500)
        assert abs(positive - zero * ratio**value) < Fraction(1, 1 << 500)


@pytest.mark.parametrize("value", [0, 1, 4095, 4096, 123_456, 4095 * 4097])
def test_digits_multiply_to_the_geometric_probabilities(value: int) -> None:
    rate = Fraction(3, 1_000_000)
    low, high = value % 4096, value // 4096
    product = mass(rate, 4096, low) * mass(rate * 4096, None, high)
    direct = mass(rate, None, value)
    assert abs(product - direct) < Fraction(1, 1 << 480)


@pytest.mark.parametrize(
    ("rate", "outcomes"),
    [
        (Fraction(100), None),
        (Fraction(10, 3), None),
        (Fraction(2), 2),
        (Fraction(1, 10), None),
        (Fraction(1, 511), None),
        (Fraction(1, 511), 4096),
        (Fraction(1, 10**10), 4096),
    ],
)
def test_the_guide_agrees_with_a_binary_search(rate: Fraction, outcomes: int | None) -> None:
    table = sampler._table(rate, outcomes)
    ends = [int(word) for word in table.words[:-1]]
    edges = [int(prefix) << int(table.shift) for prefix in range(len(table.guide))]
    near = {word + step for word in ends + edges for step in (-1, 0, 1)}
    words = sorted(word for word in near - set(ends) if 0 <= word < MAX)
    drawn = table._draw_once(len(words), CraftedWords(words))
    assert drawn.tolist() == [bisect_right(ends, word) for word in words]


@pytest.mark.parametrize("index", [0, 7, 100])
def test_a_tie_is_settled_by_64_more_bits(index: int) -> None:
    rate = Fraction(1, 10)
    high, low = divmod(boundary_bits(rate, None, index, 128), 1 << 64)
    for further, expected in [(low - 1, index), (low + 1, index + 1)]:
        assert sample_geometric(rate, 1, CraftedWords([high, further]))[0] == expected


def test_a_second_tie_is_settled_by_64_more_bits_again() -> None:
    rate = Fraction(1, 10)
    words = boundary_bits(rate, None, 5, 192).to_bytes(24, "big")
    one, two, three = (int.from_bytes(words[at : at + 8], "big") for at in (0, 8, 16))
    for further, expected in [(three - 1, 5), (three + 1, 6)]:
        assert sample_geometric(rate, 1, CraftedWords([one, two, further]))[0] == expected


def test_boundaries_that_share_a_word_are_distinguished() -> None:
    # In the sampler's own tables, no two boundaries between outcomes have the same first 64-bit
    # word. In this table they do.
    rate = Fraction(23)
    ends = [boundary_bits(rate, None, index, 64) for index in range(3)]
    assert ends[1] == ends[2] == MAX
    table = sampler._Table(
        rate=rate,
        outcomes=None,
        words=np.array([*ends, MAX], dtype=np.uint64),
        guide=np.array([0, 1], dtype=np.int64),
        shift=np.uint64(63),
        crowded=np.uint64(0),
    )
    for index in (1, 2):
        below = boundary_bits(rate, None, index, 128) % (1 << 64) - 1
        assert table._draw_once(1, CraftedWords([MAX, below]))[0] == index
    assert table._draw_once(1, CraftedWords([MAX, MAX]))[0] == 3


def test_beyond_the_table_a_new_draw_is_added() -> None:
    rate = Fraction(1, 10)
    length = sampler._table(rate, None).boundaries
    assert length == 140
    assert sample_geometric(rate, 1, CraftedWords([MAX, 0]))[0] == length
    assert sample_geometric(rate, 1, CraftedWords([MAX, MAX, MAX, 0]))[0] == 3 * length
    words = [0, MAX, 1 << 63, MAX, 0]
    # In the second draw, two words of ones lie beyond the table; each adds the length of the table
    # to the value drawn.
    assert sample_geometric(rate, 3, CraftedWords(words)).tolist() == [0, 2 * length, 6]


def test_noise_of_epsilon_1000_can_still_differ_from_zero() -> None:
    # exp(-1000) = 2^-1442.7: only if 22 random 64-bit words are all ones does the 23rd decide
    # whether there is noise.
    noise = DiscreteLaplace(Fraction(1000), 1)
    assert sample(noise, 1, CraftedWords([*[MAX] * 23, 0]))[0] == -1
    assert not sample(noise, 10_000, SeededWords(3)).any()


def test_words_of_zeros_give_no_noise_at_any_scale() -> None:
    for rate in [Fraction(1000), Fraction(1), Fraction(1, 10**10), MIN_RATE]:
        assert not sample(DiscreteLaplace(rate, 1), 10, ZeroWords()).any()


def test_the_largest_scale_fits_64_bits() -> None:
    noise = DiscreteLaplace(MIN_RATE, 1)
    drawn = sample(noise, 2000, SeededWords(5))
    # All 2000 draws are below 60 scales, except with probability 2000 e^-60 < 1e-22.
    assert np.abs(drawn).max() < 60 << 56
    assert np.abs(drawn).min() < 1 << 56 < np.abs(drawn).max()


def test_scales_beyond_64_bits_are_refused_before_any_word() -> None:
    with pytest.raises(InvalidInput, match="Raise epsilon or lower the bound") as refusal:
        DiscreteLaplace(Fraction(1, 10**12), 10**8)
    assert refusal.value.field == "epsilon"
    with pytest.raises(ValueError, match="at least"):
        sample_geometric(MIN_RATE / 2, 1, CraftedWords([]))
