from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgeo.core.epsilon import MICRO, format_epsilon, parse_epsilon, to_micro
from dpgeo.core.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (" 2 ", Fraction(2)),
        ("1e-6", Fraction(1, MICRO)),
        ("0.000001", Fraction(1, MICRO)),
        ("1.50", Fraction(3, 2)),
        (3, Fraction(3)),
        (Decimal("0.25"), Fraction(1, 4)),
        (Fraction(1, 8), Fraction(1, 8)),
        (Fraction(999_999, MICRO), Fraction(999_999, MICRO)),
        ("1000", Fraction(1000)),
    ],
)
def test_it_reads_epsilon_exactly(text: str | int | Decimal | Fraction, exact: Fraction) -> None:
    assert parse_epsilon(text) == exact


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "greater than zero"),
        ("0.0", "greater than zero"),
        ("-0.5", "greater than zero"),
        ("nan", "finite"),
        ("sNaN", "finite"),
        ("inf", "finite"),
        ("-Infinity", "finite"),
        ("0.1234567", "six decimals"),
        ("1e-7", "six decimals"),
        (Fraction(1, 3), "six decimals"),
        (Fraction(1, 3 * 10**40), "six decimals"),
        (Fraction(1, 10) + Fraction(1, 10**40), "six decimals"),
        ("0.1" + "0" * 40 + "1", "six decimals"),
        ("0." + "1" * 100_000, "six decimals"),
        ("1000.000001", "at most 1000"),
        ("1e999999999", "at most 1000"),
        ("1e-999999999", "six decimals"),
        ("", "not a number"),
        ("a lot", "not a number"),
        ("0,5", "not a number"),
        ("1/2", "not a number"),
        ("1_0", "not a number"),
        ("0_.5", "not a number"),
        ("\u0661", "not a number"),
        ("\uff15", "not a number"),
    ],
)
def test_invalid_epsilons_are_refused_with_a_reason(text: str | Fraction, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        parse_epsilon(text, field="total")
    assert caught.value.field == "total"


@given(st.integers(1, 1000 * MICRO))
def test_micro_epsilon_is_the_same_however_it_is_written(micro: int) -> None:
    epsilon = Fraction(micro, MICRO)

    assert to_micro(epsilon) == micro
    assert parse_epsilon(epsilon) == epsilon
    assert parse_epsilon(format_epsilon(epsilon)) == epsilon


def test_fractions_of_micro_epsilon_are_never_rounded() -> None:
    with pytest.raises(ValueError, match="whole number"):
        to_micro(Fraction(1, 3))


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (Fraction(1, 4), "0.25"),
        (Fraction(1, MICRO), "0.000001"),
        (Fraction(100), "100"),
        (Fraction(1, 3), "1/3"),
        (Fraction(3, 10**8), "0.00000003"),
    ],
)
def test_it_writes_the_shortest_exact_text(epsilon: Fraction, text: str) -> None:
    assert format_epsilon(epsilon) == text
