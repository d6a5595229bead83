"""Counts of declared places: which rows count where, contexts, and intervals of ranks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PlacesRelease, Released
from dpgeo.core.slices import SlicedZones, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.mechanisms.places import MECHANISM, Params
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.layers.layer import PointLayer
from dpgeo.postprocess.place_ranks import joint_margin, rank_intervals
from dpgeo.postprocess.ranges import Ranges, Reason
from dpgeo.postprocess.top_places import TopPlaces
from dpgeo.privacy.bounding import Popularity
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places
from tests.conformance.cases import AREA, DOMAIN, city
from tests.noise import laplace
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.artefacts.releases import places_release, zones_release
from tests.views import ArrayView

STOPS = DOMAIN.layer("stops", Places)

METRES = 1 / 111_194.9
"""Degrees of latitude, and of longitude on the equator, in a metre on the ground."""


def drawn(
    view: ArrayView, *, seed: int | None = None, epsilon: Fraction = Fraction(1), **chosen: object
) -> Released:
    """Return a release of places; if `seed` is None, it has no noise."""
    params = parse_parameters(Params, {"places": "stops", **chosen})
    entropy = ZeroNoise() if seed is None else SeededEntropy(seed)
    return run(MECHANISM, view, params, epsilon, entropy, {})


def content_of(released: Released) -> PlacesRelease:
    assert isinstance(released.content, PlacesRelease)
    return released.content


def two(longitude: list[float], latitude: list[float]) -> Places:
    keys = tuple(map(str, range(len(longitude))))
    return Places(
        levels=("place",),
        keys=keys,
        units=tuple((key,) for key in keys),
        longitude=np.array(longitude),
        latitude=np.array(latitude),
    )


def test_a_row_counts_at_the_nearest_place_within_reach() -> None:
    near = NearPlaces(two([0.0, 0.01], [0.0, 0.0]), 150).locator()
    at = np.array([0.0, 149, 151, 0.01 / METRES - 149, 0.01 / METRES - 400]) * METRES
    row, place = near.locate(at, np.zeros(5))
    assert (row.tolist(), place.tolist()) == ([0, 1, 3], [0, 0, 1])


def test_a_row_counts_at_the_place_whose_key_it_names() -> None:
    keys = [STOPS.keys[2], f" {STOPS.keys[2]} ", "nowhere", STOPS.keys[0]]
    lon, lat = AREA.shape.representative_point().coords[0]
    view = ArrayView(
        area=AREA,
        longitude=[lon] * 4,
        latitude=[lat] * 4,
        persons=range(4),
        declared={"stops": STOPS},
        place_keys=tuple(keys),
    )
    content = content_of(drawn(view))
    assert content.reach == 0
    assert content.counts[:3].tolist() == [1, 0, 2]
    assert content.counts.sum() == 3
    assert "key they name" in layers(drawn(view))[0].note
    nearest = content_of(drawn(view, match="nearest", reach=20_000))
    assert nearest.counts.max() == 4
    with pytest.raises(InvalidInput, match="no column with keys"):
        MECHANISM.forecast(Params(places="stops", match="by key"), Fraction(1), 1, DOMAIN)


def test_reach_is_measured_on_the_ground_far_north() -> None:
    # A degree of longitude is half as long at 60 degrees north.
    near = NearPlaces(two([10.0, 20.0], [60.0, 60.0]), 1000).locator()
    at = 10 + np.array([990, 1010]) * METRES / np.cos(np.radians(60))
    assert near.locate(at, np.full(2, 60.0))[0].tolist() == [0]


def test_of_places_that_are_equally_near_the_first_is_taken() -> None:
    near = NearPlaces(two([0.01, 0.0, 0.01], [0.0, 0.0, 0.0]), 500).locator()
    assert near.locate([0.0101, 0.0], [0.0, 0.0])[1].tolist() == [0, 1]


def test_which_place_a_row_belongs_to_depends_on_no_other_row() -> None:
    random = np.random.default_rng(2)
    lon, lat = random.uniform(0, 0.1, (2, 400))
    locator = NearPlaces(STOPS, 800).locator()
    row, place = locator.locate(lon, lat)
    alone = [locator.locate(lon[[each]], lat[[each]]) for each in range(400)]
    assert [int(found[1][0]) for found in alone if found[0].size] == place.tolist()
    assert [each for each, found in enumerate(alone) if found[0].size] == row.tolist()


@pytest.mark.parametrize("counting", Counting)
def test_without_noise_places_have_their_bounded_counts(counting: Counting) -> None:
    view = city(counting=counting)
    truth = view.zone_counts(NearPlaces(STOPS, 500))._read_by_meter()
    content = content_of(drawn(view, reach=500))
    assert content.counts.tolist() == truth.tolist()
    assert truth.sum() > 200
    assert content.pairs.shape == (0, len(STOPS))


@pytest.mark.parametrize(
    "chosen",
    [
        {"slices": "days of the week"},
        {"category": "mode"},
        {"category": "mode", "slices": "12 hours"},
    ],
)
def test_visits_of_contexts_add_up_to_their_place(chosen: dict[str, Any]) -> None:
    """Counts of a place by context add up to the place's own count if visits are counted."""
    content = content_of(drawn(city(counting=Counting.VISITS), reach=500, **chosen))
    assert content.adds_up
    assert content.pairs.sum(axis=0).tolist() == content.counts.tolist()
    whole, *contexts = layers(drawn(city(counting=Counting.VISITS), reach=500, **chosen))
    assert [each.name.removeprefix("places-") for each in contexts] == list(content.slices.keys)
    assert [each.value.tolist() for each in contexts] == content.pairs.tolist()  # type: ignore[union-attr]
    assert whole.name == "places"


