"""Exact epsilon: a Fraction in code, an integer of micro-epsilon in the database."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text

MICRO = 1_000_000
"""Number of micro-epsilon in an epsilon of 1."""

MAX_EPSILON = 1000
"""Largest accepted epsilon; a larger one protects nobody and must be a typing error."""

MIN_EPSILON = Decimal(1) / MICRO

MAX_DIGITS = 50

TOO_FINE = "Has more than six decimals; round it so that the ledger can hold it exactly."


def parse_epsilon(value: str | int | Decimal | Fraction, *, field: str = "epsilon") -> Fraction:
    """Parse a positive epsilon with at most six decimals.

    Raises InvalidInput for any other value or for an epsilon above MAX_EPSILON. `field` is the name
    of the input that the error reports.
    """
    try:
        number = value if isinstance(value, Fraction) else Decimal(number_text(value))
    except (ValueError, InvalidOperation):
        raise InvalidInput(
            "{value} is not a number; write it like 0.5.", value=repr(value), field=field
        ) from None
    if isinstance(number, Decimal) and not number.is_finite():
        raise InvalidInput("Must be a finite number, such as 0.5.", field=field)
    if number <= 0:
        raise InvalidInput("Must be greater than zero, such as 0.5.", field=field)
    if number > MAX_EPSILON:
        raise InvalidInput(
            "Must be at most {most}; above about 10 nobody is protected.",
            most=MAX_EPSILON,
            field=field,
        )
    if isinstance(number, Decimal) and (
        len(number.as_tuple().digits) > MAX_DIGITS or number < MIN_EPSILON
    ):
        # Reject so fine a number before making it a fraction: as a fraction, 1e-999999999 would
        # have a billion digits.
        raise InvalidInput(TOO_FINE, field=field)
    exact = Fraction(number)
    if (exact * MICRO).denominator != 1:
        raise InvalidInput(TOO_FINE, field=field)
    return exact


def to_micro(epsilon: Fraction) -> int:
    """Return the epsilon in micro-epsilon. Raises ValueError if that is not an integer."""
    micro = epsilon * MICRO
    if micro.denominator != 1:
        raise ValueError(f"{epsilon} is not a whole number of micro-epsilon")
    return micro.numerator


def format_epsilon(epsilon: Fraction) -> str:
    """Format an epsilon as the shortest exact decimal ("0.25"), or else a fraction ("1/3")."""
    decimal = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    if Fraction(decimal) != epsilon:
        return f"{epsilon.numerator}/{epsilon.denominator}"
    text = format(decimal.normalize(), "f")
    return text
