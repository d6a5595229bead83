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

A plain grid has the same noise in each of its R cells, most of which have few visits.
The bound that suits the busiest cell adds too much noise to all others: on one file, the root mean
square error over all cells was 1,628 at the bound from this formula, and 196 at a bound of 1. So if
all regions are measured alike, the mean over all of them is used. With shares p_j of the regions
and S the sum of p_j^2,
    R MSE(l) = n (M - l) (1 - S) + n^2 S (M - l)^2 + 2 R l^2/epsilon^2,
smallest at
    l* = (2 n^2 S M + n (1 - S))/(2 n^2 S + 4 R/epsilon^2), clipped to [1, M].
Only the share p of the busy place is guessed. S lies between p^2, if it were alone, and p, if all
people were in places as busy; their geometric mean p^1.5 is used. docs/bounding.md compares both
rules with the best bound on three datasets.
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


def expected_error(guess: Guess, bound: int, epsilon: float, regions: int = 1) -> float:
    """Return the typical error of a count, the square root of MSE(l).

    `bound` is l. If `regions` is 1, the count is that of the busy place; otherwise, the mean is
    over as many regions that are measured alike.
    """
    missing = max(guess.records - bound, 0)
    mean, spread = _lost(guess, regions)
    error = spread * missing + mean * missing**2
    return math.sqrt(error / regions + 2 * (bound / epsilon) ** 2)


def best_bound(guess: Guess, epsilon: float, regions: int = 1) -> int:
    """Return the contribution bound with the smallest mean square error; see `expected_error`."""
    mean, spread = _lost(guess, regions)
    optimum = (2 * mean * guess.records + spread) / (2 * mean + 4 * regions / epsilon**2)
    low = min(max(math.floor(optimum), 1), guess.records)
    high = min(low + 1, guess.records)
    return min((low, high), key=lambda bound: expected_error(guess, bound, epsilon, regions))


def _lost(guess: Guess, regions: int) -> tuple[float, float]:
    """Return the mean and the variance of how far a count drops if each person loses one visit.

    The mean is squared. Both values are summed over all regions.
    """
    if regions == 1:
        share, alike = guess.share, guess.share**2
        return guess.people**2 * alike, guess.people * share * (1 - share)
    alike = guess.share**1.5
    return guess.people**2 * alike, guess.people * (1 - alike)
