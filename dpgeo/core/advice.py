"""Advice on the contribution bound, from the publisher's public guesses.

The count of a place has two errors: a small contribution bound l leaves visits out, and a large one
increases the noise. Let n people have M visits each, and let a share p of all visits be to this
place. Of a person's M visits, l are kept at random. So the count of the place is too low by about
n p (M - l), with variance n (M - l) p (1 - p), and the noise has a variance of about
2 l^2/epsilon^2. The mean square error with respect to the true count is
    MSE(l) = n (M - l) p (1 - p) + n^2 p^2 (M - l)^2 + 2 l^2/epsilon^2    for l <= M,
which is smallest at
    l* = (2 n^2 p^2 M + n p (1 - p))/(2 n^2 p^2 + 4/epsilon^2), clipped to [1, M].
(Fan and Jin 2015; the first term of their equation 22 is wrong.) No private data are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpgeo.core.errors import InvalidInput

MOST_PEOPLE = 10_000_000_000
MOST_RECORDS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """Public guesses about the data.

    `people` is the number of people, `records` is the number of visits per person, and `share` is
    the share of all visits that go to one busy place. Raises InvalidInput, with the name of the
    guess as its `field`, if a guess is out of range.
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
                "Guess from 1 to {most:,} places per person, such as 20.",
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
        """Expected count of the busy place without contribution bounding."""
        return self.people * self.records * self.share


def expected_error(guess: Guess, bound: int, epsilon: float) -> float:
    """Return the typical error of the count for the busy place, the square root of MSE(l).

    `bound` is l.
    """
    missing = max(guess.records - bound, 0)
    mean = guess.people * guess.share * missing
    spread = guess.people * missing * guess.share * (1 - guess.share)
    return math.sqrt(spread + mean**2 + 2 * (bound / epsilon) ** 2)


def best_bound(guess: Guess, epsilon: float) -> int:
    """Return the contribution bound with the smallest mean square error."""
    per_place = guess.people * guess.share
    optimum = (2 * per_place**2 * guess.records + per_place * (1 - guess.share)) / (
        2 * per_place**2 + 4 / epsilon**2
    )
    low = min(max(math.floor(optimum), 1), guess.records)
    high = min(low + 1, guess.records)
    return min((low, high), key=lambda bound: expected_error(guess, bound, epsilon))
