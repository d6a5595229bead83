"""Lower bounds on the log-ratio of outcomes from two places.

Taking the largest ratio over many cells overestimates it by chance, however many draws there are.
So the sample is split: the first half chooses a set of outcomes, and the second half tests only
that set, by the bounds of Clopper and Pearson (1934) on its two probabilities. Whatever set was
chosen, the bound exceeds the truth with at most the stated probability, and the bound is close to
the truth if the choice was good. The set consists of the cells that favour one place most, as many
as give the best bound in the first half (Neyman and Pearson; Jagielski, Ullman and Oprea 2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[float, int, int], tuple[Floats, Floats]]
"""Type of a function (east, size, seed) that perturbs `size` reports made at one place.

The place is `east` metres east of the middle. The function returns the perturbed points in metres
east and north of the middle.
"""

CELLS = 24
"""Number of cells along each side of the square in which outcomes are counted.

Everything outside the square is one further cell.
"""

REACH = 3.0
"""Half the side of the square of cells, in units of the noise's mean distance."""

CHUNK = 1 << 20
"""Number of outcomes drawn at a time."""


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound on the log-ratio of the probabilities of a set of outcomes at two places.

    `estimate` is the log-ratio of the set's shares in the half of the outcomes that tests the set,
    and `lower` the bound. `draws` outcomes were drawn from each place for the test; `more` of them
    were in the set for the place that the set favours, and `less` for the other place.
    """

    estimate: float
    lower: float
    more: int
    less: int
    draws: int


def tell_apart(draw: Draw, metres: float, draws: int, scale: float, chance: float) -> Found:
    """Return a bound on the log-ratio of outcomes from two places, from `draws` outcomes of each.

    The places are `metres` apart. `lower` exceeds the true log-ratio with probability at most
    `chance`. `scale` is the mean distance of the noise in metres.
    """
    ends, half = (-metres / 2, metres / 2), draws // 2
    west, east = (_count(draw, place, half, scale, seed) for seed, place in enumerate(ends))
    chosen, first = _choose(west, east, chance)
    tested = [_count(draw, place, half, scale, 2 + seed) for seed, place in enumerate(ends)]
    more, less = (tested[place][chosen].sum() for place in (first, 1 - first))
    [lower] = least_log_ratio(np.array([more]), np.array([less]), half, chance)
    estimate = math.log(more / less) if more and less else math.nan
    return Found(estimate, float(lower), int(more), int(less), half)


def _count(draw: Draw, place: float, draws: int, scale: float, seed: int) -> NDArray[np.int64]:
    """Return the number of outcomes in each cell and, as the last value, outside the square.

    The shape is (CELLS**2 + 1,) and the dtype int64.
    """
    counts = np.zeros(CELLS**2 + 1, dtype=np.int64)
    for number, start in enumerate(range(0, draws, CHUNK)):
        east, north = draw(place, min(CHUNK, draws - start), 1000 * seed + number)
        column, row = (
            np.floor((each / (REACH * scale) + 1) * (CELLS / 2)).astype(np.int64)
            for each in (east, north)
        )
        inside = (column >= 0) & (column < CELLS) & (row >= 0) & (row < CELLS)
        cells = np.where(inside, row * CELLS + column, CELLS**2)
        counts += np.bincount(cells, minlength=counts.size)
    return counts


def _choose(
    west: NDArray[np.int64], east: NDArray[np.int64], chance: float
) -> tuple[NDArray[np.int64], int]:
    """Return the cells that best tell the two places apart, and the place (0 or 1) they favour."""
    best: tuple[float, NDArray[np.int64], int] = (-math.inf, np.arange(west.size), 0)
    for first, (more, less) in enumerate([(west, east), (east, west)]):
        # Cells are ordered by the ratio of their two counts. 1/sqrt(count) is added to move nearly
        # empty cells to the end, and 0.5 is added to both counts to avoid division by 0.
        order = np.argsort((less + 0.5) / (more + 0.5) + 1 / np.sqrt(more + 0.5), kind="stable")
        lower = least_log_ratio(
            np.cumsum(more[order]), np.cumsum(less[order]), int(west.sum()), chance
        )
        place = int(np.argmax(lower))
        if lower[place] > best[0]:
            best = float(lower[place]), order[: place + 1], first
    return best[1], best[2]


def least_log_ratio(
    more: NDArray[np.int64], less: NDArray[np.int64], draws: int, chance: float
) -> Floats:
    """Return lower confidence bounds (n,) on the log-ratio of two probabilities.

    The events happened `more` and `less` (n,) times in `draws` draws. Each bound is wrong with
    probability at most `chance` (Clopper and Pearson 1934).
    """
    from scipy.stats import beta

    least = beta.ppf(chance / 2, more, draws - more + 1)
    most = beta.ppf(1 - chance / 2, less + 1, draws - less)
    least = np.where(more > 0, least, 0.0)
    most = np.where(less < draws, most, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(least) - np.log(most), dtype=np.float64)
