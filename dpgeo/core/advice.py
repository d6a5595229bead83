"""Advice on the contribution bound, from the publisher's public guesses.

The count of a place has two errors: a small contribution bound l leaves visits out, and a large one
increases the noise. Let n people have M visits each on average, and let a share p of all visits be
to this place. People differ: a few have many times as many visits as others. The number of a
person's visits is therefore taken to be geometric, so that a share r^l of the people has more than
l visits, for r = 1 - 1/M. If l visits are kept at random, a person loses L = M r^l visits on
average, with variance V = r^l (2 M^2 - M) - L^2. The noise has a variance of about 2 l^2/epsilon^2,
so the mean square error with respect to the true count is
    MSE(l) = n^2 p^2 L^2 + n (p (1 - p) L + p^2 V) + 2 l^2/epsilon^2.
It is convex in l, and the bound where it is smallest is advised. No private data are read.

(Fan and Jin 2015 take the same M for everybody, with which no bound above M is ever advised. On
three datasets, the bound that they advise had 1.49 times the error of the best bound, in one case
28 times; the bound advised here has 1.07 times the error, and at most 2.4 times. docs/bounding.md
has the comparison.)

A plain grid has the same noise in each of its R cells, most of which have few visits.
The bound that suits the busiest cell adds too much noise to all others: on one file, the root mean
square error over all cells was 1,628 at the bound from this formula, and 196 at a bound of 1. So if
all regions are measured alike, the mean over all of them is used. With shares p_j of the regions
and S the sum of p_j^2,
    R MSE(l) = n^2 S L^2 + n ((1 - S) L + S V) + 2 R l^2/epsilon^2.
Only the share p of the busy place is guessed. S lies between p^2, if all other shares were tiny,
and p, if all places were as busy as this one; the geometric mean of the two, p^1.5, is used.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Annotated

from pydantic import BeforeValidator, Field

from dpgeo.core.declared import REAL, WHOLE, Declared
from dpgeo.phrases import InvalidValue, translatable

MAX_PEOPLE = 10_000_000_000
MAX_RECORDS = 100_000


def _read_share(value: float) -> float:
    if not 0 < value <= 1:
        raise InvalidValue("Guess a share above 0 and at most 1: 0.01 is one place in a hundred.")
    return value


class Guess(Declared):
    """Guesses about the data that come from public knowledge, never from the data.

    `people` is the number of people, `records` is the mean number of visits per person, and
    `share` is the share of all visits that go to one busy place.
    """

    people: Annotated[int, Field(ge=1, le=MAX_PEOPLE), WHOLE] = Field(
        title=translatable("About how many people are in your data?"),
        description=translatable("A guess."),
    )
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS), WHOLE] = Field(
        title=translatable("Places per person"),
        description=translatable("Or rows, when visits are counted."),
    )
    share: Annotated[float, Field(gt=0, le=1), BeforeValidator(_read_share), REAL] = Field(
        title=translatable("Share of them in one busy place"),
        description=translatable("0.01 is one place in a hundred."),
    )

    @property
    def busy(self) -> float:
        """Expected visits to the busy place, before bounding: people * records * share."""
        return self.people * self.records * self.share


def expected_error(guess: Guess, bound: int, epsilon: float, regions: int = 1) -> float:
    """Return the typical error of a count: the square root of MSE(l) in the module docstring.

    `bound` is l. If `regions` is 1, the error is that of the busy place's count; otherwise, it is
    the square root of the mean of MSE(l) over this many regions with the same noise.
    """
    mean = guess.records
    longer = (1 - 1 / mean) ** bound
    lost = mean * longer
    variance = longer * (2 * mean**2 - mean) - lost**2
    squares, shares = (guess.share**2, guess.share) if regions == 1 else (guess.share**1.5, 1.0)
    bias = guess.people**2 * squares * lost**2
    spread = guess.people * ((shares - squares) * lost + squares * variance)
    return math.sqrt((bias + spread) / regions + 2 * (bound / epsilon) ** 2)


def best_bound(guess: Guess, epsilon: float, regions: int = 1) -> int:
    """Return the contribution bound with which a count's `expected_error` is smallest."""

    def rises(bound: int) -> bool:
        here, next_one = (
            expected_error(guess, each, epsilon, regions) for each in (bound, bound + 1)
        )
        return next_one >= here

    return 1 + bisect_left(range(1, MAX_RECORDS), True, key=rises)