def test_people_of_contexts_do_not_add_up_and_are_bounded_over_all_contexts() -> None:
    view = city(counting=Counting.PEOPLE)
    days = Slicing(TIME_SLICES["days of the week"], "UTC")
    pairs = view.sliced_histogram(SlicedZones(NearPlaces(STOPS, 500), days))
    assert pairs.sensitivity == view.bound
    content = content_of(drawn(view, reach=500, slices="days of the week"))
    assert not content.adds_up
    assert content.pairs.tolist() == pairs._read_by_meter().tolist()
    assert content.counts.sum() <= content.pairs.sum()
    (whole, *_) = layers(drawn(view, reach=500, slices="days of the week"))
    assert "least_squares" not in whole.columns


def test_rank_intervals_are_those_of_the_definition() -> None:
    noise = DiscreteLaplace(Fraction(1), 2)
    counts = np.random.default_rng(3).integers(-20, 200, 60)
    t = joint_margin(noise, 60)
    best, worst = rank_intervals(counts, noise)
    for i, count in enumerate(counts):
        assert best[i] == 1 + np.sum(counts - t > count + t)
        assert worst[i] == np.sum(counts + t >= count - t)
    a = np.exp(-float(noise.rate))

    def missed(margin: int) -> float:
        return float(1 - (1 - 2 * a ** (margin + 1) / (1 + a)) ** 60)

    assert missed(t) <= 0.05 < missed(t - 1)


def test_rank_intervals_hold_in_19_of_20_draws() -> None:
    """The intervals of all ranks hold at once in at least 95 % of 200 draws.

    Intervals for half of the noise would not.
    """
    view = city(counting=Counting.PEOPLE)
    truth = content_of(drawn(view, reach=500)).counts
    first = 1 + np.sum(truth[None] > truth[:, None], axis=1)
    last = np.sum(truth[None] >= truth[:, None], axis=1)
    held, narrow, told = 0, 0, 0
    for seed in range(200):
        content = content_of(drawn(view, seed=seed, epsilon=Fraction(3), reach=500))
        noise = laplace(content.noise)
        half = DiscreteLaplace(2 * noise.epsilon, noise.sensitivity)
        best, worst = rank_intervals(content.counts, noise)
        held += bool(np.all(best <= first) and np.all(last <= worst))
        narrow += bool(np.all(rank_intervals(content.counts, half)[0] <= first))
        told += int(np.sum(worst <= 20))
    assert narrow < 190 <= held
    assert told > 200  # Many intervals of ranks are narrow enough to be useful.


