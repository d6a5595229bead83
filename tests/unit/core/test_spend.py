from __future__ import annotations

from fractions import Fraction

import pytest

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.spend import Measured, Spend


@pytest.mark.parametrize("noise", [None, DiscreteLaplace(Fraction(1, 3), 4)])
def test_a_line_of_the_trace_survives_its_json(noise: DiscreteLaplace | None) -> None:
    line = Measured(label="cells", epsilon=Fraction(1, 3), noise=noise)

    assert Measured.from_json(line.to_json()) == line


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1, 2)])
def test_a_spend_has_a_positive_epsilon(epsilon: Fraction) -> None:
    with pytest.raises(ValueError, match="positive epsilon"):
        Spend(label="cells", epsilon=epsilon)
