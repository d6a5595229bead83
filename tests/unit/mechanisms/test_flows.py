"""Flows: which are measured, listed and shown, on data without trips and on planted flows."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.files import build_files
from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import FlowsRelease, Released
from dpgeo.mechanisms import flows
from dpgeo.postprocess import flow_answers
from dpgeo.postprocess.flow_answers import FlowAnswers
from dpgeo.postprocess.flow_estimate import least_squares
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.ranges import Ranges, Reason
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.randomness import SeededEntropy, ZeroNoise
from tests.views import ArrayView

AREA = StudyArea.from_bounds(0, 0, 0.1, 0.1)
SIDE = 4

STRIPS = Zones(
    keys=("w", "m", "e"),
    names=("West", "Middle", "East"),
    shapes=shapely.box([0, 0.03, 0.07], 0, [0.03, 0.07, 0.1], 0.1),
)


def centre(cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    row, column = np.divmod(cell, SIDE)
    return 0.1 * (column + 0.5) / SIDE, 0.1 * (SIDE - row - 0.5) / SIDE


def travellers(origin: Any, destination: Any, **facts: Any) -> ArrayView:
    """Return people with one trip each, between centres of cells."""
    start, end = (centre(np.asarray(each, dtype=np.int64)) for each in (origin, destination))
    return ArrayView(
        area=AREA,
        longitude=start[0],
        latitude=start[1],
        persons=np.arange(np.size(origin)),
        destinations=end,
        **({"declared": {"strips": STRIPS}} | facts),
    )


def drawn(view: ArrayView, seed: int | None = 1, epsilon: int = 1, **chosen: Any) -> Released:
    params = flows.Params(**({"cells": SIDE} | chosen))
    entropy = ZeroNoise() if seed is None else SeededEntropy(seed)
    return run(flows.MECHANISM, view, params, Fraction(epsilon), entropy, {})


def content_of(released: Released) -> FlowsRelease:
    assert isinstance(released.content, FlowsRelease)
    return released.content


ORIGIN = np.repeat([0, 5, 5, 10], [30, 20, 4, 6])
DESTINATION = np.repeat([5, 0, 10, 10], [30, 20, 4, 6])


MODE = Category("mode", "Mode of transport", ("walk", "bike"))


@pytest.mark.parametrize("times", [flows.ALL_TOGETHER, "12 hours"])
def test_trips_are_divided_by_a_category_and_by_time(times: str) -> None:
    people = ORIGIN.size
    hours = np.where(np.arange(people) % 3, 3, 15)
    codes = np.where(ORIGIN == 5, 1, 0)
    view = travellers(ORIGIN, DESTINATION, categories=(MODE,), codes=codes, hours=hours)
    content = content_of(drawn(view, None, slices=times, category="mode"))
    parts = 2 if times == "12 hours" else 1
    assert content.names.values == ("walk", "bike", "Other")
    assert len(content.keys) == 3 * parts
    pairs = content.pairs.reshape(3, parts, SIDE**2, SIDE**2).sum(axis=1)
    assert (pairs[0, 0, 5], pairs[0, 10].sum(), pairs[0, 5].sum()) == (30, 0, 0)
    assert (pairs[1, 5, 0], pairs[1, 5, 10], pairs[1].sum()) == (20, 4, 24)
    assert pairs[2].sum() == 0
    if parts == 2:
        early = content.pairs.reshape(3, 2, -1)[:, 0].sum()
        assert early == np.count_nonzero((hours == 3) & (ORIGIN != DESTINATION))
    released = drawn(view, slices=times, category="mode")
    lines = [layer for layer in layers(released) if layer.sliced and "flows" in layer.name]
    assert [layer.of[0] for layer in lines[::parts]] == ["walk", "bike", "Other"]
    assert encode(decode(encode(released))) == encode(released)
    with pytest.raises(InvalidInput, match="no categor"):
        drawn(travellers(ORIGIN, DESTINATION), category="mode")


def test_without_noise_the_three_arrays_are_those_of_the_trips() -> None:
    content = content_of(drawn(travellers(ORIGIN, DESTINATION), None))
    pairs = content.pairs.reshape(16, 16)
    assert {(int(i), int(j)): int(pairs[i, j]) for i, j in np.argwhere(pairs)} == {
        (0, 5): 30,
        (5, 0): 20,
        (5, 10): 4,
    }
    assert content.leaving[0].tolist() == pairs.sum(axis=1).tolist()
    assert content.arriving[0].tolist() == pairs.sum(axis=0).tolist()
    within = content_of(drawn(travellers(ORIGIN, DESTINATION), None, within=True))
    assert within.pairs.reshape(16, 16)[10, 10] == 6


def test_overlapping_zones_are_refused_by_name() -> None:
    overlap = Zones(
        keys=("a", "b"),
        names=("Old Town", "Harbour"),
        shapes=shapely.box([0, 0.04], 0, [0.05, 0.1], 0.1),
    )
    domain = Domain(AREA, {"over": overlap}, destinations=True)
    with pytest.raises(InvalidInput, match="Old Town and Harbour overlap") as refused:
        flows.forecast(flows.Params(zones="over"), Fraction(1), 1, domain)
    assert refused.value.field == "zones"


def test_a_dataset_without_trips_is_told_what_it_lacks() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, "trips"),
        ({"time_zone": "UTC"}, {"trips": flows.DESTINATIONS}, "trips"),
        ({"destinations": True}, {"slices": "6 hours"}, "slices"),
        ({"time_zone": "UTC", "unit": Unit.RECORD}, {"trips": flows.FOLLOWING}, "trips"),
    ]
    for facts, chosen, name in cases:
        with pytest.raises(InvalidInput) as refused:
            flows.forecast(flows.Params(**chosen), Fraction(1), 1, Domain(AREA, **facts))
        assert refused.value.field == name


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("busy", [0, 6])
def test_hardly_any_map_lists_a_flow_that_nobody_took(
    monkeypatch: pytest.MonkeyPatch, sparse: bool, busy: int
) -> None:
    """The test draws 200 releases, without trips or with trips around a ring of busy squares."""
    ring = np.arange(busy)
    origin, destination = np.repeat(ring, 400), np.repeat(np.roll(ring, 1), 400)
    view = travellers(origin, destination, bound=5)
    if sparse:
        monkeypatch.setattr(flows, "MAX_PAIRS", 10)
    taken = set(zip(origin.tolist(), destination.tolist(), strict=True))
    false, true = [], []
    for seed in range(300):
        departures, _, lines = layers(drawn(view, seed))
        keys = list(departures.columns["key"])
        ends = (map(keys.index, lines.columns[end]) for end in ("origin", "destination"))
        listed = set(zip(*ends, strict=True))
        false.append(bool(listed - taken))
        true.append(len(listed & taken))
    assert np.mean(false) <= flows.ERROR + 3 * (flows.ERROR / len(false)) ** 0.5
    assert np.mean(true) > 0.95 * busy or not busy


@pytest.mark.parametrize("pairs", [2, 4032, 10_000_000])
@pytest.mark.parametrize("bound", [1, 5, 100])
@pytest.mark.parametrize("epsilon", ["0.006", "0.6", "6"])
def test_the_threshold_is_the_least_that_noise_rarely_reaches_in_any_pair(
    pairs: int, bound: int, epsilon: str
) -> None:
    noise = DiscreteLaplace(Fraction(epsilon), bound)
    threshold = flows.listing_threshold(noise, pairs)
    assert pairs * noise.above(threshold) <= flows.ERROR + 1e-9
    assert threshold == 1 or pairs * noise.above(threshold - 1) > flows.ERROR


def test_sparse_drawing_lists_what_dense_drawing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    view = travellers(ORIGIN, DESTINATION)
    dense = drawn(view, 3, epsilon=20)
    monkeypatch.setattr(flows, "MAX_PAIRS", 10)
    sparse = drawn(view, 3, epsilon=20)
    content = content_of(sparse)
    assert content.sparse
    assert (content.pairs >= content.threshold).all()
    for one, other in zip(layers(dense)[2:], layers(sparse)[2:], strict=True):
        assert one.columns["origin"].tolist() == other.columns["origin"].tolist()
        assert "least_squares" not in other.columns
    assert encode(decode(encode(sparse))) == encode(sparse)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_closed_form_solves_the_least_squares(n: int, within: bool) -> None:
    random = np.random.default_rng(n)
    variance, of_rows, of_columns = 2.0, 3.0, 5.0
    pairs, leaving, arriving = (random.normal(0, 5, size) for size in ((n, n), n, n))
    if not within:
        np.fill_diagonal(pairs, 0)
    ratios = of_rows / variance, of_columns / variance
    found = least_squares(pairs, leaving, arriving, ratios, within=within)
    places = [(i, j) for i in range(n) for j in range(n) if within or i != j]
    design = [np.eye(len(places))[k] / variance**0.5 for k in range(len(places))]
    target = [pairs[place] / variance**0.5 for place in places]
    for region in range(n):
        for side, sums, spread in ((0, leaving, of_rows), (1, arriving, of_columns)):
            design.append(np.array([place[side] == region for place in places]) / spread**0.5)
            target.append(sums[region] / spread**0.5)
    solved = np.linalg.lstsq(np.array(design), np.array(target), rcond=None)[0]
    assert [found[place] for place in places] == pytest.approx(solved, abs=1e-9)
    assert within or not np.diag(found).any()


def test_listed_margins_hold_and_what_is_left_is_told_as_other() -> None:
    random = np.random.default_rng(4)
    origin, destination = random.integers(0, 16, 4000), random.choice(16, 4000, p=_popular())
    view = travellers(origin, destination)
    truth = np.zeros((16, 16))
    np.add.at(truth, (origin, destination), 1)
    np.fill_diagonal(truth, 0)
    covered, others = [], []
    for seed in range(20):
        departures, _, lines = layers(drawn(view, seed))
        keys = list(departures.columns["key"])
        ends = [
            [keys.index(key) for key in lines.columns[end]] for end in ("origin", "destination")
        ]
        assert lines.value is not None
        covered += (np.abs(lines.value - truth[ends[0], ends[1]]) <= lines.margin).tolist()
        listed = np.zeros(16)
        np.add.at(listed, ends[0], truth[ends[0], ends[1]])
        error = departures.columns["other"] - (truth.sum(axis=1) - listed)
        others += (np.abs(error) <= departures.columns["other_margin"]).tolist()
    assert np.mean(covered) > 0.93
    assert np.mean(others) > 0.9


def _popular() -> np.ndarray:
    weights: np.ndarray = 0.6 ** np.arange(16)
    return np.asarray(weights / weights.sum())


MIDDLE, QUARTER = Grid.over(AREA, SIDE).box_bounds(np.array([[0, 1, 0, 2], [0, 1, 0, 1]]))[:, 2]
WEST, EAST = shapely.box(-1, -1, MIDDLE, 1), shapely.box(MIDDLE, -1, 1, 1)


def test_trips_between_two_areas_are_the_sum_of_their_pairs() -> None:
    released = drawn(travellers(ORIGIN, DESTINATION))
    content = content_of(released)
    west = np.arange(16) % 4 < 2
    pairs = content.pairs.reshape(16, 16)
    answers = FlowAnswers(released)
    there = answers.answer(WEST, EAST)
    assert there.estimate == pairs[np.ix_(west, ~west)].sum()
    assert (there.areas, there.cut, there.exact) == (64, 0, True)
    assert answers.answer(WEST, WEST).areas == 56
    assert answers.answer(WEST, None).estimate == content.leaving[0, west].sum()
    assert answers.answer(None, EAST).estimate == content.arriving[0, ~west].sum()
    half = answers.answer(shapely.box(0, -1, QUARTER / 2, 1), EAST)
    assert not half.exact
    whole = pairs[np.ix_(np.arange(16) % 4 == 0, ~west)].sum()
    assert half.estimate == pytest.approx(whole / 2, rel=1e-3)
    assert answers.answer(shapely.box(5, 5, 6, 6), EAST).reason is Reason.UNMEASURED


@pytest.mark.parametrize("within", [False, True])
def test_pairs_asked_for_are_the_same_whether_all_or_some_were_measured(within: bool) -> None:
    hours = np.arange(ORIGIN.size) % 168
    view = travellers(ORIGIN, DESTINATION, hours=hours)
    released = drawn(view, slices="12 hours", within=within)
    every = content_of(released)
    listed = np.arange(every.pairs.size, dtype=np.int64)
    as_list = replace(released, content=replace(every, sparse=True, listed=listed))
    for origin, destination in ((WEST, EAST), (WEST, shapely.box(0, -1, 1, 0.04))):
        dense = FlowAnswers(released).answer(origin, destination)
        sparse = FlowAnswers(as_list).answer(origin, destination)
        assert dense.estimate == pytest.approx(sparse.estimate, rel=1e-12)
        assert (dense.areas, dense.cut) == (sparse.areas, sparse.cut)
        assert dense.margin == pytest.approx(sparse.margin, rel=1e-12)


def test_both_ends_of_a_query_share_one_limit_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = FlowAnswers(drawn(travellers(ORIGIN, DESTINATION)))
    # Clipping one of the sixteen squares is charged as ten steps of work: five for the square's
    # vertices and five for those of the query.
    one_end = 16 * (5 + 5)
    monkeypatch.setattr(flow_answers, "MAX_CLIPPED_PIECES", one_end)
    everywhere = shapely.box(-1, -1, 1, 1)
    assert answers.answer(everywhere, None).areas == 16
    with pytest.raises(InvalidInput, match="320 steps"):
        answers.answer(everywhere, everywhere)


def test_an_area_alone_counts_departures_and_slices_are_named() -> None:
    released = drawn(travellers(ORIGIN, DESTINATION))
    [answer] = Ranges(released).answer([WEST])
    assert answer.estimate == content_of(released).leaving[0, np.arange(16) % 4 < 2].sum()
    hours = np.arange(ORIGIN.size) % 168
    sliced = drawn(travellers(ORIGIN, DESTINATION, hours=hours), slices="12 hours")
    [both] = Ranges(sliced).answer([WEST])
    assert both.estimate == content_of(sliced).leaving[:, np.arange(16) % 4 < 2].sum()
    parts = [
        FlowAnswers(sliced, layer=f"flows-{key}").answer(WEST, EAST) for key in ("00-12", "12-24")
    ]
    assert FlowAnswers(sliced).answer(WEST, EAST).estimate == sum(each.estimate for each in parts)
    with pytest.raises(InvalidInput, match="flows-00-12"):
        FlowAnswers(sliced, layer="flows-noon")


def test_the_matrix_and_flowmap_files_hold_the_flows(tmp_path: Path) -> None:
    released = drawn(travellers(ORIGIN, DESTINATION), None)
    build_files(released, tmp_path)
    with (tmp_path / "flows.matrix.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["origin", "A1", "B1"]
    assert len(rows) == 17
    # Cell 0 is A1, and cell 5 is in the second row and column: B2.
    assert rows[1][1 + rows[0][1:].index("B2")] == "30"
    assert rows[1][1] == ""
    document = json.loads((tmp_path / "flows.flowmap.json").read_text())
    assert len(document["locations"]) == 16
    assert {"origin": "A1", "dest": "B2", "count": 30} in document["flows"]
    assert {each["count"] for each in document["flows"]} <= {30, 20, 4}
    assert set(document) == {"locations", "flows"}
    assert set(document["locations"][0]) == {"id", "name", "lat", "lon"}
    assert {each["id"] for each in document["locations"]} == set(rows[0][1:])
    for flow in document["flows"]:
        assert set(flow) == {"origin", "dest", "count"}
        assert {flow["origin"], flow["dest"]} <= {each["id"] for each in document["locations"]}
        assert isinstance(flow["count"], int)
