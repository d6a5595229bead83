from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PhasedRelease, Released, TreeRelease
from dpgeo.mechanisms import quadtree
from dpgeo.privacy.mechanism import run
from tests.randomness import ZeroNoise
from tests.unit.mechanisms.views import true_counts, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(quadtree.Params, {"cells": 32, **values})
    return run(quadtree.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def tree(released: Released) -> TreeRelease:
    assert isinstance(released.content, TreeRelease)
    return released.content


@pytest.mark.parametrize("cells", [1, 2, 5, 32, 33])
def test_every_level_counts_all_of_the_same_bounded_cells(cells: int) -> None:
    counted = tree(release(ZeroNoise(), cells=cells))

    assert counted.counts.tolist() == true_counts(counted, view()).tolist()
    totals = np.bincount(counted.level, weights=counted.counts)
    assert len(totals) == (cells - 1).bit_length() + 1
    assert set(totals.tolist()) == {counted.counts[0]}


def test_smaller_squares_get_more_of_epsilon_unless_all_are_alike() -> None:
    spends = quadtree.plan(quadtree.Params(cells=64), Fraction(1, 3))
    shares = np.array([float(spend.epsilon) for spend in spends])
    alike = quadtree.plan(quadtree.Params(cells=64, allocation="equal"), Fraction(1, 3))

    assert sum(spend.epsilon for spend in spends) == Fraction(1, 3)
    np.testing.assert_allclose(shares[1:] / shares[:-1], 2 ** (1 / 2), rtol=1e-3)
    assert {spend.epsilon for spend in alike} == {Fraction(1, 21)}


@pytest.mark.parametrize("cells", [1, 5, 32])
def test_estimates_by_neighbours_use_the_counts_of_every_level(cells: int) -> None:
    released = release(ZeroNoise(), cells=cells, inference="surroundings")
    result = released.content

    assert isinstance(result, PhasedRelease)
    assert [line.epsilon for line in released.trace] == [
        spend.epsilon for spend in quadtree.plan(quadtree.Params(cells=cells), Fraction(1))
    ]
    assert len(result.noises) == (cells - 1).bit_length() + 1
    totals = np.bincount(result.phase, weights=result.counts)
    assert set(totals.tolist()) == {result.counts[0]}
