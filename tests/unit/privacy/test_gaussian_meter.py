"""The Gaussian Meter: each label is spent once, with noise for the squared sensitivity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput, PrivacyError
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.spend import Measured, RhoSpend
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.gaussian_meter import GaussianMeter
from dpgeo.privacy.value_shares import PrivateShares
from tests.randomness import CountingEntropy, SeededEntropy

RHO = Fraction(1, 8)
PLAN = [RhoSpend(label="cells", rho=RHO), RhoSpend(label="totals", rho=3 * RHO)]


@pytest.fixture
def entropy() -> CountingEntropy:
    return CountingEntropy()


@pytest.fixture
def meter(entropy: CountingEntropy) -> GaussianMeter:
    return GaussianMeter(PLAN, entropy)


def make_counts(values: object = 0, distinct: bool = True) -> PrivateCounts:
    return PrivateCounts(np.asarray(values), sensitivity=4, distinct=distinct)


def test_it_adds_noise_to_the_counts_and_keeps_their_shape(meter: GaussianMeter) -> None:
    counts = make_counts([[1, 2, 3], [4, 5, 6]])
    noisy = meter.measure("cells", counts)
    # This entropy makes all noise zero, so the counts are exact.
    assert noisy.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert noisy.dtype == np.int64
    noisy[0] = 0
    assert meter.measure("totals", counts).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_the_noise_follows_from_rho_and_the_squared_sensitivity(meter: GaussianMeter) -> None:
    assert meter.noise("cells", make_counts()) == DiscreteGaussian(RHO, 4)
    assert meter.noise("cells", make_counts()).square_scale == 16
    assert meter.noise("totals", make_counts(distinct=False)) == DiscreteGaussian(3 * RHO, 16)
    shares = PrivateShares(np.array([1]), np.array([1]), steps=10, bound=4, distinct=True)
    assert meter.noise("cells", shares) == DiscreteGaussian(RHO, 400)
    assert meter.measure("cells", shares).tolist() == [[1], [9]]
    assert meter.finish()[0].noise == DiscreteGaussian(RHO, 400)


def test_every_measurement_opens_a_stream_of_its_own() -> None:
    entropy = CountingEntropy(SeededEntropy(1))
    meter = GaussianMeter(PLAN, entropy)
    first = meter.measure("cells", make_counts([0] * 50))
    second = meter.measure("totals", make_counts([0] * 50))
    assert entropy.opened == 2
    assert first.any()
    assert not np.array_equal(first, second)


def test_a_label_is_spent_once(meter: GaussianMeter, entropy: CountingEntropy) -> None:
    meter.measure("cells", make_counts())
    for label in ("cells", "elsewhere"):
        with pytest.raises(PrivacyError, match="not declared in the plan, or is already spent"):
            meter.measure(label, make_counts())
    assert entropy.opened == 1


def test_an_interrupted_draw_stays_charged(meter: GaussianMeter, entropy: CountingEntropy) -> None:
    def failing() -> None:
        raise RuntimeError("no entropy")

    entropy.stream = failing  # type: ignore[method-assign, assignment]
    with pytest.raises(RuntimeError):
        meter.measure("cells", make_counts())
    with pytest.raises(PrivacyError):
        meter.measure("cells", make_counts())
    assert [line.rho for line in meter.finish()] == [RHO, 3 * RHO]


def test_what_was_not_measured_is_charged(meter: GaussianMeter) -> None:
    meter.measure("totals", make_counts())
    measured, unused = meter.finish()
    assert measured == Measured(
        label="totals", epsilon=None, rho=3 * RHO, noise=DiscreteGaussian(3 * RHO, 4)
    )
    assert unused == Measured(label="cells", epsilon=None, rho=RHO, noise=None)
    with pytest.raises(PrivacyError):
        meter.measure("cells", make_counts())


def test_only_counts_that_a_view_made_are_measured(
    meter: GaussianMeter, entropy: CountingEntropy
) -> None:
    class Modest(PrivateCounts):
        @property
        def squared_sensitivity(self) -> int:
            return 1

    for counts in (Modest(np.array([1]), sensitivity=4), np.array([1])):
        with pytest.raises(PrivacyError, match="Only private counts"):
            meter.measure("cells", counts)  # type: ignore[arg-type]
    assert entropy.opened == 0


def test_noise_that_does_not_fit_is_refused_before_any_draw(entropy: CountingEntropy) -> None:
    meter = GaussianMeter([RhoSpend(label="cells", rho=Fraction(1, 1 << 82))], entropy)
    with pytest.raises(InvalidInput, match="64 bits"):
        meter.measure("cells", make_counts())
    assert entropy.opened == 0
    assert meter.finish()[0].noise is None


def test_plans_must_be_exact_and_unambiguous(entropy: CountingEntropy) -> None:
    with pytest.raises(PrivacyError, match="twice"):
        GaussianMeter([PLAN[0], PLAN[0]], entropy)
    for rho in (Fraction(0), Fraction(-1), 0.5):
        with pytest.raises(ValueError, match="positive"):
            RhoSpend(label="cells", rho=rho)  # type: ignore[arg-type]


REST = [
    RhoSpend(label="look", rho=RHO),
    RhoSpend(label="rest", rho=3 * RHO, unallocated=True),
]


def test_unallocated_rho_is_divided_exactly(entropy: CountingEntropy) -> None:
    meter = GaussianMeter(REST, entropy)
    with pytest.raises(PrivacyError, match="remainder"):
        meter.noise("rest", make_counts())
    meter.divide("rest", {"first": Fraction(1, 3), "second": Fraction(2, 3)})
    assert meter.noise("first", make_counts()) == DiscreteGaussian(RHO, 4)
    meter.measure("first", make_counts())
    assert {line.label: line.rho for line in meter.finish()} == {
        "first": RHO,
        "look": RHO,
        "second": 2 * RHO,
    }


def test_a_rest_of_rho_is_divided_again(entropy: CountingEntropy) -> None:
    meter = GaussianMeter(REST, entropy)
    meter.divide("rest", {"first": Fraction(1, 3), "later": Fraction(2, 3)}, rest="later")
    with pytest.raises(PrivacyError, match="remainder"):
        meter.noise("later", make_counts())
    meter.divide("later", {"second": Fraction(1, 4), "third": Fraction(3, 4)})
    assert {line.label: line.amount / RHO for line in meter.finish()} == {
        "look": 1,
        "first": 1,
        "second": Fraction(1, 2),
        "third": Fraction(3, 2),
    }


@pytest.mark.parametrize(
    ("label", "shares"),
    [
        ("look", {"first": Fraction(1)}),
        ("elsewhere", {"first": Fraction(1)}),
        ("rest", {"look": Fraction(1)}),
        ("rest", {"first": Fraction(3, 2), "second": Fraction(-1, 2)}),
        ("rest", {"first": Fraction(1, 3), "second": Fraction(1, 3)}),
    ],
)
def test_a_wrong_division_of_rho_is_refused(
    label: str, shares: dict[str, Fraction], entropy: CountingEntropy
) -> None:
    meter = GaussianMeter(REST, entropy)
    with pytest.raises(PrivacyError):
        meter.divide(label, shares)
    assert sum(line.amount for line in meter.finish()) == 4 * RHO
