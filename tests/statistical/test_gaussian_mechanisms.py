"""Audit of whole mechanisms under zCDP, at an epsilon and a delta: from a file to a release.

Two files that differ in one person are counted by the engine, and each mechanism draws releases of
both with a budget in rho. The attacker knows both files, and so every release without noise. Of a
release, the attacker sees all counts and computes the likelihood ratio for Gaussian noise of the
variance that was seen in other releases. A guess is made where the ratio exceeds e^epsilon, as in
`test_gaussian_epsilon`.

Two planted faults have to be proved: noise for FAULT times the rho (to prove a smaller factor, many
more draws would be needed), and visits counted as if a person added at most 1 to each count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.guarantees import Counting
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.zcdp import epsilon_at
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy import gaussian_sampler
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.randomness import Entropy
from tests.audit.bounds import Guesses, disproved
from tests.audit.cases import HALF_FOR_TOTALS
from tests.audit.datasets import PAIRS, neighbours
from tests.randomness import SeededEntropy, ZeroNoise
from tests.statistical.audit import Counted
from tests.statistical.bounds import EFFORT, seed
from tests.statistical.test_empirical_epsilon import BOUND, chosen_of
from tests.statistical.test_gaussian_epsilon import CHANCE

pytestmark = pytest.mark.statistical

RHO, DELTA = Fraction(1, 8), Fraction(1, 10**3)
CLAIMED = float(epsilon_at(RHO, DELTA))
DRAWS = 1500 * EFFORT
FAULT = 16

IN_TEN_CELLS = next(pair for pair in PAIRS if pair.name == "among twenty, ten cells")
IN_ONE_CELL = next(pair for pair in PAIRS if pair.name == "among twenty, ten records in a cell")

TOTALS = "uniform-grid, totals"
"""A uniform grid with half of its rho spent on totals of all the data."""

CASES: dict[str, dict[str, object]] = {
    "uniform-grid": {},
    "zones": {"zones": "tiles"},
    "time-slices": {},
    "category-slices": {},
    "places": {"places": "spots", "reach": 2000},
    "flows": {},
    "averages": {"zones": "tiles"},
    "private-clusters": {"clusters": 1, "rounds": 1},
    TOTALS: {},
}

Floats = NDArray[np.float64]


def numbers(released: Any) -> Floats:
    """Return all noisy numbers of a release as one array (n,)."""
    content = released.content
    values = [getattr(content, field.name) for field in dataclasses.fields(content)]
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    if released.totals:
        arrays.append(np.array([each.count for each in released.totals.each().values()]))
    return np.concatenate([array.ravel().astype(np.float64) for array in arrays])


def draw(key: str, view: Counted, entropy: Entropy) -> Floats:
    mechanism = MECHANISMS[key.partition(",")[0]]
    params = parse_parameters(mechanism.params, chosen_of(mechanism) | CASES[key])
    totals = HALF_FOR_TOTALS if key == TOTALS else None
    return numbers(run(mechanism, view, params, RHO, entropy, {}, totals=totals, delta=DELTA))


def disproves(key: str, views: tuple[Counted, Counted]) -> bool:
    """Let the attacker guess; return whether the guesses disprove RHO's epsilon at DELTA."""
    known = [draw(key, view, ZeroNoise()) for view in views]
    change = known[1] - known[0]
    differs = change != 0
    entropy = SeededEntropy(seed(1))
    taught = np.stack([draw(key, views[0], entropy)[differs] for _ in range(200)])
    weights = change[differs] / taught.var(axis=0)
    middle = (known[0] + known[1])[differs] / 2
    right = wrong = 0
    for present in (0, 1):
        drawn = np.stack([draw(key, views[present], entropy)[differs] for _ in range(DRAWS)])
        log_ratio = (drawn - middle) @ weights
        says_present, says_absent = log_ratio > CLAIMED, log_ratio < -CLAIMED
        right += int((says_present if present else says_absent).sum())
        wrong += int((says_absent if present else says_present).sum())
    return disproved(
        Guesses(right, wrong, 2 * DRAWS - right - wrong), CLAIMED, CHANCE, float(DELTA)
    )


@contextmanager
def rho_times(factor: int) -> Iterator[None]:
    """Within the block, draw Gaussian noise as if the declared rho were multiplied by `factor`."""
    draw_noise = gaussian_sampler.sample

    def sample(noise: DiscreteGaussian, *rest: Any) -> Any:
        wrong = DiscreteGaussian(noise.rho * factor, noise.squared_sensitivity)
        return draw_noise(wrong, *rest)

    with mock.patch.object(gaussian_sampler, "sample", sample):
        yield


@pytest.mark.parametrize("fault", [1, FAULT], ids=["as it is", "fault"])
@pytest.mark.parametrize("key", CASES)
def test_the_claim_holds_and_too_little_noise_is_proved(
    key: str, fault: int, tmp_path: Path
) -> None:
    # The added person changes the measurements by as much as the claim allows for. For averages and
    # clusters, whose sums grow with each record, all of the person's records are in one zone or
    # cell. For all other mechanisms, each record is in another cell.
    in_one = key in ("averages", "private-clusters")
    counting = Counting.VISITS if in_one else Counting.PEOPLE
    *views, _ = neighbours(IN_ONE_CELL if in_one else IN_TEN_CELLS, tmp_path, counting=counting)
    with rho_times(fault) if fault > 1 else nullcontext():
        assert disproves(key, (views[0], views[1])) == (fault > 1)


@pytest.mark.parametrize("marked", [False, True], ids=["as it is", "fault"])
def test_visits_that_are_marked_as_distinct_people_are_proved(marked: bool, tmp_path: Path) -> None:
    """The audit detects visits that are wrongly marked as counts of distinct people.

    A person has BOUND records in one cell. With the fault, the noise is only enough for BOUND
    records in different cells.
    """
    *views, _ = neighbours(IN_ONE_CELL, tmp_path)
    with rho_times(BOUND) if marked else nullcontext():
        assert disproves("uniform-grid", (views[0], views[1])) == marked
