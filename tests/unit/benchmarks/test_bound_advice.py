"""The benchmark of advised contribution bounds: exact errors of the counts, and its output."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.bound_advice import People
from dpgeo.core.noise import DiscreteLaplace


def test_errors_are_those_of_a_random_choice_of_contributions() -> None:
    """Errors are those of a random choice of contributions.

    One person has four visits, and with a bound of 2, every choice of two visits is equally likely.
    """
    pairs = np.array([[7, 0], [7, 0], [7, 0], [7, 2]])
    people = People.of(pairs, 3)
    choices = np.array([[2, 0, 0]] * 3 + [[1, 0, 1]] * 3)
    exact = ((choices - [3, 0, 1]) ** 2).mean(axis=0)
    noise = DiscreteLaplace(Fraction(2), 2).variance
    np.testing.assert_allclose(people.squares(2, Fraction(2)), exact + noise)
    np.testing.assert_allclose(
        people.squares(4, Fraction(2)), DiscreteLaplace(Fraction(2), 4).variance
    )
