"""Private choice of the contribution bound: its distribution, its sensitivity and its cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.bound_choice import PARTS
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.spend import Spend
from dpgeo.core.totals import TotalsPlan
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy.bound_choice import (
    BOUND,
    TWICE,
    PrivateContributions,
    candidates,
    draw,
    epsilon_for,
    penalties,
    weights,
)
from dpgeo.privacy.law import GAUSSIAN, LAPLACE, Law
from dpgeo.privacy.mechanism import StoredBound, checked_plan, run
from dpgeo.privacy.meter import Meter
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy
from tests.views import ArrayView

AREA = StudyArea.from_bounds(0.0, 0.0, 1.0, 1.0)


def law(people: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """Return each candidate's probability in the exponential mechanism, by its definition."""
    most = len(people) - 2
    below = np.cumsum(people)[candidates(most)]
    utility = -np.abs(below - 0.9 * people.sum())
    weight = weights(most) * np.exp(epsilon * (utility - utility.max()) / (2 * 0.9))
    return np.asarray(weight / weight.sum())


def random_people(random: np.random.Generator, most: int) -> NDArray[np.int64]:
    people = random.integers(0, 4, most + 2)
    people[0] = 0
    return np.asarray(people, dtype=np.int64)


def test_one_person_changes_the_odds_of_no_bound_by_more_than_epsilon() -> None:
    random = np.random.default_rng(5)
    largest = 0.0
    for _ in range(300):
        most = int(random.integers(1, 40))
        people = random_people(random, most)
        before = np.log(law(people, 1.0))
        for own in range(1, most + 2):
            people[own] += 1
            change = np.log(law(people, 1.0)) - before
            people[own] -= 1
            largest = max(largest, float(np.abs(change).max()))
            # All log-ratios of probabilities lie in one interval of length epsilon. This is what
            # makes the choice (epsilon^2/8)-zCDP.
            assert np.ptp(change) <= 1 + 1e-9
    assert 0.5 < largest <= 1 + 1e-9


def test_penalties_are_whole_numbers_of_the_stated_sensitivity() -> None:
    random = np.random.default_rng(6)
    for _ in range(200):
        most = int(random.integers(1, 30))
        people = random_people(random, most)
        below = np.cumsum(people)[candidates(most)]
        distance = np.abs(PARTS * below - 9 * people.sum())
        assert (penalties(people) == distance - distance.min()).all()
        people[int(random.integers(1, most + 2))] += 1
        changed = np.abs(PARTS * np.cumsum(people)[candidates(most)] - 9 * people.sum())
        assert 2 * np.abs(changed - distance).max() <= TWICE


def test_bounds_are_drawn_by_the_law() -> None:
    people = np.array([0, 30, 20, 10, 10, 5, 5, 5, 5, 5, 5, 20], dtype=np.int64)
    expected = law(people, 0.05)
    stream = SeededEntropy(3).stream()
    drawn = [draw(people, Fraction(1, 20), stream) for _ in range(3000)]
    counts = np.array([drawn.count(each) for each in candidates(10).tolist()])
    # The seed is fixed. With a random one, a count would be more than 6 standard deviations off in
    # one of 10^8 runs.
    deviation = np.sqrt(3000 * expected * (1 - expected))
    assert (np.abs(counts - 3000 * expected) <= 6 * deviation).all()


def test_the_epsilon_of_a_rho_costs_no_more_than_it() -> None:
    for rho in (Fraction(75, 100_000), Fraction(1, 3), Fraction(1, 10**9)):
        epsilon = epsilon_for(rho)
        step = Fraction(1, 10**8)
        assert epsilon**2 / 8 <= rho < (epsilon + step) ** 2 / 8
    with pytest.raises(PrivacyError, match="So little rho"):
        epsilon_for(Fraction(1, 10**18))


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_a_stored_bound_is_charged_and_not_drawn_again(law: Law) -> None:
    meter = Meter([Spend(label=BOUND, epsilon=Fraction(1))], SeededEntropy(1), law)
    contributions = PrivateContributions(np.array([0, 5, 0, 0], dtype=np.int64))
    assert meter.choose_bound(BOUND, contributions, 2) == 2
    with pytest.raises(PrivacyError, match="already spent"):
        meter.choose_bound(BOUND, contributions)
    [line] = meter.finish()
    assert (line.bound, line.noise, line.amount) == (2, None, Fraction(1))


