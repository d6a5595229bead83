from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgeo.core.errors import InvalidInput
from dpgeo.core.levels import (
    level_text,
    make_level,
    parse_level,
    remaining_level_text,
)


@pytest.mark.parametrize(
    "written", ["", "four", "0", "-1", "ln 1", "ln 0.5", "nan", "inf", "1e-9", "1e9", "ln ln 4"]
)
def test_text_that_is_not_a_level_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_level(written)
    assert refused.value.field == "level"


@given(st.integers(2, 10**6), st.integers(1, 10**6))
def test_epsilon_per_metre_is_the_level_by_the_radius_rounded_down(odds: int, radius: int) -> None:
    with mpmath.workdps(60):
        exact = mpmath.log(odds) / radius * 10**12
        assert make_level(f"ln {odds}", radius).pico == int(mpmath.floor(exact))


@given(st.integers(2, 30), st.integers(2, 30), st.integers(1, 10_000))
def test_a_remaining_level_can_be_spent(paid: int, rest: int, radius: int) -> None:
    whole = make_level(f"ln {paid * rest}", radius).pico
    left = whole - make_level(f"ln {paid}", radius).pico
    text = remaining_level_text(left, radius)
    assert text == f"ln {rest}"
    assert make_level(text, radius).pico <= left
    assert remaining_level_text(left - make_level(text, radius).pico, radius) == "0"


@given(st.integers(1, 10**11), st.integers(1, 10_000))
def test_a_remaining_level_is_rounded_down(pico: int, radius: int) -> None:
    text = remaining_level_text(pico, radius)
    assert text == "0" or Fraction(make_level(text, radius).pico) <= pico


@given(st.integers(1, 10**12), st.integers(1, 10_000))
def test_a_stated_level_is_rounded_up(pico: int, radius: int) -> None:
    text = level_text(pico, radius)
    exact = Fraction(pico * radius, 10**12)
    with mpmath.workdps(60):
        logarithm = text.startswith("ln ")
        said = mpmath.log(int(text[3:])) if logarithm else mpmath.mpf(text)
        assert said >= mpmath.mpf(exact.numerator) / exact.denominator
