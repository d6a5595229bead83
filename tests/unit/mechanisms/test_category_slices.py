"""Heatmaps and averages that are divided by a category."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.measures import Measure
from dpgeo.core.released import GridAverages, SlicesRelease, ZoneAverages
from dpgeo.mechanisms import averages, category_slices
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.ranges import Ranges
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.zones import Zones
from tests.randomness import ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE
from tests.views import ArrayView

MODE = Category("mode", "Mode", ("walk", "bike"))
SPEED = Measure("speed", "Speed", "km/h", 0.0, 50.0)
WHOLE = Zones(keys=("all",), names=("All",), shapes=np.array([TRIANGLE.shape], dtype=object))


def travellers() -> ArrayView:
    """Return a view of 3,000 people in one place: a third walk at 5 km/h, the others ride at 20."""
    west, south, east, north = TRIANGLE.bounds
    codes = np.where(np.arange(3000) < 1000, 0, 1)
    return ArrayView(
        area=TRIANGLE,
        longitude=np.full(3000, west + 0.3 * (east - west)),
        latitude=np.full(3000, south + 0.1 * (north - south)),
        persons=np.arange(3000),
        hours=np.full(3000, 3),
        declared={"whole": WHOLE},
        measures=(SPEED,),
        values=np.where(codes == 0, 5.0, 20.0),
        categories=(MODE,),
        codes=codes,
    )


def test_each_value_has_a_map_and_other_is_empty() -> None:
    params = category_slices.Params(cells=4)
    released = run(category_slices.MECHANISM, travellers(), params, Fraction(1), ZeroNoise(), {})
    content = released.content
    assert isinstance(content, SlicesRelease)
    assert content.counts.sum(axis=(1, 2)).tolist() == [1000, 2000, 0]
    shown = layers(released)
    assert [(each.name, each.of) for each in shown] == [
        ("cells-1-walk", ("walk", "")),
        ("cells-2-bike", ("bike", "")),
        ("cells-3-other", ("Other", "")),
    ]
    (answer,) = Ranges(released, layer="cells-2-bike").answer([TRIANGLE.shape])
    assert answer.estimate == 2000


@pytest.mark.parametrize("zones", ["", "whole"])
def test_each_value_has_its_own_mean(zones: str) -> None:
    params = averages.Params(cells=4, category="mode", zones=zones)
    released = run(averages.MECHANISM, travellers(), params, Fraction(1), ZeroNoise(), {})
    assert isinstance(released.content, ZoneAverages if zones else GridAverages)
    walk, bike, other = layers(released)
    assert (walk.name, walk.title) == ("averages-1-walk", "Speed, km/h: walk")
    assert np.nanmax(walk.columns["mean"]) == 5
    assert np.nanmax(bike.columns["mean"]) == 20
    assert not other.columns["told"].any()
    asked = [TRIANGLE.shape]
    (answer,) = Ranges(released, layer="averages-2-bike").answer(asked)
    assert answer.average is not None
    assert (answer.average.value, round(answer.estimate)) == (20, 2000)
    (whole,) = Ranges(released).answer(asked)
    assert whole.average is not None
    assert (round(whole.average.value), round(whole.estimate)) == (15, 3000)
    for wrong in ("cells-1-walk", "averages"):
        with pytest.raises(InvalidInput):
            Ranges(released, layer=wrong)


def test_data_without_the_category_are_refused() -> None:
    view = dataclasses.replace(travellers(), categories=())
    for mechanism, params in (
        (category_slices.MECHANISM, category_slices.Params()),
        (averages.MECHANISM, averages.Params(category="mode")),
    ):
        with pytest.raises(InvalidInput) as refused:
            mechanism.forecast(params, Fraction(1), 1, view.domain)
        assert refused.value.field == "category"