def test_the_busiest_places_are_told_with_how_many_are_sure() -> None:
    top = TopPlaces.of(places_release().content)
    assert [each.name for each in top.first(3)] == ["Post", "Station", "Market"]
    assert [(each.best, each.worst) for each in top.first(3)] == [(1, 1), (2, 2), (3, 3)]
    assert top.among(2) == (2, 0)
    assert top.among(5) == (4, 2)  # Noise could swap the fifth and the sixth place.
    by_time = places_release(by_time=True).content
    assert TopPlaces.of(by_time, "12-24").first(1)[0].name == "Market"
    with pytest.raises(InvalidInput, match="There is no context '13'"):
        TopPlaces.of(by_time, "13")
    with pytest.raises(InvalidInput, match="no contexts"):
        TopPlaces.of(places_release().content, "12-24")
    with pytest.raises(Conflict, match="no places to rank"):
        TopPlaces.of(zones_release().content)


def test_an_area_has_the_sum_of_its_places() -> None:
    released = places_release(by_time=True)
    content = content_of(released)
    west, south = content.longitude[0], content.latitude.min()
    box = StudyArea.from_bounds(west - 1e-4, south - 1e-4, west + 0.0124, south + 0.1).shape
    away = StudyArea.from_bounds(west - 0.01, south - 0.01, west - 0.005, south + 0.01).shape
    whole, nothing = Ranges(released).answer([box, away])
    assert (whole.estimate, whole.areas, whole.exact) == (412 + 40 + 391, 3, True)
    assert nothing.reason is Reason.UNMEASURED
    (morning,) = Ranges(released, layer="places-00-12").answer([box])
    assert morning.estimate == whole.estimate - 3 * 9


def test_popular_bounding_keeps_the_places_that_most_people_visit() -> None:
    view = replace(city(counting=Counting.PEOPLE), bound=1)
    near = NearPlaces(STOPS, 500)
    popularity = view.popularity(near)
    assert popularity.sensitivity == 1
    params = parse_parameters(Params, {"places": "stops", "reach": 500})
    both = [
        content_of(run(MECHANISM, view, params, Fraction(1), ZeroNoise(), {}, bounding)).counts
        for bounding in (Bounding.POPULAR, Bounding.RANDOM)
    ]
    assert both[0].sum() == both[1].sum()  # everybody counts once
    assert np.sort(both[0])[-5:].sum() > np.sort(both[1])[-5:].sum()
    other = NearPlaces(STOPS, 400)
    with pytest.raises(ValueError, match="other regions"):
        Popularity(near, popularity._read_by_meter()).table(other)


def test_contexts_are_divided_by_a_category_and_by_time_at_once() -> None:
    view = city(counting=Counting.PEOPLE)
    released = drawn(view, reach=500, category="mode", slices="12 hours")
    content = content_of(released)
    slices = Slicing(TIME_SLICES["12 hours"], "UTC", DOMAIN.categories[0])
    sliced = SlicedZones(NearPlaces(STOPS, 500), slices)
    assert content.pairs.tolist() == view.sliced_histogram(sliced)._read_by_meter().tolist()
    assert content.pairs.any(axis=1).all()
    assert content.slices.keys == (
        "1-walk-00-12",
        "1-walk-12-24",
        "2-bike-00-12",
        "2-bike-12-24",
        "3-other-00-12",
        "3-other-12-24",
    )
    whole, first, *_ = (each for each in layers(released) if isinstance(each, PointLayer))
    assert whole.of == ("All values", "")
    assert first.of == ("walk", "00:00 to 12:00")
    assert "Mode of transport. Local time (UTC)." in first.note
    with pytest.raises(InvalidInput, match="more than 24"):
        MECHANISM.forecast(
            parse_parameters(Params, {"places": "stops", "category": "mode", "slices": "3 hours"}),
            Fraction(1),
            1,
            replace(DOMAIN, categories=(replace(DOMAIN.categories[0], values=tuple("abc")),)),
        )
