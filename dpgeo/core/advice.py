"""Advice on the contribution bound, from numbers that its publisher guesses in public.

The count of one place is off in two ways: a small bound l leaves visits out, a large one makes the
noise larger. Let n people have M places each, of which a share p is this one. Of a person's M
places l are kept at random, so that of the place's count some n p (M - l) are missing, give or take
n (M - l) p (1 - p), and the noise has the variance of about 2 l^2/epsilon^2:
    MSE(l) = n (M - l) p (1 - p) + n^2 p^2 (M - l)^2 + 2 l^2/epsilon^2    for l <= M,
against the realised count, least at
    l* = (2 n^2 p^2 M + n p (1 - p))/(2 n^2 p^2 + 4/epsilon^2), held within 1 and M.
(Seed 001, whose equation 22 mis-states the first term.) Nothing here looks at data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpgeo.core.errors import InvalidInput

MOST_PEOPLE = 10_000_000_000
MOST_RECORDS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """Public guesses: so many people, each with so many places, a share of them in one busy place.

    Raises InvalidInput that names the field.
    """

    people: int
    records: int
    share: float

    def __post_init__(self) -> None:
        if not 1 <= self.people <= MOST_PEOPLE:
            raise InvalidInput(
                "Guess from 1 to {most:,} people, such as 10,000.", most=MOST_PEOPLE, field="people"
            )
        if not 1 <= self.records <= MOST_RECORDS:
            raise InvalidInput(
                "Guess from 1 to {most:,} places a person, such as 20.",
                most=MOST_RECORDS,
                field="records",
            )
        if not 0 < self.share <= 1:
            raise InvalidInput(
                "Guess a share above 0 and at most 1: 0.01 is one place in a hundred.",
                field="share",
            )

    @property
    def busy(self) -> float:
        """What the busy place would count if nothing were left out."""
        return self.people * self.records * self.share


def expected_error(guess: Guess, bound: int, epsilon: float) -> float:
    """The root of MSE(l): how far the busy place's count is typically off."""
    missing = max(guess.records - bound, 0)
    mean = guess.people * guess.share * missing
    spread = guess.people * missing * guess.share * (1 - guess.share)
    return math.sqrt(spread + mean**2 + 2 * (bound / epsilon) ** 2)


def best_bound(guess: Guess, epsilon: float) -> int:
    """The whole number of least MSE."""
    each = guess.people * guess.share
    middle = (2 * each**2 * guess.records + each * (1 - guess.share)) / (
        2 * each**2 + 4 / epsilon**2
    )
    low = min(max(math.floor(middle), 1), guess.records)
    high = min(low + 1, guess.records)
    return min((low, high), key=lambda bound: expected_error(guess, bound, epsilon))
