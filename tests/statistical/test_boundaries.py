"""The sampler's tables, compared with mpmath, a library for arbitrary precision."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from dpgeo.core.noise import MIN_RATE
from dpgeo.privacy import sampler
from dpgeo.privacy.sampler import boundary_bits

pytestmark = pytest.mark.statistical

RATES = [
    Fraction(100),
    Fraction(10, 3),
    Fraction(2),
    Fraction(1),
    Fraction(1, 7),
    Fraction(1, 10),
    Fraction(123457, 10**6),
    Fraction(1, 200),
    Fraction(1, 512),
    Fraction(1, 10**5),
    Fraction(1, 10**10),
    MIN_RATE,
]


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workprec(2000):
        yield


def boundary(rate: Fraction, outcomes: int | None, index: int) -> Any:
    """Return the probability, computed with 2000 bits, that a geometric variable is <= `index`.

    P(n) is proportional to exp(-rate n) for n = 0, 1, 2, ..., or only for n < `outcomes` if given.
    """
    exponent = mpmath.mpf(rate.numerator) / rate.denominator
    whole = -mpmath.expm1(-exponent * outcomes) if outcomes else 1
    return -mpmath.expm1(-exponent * (index + 1)) / whole


def tables(rate: Fraction) -> list[sampler._Table]:
    """Return the tables of a Bernoulli draw and of a geometric variable.

    At small rates, the second is for one digit of the variable in base 4096.
    """
    digit = sampler._table(rate, 4096 if rate * 512 < 1 else None)
    return [sampler._table(rate, 2), digit]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_every_word_of_a_table_is_the_boundary_rounded_down(rate: Fraction) -> None:
    scale = mpmath.mpf(2) ** 64
    for table in tables(rate):
        for index, word in enumerate(table.words[:-1].tolist()):
            assert word == int(mpmath.floor(boundary(rate, table.outcomes, index) * scale))


# The first rate is left out: its tables have a single boundary, and the test needs two.
@pytest.mark.parametrize("rate", RATES[1:], ids=str)
def test_a_table_ends_where_masses_are_still_above_2_to_the_minus_64(rate: Fraction) -> None:
    for table in tables(rate):
        last = table.boundaries - 1
        before = boundary(rate, table.outcomes, last - 1) if last else 0
        mass = boundary(rate, table.outcomes, last) - before
        assert mass >= mpmath.mpf(2) ** -64


@pytest.mark.parametrize("bits", [64, 128, 192, 256, 1024])
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_further_bits_of_a_boundary_are_its_own(rate: Fraction, bits: int) -> None:
    scale = mpmath.mpf(2) ** bits
    for table in tables(rate):
        for index in {0, table.boundaries // 2, table.boundaries - 1}:
            exact = int(mpmath.floor(boundary(rate, table.outcomes, index) * scale))
            assert boundary_bits(rate, table.outcomes, index, bits) == exact


@pytest.mark.parametrize("exponent", [*RATES, Fraction(1000), Fraction(1, 2), Fraction(355, 113)])
def test_bounds_enclose_the_exponential_tightly(exponent: Fraction) -> None:
    for precision in (64, 256, 1000):
        low, high = sampler.exp_bounds(exponent, precision)
        exact = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
        assert low <= exact * mpmath.mpf(2) ** precision <= high
        assert high - low <= 2
