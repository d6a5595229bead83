"""Correlated sensitivity (Zhu et al. 2017, chapter 14), and what remains of its promised epsilon.

The authors' mechanism. A matrix of correlated degrees, in [-1, 1], says how strongly records move
together; degrees below a threshold count as 0. The record sensitivity of i (definition 14.6) is the
sum over j of |degree_ij| |f(D^j) - f(D^-j)|, with the answers f with and without record j. The
correlated sensitivity CS (14.7) is the largest record sensitivity among records that respond to the
query. Noise of scale CS/epsilon is added. The authors claim that it hides a record together with
all records correlated with it.

Why it is not private.

- A degree below 1 is no bound. Records that move together with a degree of 0.6 can all be in a
  count, so that k of them change it by k. But the noise only fits a change of 1 + 0.6 (k-1).
- The changes of f are those of the data at hand (a local sensitivity), so the noise scale is
  private itself. If no record responds, the scale is 0, and the answer is exact.
- Degrees are measured in the data, so the scale depends on who is in them.

All losses here are exact: the largest |ln| of the ratio of two Laplace densities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HOUSEHOLDS = (2, 4, 8)

DEGREES = (1.0, 0.6, 0.2)

THRESHOLD = 0.5
"""Smallest degree of correlation that is not taken as 0; Zhu et al. 2017 call it delta_0."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Distribution of an answer: a true count with Laplace noise; exact if the scale is 0."""

    count: float
    scale: float


def degrees_of(people: int, degree: float) -> Floats:
    """Return correlated degrees (k, k) of a household: `degree` for every two of its people."""
    return np.where(np.eye(people, dtype=bool), 1.0, degree)


def pearson_of_agreement(share: float) -> float:
    """Return Pearson's correlation of two 0/1 series with as many zeros as ones.

    `share` is the share of times at which they agree.
    """
    return 2 * share - 1


def correlated_sensitivity(degrees: Floats, changes: Floats, least: float = 0.0) -> float:
    """Return the correlated sensitivity (CS, definition 14.7); 0 if no record changes the answer.

    `degrees` is (n, n); `changes` (n,) says by how much the answer changes if each record is
    removed. Degrees below `least` count as 0.
    """
    counted = np.where(np.abs(degrees) >= least, np.abs(degrees), 0.0)
    return float(np.max(counted @ np.abs(changes), where=changes != 0, initial=0.0))


def loss(one: Answer, other: Answer) -> float:
    """Return the largest |ln| of the ratio of the densities of two answers.

    It is 0 for equal answers. It is infinite if their scales differ, since the ratio grows without
    limit in the tails, and for different exact answers, which cannot be confused.
    """
    if one == other:
        return 0.0
    if one.scale != other.scale or one.scale == 0:
        return math.inf
    return abs(one.count - other.count) / one.scale


def right_guesses(epsilon: float) -> float:
    """Return how many of 100 guesses between two datasets can be right at a loss of epsilon."""
    return 100.0 if math.isinf(epsilon) else 100 / (1 + math.exp(-epsilon))


def household_loss(people: int, degree: float, epsilon: float, least: float = 0.0) -> float:
    """Return the privacy loss of a household whose people are all in one count, or all absent.

    The noise has scale CS/epsilon, with the correlated sensitivity CS. Present or absent, CS is
    computed from the data with the household, which favours the authors' mechanism.
    """
    sensitivity = correlated_sensitivity(degrees_of(people, degree), np.ones(people), least)
    scale = sensitivity / epsilon
    return loss(Answer(people, scale), Answer(0, scale))


def group_loss(people: int, most: int, epsilon: float) -> float:
    """Return the privacy loss of a household of `people` if each person gets epsilon/`most`.

    This is how dpgeo protects households; `most` is the largest size of a household that is
    declared.
    """
    scale = most / epsilon
    return loss(Answer(people, scale), Answer(0, scale))
