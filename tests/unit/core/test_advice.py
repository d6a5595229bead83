"""Advice on the contribution bound, checked against its formula and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgeo.core.advice import Guess, best_bound, expected_error
from dpgeo.core.errors import InvalidInput


@pytest.mark.parametrize("people", [1, 50, 5000])
@pytest.mark.parametrize("records", [1, 2, 17])
@pytest.mark.parametrize("share", [0.001, 0.2, 1.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 5])
def test_the_advised_bound_has_the_least_error(
    people: int, records: int, share: float, epsilon: float
) -> None:
    guess = Guess(people=people, records=records, share=share)
    errors = [expected_error(guess, bound, epsilon) for bound in range(1, 20 * records + 1)]
    assert errors[best_bound(guess, epsilon) - 1] == min(errors)


def test_nobody_is_advised_to_leave_out_what_costs_nothing() -> None:
    """If people have one visit each, a bound of 1 loses nothing.

    With little noise, the best bound exceeds the mean number of visits.
    """
    assert best_bound(Guess(people=10**6, records=1, share=1.0), 10.0) == 1
    assert best_bound(Guess(people=10_000, records=20, share=0.05), 1.0) > 60


def test_the_expected_error_matches_a_simulation() -> None:
    """The expected error agrees with a simulation.

    The simulation draws each person's number of records, keeps a random choice of these, and adds
    discrete Laplace noise.
    """
    guess, epsilon, trials = Guess(people=40, records=12, share=0.1), 0.5, 20_000
    random = np.random.default_rng(1)
    for bound in (1, 4, 20):
        lost = np.maximum(random.geometric(1 / 12, (trials, 40)) - bound, 0).sum(axis=1)
        left_out = random.binomial(lost, 0.1)
        error = left_out - random.laplace(0, bound / epsilon, trials)
        simulated = math.sqrt(float(np.mean(np.square(error))))
        assert simulated == pytest.approx(expected_error(guess, bound, epsilon), rel=0.02)


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"people": 0}, "people"), ({"records": 0}, "records"), ({"share": 0.0}, "share"),
     ({"share": 1.1}, "share"), ({"share": math.nan}, "share")],
)  # fmt: skip
def test_impossible_guesses_are_refused_by_name(changes: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Guess.read({"people": 10, "records": 2, "share": 0.1, **changes})
    assert refusal.value.field == field


@pytest.mark.parametrize("regions", [2, 1000, 10**6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_bound_advised_for_many_regions_has_the_least_error(
    regions: int, epsilon: float
) -> None:
    guess = Guess(people=1000, records=50, share=0.03)
    errors = [expected_error(guess, bound, epsilon, regions) for bound in range(1, 501)]
    assert errors[best_bound(guess, epsilon, regions) - 1] == min(errors)


def test_more_regions_advise_a_smaller_bound() -> None:
    """Noise in quiet regions counts, too: the more such regions, the smaller the best bound."""
    guess = Guess(people=1000, records=100, share=0.03)
    bounds = [best_bound(guess, 0.1, regions) for regions in (1, 100, 10_000, 10**6)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 50
    assert bounds[-1] == 1


def test_the_error_over_many_regions_matches_a_simulation() -> None:
    """In an invented town, shares of regions are as `expected_error` assumes: their squares add up
    to p^1.5, where p is the largest share.
    """
    share, regions, epsilon, bound = 0.25, 40, 0.5, 4
    guess = Guess(people=300, records=12, share=share)
    # The busy region has the share p, and `number` other regions share the rest equally. This
    # number is chosen so that the squares of all shares add up to p^1.5.
    number = round((1 - share) ** 2 / (share**1.5 - share**2))
    shares = np.array([share, *[(1 - share) / number] * number, *[0.0] * (regions - 1 - number)])
    assert float(np.sum(shares**2)) == pytest.approx(share**1.5, rel=0.02)
    random = np.random.default_rng(1)
    numbers = np.maximum(random.geometric(1 / 12, (2000, 300)) - bound, 0).sum(axis=1)
    lost = random.multinomial(numbers, shares)
    errors = lost - random.laplace(0, bound / epsilon, lost.shape)
    found = math.sqrt(float(np.mean(np.square(errors))))
    assert found == pytest.approx(expected_error(guess, bound, epsilon, regions), rel=0.02)
