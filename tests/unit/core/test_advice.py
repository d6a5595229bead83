"""Advice on the contribution bound, checked against its formula and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgeo.core.advice import Guess, best_bound, expected_error


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
