from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released, SparseRelease
from dpgeo.mechanisms import sparse_grid
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy
from tests.unit.mechanisms.views import TRIANGLE, view


def release(entropy: Any, *, epsilon: str = "4", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(sparse_grid.Params, {"cells": 128, **values})
    return run(sparse_grid.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def content(released: Released) -> SparseRelease:
    assert isinstance(released.content, SparseRelease)
    return released.content


def test_the_threshold_is_that_of_the_source_with_the_bound() -> None:
    noise = DiscreteLaplace(Fraction(1, 2), 10)

    def threshold(cells: int, **values: int) -> int:
        return sparse_grid.keep_threshold(sparse_grid.Params(**values), noise, cells)

    assert threshold(2**30) == math.ceil(20 * math.log(2**30))
    assert threshold(1000, strictness=200) == math.ceil(40 * math.log(1000))
    assert threshold(1000, threshold=17) == 17
    assert threshold(1) == 1


def test_cells_are_listed_in_order_and_lie_in_the_area() -> None:
    result = content(release(SeededEntropy(1), strictness=30))
    inside = result.grid.inside(TRIANGLE).ravel()

    assert len(result.cells) > 50
    assert (np.diff(result.cells) > 0).all()
    assert inside[result.cells].all()
    assert (result.counts >= result.threshold).all()


def test_hardly_any_empty_cell_is_listed() -> None:
    listed = sum(
        len(content(release(SeededEntropy(seed), people=0, cells=1024)).cells) for seed in range(20)
    )

    assert listed <= 30


def test_margins_cover_although_cells_were_selected_by_their_noise() -> None:
    covered = []
    for seed in range(60):
        released = release(SeededEntropy(seed), strictness=20, epsilon="1")
        (layer,) = box_layers(released)
        truth = view().histogram(layer.grid)._read_by_meter()
        exact = truth[layer.boxes[:, 0], layer.boxes[:, 2]]
        covered.extend((np.abs(layer.value - exact) <= layer.margin).tolist())

    assert len(covered) > 5000
    assert np.mean(covered) > 0.95
    # The margin of noise in an unselected cell would cover less than 95 % here: most of these cells
    # are listed only because of their noise.
    assert layer.least_listed == content(released).threshold


def test_too_many_empty_cells_are_refused_before_paying() -> None:
    params = sparse_grid.Params(cells=32768, threshold=1)

    with pytest.raises(InvalidInput, match="empty cells would be listed") as caught:
        sparse_grid.forecast(params, Fraction(1), 10, Domain(TRIANGLE))

    assert caught.value.field == "threshold"
