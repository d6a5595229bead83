"""The Meter of each law: a label is spent only once, and only declared noise is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput, PrivacyError
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.spend import Spend
from dpgeo.privacy import law as laws
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.exponential_mechanism import Bins
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.positions import PrivatePositions
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.truncation import Truncation
from tests.randomness import CountingEntropy, SeededEntropy

THIRD = Fraction(1, 3)


@dataclass(frozen=True)
class Law:
    """A law of noise, and the noise for counts of sensitivity 10."""

    law: laws.Law
    noise: Callable[[Fraction], Any]

    def meter(self, plan: Sequence[Any], entropy: Any) -> Meter:
        """Return a meter of this law."""
        return Meter(plan, entropy, self.law)

    def start(self, entropy: Any, **amounts: Fraction) -> Any:
        """Return a meter whose plan has these amounts; that of `rest` is divided later."""
        plan = [
            spend(label, amount, unallocated=label == "rest") for label, amount in amounts.items()
        ]
        return self.meter(plan, entropy)


def spend(label: str, amount: Any, **more: Any) -> Spend:
    return Spend(label=label, epsilon=amount, **more)


LAWS = {
    "laplace": Law(laws.LAPLACE, lambda amount: DiscreteLaplace(amount, 10)),
    "gaussian": Law(laws.GAUSSIAN, lambda amount: DiscreteGaussian(amount, 100)),
}


@pytest.fixture(params=LAWS)
def law(request: pytest.FixtureRequest) -> Law:
    return LAWS[request.param]


@pytest.fixture
def entropy() -> CountingEntropy:
    return CountingEntropy()


@pytest.fixture
def meter(law: Law, entropy: CountingEntropy) -> Any:
    return law.start(entropy, cells=THIRD, totals=2 * THIRD)


def make_counts(values: object = 0) -> PrivateCounts:
    return PrivateCounts(np.asarray(values), sensitivity=10)


def test_it_adds_noise_to_the_counts_and_keeps_their_shape(meter: Any) -> None:
    counts = make_counts([[1, 2, 3], [4, 5, 6]])
    noisy = meter.measure("cells", counts)
    # This entropy makes all noise zero, so the counts are exact.
    assert noisy.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert noisy.dtype == np.int64
    noisy[0] = 0
    assert meter.measure("totals", counts).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_every_measurement_opens_a_stream_of_its_own(law: Law) -> None:
    entropy = CountingEntropy(SeededEntropy(1))
    meter = law.start(entropy, cells=THIRD, totals=THIRD)
    first = meter.measure("cells", make_counts([0] * 50))
    second = meter.measure("totals", make_counts([0] * 50))
    assert entropy.opened == 2
    assert first.any()
    assert not np.array_equal(first, second)


def test_the_noise_is_that_of_the_label_and_the_counts_sensitivity(law: Law, meter: Any) -> None:
    assert meter.noise("cells", make_counts()) == law.noise(THIRD)
    meter.measure("cells", make_counts())
    measured, unused = meter.finish()
    assert (measured.label, measured.amount, measured.noise) == ("cells", THIRD, law.noise(THIRD))
    assert (unused.label, unused.amount, unused.noise) == ("totals", 2 * THIRD, None)


def test_gaussian_noise_follows_from_the_squared_sensitivity(entropy: CountingEntropy) -> None:
    meter = LAWS["gaussian"].start(entropy, cells=THIRD)
    counts = PrivateCounts(np.asarray(0), sensitivity=4, distinct=True)
    assert meter.noise("cells", counts) == DiscreteGaussian(THIRD, 4)
    shares = PrivateShares(np.array([1]), np.array([1]), steps=10, bound=4, distinct=True)
    assert meter.noise("cells", shares) == DiscreteGaussian(THIRD, 400)
    assert meter.measure("cells", shares).tolist() == [[1], [9]]
    assert meter.finish()[0].noise == DiscreteGaussian(THIRD, 400)


def test_noise_that_does_not_fit_is_refused_before_any_draw(entropy: CountingEntropy) -> None:
    meter = LAWS["gaussian"].start(entropy, cells=Fraction(1, 1 << 82))
    with pytest.raises(InvalidInput, match="64 bits"):
        meter.measure("cells", make_counts())
    assert entropy.opened == 0
    assert meter.finish()[0].noise is None


def test_a_label_is_declared_and_spent_once(meter: Any, entropy: CountingEntropy) -> None:
    meter.measure("cells", make_counts())
    for label in ("cells", "elsewhere"):
        for attempt in (meter.measure, meter.noise):
            with pytest.raises(PrivacyError):
                attempt(label, make_counts())
    assert entropy.opened == 1
    meter.finish()
    with pytest.raises(PrivacyError):
        meter.measure("totals", make_counts())
    assert entropy.opened == 1


def test_charging_unused_draws_nothing(entropy: CountingEntropy) -> None:
    meter = LAWS["laplace"].start(entropy, cells=THIRD, totals=2 * THIRD)
    meter.charge_unused("totals")
    with pytest.raises(PrivacyError, match="already spent"):
        meter.measure("totals", make_counts())
    assert entropy.opened == 0
    assert [(line.amount, line.noise) for line in meter.finish()] == [
        (2 * THIRD, None),
        (THIRD, None),
    ]


def test_counts_that_only_claim_a_sensitivity_are_refused_before_any_draw(
    meter: Any, entropy: CountingEntropy
) -> None:
    class Cheap(PrivateCounts):
        __slots__ = ()

        @property
        def sensitivity(self) -> int:
            return 1

        @property
        def squared_sensitivity(self) -> int:
            return 1

    for counts in (Cheap(np.array([3]), sensitivity=10), np.array([3])):
        with pytest.raises(PrivacyError):
            meter.measure("cells", counts)
    assert entropy.opened == 0


def test_an_interrupted_draw_stays_charged(law: Law) -> None:
    class Broken:
        def stream(self) -> RandomWords:
            raise OSError("no randomness today")

    meter = law.start(Broken(), cells=THIRD, totals=2 * THIRD)
    with pytest.raises(OSError, match="no randomness"):
        meter.measure("cells", make_counts())
    with pytest.raises(PrivacyError, match="already spent"):
        meter.measure("cells", make_counts())
    assert sum(line.amount for line in meter.finish()) == 1


def test_plans_are_exact_and_unambiguous(law: Law, entropy: CountingEntropy) -> None:
    with pytest.raises(PrivacyError, match="twice"):
        law.meter([spend("cells", THIRD)] * 2, entropy)
    for amount in (0.5, Fraction(0), Fraction(-1, 2)):
        with pytest.raises(ValueError, match="positive"):
            spend("cells", amount)
    meter = law.start(entropy, **{str(n): Fraction(1, 10) for n in range(10)})
    assert sum(line.amount for line in meter.finish()) == Fraction(1)


def test_what_is_unallocated_is_divided_exactly_and_only_once(
    law: Law, entropy: CountingEntropy
) -> None:
    meter = law.start(entropy, look=Fraction(1, 50), rest=Fraction(49, 50))
    meter.measure("look", make_counts())
    with pytest.raises(PrivacyError):
        meter.measure("rest", make_counts())
    meter.divide("rest", {"first": THIRD, "later": 2 * THIRD}, rest="later")
    with pytest.raises(PrivacyError):
        meter.measure("later", make_counts())
    meter.divide("later", {"second": Fraction(1, 4), "third": Fraction(3, 4)})
    for label in ("rest", "first", "look"):
        with pytest.raises(PrivacyError):
            meter.divide(label, {"again": Fraction(1)})
    assert meter.noise("first", make_counts()) == law.noise(Fraction(49, 150))
    meter.measure("first", make_counts())
    assert {line.label: line.amount for line in meter.finish()} == {
        "look": Fraction(1, 50),
        "first": Fraction(49, 150),
        "second": Fraction(49, 300),
        "third": Fraction(49, 100),
    }
    assert entropy.opened == 2


@pytest.mark.parametrize(
    ("label", "shares"),
    [
        ("rest", {"a": Fraction(1, 2), "b": Fraction(2, 3)}),
        ("rest", {"a": Fraction(1, 2)}),
        ("rest", {}),
        ("rest", {"a": Fraction(3, 2), "b": Fraction(-1, 2)}),
        ("rest", {"a": 0.5, "b": 0.5}),
        ("rest", {"look": Fraction(1)}),
        ("rest", {"rest": Fraction(1)}),
        ("look", {"a": Fraction(1)}),
        ("elsewhere", {"a": Fraction(1)}),
    ],
)
def test_a_wrong_division_is_refused_without_effect(
    law: Law, entropy: CountingEntropy, label: str, shares: dict[str, Any]
) -> None:
    meter = law.start(entropy, look=Fraction(1, 50), rest=Fraction(49, 50))
    with pytest.raises(PrivacyError):
        meter.divide(label, shares)
    assert entropy.opened == 0
    assert {line.label: line.amount for line in meter.finish()} == {
        "look": Fraction(1, 50),
        "rest": Fraction(49, 50),
    }


def test_the_trace_is_in_the_currency_of_the_law(law: Law, entropy: CountingEntropy) -> None:
    meter = law.start(entropy, cells=THIRD)
    meter.measure("cells", make_counts())
    (line,) = meter.finish()
    gaussian = law.law.gaussian
    assert (line.epsilon, line.rho) == ((None, THIRD) if gaussian else (THIRD, None))


def test_what_only_laplace_noise_protects_is_refused_under_zcdp(entropy: CountingEntropy) -> None:
    area = Truncation(StudyArea.from_bounds(0, 0, 1, 1), GroundGrid(2))
    nowhere = np.zeros(1)
    one_bin = Bins.ranked(np.zeros(1, np.int64), 1, Centres(nowhere, nowhere), nowhere)
    reports = PrivatePositions(lambda: iter([]), sensitivity=1, missing=lambda: 0)
    one = np.zeros((1, 1), dtype=np.int64)
    visits = PrivateVisits(np.zeros(1, np.int64), np.zeros(1, np.int64), size=1, sensitivity=1)
    visits = LAWS["gaussian"].start(entropy).assign_virtual_user(visits, 1)
    opened = entropy.opened
    meter = LAWS["gaussian"].start(entropy, cells=THIRD)
    attempts: list[Callable[[], object]] = [
        lambda: meter.laplace("cells", make_counts()),
        lambda: meter.grow_tree("cells", make_counts(one), one == 0),
        lambda: meter.replace("cells", visits, one, one_bin),
        lambda: meter.perturb("cells", reports, area, input_step=1000),
    ]
    for attempt in attempts:
        with pytest.raises(PrivacyError, match="under zCDP"):
            attempt()
    assert entropy.opened == opened
