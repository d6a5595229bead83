from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgeo.artefacts.wording import odds_factor


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=699, max_denominator=10**6))
def test_the_factor_for_programs_is_never_understated(epsilon: Fraction) -> None:
    factor = odds_factor(epsilon)
    assert factor is not None
    exact = (Decimal(epsilon.numerator) / epsilon.denominator).exp(Context(prec=40))
    assert Decimal(factor) >= exact
    assert factor == pytest.approx(math.exp(epsilon), rel=1e-12)
