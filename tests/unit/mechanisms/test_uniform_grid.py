from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import GridRelease, Released
from dpgeo.mechanisms import uniform_grid
from dpgeo.postprocess.layers import EXACT_NOISE, box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(uniform_grid.Params, {"cells": 64, **values})
    return run(uniform_grid.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def content(released: Released) -> GridRelease:
    assert isinstance(released.content, GridRelease)
    return released.content


def test_the_threshold_is_that_of_the_source_with_the_bound() -> None:
    result = content(release(SeededEntropy(1), strictness=150))
    inside = result.grid.inside(TRIANGLE).sum()

    assert result.threshold == math.ceil(1.5 * 2 * math.log(inside))
    assert content(release(SeededEntropy(1))).threshold == 0


def test_counts_below_the_threshold_are_shown_as_0_beside_the_raw_ones() -> None:
    released = release(SeededEntropy(2), strictness=100)
    raw, shown = box_layers(released)
    threshold = content(released).threshold

    assert (raw.name, shown.name, shown.kind) == ("cells", "estimate", "inferred")
    assert shown.value.tolist() == [each if each >= threshold else 0 for each in raw.value]
    assert shown.columns["noisy_cell"].tolist() == raw.value.tolist()
    assert [layer.name for layer in box_layers(release(SeededEntropy(2)))] == ["cells"]


def test_an_empty_dataset_lists_hardly_any_cell() -> None:
    shown = [
        np.count_nonzero(
            box_layers(release(SeededEntropy(seed), people=0, strictness=100))[1].value
        )
        for seed in range(20)
    ]

    assert sum(shown) <= 30


def test_margins_cover_where_counts_are_kept_and_where_they_are_set_to_0() -> None:
    exact = box_layers(release(ZeroNoise()))[0].value
    covered = []
    for seed in range(20):
        shown = box_layers(release(SeededEntropy(seed), strictness=60))[1]
        covered.append(np.mean(np.abs(shown.value - exact) <= shown.margin))

    assert shown.margin_label == EXACT_NOISE
    assert np.mean(covered) > 0.95
