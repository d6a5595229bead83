from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released, TreeRelease
from dpgeo.mechanisms import privtree
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import true_counts, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(privtree.Params, {"cells": 256, **values})
    return run(privtree.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def tree(released: Released) -> TreeRelease:
    assert isinstance(released.content, TreeRelease)
    return released.content


def test_leaves_count_the_same_bounded_cells_and_no_inner_count_is_published() -> None:
    counted = tree(release(SeededEntropy(1)))
    exact = tree(release(ZeroNoise()))

    assert (counted.counts[~counted.measured] == 0).all()
    assert (
        exact.counts[exact.measured].tolist() == true_counts(exact, view())[exact.measured].tolist()
    )
    assert exact.counts.sum() == 8000


def test_leaf_counts_have_fresh_noise_of_the_remaining_epsilon() -> None:
    released = release(SeededEntropy(3), epsilon="0.6", split_share=50)
    counted = tree(released)

    splits, counts = released.trace
    assert (splits.epsilon, splits.noise, splits.splits) == (Fraction("0.3"), None, True)
    assert counts.noise == DiscreteLaplace(Fraction("0.3"), 2)
    assert set(counted.noises) == {counts.noise}
    error = (counted.counts - true_counts(counted, view()))[counted.measured]
    assert 0.5 < error.var() / counted.noises[0].variance < 1.8


def test_an_empty_dataset_stays_in_few_boxes() -> None:
    sizes = [len(tree(release(SeededEntropy(seed), people=0)).boxes) for seed in range(20)]

    assert np.mean(sizes) < 10
