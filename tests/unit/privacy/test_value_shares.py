"""The sums of values' distances to their lower and upper limit, which give a mean, with noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.spend import Spend
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.value_shares import PrivateShares
from tests.randomness import SeededEntropy


def meter(epsilon: str = "1", seed: int = 1) -> Meter:
    return Meter([Spend(label="sums", epsilon=Fraction(epsilon))], SeededEntropy(seed))


def test_both_sums_have_noise_of_the_whole_epsilon_over_the_bound_and_the_steps() -> None:
    shares = PrivateShares(np.zeros(40_000, int), np.zeros(40_000, int), steps=1000, bound=5)
    drawn = meter("0.5").measure("sums", shares)
    scale = 5 * 1000 / 0.5
    assert drawn.shape == (2, 40_000)
    for each in drawn:
        assert np.abs(each).mean() == pytest.approx(scale, rel=0.03)
    assert abs(float(np.asarray(np.corrcoef(drawn))[0, 1])) < 0.03


def test_a_shares_sums_are_those_of_the_steps_and_of_what_is_missing() -> None:
    shares = PrivateShares(np.array([3, 0]), np.array([2500, 0]), steps=1000, bound=2)
    above, below = meter("1000000").measure("sums", shares)
    assert above == pytest.approx([2500, 0], abs=1)
    assert below == pytest.approx([500, 0], abs=1)
    assert "2500" not in repr(shares)


def test_the_meter_refuses_anything_else_and_draws_once() -> None:
    one = meter()
    with pytest.raises(PrivacyError):
        one.measure("sums", np.array([1]))  # type: ignore[arg-type]
    shares = PrivateShares(np.array([1]), np.array([1]), steps=1, bound=1)
    one.measure("sums", shares)
    with pytest.raises(PrivacyError):
        one.measure("sums", shares)