def test_contributions_are_read_through_a_meter_alone() -> None:
    contributions = PrivateContributions(np.array([0, 7, 0, 1], dtype=np.int64))
    assert repr(contributions) == "PrivateContributions(most=2)"
    with pytest.raises(TypeError):
        list(contributions)
    with pytest.raises(PrivacyError, match="Only contributions"):
        Meter([Spend(label=BOUND, epsilon=Fraction(1))], SeededEntropy(1)).choose_bound(
            BOUND,
            np.array([0, 7]),  # type: ignore[arg-type]
        )


def wanderers(counting: Counting) -> ArrayView:
    """Return 400 people; person u has two rows in each of 1 + u % 10 cells of a grid of 16
    cells.
    """
    cell = np.concatenate([np.repeat(np.arange(1 + user % 10), 2) for user in range(400)])
    person = np.concatenate([np.full(2 * (1 + user % 10), user) for user in range(400)])
    row, column = np.divmod(cell, 4)
    return ArrayView(
        area=AREA,
        longitude=(column + 0.5) / 4,
        latitude=1 - (row + 0.5) / 4,
        persons=person,
        counting=counting,
        bound=15,
    )


@pytest.mark.parametrize(
    ("counting", "bounds", "bought"),
    [("people", {7, 10}, [2, 6, 2]), ("visits", {15}, [2, 2, 6])],
)
def test_a_map_is_counted_under_the_chosen_bound(
    counting: str, bounds: set[int], bought: list[int]
) -> None:
    mechanism = MECHANISMS["uniform-grid"]
    kept: list[int] = []

    def keep(bound: int) -> int:
        kept.append(bound)
        return bound

    released = run(
        mechanism,
        wanderers(Counting(counting)),
        mechanism.params(cells=4),
        Fraction(100),
        SeededEntropy(2),
        {},
        totals=TotalsPlan(),
        bound_percent=5,
        stored=StoredBound(keep=keep),
    )
    assert kept == [released.bound]
    assert released.bound in bounds
    assert released.trace[0].label == BOUND
    assert released.trace[0].bound == released.bound
    assert [line.amount for line in released.trace] == [5, *bought, 85]
    assert released.trace[-1].noise is not None
    assert released.trace[-1].noise.sensitivity == released.bound  # type: ignore[union-attr]


def test_the_bound_that_was_stored_first_is_used() -> None:
    mechanism = MECHANISMS["uniform-grid"]
    for stored in (StoredBound(drawn=4), StoredBound(keep=lambda _: 4)):
        released = run(
            mechanism,
            wanderers(Counting.PEOPLE),
            mechanism.params(cells=4),
            Fraction(1),
            SeededEntropy(2),
            {},
            bound_percent=5,
            stored=stored,
        )
        assert (released.bound, released.trace[0].bound) == (4, 4)


def test_what_is_left_for_the_map_is_the_rest() -> None:
    mechanism = MECHANISMS["auto"]
    plan = checked_plan(
        mechanism, mechanism.params(), Fraction(1), totals=TotalsPlan(), bound_percent=20
    )
    assert plan[0].amount == Fraction(1, 5)
    assert sum(spend.amount for spend in plan) == 1
    clusters = MECHANISMS["private-clusters"]
    with pytest.raises(PrivacyError, match="public places"):
        checked_plan(clusters, clusters.params(), Fraction(1), bound_percent=5)


def test_records_have_no_bound_to_choose() -> None:
    mechanism = MECHANISMS["uniform-grid"]
    view = ArrayView(area=AREA, longitude=[0.5], latitude=[0.5], unit=Unit.RECORD)
    with pytest.raises(PrivacyError, match="where persons"):
        run(
            mechanism,
            view,
            mechanism.params(cells=4),
            Fraction(1),
            SeededEntropy(2),
            {},
            bound_percent=5,
        )


def test_contributions_are_counted_without_a_bound() -> None:
    grid = Grid.over(AREA, 4)
    people = wanderers(Counting.PEOPLE).contributions(grid, 6)._read_by_meter()
    assert people.tolist() == [0, 40, 40, 40, 40, 40, 40, 160]
