"""A declared delta, which is a power of ten and at most a tenth of one over the population."""

from __future__ import annotations

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.zcdp import delta_text, exponent_delta, parse_delta


@pytest.mark.parametrize(
    ("value", "exponent"), [("1e-9", 9), ("0.000001", 6), (None, 9), ("", 9), ("1E-18", 18)]
)
def test_a_power_of_ten_is_accepted(value: str | None, exponent: int) -> None:
    assert parse_delta(value, 1_000) == exponent


@pytest.mark.parametrize("value", ["2e-9", "1e-3", "1e-19", "0", "nan", "-1e-9", "1e-9x", "1_0e-9"])
def test_any_other_delta_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_delta(value, 1_000)
    assert refused.value.field == "delta"


@pytest.mark.parametrize(("population", "most"), [(100_000, 6), (100_001, 7), (99_999, 6)])
def test_delta_is_at_most_a_tenth_of_one_over_the_population(population: int, most: int) -> None:
    assert parse_delta(delta_text(exponent_delta(most)), population) == most
    with pytest.raises(InvalidInput) as refused:
        parse_delta(delta_text(exponent_delta(most - 1)), population)
    assert delta_text(exponent_delta(most)) in refused.value.message
