"""Profiles: counts by hour and day, and their two-way estimate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.released import ProfileRelease
from dpgeo.mechanisms import profile
from dpgeo.postprocess.layers import PointLayer, layers
from dpgeo.postprocess.layers.profile_tables import zone_profile
from dpgeo.postprocess.ranges import Ranges
from dpgeo.postprocess.two_way import two_way_estimate
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.zones import Zones
from tests.noise import laplace
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE
from tests.views import ArrayView

WHOLE = Zones(keys=("all",), names=("All",), shapes=np.array([TRIANGLE.shape], dtype=object))


def regulars() -> ArrayView:
    """Return a view of 50 people at one position on Mondays at 3 am and on Tuesdays at 3 pm."""
    west, south, east, north = TRIANGLE.bounds
    return ArrayView(
        area=TRIANGLE,
        longitude=np.full(100, west + 0.3 * (east - west)),
        latitude=np.full(100, south + 0.1 * (north - south)),
        persons=np.repeat(np.arange(50), 2),
        hours=np.tile([3, 24 + 15], 50),
        bound=2,
        declared={"whole": WHOLE},
    )


@pytest.mark.parametrize("zones", ["", "whole"])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("hours of the week", {3: 50, 39: 50}),
        ("hours of the day", {3: 50, 15: 50}),
        ("days of the week", {0: 50, 1: 50}),
    ],
)
def test_each_part_has_the_people_of_its_time(
    zones: str, parts: str, expected: dict[int, int]
) -> None:
    params = profile.Params(zones=zones, parts=parts)
    released = run(profile.MECHANISM, regulars(), params, Fraction(1), ZeroNoise(), {})
    content = released.content
    assert isinstance(content, ProfileRelease)
    (counts,) = content.counts
    assert {int(at): int(counts[at]) for at in np.flatnonzero(counts)} == expected
    table, totals = layers(released)
    assert isinstance(table, PointLayer)
    assert len(table) == counts.size
    assert totals.value is not None
    assert totals.value.tolist() == [100]
    shown = zone_profile(content)
    assert shown is not None
    assert bool(shown.zones[0].rows) == (counts.size == 168)


def test_one_measurement_pays_for_all_hours() -> None:
    released = run(
        profile.MECHANISM, regulars(), profile.Params(), Fraction(1), SeededEntropy(1), {}
    )
    (spend,) = released.trace
    assert spend.epsilon == 1
    assert laplace(spend.noise).sensitivity == 2
    (whole,) = Ranges(released).answer([TRIANGLE.shape])
    assert abs(whole.estimate - 100) <= 2 * whole.margin
    (hour,) = Ranges(released, layer="1-monday-03").answer([TRIANGLE.shape])
    assert abs(hour.estimate - 50) <= 3 * hour.margin
    assert hour.margin < whole.margin


def test_a_table_that_is_a_product_is_smoothed_and_others_stay() -> None:
    random = np.random.default_rng(4)
    days, hours = random.uniform(1, 4, 7), random.uniform(1, 9, 24)
    truth = 10 * np.outer(days, hours)
    noise = np.rint(random.laplace(0, 30, (7, 24)))
    counts = (np.rint(truth) + noise).astype(np.int64)
    estimate = two_way_estimate(counts, 1800.0)
    assert np.abs(estimate - truth).mean() < np.abs(noise).mean() / 2
    alone = np.zeros((7, 24), dtype=np.int64)
    alone[2, 5] = alone[5, 20] = 100_000
    kept = two_way_estimate(alone, 1800.0)
    assert kept[2, 5] > 0.9 * 100_000
    assert two_way_estimate(np.zeros((7, 24), dtype=np.int64), 0.0).sum() == 0
    flat = two_way_estimate(np.array([[5, -3, 4]]), 1e9)
    assert np.allclose(flat, 2.0)
