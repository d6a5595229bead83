"""The Meter: each label can be spent only once, and only declared noise is drawn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.spend import Measured, Spend
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.randomness import RandomWords
from tests.randomness import CountingEntropy, SeededEntropy

PLAN = [Spend(label="cells", epsilon=Fraction(1, 3)), Spend(label="totals", epsilon=Fraction(2, 3))]


@pytest.fixture
def entropy() -> CountingEntropy:
    return CountingEntropy()


@pytest.fixture
def meter(entropy: CountingEntropy) -> Meter:
    return Meter(PLAN, entropy)


def make_counts(values: list[list[int]] | list[int] | int = 0) -> PrivateCounts:
    return PrivateCounts(np.asarray(values), sensitivity=10)


def test_it_adds_noise_to_the_counts_and_keeps_their_shape(meter: Meter) -> None:
    noisy = meter.measure("cells", make_counts([[1, 2, 3], [4, 5, 6]]))
    # This entropy makes all noise zero, so the counts are exact.
    assert noisy.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert noisy.dtype == np.int64


def test_noisy_counts_do_not_share_memory_with_private_ones(meter: Meter) -> None:
    counts = make_counts([7, 7])
    meter.measure("cells", counts)[0] = 0
    assert meter.measure("totals", counts).tolist() == [7, 7]


def test_every_measurement_opens_a_stream_of_its_own() -> None:
    entropy = CountingEntropy(SeededEntropy(1))
    meter = Meter(PLAN, entropy)
    first = meter.measure("cells", make_counts([0] * 50))
    second = meter.measure("totals", make_counts([0] * 50))
    assert entropy.opened == 2
    assert not np.array_equal(first, second)


def test_the_noise_is_that_of_the_label_and_the_counts_sensitivity() -> None:
    meter = Meter(PLAN, SeededEntropy(1))
    assert meter.noise("cells", make_counts()) == DiscreteLaplace(Fraction(1, 3), 10)
    meter.measure("cells", make_counts())
    assert meter.finish()[0].noise == DiscreteLaplace(Fraction(1, 3), 10)


def test_a_label_is_spent_once(meter: Meter, entropy: CountingEntropy) -> None:
    meter.measure("cells", make_counts())
    for attempt in (
        lambda: meter.measure("cells", make_counts()),
        lambda: meter.noise("cells", make_counts()),
        lambda: meter.charge_unused("cells"),
    ):
        with pytest.raises(PrivacyError, match="already spent"):
            attempt()
    assert entropy.opened == 1


def test_undeclared_measurements_are_refused_before_any_draw(
    meter: Meter, entropy: CountingEntropy
) -> None:
    with pytest.raises(PrivacyError, match="not declared"):
        meter.measure("elsewhere", make_counts())
    assert entropy.opened == 0
    assert [line.label for line in meter.finish()] == ["cells", "totals"]


def test_counts_that_only_claim_a_sensitivity_are_refused_before_any_draw(
    meter: Meter, entropy: CountingEntropy
) -> None:
    class Cheap(PrivateCounts):
        __slots__ = ()

        @property
        def sensitivity(self) -> int:
            return 1

    cheap = Cheap(np.array([3]), sensitivity=10)
    for counts in (cheap, np.array([3])):
        with pytest.raises(PrivacyError, match="that a view made"):
            meter.measure("cells", counts)  # type: ignore[arg-type]
    assert entropy.opened == 0


def test_charging_unused_draws_nothing(meter: Meter, entropy: CountingEntropy) -> None:
    meter.charge_unused("totals")
    assert entropy.opened == 0
    assert meter.finish() == (
        Measured(label="totals", epsilon=Fraction(2, 3), noise=None),
        Measured(label="cells", epsilon=Fraction(1, 3), noise=None),
    )


def test_an_interrupted_draw_stays_charged() -> None:
    class Broken:
        def stream(self) -> RandomWords:
            raise OSError("no randomness today")

    meter = Meter(PLAN, Broken())
    with pytest.raises(OSError, match="no randomness"):
        meter.measure("cells", make_counts())
    with pytest.raises(PrivacyError, match="already spent"):
        meter.measure("cells", make_counts())
    assert sum(line.amount for line in meter.finish()) == 1


def test_after_the_end_nothing_is_measured(meter: Meter, entropy: CountingEntropy) -> None:
    meter.finish()
    with pytest.raises(PrivacyError, match="already spent"):
        meter.measure("cells", make_counts())
    assert entropy.opened == 0


def test_a_label_declared_twice_is_refused(entropy: CountingEntropy) -> None:
    with pytest.raises(PrivacyError, match="twice"):
        Meter([PLAN[0], PLAN[0]], entropy)


def test_epsilons_are_exact_fractions() -> None:
    for epsilon in (0.5, Fraction(0), Fraction(-1, 2)):
        with pytest.raises(ValueError, match="positive epsilon"):
            Spend(label="cells", epsilon=epsilon)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="exact"):
        DiscreteLaplace(0.5, 1)  # type: ignore[arg-type]
    tenth = Fraction(1, 10)
    meter = Meter([Spend(label=str(n), epsilon=tenth) for n in range(10)], CountingEntropy())
    assert sum(line.amount for line in meter.finish()) == Fraction(1)


REST = [
    Spend(label="look", epsilon=Fraction(1, 50)),
    Spend(label="rest", epsilon=Fraction(49, 50), unallocated=True),
]


def test_unallocated_epsilon_is_divided_exactly() -> None:
    meter = Meter(REST, CountingEntropy())
    meter.measure("look", make_counts())
    meter.divide("rest", {"first": Fraction(1, 3), "second": Fraction(2, 3)})
    assert meter.noise("first", make_counts()) == DiscreteLaplace(Fraction(49, 150), 10)
    meter.measure("first", make_counts())
    assert [(line.label, line.epsilon, line.noise is None) for line in meter.finish()] == [
        ("look", Fraction(1, 50), False),
        ("first", Fraction(49, 150), False),
        ("second", Fraction(98, 150), True),
    ]


@pytest.mark.parametrize(
    ("label", "shares", "said"),
    [
        ("rest", {"a": Fraction(1, 2), "b": Fraction(2, 3)}, "add up to 1"),
        ("rest", {"a": Fraction(1, 2)}, "add up to 1"),
        ("rest", {}, "add up to 1"),
        ("rest", {"a": Fraction(3, 2), "b": Fraction(-1, 2)}, "above 0"),
        ("rest", {"a": 0.5, "b": 0.5}, "fractions"),
        ("rest", {"look": Fraction(1)}, "already in use"),
        ("rest", {"rest": Fraction(1)}, "already in use"),
        ("look", {"a": Fraction(1)}, "not as a rest"),
        ("elsewhere", {"a": Fraction(1)}, "not declared"),
    ],
)
def test_a_wrong_division_of_unallocated_epsilon_is_refused_without_effect(
    entropy: CountingEntropy, label: str, shares: dict[str, Fraction], said: str
) -> None:
    meter = Meter(REST, entropy)
    with pytest.raises(PrivacyError, match=said):
        meter.divide(label, shares)
    assert entropy.opened == 0
    assert {line.label: line.epsilon for line in meter.finish()} == {
        "look": Fraction(1, 50),
        "rest": Fraction(49, 50),
    }


def test_a_rest_is_divided_again_and_stays_within_what_was_declared() -> None:
    meter = Meter(REST, CountingEntropy())
    meter.divide("rest", {"first": Fraction(1, 7), "later": Fraction(6, 7)}, rest="later")
    with pytest.raises(PrivacyError, match="divide it before"):
        meter.measure("later", make_counts())
    meter.divide("later", {"second": Fraction(1, 2), "third": Fraction(1, 2)})
    with pytest.raises(PrivacyError, match="not as a rest"):
        meter.divide("first", {"more": Fraction(1)})
    assert {line.label: line.epsilon for line in meter.finish()} == {
        "look": Fraction(1, 50),
        "first": Fraction(7, 50),
        "second": Fraction(21, 50),
        "third": Fraction(21, 50),
    }


def test_a_new_measurement_cannot_reuse_a_label(entropy: CountingEntropy) -> None:
    meter = Meter(REST, entropy)
    meter.measure("look", make_counts())
    with pytest.raises(PrivacyError, match="already in use"):
        meter.divide("rest", {"look": Fraction(1)})


def test_unallocated_epsilon_is_divided_once_and_never_measured(entropy: CountingEntropy) -> None:
    meter = Meter(REST, entropy)
    with pytest.raises(PrivacyError, match="divide it before"):
        meter.measure("rest", make_counts())
    assert entropy.opened == 0
    meter.divide("rest", {"first": Fraction(1)})
    with pytest.raises(PrivacyError, match="already spent"):
        meter.divide("rest", {"again": Fraction(1)})
