"""Maps scaled to separately measured totals, and the confidence intervals of scaled counts."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.counted import Counted
from dpgeo.core.guarantees import Counting
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import Released
from dpgeo.core.totals import BoughtTotal, Totals
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.scaling import Scaling, array_scaling, quotient
from dpgeo.postprocess.summary import total
from tests.unit.artefacts.releases import grid_release


def bought(people: int, sightings: int, visits: int) -> Totals:
    epsilon = Fraction(1, 10)
    return Totals(
        people=BoughtTotal(count=people, noise=DiscreteLaplace(epsilon, 1)),
        sightings=BoughtTotal(count=sightings, noise=DiscreteLaplace(epsilon, 100)),
        visits=BoughtTotal(count=visits, noise=DiscreteLaplace(epsilon, 400)),
    )


def scaling(released: Released, totals: Totals | None, **changes: object) -> Scaling | None:
    changed = dataclasses.replace(released, totals=totals, **changes)  # type: ignore[arg-type]
    return array_scaling(changed, layers(changed))


def test_at_a_bound_of_one_the_map_holds_everybody_once() -> None:
    scale = scaling(grid_release(bound=1), bought(10_000, 300_000, 900_000))
    assert scale is not None
    assert scale.known
    assert scale.counted is Counted.SIGHTINGS
    assert scale.most == 100
    assert scale.factor == 30
    assert 1 < scale.low < 30 < scale.high
    assert "leaves out happened in the same places" in str(scale.meaning)


def test_above_it_the_map_is_scaled_by_its_own_sum() -> None:
    released = grid_release(bound=3)
    whole = total(layers(released)[0])
    scale = scaling(released, bought(10_000, 300_000, 900_000), counting=Counting.VISITS)
    assert scale is not None
    assert scale.counted is Counted.VISITS
    if whole.value > whole.margin:
        assert scale.factor == 900_000 / whole.value
    else:
        assert "all counts of the map together" in str(scale.meaning)


@pytest.mark.parametrize(
    ("totals", "why"),
    [
        (bought(10_000, 2_000, 900_000), "noise of the total"),
        (bought(-5, 300_000, 900_000), "all counts of the map"),
    ],
)
def test_where_noise_is_as_large_as_a_total_nothing_is_scaled(totals: Totals, why: str) -> None:
    scale = scaling(grid_release(bound=1), totals)
    assert scale is not None
    assert not scale.known
    assert why in str(scale.meaning)


def test_intervals_of_scaled_counts_hold_as_often_as_they_say() -> None:
    random = np.random.default_rng(7)
    draws, count, whole, everything = 20_000, 400.0, 4_000.0, 100_000.0
    noise = {name: random.laplace(size=draws) for name in ("count", "whole", "everything")}
    scales = {"count": 20.0, "whole": 120.0, "everything": 4_000.0}
    margins = {name: scale * np.log(20) for name, scale in scales.items()}
    truth = count * everything / whole
    hits = 0
    for number in range(draws):
        drawn = {name: noise[name][number] * scales[name] for name in noise}
        base, top = whole + drawn["whole"], everything + drawn["everything"]
        low, high = quotient(top, margins["everything"], base, margins["whole"])
        scaled = Scaling(
            counted=Counted.VISITS, most=400, factor=top / base, low=low, high=high
        ).scale(np.array([count + drawn["count"]]), np.array([margins["count"]]))
        hits += bool(scaled[1][0] <= truth <= scaled[2][0])
    assert 0.945 <= hits / draws <= 0.98


def test_negative_counts_have_their_intervals_the_right_way_round() -> None:
    scaled = Scaling(counted=Counted.VISITS, most=400, factor=10, low=8, high=15).scale(
        np.array([-5.0, 5.0, 0.0]), np.array([0.0, 0.0, 3.0])
    )
    np.testing.assert_allclose(scaled, [[-50, 50, 0], [-75, 40, -30], [-40, 75, 30]])
