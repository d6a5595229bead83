"""How often intervals of range answers contain the true sums; `-s` prints the shares.

The test covers every mechanism that counts regions, on data without people, with an even spread and
with two crowds. Regions whose edges cut boxes are tested only on data without people: how unevenly
people are spread within a box is at best modelled, so no coverage is guaranteed there. Intervals of
inferred answers were calibrated on many maps at once, not on each, so they are tested more loosely;
the measured counts of the same releases are tested as well.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.postprocess.noise_sums import margin_of_shares
from dpgeo.postprocess.ranges import Ranges
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy
from tests.statistical.bounds import EFFORT, seed
from tests.views import ArrayView

pytestmark = pytest.mark.statistical

AREA = StudyArea.from_bounds(0, 0, 0.2, 0.2)
SIDE = 32
RELEASES = 8
INFERRED = ("auto", "adaptive-grid", "quadtree")
GRIDS = ("auto", "uniform-grid", "contours", "dpcube", "adaptive-grid", "quadtree", "privtree")


def people(spread: str) -> ArrayView:
    random = np.random.default_rng(5)
    size = 0 if spread == "nobody" else 3000
    if spread == "crowds":
        centre = np.array([[0.05, 0.06], [0.14, 0.15]])[random.integers(0, 2, size)]
        places = centre + random.normal(0, 0.012, (size, 2))
    else:
        places = random.uniform(0, 0.2, (size, 2))
    return ArrayView(
        area=AREA, longitude=places[:, 0], latitude=places[:, 1], persons=np.arange(size)
    )


def boxes(grid: Grid) -> NDArray[np.int64]:
    random = np.random.default_rng(6)
    rows = np.sort(random.integers(0, SIDE + 1, (25, 2)), axis=1)
    columns = np.sort(random.integers(0, SIDE + 1, (25, 2)), axis=1)
    cells_found = np.column_stack([rows, columns])
    return cells_found[(rows[:, 0] < rows[:, 1]) & (columns[:, 0] < columns[:, 1])]


@pytest.mark.parametrize("spread", ["nobody", "even", "crowds"])
@pytest.mark.parametrize("key", GRIDS)
def test_exact_intervals_hold_the_bounded_counts(key: str, spread: str) -> None:
    mechanism, view, grid = MECHANISMS[key], people(spread), Grid.over(AREA, SIDE)
    params: Any = parse_parameters(mechanism.params, {"cells": SIDE})
    counted = view.histogram(grid)._read_by_meter()
    chosen = boxes(grid)
    west, south, east, north = grid.box_bounds(chosen).T
    regions = shapely.box(west, south, east, north)
    truth = [counted[top:bottom, left:right].sum() for top, bottom, left, right in chosen]
    # Most of the regions asked about cut through partitions; the whole study area never does.
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for number in range(RELEASES * EFFORT):
        released = run(mechanism, view, params, Fraction(1, 2), SeededEntropy(seed(number)), {})
        layer = "partitions" if key in INFERRED else ""
        answers = Ranges(released, layer=layer).answer([*regions, AREA.shape])
        for answer, true in zip(answers, [*truth, counted.sum()], strict=True):
            hits[answer.exact].append(abs(answer.estimate - true) <= answer.margin)
    exact, cut = hits[True], hits[False]
    print(  # noqa: T201
        f"\n{key}, {spread}: exact {np.mean(exact):.3f} of {len(exact)}"
        + (f", cut {np.mean(cut):.3f} of {len(cut)}" if cut else "")
    )
    # Answers from one release share their noise, so only releases count as independent.
    slack = 4 * (0.05 * 0.95 / (RELEASES * EFFORT)) ** 0.5
    assert np.mean(exact) >= 0.95 - slack
    if cut and spread == "nobody":
        assert np.mean(cut) >= 0.95 - slack


@pytest.mark.parametrize("spread", ["nobody", "even", "crowds"])
@pytest.mark.parametrize("key", ["auto", "adaptive-grid", "quadtree", "quadtree, surroundings"])
def test_most_intervals_of_inferred_answers_hold(key: str, spread: str) -> None:
    name, _, inference = key.partition(", ")
    mechanism, view, grid = MECHANISMS[name], people(spread), Grid.over(AREA, SIDE)
    given = {"inference": inference} if inference else {}
    params: Any = parse_parameters(mechanism.params, {"cells": SIDE, **given})
    counted = view.histogram(grid)._read_by_meter()
    chosen = boxes(grid)
    west, south, east, north = grid.box_bounds(chosen).T
    truth = [counted[top:bottom, left:right].sum() for top, bottom, left, right in chosen]
    hits = []
    for number in range(RELEASES * EFFORT):
        released = run(mechanism, view, params, Fraction(1, 2), SeededEntropy(seed(number)), {})
        answers = Ranges(released).answer(list(shapely.box(west, south, east, north)))
        hits += [
            abs(each.estimate - true) <= each.margin
            for each, true in zip(answers, truth, strict=True)
        ]
    print(f"\n{key}, {spread}: {np.mean(hits):.3f} of {len(hits)}")  # noqa: T201
    slack = 4 * (0.05 * 0.95 / (RELEASES * EFFORT)) ** 0.5
    assert np.mean(hits) >= 0.9 - slack


@pytest.mark.parametrize("rate", ["0.01", "0.5", "2", "3.5", "6"])
@pytest.mark.parametrize("terms", [1, 2, 5, 40])
def test_shares_of_noise_stay_within_their_margin(rate: str, terms: int) -> None:
    """Weighted sums of noise stay within the margin computed for them.

    Discrete Laplace noise is drawn here as the difference of two geometric variables, and the
    weights are random.
    """
    noise, random = DiscreteLaplace(Fraction(rate), 1), np.random.default_rng(7)
    chance = -np.expm1(-float(noise.rate))
    drawn = random.geometric(chance, (40_000, terms)) - random.geometric(chance, (40_000, terms))
    for power in (0, 1, 4):
        shares = random.random(terms) ** power
        margin = margin_of_shares(np.full(terms, noise.scale), shares, noise.tail(0.025))
        covered = float(np.mean(np.abs(drawn @ shares) <= margin))
        assert covered >= 0.95 - 4 * (0.05 * 0.95 / 40_000) ** 0.5, (power, covered)


def test_too_narrow_an_interval_would_be_noticed() -> None:
    view, grid = people("even"), Grid.over(AREA, SIDE)
    mechanism = MECHANISMS["uniform-grid"]
    params: Any = parse_parameters(mechanism.params, {"cells": SIDE})
    counted = view.histogram(grid)._read_by_meter().sum()
    hits = []
    for number in range(RELEASES):
        released = run(mechanism, view, params, Fraction(1, 2), SeededEntropy(number), {})
        (answer,) = Ranges(released).answer([AREA.shape])
        narrow = dataclasses.replace(answer, margin=answer.margin / 3)
        hits.append(abs(narrow.estimate - counted) <= narrow.margin)
    assert np.mean(hits) < 0.95 - 4 * (0.05 * 0.95 / RELEASES) ** 0.5
