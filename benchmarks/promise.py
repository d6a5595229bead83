"""What outcomes tell of two places: a bound from below on epsilon times their distance.

The largest ratio over many cells is too large by chance, however many draws there are. So the
sample is split. One half chooses a set of outcomes; the other alone tests it, by the bounds of
Clopper and Pearson (1934) on its two probabilities. What is so found is above the truth with no
more than the chance stated, whatever the first half chose, and near it where that chose well. As a
set those cells are taken that speak most for one place, as many as give the first half's best bound
(Neyman and Pearson; Jagielski, Ullman and Oprea 2020 audit so).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[float, int, int], tuple[Floats, Floats]]
"""Outcomes, metres east and north of the middle, of so many reports made at these metres east of
it, under a seed."""

CELLS = 24
"""Along each side of the square in which outcomes are told apart; all beyond it is one more."""

REACH = 3.0
"""Half of that side, in mean distances that the noise is told to move."""

CHUNK = 1 << 20
"""Outcomes drawn at a time."""


@dataclass(frozen=True, slots=True)
class Found:
    """`estimate` is the log-ratio of the set's shares in the half that tests, `lower` its bound."""

    estimate: float
    lower: float


def tell_apart(draw: Draw, metres: float, draws: int, scale: float, chance: float) -> Found:
    """What `draws` outcomes from each of two places so many metres apart tell of them.

    `lower` is above the true log-ratio with at most this chance. `scale` is the mean distance that
    noise is told to move, in metres.
    """
    ends, half = (-metres / 2, metres / 2), draws // 2
    west, east = (_count(draw, place, half, scale, seed) for seed, place in enumerate(ends))
    chosen, first = _choose(west, east, chance)
    tested = [_count(draw, place, half, scale, 2 + seed) for seed, place in enumerate(ends)]
    more, less = (tested[place][chosen].sum() for place in (first, 1 - first))
    [lower] = _lower(np.array([more]), np.array([less]), half, chance)
    return Found(math.log(more / less) if more and less else math.nan, float(lower))


def _count(draw: Draw, place: float, draws: int, scale: float, seed: int) -> NDArray[np.int64]:
    """Outcomes in each cell, and beyond them in the last: int64 (CELLS**2 + 1,)."""
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
    """The cells whose outcomes tell most, and for which place (0 or 1) they speak."""
    best: tuple[float, NDArray[np.int64], int] = (-math.inf, np.arange(west.size), 0)
    for first, (more, less) in enumerate([(west, east), (east, west)]):
        # Half an outcome in either, so that cells with next to none come last.
        order = np.argsort((less + 0.5) / (more + 0.5) + 1 / np.sqrt(more + 0.5), kind="stable")
        lower = _lower(np.cumsum(more[order]), np.cumsum(less[order]), int(west.sum()), chance)
        place = int(np.argmax(lower))
        if lower[place] > best[0]:
            best = float(lower[place]), order[: place + 1], first
    return best[1], best[2]


def _lower(more: NDArray[np.int64], less: NDArray[np.int64], draws: int, chance: float) -> Floats:
    """A lower bound (n,) of the log-ratio of two probabilities, from how often each came up."""
    from scipy.stats import beta

    least = beta.ppf(chance / 2, more, draws - more + 1)
    most = beta.ppf(1 - chance / 2, less + 1, draws - less)
    least = np.where(more > 0, least, 0.0)
    most = np.where(less < draws, most, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(least) - np.log(most), dtype=np.float64)
