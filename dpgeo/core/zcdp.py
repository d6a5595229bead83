"""Zero-concentrated differential privacy (zCDP): rho, and what it means as epsilon and delta.

A mechanism is rho-zCDP if, for every order a > 1, the Renyi divergence between its outputs on
neighbouring datasets is at most a rho (Bun and Steinke 2016). The rhos of several mechanisms add
up, even if each mechanism is chosen after the outputs of the earlier ones are known. An
epsilon-differentially private mechanism is (epsilon^2/2)-zCDP (their proposition 1.4).

Epsilon at a delta. A rho-zCDP mechanism is (epsilon, delta)-differentially private if, for some a >
1, delta = exp((a-1) (a rho - epsilon)) (1 - 1/a)^a / (a-1) (Canonne, Kamath and Steinke 2020,
corollary 13). Solved for epsilon:

    epsilon(a) = a rho + ln(a-1) + (ln(1/delta) - a ln a)/(a-1).

Every a > 1 gives a valid epsilon, so a search in floating point may choose a. The derivative of
epsilon(a) is rho - (ln(1/delta) - ln a)/(a-1)^2, whose only root is the best a. For the a so found,
epsilon(a) is then computed with DIGITS decimal digits. Decimal arithmetic rounds every operation,
logarithms included, correctly to the last digit. Within the limits below all intermediate values
are smaller than 10^12, and fewer than 20 operations are made, so that the result is off by less
than 10^-30. An error of 10^-30 is added before epsilon is rounded up to a millionth. An epsilon
below 0 is raised to 0.

The epsilon of several releases together is that of their summed rho. It is not the sum of their
epsilons, which is larger.
"""

from __future__ import annotations

import math
from decimal import (
    ROUND_CEILING,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    InvalidOperation,
    localcontext,
)
from fractions import Fraction

from dpgeo.core.epsilon import MICRO
from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text

NANO = 1_000_000_000
"""Number of nano-rho in a rho of 1."""

MAX_RHO = 500_000
"""Largest rho that is converted: that of a pure epsilon of 1000."""

MIN_DELTA = Fraction(1, 10**18)
MAX_DELTA = Fraction(1, 10**3)

USUAL_EXPONENT = 9
"""Unless declared otherwise, delta is 10 to the power of minus this."""

MIN_EXPONENT, MAX_EXPONENT = 4, 18
"""Limits of the exponent of a declared delta."""

DIGITS = 60

SLACK = Decimal(10) ** -30


def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, in whole millionths, such that rho-zCDP implies (epsilon, delta)-DP.

    It is the smallest that the formula in the module docstring gives, rounded up. Raises ValueError
    if rho is not a whole positive number of nano-rho up to MAX_RHO, or if delta is out of its
    limits.
    """
    if not 0 < rho <= MAX_RHO or (rho * NANO).denominator != 1:
        raise ValueError(f"{rho} is not a whole number of nano-rho up to {MAX_RHO}")
    if not MIN_DELTA <= delta <= MAX_DELTA:
        raise ValueError(f"A delta of {delta} is out of the limits.")
    with localcontext(Context(prec=DIGITS, rounding=ROUND_HALF_EVEN)):
        order = _best_order(float(rho), float(delta))
        above_one = order - 1
        exact_rho = Decimal(rho.numerator) / rho.denominator
        log_chances = (Decimal(delta.denominator) / delta.numerator).ln()
        epsilon = (
            order * exact_rho + above_one.ln() + (log_chances - order * order.ln()) / above_one
        )
        micro = ((epsilon + SLACK) * MICRO).to_integral_value(rounding=ROUND_CEILING)
    return Fraction(max(0, int(micro)), MICRO)


def _best_order(rho: float, delta: float) -> Decimal:
    """Return approximately the order a that gives the smallest epsilon.

    For that order, rho (a-1)^2 = ln(1/delta) - ln a (module docstring). The root is found by
    bisection of ln(a-1). The left side increases with a and the right side decreases. The root is
    below 1/delta, and above 1 + 10^-4 for any rho and delta within their limits.
    """
    low, high = math.log(1e-4), -math.log(delta)
    for _ in range(60):
        middle = (low + high) / 2
        above_one = math.exp(middle)
        if rho * above_one**2 < -math.log(delta) - math.log1p(above_one):
            low = middle
        else:
            high = middle
    return 1 + Decimal(math.exp(low))


def nano_rho_for(epsilon: Fraction, delta: Fraction) -> int:
    """Return the largest number of nano-rho whose epsilon at `delta` is at most `epsilon`.

    It is 0 if there is none.
    """
    low, high = 0, MAX_RHO * NANO
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high)
            if epsilon_at(Fraction(middle, NANO), delta) <= epsilon
            else (low, middle - 1)
        )
    return low


def nano_rho_of_pure(epsilon: Fraction) -> int:
    """Return the cost of a pure epsilon: epsilon^2/2, rounded up to a whole nano-rho."""
    return math.ceil(NANO * epsilon**2 / 2)


def exponent_delta(exponent: int) -> Fraction:
    """Return the delta 10^-exponent."""
    return Fraction(1, 10**exponent)


def exponent_for_delta(delta: Fraction) -> int:
    """Return the exponent of a delta that is a power of ten; this inverts `exponent_delta`."""
    return len(str(delta.denominator)) - 1


def delta_text(delta: Fraction) -> str:
    """Format a delta that is a power of ten, as in "1e-9"."""
    return f"1e-{exponent_for_delta(delta)}"


def parse_delta(value: object, population: int) -> int:
    """Return the exponent of a declared delta, such as 9 for "1e-9"; the default if it is empty.

    `population` is the publicly declared number of people whom the data might be about. Raises
    InvalidInput if delta is not a power of ten within the limits, or is above 0.1/population.
    """
    exponent = USUAL_EXPONENT if value in (None, "") else _exponent(value)
    if exponent_delta(exponent) * 10 * population > 1:
        raise InvalidInput(
            "Must be at most a tenth of one over the population of {population:,}; give {most}.",
            population=population,
            most=delta_text(exponent_delta(len(str(10 * population - 1)))),
            field="delta",
        )
    return exponent


def _exponent(value: object) -> int:
    try:
        number = Decimal(number_text(value))
    except (ValueError, InvalidOperation):
        number = Decimal(0)
    for exponent in range(MIN_EXPONENT, MAX_EXPONENT + 1):
        if number == Decimal(1).scaleb(-exponent):
            return exponent
    raise InvalidInput(
        "Must be a power of ten from 1e-18 to 1e-4, such as 1e-9.",
        field="delta",
    )
