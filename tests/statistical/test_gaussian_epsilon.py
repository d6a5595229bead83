"""Audit of Gaussian noise at an epsilon and a delta: true claims hold, faults are proved.

A coin chooses one of two neighbouring datasets, their counts are measured, and an attacker who
knows everything but the coin guesses where the likelihood ratio exceeds e^epsilon. That rule is the
best there is for the hockey-stick divergence (Neyman and Pearson), so enough guesses disprove every
claim that is too small. `tests.audit.bounds` turns guesses into proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.spend import Spend
from dpgeo.core.zcdp import epsilon_at
from dpgeo.mechanisms import flows
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.law import GAUSSIAN
from dpgeo.privacy.meter import Meter
from tests.audit.bounds import Guesses, disproved
from tests.randomness import SeededEntropy
from tests.statistical.bounds import EFFORT, LOG_FALSE_ALARM, seed

pytestmark = pytest.mark.statistical

BOUND = 4
TRIPS = 9
RHO = Fraction(1, 2)
DRAWS = 500_000 * EFFORT
CHANCE = math.exp(LOG_FALSE_ALARM)

DELTAS = [Fraction(1, 10**3), Fraction(1, 10**6)]

Ints = NDArray[np.int64]

IN_DIFFERENT_CELLS = np.ones(BOUND, dtype=np.int64)
IN_ONE_CELL = np.array([BOUND], dtype=np.int64)


def disproves(
    change: Ints,
    delta: Fraction,
    *,
    distinct: bool,
    rho: Fraction = RHO,
    epsilon: float | None = None,
) -> bool:
    """Let the attacker guess; return whether the guesses disprove `epsilon` at `delta`.

    The default epsilon is the one that follows from RHO. The counts of the datasets differ by
    `change` (n,). The noise is for `rho` and, if `distinct` is true, for a person who adds at most
    1 to each count.
    """
    claimed = float(epsilon_at(RHO, delta)) if epsilon is None else epsilon
    entropy = SeededEntropy(seed(1))
    right = wrong = 0
    for present in (False, True):
        # All draws are measured at once, as one array of counts. Each is a release by itself, so
        # the sensitivity is that of a single draw.
        values = np.tile(change * present, (DRAWS, 1))
        counts = PrivateCounts(values, sensitivity=int(change.sum()), distinct=distinct)
        meter = Meter([Spend(label="cells", epsilon=rho)], entropy, GAUSSIAN)
        noise = meter.noise("cells", counts)
        assert isinstance(noise, DiscreteGaussian)
        scale = float(noise.square_scale)
        log_ratio = (meter.measure("cells", counts) @ change - (change @ change) / 2) / scale
        says_present, says_absent = log_ratio > claimed, log_ratio < -claimed
        right += int((says_present if present else says_absent).sum())
        wrong += int((says_absent if present else says_present).sum())
    guesses = Guesses(right, wrong, 2 * DRAWS - right - wrong)
    return disproved(guesses, claimed, CHANCE, float(delta))


@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize(
    ("change", "distinct"),
    [(IN_DIFFERENT_CELLS, True), (IN_ONE_CELL, False)],
    ids=["people", "visits"],
)
def test_the_claim_at_a_delta_is_not_disproved(
    change: Ints, distinct: bool, delta: Fraction
) -> None:
    assert not disproves(change, delta, distinct=distinct)


@pytest.mark.parametrize("delta", DELTAS, ids=float)
def test_noise_of_half_the_scale_is_proved(delta: Fraction) -> None:
    assert disproves(IN_DIFFERENT_CELLS, delta, distinct=True, rho=4 * RHO)


def test_noise_for_twice_the_rho_is_proved() -> None:
    assert disproves(IN_DIFFERENT_CELLS, DELTAS[0], distinct=True, rho=2 * RHO)


@pytest.mark.parametrize("delta", DELTAS, ids=float)
def test_visits_that_are_claimed_to_be_distinct_are_proved(delta: Fraction) -> None:
    assert disproves(IN_ONE_CELL, delta, distinct=True)


def test_an_epsilon_without_a_delta_is_proved_to_be_too_small() -> None:
    """The claim of epsilon = sqrt(2 rho), as if the noise gave a pure guarantee, is disproved."""
    assert disproves(
        IN_DIFFERENT_CELLS, DELTAS[0], distinct=True, epsilon=math.sqrt(2 * float(RHO))
    )


def disproves_plan(
    parts: Sequence[tuple[Fraction, PrivateCounts, PrivateCounts]], delta: Fraction
) -> bool:
    """Let the attacker see several measurements of a plan that claims RHO; see `disproves`.

    `parts` has, for each measurement, its share of RHO and its exact counts (draws, n) without and
    with the person.
    """
    claimed = float(epsilon_at(RHO, delta))
    entropy = SeededEntropy(seed(2))
    right = wrong = 0
    for present in (False, True):
        log_ratio = np.zeros(DRAWS)
        for share, *counts in parts:
            meter = Meter([Spend(label="part", epsilon=RHO * share)], entropy, GAUSSIAN)
            noise = meter.noise("part", counts[present])
            assert isinstance(noise, DiscreteGaussian)
            scale = float(noise.square_scale)
            without, change = (each._read_by_meter() for each in counts)
            change = change - without
            seen = meter.measure("part", counts[present]) - without
            log_ratio += (seen * change - change**2 / 2).sum(axis=1) / scale
        says_present, says_absent = log_ratio > claimed, log_ratio < -claimed
        right += int((says_present if present else says_absent).sum())
        wrong += int((says_absent if present else says_present).sum())
    guesses = Guesses(right, wrong, 2 * DRAWS - right - wrong)
    return disproved(guesses, claimed, CHANCE, float(delta))


def traveller(*, added_up: bool) -> list[tuple[Fraction, PrivateCounts, PrivateCounts]]:
    """Return the measurements of flows without and with a person, who makes TRIPS trips.

    All trips begin in one region, and each ends in another one. The values are those of
    `disproves_plan`: for each measurement, its share of RHO and the two datasets' counts.

    If `added_up` is false, departures and arrivals are wrongly marked as distinct counts, as if a
    person changed each of them by at most 1.
    """
    parts = []
    for label, share in flows.SHARES.items():
        size = 1 if label == flows.LEAVING else TRIPS
        trips = np.full((DRAWS, size), TRIPS // size)
        own = label == flows.PAIRS or not added_up
        parts.append(
            (
                share,
                PrivateCounts(np.zeros_like(trips), sensitivity=TRIPS, distinct=own),
                PrivateCounts(trips, sensitivity=TRIPS, distinct=own),
            )
        )
    return parts


@pytest.mark.parametrize("delta", DELTAS, ids=float)
def test_the_claim_for_flows_is_not_disproved(delta: Fraction) -> None:
    assert not disproves_plan(traveller(added_up=True), delta)


def test_departures_that_are_claimed_to_be_distinct_are_proved() -> None:
    assert disproves_plan(traveller(added_up=False), DELTAS[0])
