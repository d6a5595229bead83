"""Requirements that every registered mechanism must meet, including new ones."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.files import build_files
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting, Notion, Unit, guarantee
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.parameters import json_schema, parameters, parse_parameters, settle_layers
from dpgeo.core.released import CONTENT_TYPES, Released
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer, box_layers, layers
from dpgeo.privacy.mechanism import Mechanism, checked_plan, run
from dpgeo.spatial.zones import Zones
from tests.conformance.cases import (
    AREA,
    AUDIT,
    BOUND,
    COUNTS,
    DOMAIN,
    FORMS,
    LAYER,
    LAYERS,
    PLANS,
    RUNS,
    city,
    nobody,
    small,
)
from tests.randomness import SeededEntropy, ZeroNoise
from tests.views import ArrayView

EPSILONS = [
    Fraction(text)
    for text in ("0.000001", "0.000003", "0.1", "0.3", "1", "0.999999", "7.654321", "1000")
]
ABOUT = {
    "title": "A made-up city",
    "publisher": "Nobody",
    "licence": "CC0-1.0",
    "public_layers": json.dumps([LAYER]),
}

DRAWS = 40 if AUDIT else 16
"""Number of releases drawn to check a mechanism's margins, for all counts of a layer together."""

MORE_DRAWS = {"zones": 100}
"""Number of releases drawn instead for mechanisms whose releases have few counts: four zones."""

MIN_COUNTS = 400
"""Number of counts of a layer from which on a check would notice margins twice as wide."""

BESIDE = {"departures", "arrivals"}
"""Layers of flows with measurements besides those of trips between two regions.

Forecasts of margins do not apply to these layers; the tests of flows check their margins.
"""

JUDGED = ("value", "margin", "threshold", "least_listed", "boxes")

COUNTING = {"histogram", "sliced_histogram", "sparse_histogram", "visits", "zone_counts"}
"""Methods of `ArrayView`, the tests' private dataset, that count records in regions."""

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())
every_plan = pytest.mark.parametrize(("mechanism", "params"), PLANS)
# With this scope, pytest runs the tests of one pair after another, so that they share its releases.
every_run = pytest.mark.parametrize(("mechanism", "params"), RUNS, scope="module")
every_count = pytest.mark.parametrize(("mechanism", "params"), COUNTS, scope="module")
every_form = pytest.mark.parametrize(("mechanism", "params"), FORMS, scope="module")


def release(
    mechanism: Mechanism,
    params: Any,
    view: ArrayView,
    seed: int | None = 1,
    epsilon: Fraction = Fraction(1),
) -> Released:
    """Return a release, drawn only once in each test process; a seed of None means no noise."""
    return drawn(mechanism.key, params, view, seed, epsilon)


@cache
def drawn(
    key: str, params: Any, view: ArrayView, seed: int | None, epsilon: Fraction = Fraction(1)
) -> Released:
    """Draw a release, or return it from the cache if it has been drawn before."""
    mechanism, entropy = MECHANISMS[key], ZeroNoise() if seed is None else SeededEntropy(seed)
    cost = costs(mechanism, params, epsilon, view.bound)
    return run(mechanism, view, params, cost, entropy, ABOUT)


drawn_again = drawn.__wrapped__
"""Function that draws a new release even if the cache already has one."""


def costs(mechanism: Mechanism, params: Any, epsilon: Fraction, bound: int = BOUND) -> Fraction:
    """Return a release's cost: the price that the mechanism computes or, without one, epsilon."""
    return mechanism.price(params, bound, AREA) if mechanism.price else epsilon


def measured_layers(released: Released) -> list[Any]:
    return [
        layer
        for layer in layers(released)
        if layer.kind == "measured" and (layer.value is None or layer.features.counts)
    ]


def most_cells(mechanism: Mechanism) -> int:
    """Return how many cells along a side the mechanism's grid can have, or 0 without a grid."""
    limits = {each.name: each.high for each in parameters(mechanism.params)}
    return limits.get("cells") or 0


# Tests of what mechanisms say of themselves: facts, parameters and documentation


@every_mechanism
def test_a_grid_too_large_is_refused_with_an_alternative(mechanism: Mechanism) -> None:
    most = most_cells(mechanism)
    finer = {key for key, other in MECHANISMS.items() if most_cells(other) > most}
    if not mechanism.kind.cells or not most or not finer:
        pytest.skip("It has no grid of its own, or there is none finer.")
    with pytest.raises(InvalidInput) as caught:
        parse_parameters(mechanism.params, {"cells": most + 1})
    assert caught.value.field == "cells"
    assert finer & set(re.findall(r"[a-z-]+", str(caught.value)))


@every_mechanism
def test_its_file_has_no_randomness_of_its_own(mechanism: Mechanism) -> None:
    module = inspect.getmodule(mechanism.release)
    assert module is not None
    tree = ast.parse(inspect.getsource(module))
    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            words |= {word for alias in node.names for word in alias.name.split(".")}
            words |= set((getattr(node, "module", None) or "").split("."))
    assert not words & {"random", "secrets", "urandom"}
    assert not any(word.endswith("_by_meter") for word in words)


@every_mechanism
def test_its_schema_is_valid_and_accepts_the_defaults(mechanism: Mechanism) -> None:
    schema = json_schema(mechanism.params)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    defaults = dataclasses.asdict(mechanism.params())
    assert validator.is_valid({})
    assert validator.is_valid(json.loads(json.dumps(defaults)))
    assert parse_parameters(mechanism.params, defaults) == mechanism.params()


@every_plan
def test_its_schema_accepts_what_the_parser_accepts(mechanism: Mechanism, params: Any) -> None:
    document = dataclasses.asdict(params)
    Draft202012Validator(json_schema(mechanism.params)).validate(document)
    # HTML forms send every value as text, which the parser must accept, too.
    text = {name: str(value) for name, value in document.items()}
    assert parse_parameters(mechanism.params, text) == params


@every_mechanism
def test_values_out_of_bounds_are_refused_by_name(mechanism: Mechanism) -> None:
    validator = Draft202012Validator(json_schema(mechanism.params))
    for parameter in parameters(mechanism.params):
        wrong: list[object] = ["no such value", None]
        if parameter.kind is int:
            assert parameter.low is not None
            assert parameter.high is not None
            wrong += [parameter.low - 1, parameter.high + 1, 1.5]
        if parameter.layer:
            wrong.remove("no such value")
            with pytest.raises(InvalidInput, match="not declared; choose from") as refusal:
                settle_layers(parse_parameters(mechanism.params, {parameter.name: "none"}), LAYERS)
            assert refusal.value.field == parameter.name
        if parameter.measure or parameter.category:
            wrong.remove("no such value")
            named = parse_parameters(mechanism.params, {parameter.name: "none"})
            with pytest.raises(InvalidInput, match="choose from") as refusal:
                mechanism.forecast(named, Fraction(1), BOUND, DOMAIN)
            assert refusal.value.field == parameter.name
        for value in wrong:
            assert not validator.is_valid({parameter.name: value})
            with pytest.raises(InvalidInput) as refusal:
                parse_parameters(mechanism.params, {parameter.name: value})
            assert refusal.value.field == parameter.name


# Tests of the plan, and of the noise that is forecast before a release is paid for


@every_mechanism
def test_its_plan_costs_epsilon_exactly(mechanism: Mechanism) -> None:
    """The spends of every plan add up to epsilon; all failing combinations are listed at once."""
    plans = [plan.values[1] for plan in PLANS if plan.values[0] is mechanism]
    assert plans
    wrong = [
        (params, str(epsilon), problem)
        for params in plans
        for epsilon in EPSILONS
        for problem in problems_of_plan(mechanism, params, epsilon)
    ]
    assert not wrong


def problems_of_plan(mechanism: Mechanism, params: Any, epsilon: Fraction) -> Iterator[str]:
    """Yield sentences that say what is wrong with a mechanism's plan."""
    try:
        plan = checked_plan(mechanism, params, epsilon)
        again = list(mechanism.plan(params, epsilon))
    except Exception as error:  # A failure of one case must not hide the others.
        yield repr(error)
        return
    if (total := sum(spend.amount for spend in plan)) != epsilon:
        yield f"costs {total}"
    if len({spend.label for spend in plan}) != len(plan):
        yield "has a label twice"
    if again != list(plan):
        yield "is another when asked again"


@every_mechanism
def test_its_plan_and_forecast_see_only_public_inputs(mechanism: Mechanism) -> None:
    assert list(inspect.signature(mechanism.plan).parameters) == ["params", "epsilon"]
    names = list(inspect.signature(mechanism.forecast).parameters)
    assert names == [
        "params",
        "epsilon",
        "bound",
        "domain",
        *(["law"] if mechanism.gaussian else []),
    ]


@every_run
def test_its_forecast_announces_noise_that_is_then_drawn(mechanism: Mechanism, params: Any) -> None:
    epsilon = costs(mechanism, params, Fraction(1))
    forecast = mechanism.forecast(params, epsilon, BOUND, DOMAIN)
    released = release(mechanism, params, nobody())
    assert forecast.noise in [line.noise for line in released.trace]
    for layer in measured_layers(released):
        # If a release lists only counts above a threshold, its margins must allow for that
        # selection.
        if forecast.moves:
            assert layer.margin is None
        elif layer.least_listed is None and layer.features.look not in BESIDE:
            assert forecast.margin is not None
            assert float(forecast.margin) in layer.margin
    counted = [len(each) for each in layers(released) if each.value is not None]
    assert max(counted, default=0) <= forecast.regions
    assert forecast.ground_metres > 0
    assert forecast.region


# Tests of releases


@every_run
@pytest.mark.parametrize("counting", Counting)
def test_its_trace_is_its_plan(mechanism: Mechanism, params: Any, counting: Counting) -> None:
    epsilon = costs(mechanism, params, Fraction(1))
    released = release(mechanism, params, city(counting=counting))
    plan = mechanism.plan(params, epsilon)
    planned = {spend.label: spend.epsilon for spend in plan if not spend.unallocated}
    traced = {line.label: line.amount for line in released.trace}
    assert len(released.trace) == len(traced)
    assert {label: traced.pop(label) for label in planned} == planned
    # The traced spends that the plan does not name must add up to the unallocated epsilon exactly.
    assert sum(traced.values()) == sum(spend.amount for spend in plan if spend.unallocated)
    for line in released.trace:
        if line.noise is not None:
            assert not isinstance(line.noise, DiscreteGaussian)
            assert line.noise.epsilon == line.epsilon
            # The sensitivity is the bound or a multiple of it: in k-means, one record adds to
            # several sums.
            assert line.noise.sensitivity % BOUND == 0
    assert released.guarantee == guarantee(mechanism.notion, epsilon, Unit.PERSON)
    assert (released.bound, released.counting) == (BOUND, counting)
    assert released.mechanism == mechanism.key
    assert released.parameters == dataclasses.asdict(params)


@every_count
def test_totals_are_measured_over_the_regions_that_it_counts(
    mechanism: Mechanism, params: Any
) -> None:
    """A mechanism counts in the regions that its function `counted` returns.

    Contributions to totals are bounded over the regions that `counted` returns, so the two must
    agree.
    """
    if mechanism.counted is None:
        pytest.skip("It sells no totals.")
    seen = Recorded(city())
    run(mechanism, seen, params, costs(mechanism, params, Fraction(1)), SeededEntropy(1), ABOUT)
    assert mechanism.counted(params, seen.domain) in seen.regions


class Recorded:
    """A view of a private dataset that records the regions in which a mechanism counts."""

    def __init__(self, view: ArrayView) -> None:
        self.view, self.regions = view, list[Any]()

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.view, name)
        if name not in COUNTING:
            return attribute

        def counted(regions: Any, *rest: Any) -> Any:
            # Record zones without their slices, as `counted` returns them: slices only divide the
            # zones' counts.
            self.regions.append(regions.zones if isinstance(regions, SlicedZones) else regions)
            return attribute(regions, *rest)

        return counted


@every_mechanism
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_the_smallest_grids_are_accepted(mechanism: Mechanism, cells: int) -> None:
    if cells not in range(1, most_cells(mechanism) + 1):
        pytest.skip("It has no grid of its own.")
    given = {**small(mechanism.params), "cells": cells}
    try:
        params = settle_layers(parse_parameters(mechanism.params, given), LAYERS)
        mechanism.forecast(params, Fraction(1), BOUND, DOMAIN)
    except InvalidInput:
        pytest.skip("It refuses so few cells before anything is paid.")
    released = release(mechanism, params, city(), None)
    if can_be_counted(released):
        for layer in measured_layers(released):
            assert layer.value.tolist() == true_counts(layer, city()).tolist()


@every_run
def test_the_same_seed_gives_the_same_release_and_another_a_different_one(
    mechanism: Mechanism, params: Any
) -> None:
    released = release(mechanism, params, city())
    first = encode(released)
    assert first == encode(drawn_again(mechanism.key, params, city(), 1))
    if any(len(layer) for layer in measured_layers(released)):
        # A draw from another seed must differ, unless a high threshold leaves nothing to list.
        assert first != encode(drawn_again(mechanism.key, params, city(), 2))


@every_count
def test_the_order_of_the_rows_has_no_effect(mechanism: Mechanism, params: Any) -> None:
    view = city()
    assert view.persons is not None
    order = np.random.default_rng(2).permutation(np.size(view.persons))
    ends = view.destinations
    assert ends is not None
    shuffled = dataclasses.replace(
        view,
        longitude=np.asarray(view.longitude)[order],
        latitude=np.asarray(view.latitude)[order],
        destinations=(np.asarray(ends[0])[order], np.asarray(ends[1])[order]),
        persons=np.asarray(view.persons)[order],
        hours=np.asarray(view.hours)[order],
        values=np.asarray(view.values)[order],
        codes=np.asarray(view.codes)[order],
    )
    again = drawn_again(mechanism.key, params, shuffled, 1)
    assert encode(release(mechanism, params, view)) == encode(again)


@every_run
@pytest.mark.parametrize("view", [city(), nobody()], ids=["city", "nobody"])
def test_its_release_survives_the_codec(mechanism: Mechanism, params: Any, view: ArrayView) -> None:
    released = release(mechanism, params, view)
    assert type(released.content) in CONTENT_TYPES
    again = decode(encode(released))
    assert encode(again) == encode(released)
    for field in dataclasses.fields(released):
        if field.name not in {"content", "area"}:
            assert getattr(again, field.name) == getattr(released, field.name)
    for field in dataclasses.fields(released.content):
        actual, expected = (getattr(one.content, field.name) for one in (again, released))
        assert (
            np.array_equal(actual, expected)
            if isinstance(expected, np.ndarray)
            else (actual == expected)
        )


@every_form
@pytest.mark.parametrize(("epsilon", "bound"), [("0.000001", 10_000), ("1000", 1)])
def test_extreme_budgets_give_whole_releases(
    mechanism: Mechanism, params: Any, epsilon: str, bound: int, tmp_path: Path
) -> None:
    if mechanism.price:
        pytest.skip("Its cost follows from its parameters.")
    view = dataclasses.replace(city(), bound=bound)
    try:
        mechanism.forecast(params, Fraction(epsilon), bound, DOMAIN)
    except InvalidInput:
        return  # The request is refused before anything is paid or drawn.
    released = drawn_again(mechanism.key, params, view, 1, Fraction(epsilon))
    assert build_files(released, tmp_path)
    for layer in measured_layers(released) + box_layers(released):
        assert np.isfinite(layer.margin).all()
        assert np.isfinite(layer.value.astype(np.float64)).all()


@every_form
def test_its_files_follow_from_the_release_byte_for_byte(
    mechanism: Mechanism, params: Any, tmp_path: Path
) -> None:
    """Each release's files can be written again from the release alone, with the same bytes."""
    released = release(mechanism, params, city())
    built = []
    for name, source in {"first": released, "again": decode(encode(released))}.items():
        (tmp_path / name).mkdir()
        files = build_files(source, tmp_path / name)
        built.append({file.name: file.path.read_bytes() for file in files})
    assert built[0] == built[1]
    assert {"map.bin", "statement.json"} <= set(built[0])


@every_form
def test_an_empty_dataset_gives_a_valid_release(
    mechanism: Mechanism, params: Any, tmp_path: Path
) -> None:
    cost = costs(mechanism, params, Fraction(1, 10))
    released = drawn_again(mechanism.key, params, nobody(), 1, cost)
    assert build_files(released, tmp_path)
    for layer in measured_layers(released):
        if mechanism.notion is Notion.GEO_IND:
            # Geo-indistinguishability hides where a report was made, not that it was made. So a
            # dataset without reports gives a release without points.
            assert len(layer) == 0
        else:
            assert layer.least_listed or np.any(layer.value)
    silent = drawn_again(mechanism.key, params, nobody(), None)
    for layer in box_layers(silent):
        assert not np.any(layer.value)


@every_count
@pytest.mark.parametrize("counting", Counting)
def test_without_noise_its_measured_layers_are_the_bounded_counts(
    mechanism: Mechanism, params: Any, counting: Counting
) -> None:
    view = city(counting=counting)
    released = release(mechanism, params, view, None)
    if not can_be_counted(released):
        pytest.skip("Its own tests count, around its centres or whatever else it counts in.")
    for layer in measured_layers(released):
        assert layer.value.tolist() == true_counts(layer, view).tolist()
        if layer.least_listed:
            cells = view.histogram(layer.grid)._read_by_meter()
            assert len(layer.value) == (cells >= layer.least_listed).sum()


def can_be_counted(released: Released) -> bool:
    """Return whether all of a release's measurements are counts in boxes or in declared zones."""
    measured = measured_layers(released)
    boxes = (
        isinstance(each, BoxLayer) or (isinstance(each, ShapeLayer) and "key" in each.columns)
        for each in measured
    )
    if any(each.features.look in BESIDE for each in measured):
        return False
    return bool(measured) and all(boxes)


def true_counts(layer: Layer, view: ArrayView) -> np.ndarray[Any, Any]:
    """Return the true counts, after contribution bounding, of a layer's boxes or zones."""
    if isinstance(layer, ShapeLayer):
        declared = (each for each in DOMAIN.layers.values() if isinstance(each, Zones))
        zones = next(each for each in declared if list(each.keys) == layer.columns["key"].tolist())
        return view.zone_counts(zones)._read_by_meter()
    assert isinstance(layer, BoxLayer)
    cells = view.histogram(layer.grid)._read_by_meter()
    # The name of a slice's layer is what the layer shows and the slice, such as "partitions-06-12"
    # (6 to 12 o'clock).
    shows, _, key = layer.name.partition("-")
    if layer.sliced or (key and shows == "partitions"):
        cells = next(each for each in slices_of(layer, view) if key in each)[key]
    sums = np.pad(cells.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    top, bottom, left, right = layer.boxes.T
    counts: np.ndarray[Any, Any]
    counts = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return counts


def slices_of(layer: BoxLayer, view: ArrayView) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    """Yield, for each way to divide a map into slices, the true counts by the key of the slice.

    The map can be divided by time, by a category, by both or by neither.
    """
    for times in [None, *TIME_SLICES.values()]:
        for category in [None, *view.categories]:
            slices = Slicing(times, "UTC", category)
            sliced = view.sliced_histogram(SlicedGrid(layer.grid, slices))
            yield dict(zip(slices.names.keys, sliced._read_by_meter(), strict=True))


def measures_as_the_defaults_do(mechanism: Mechanism, params: Any, view: ArrayView) -> bool:
    """Return whether these parameters give the same measurements as the defaults do.

    This holds, for example, for parameters that only say how lines are drawn through a surface. For
    a dataset with people and one without, draws from two seeds are compared.
    """
    defaults = next(run.values[1] for run in COUNTS if run.values[0] is mechanism)
    return params is not defaults and all(
        measured_in(drawn_again(mechanism.key, params, people, seed))
        == measured_in(drawn_again(mechanism.key, defaults, people, seed))
        for people in (view, nobody())
        for seed in range(2)
    )


def measured_in(released: Released) -> list[Any]:
    """Return each measured layer's name and the attributes by which its margins are judged."""
    return [
        (layer.name, *(np.asarray(getattr(layer, name, None)).tolist() for name in JUDGED))
        for layer in measured_layers(released)
    ]


@every_count
def test_beside_its_noisy_counts_are_the_nearest_that_are_not_negative(
    mechanism: Mechanism, params: Any
) -> None:
    """A release shows, beside noisy counts, the nearest counts that are not negative.

    Their sum equals that of the noisy counts, or 0 if that sum is negative.
    """
    for layer in measured_layers(release(mechanism, params, city())):
        projected = layer.columns["non_negative"]
        assert projected.min(initial=0.0) >= 0
        assert projected.sum() == pytest.approx(max(layer.value.sum(), 0), abs=1e-6)


@every_run
def test_its_layers_list_each_cell_of_the_area_once(mechanism: Mechanism, params: Any) -> None:
    for layer in box_layers(release(mechanism, params, city())):
        covered = np.zeros(layer.grid.shape, dtype=np.int64)
        for top, bottom, left, right in layer.boxes:
            covered[top:bottom, left:right] += 1
        inside = layer.grid.inside(AREA)
        assert covered.max() <= 1
        assert layer.cells.sum() == covered[inside].sum()
        assert layer.least_listed or (covered[inside] == 1).all()
        assert (layer.value >= (layer.least_listed or -np.inf)).all()
        assert np.isfinite(layer.value).all()


def errors_in_margins(mechanism: Mechanism, params: Any, view: Any) -> dict[str, Any]:
    """Return the errors of many counts of each layer, each divided by its margin."""
    errors: dict[str, list[float]] = {}
    for seed in range(MORE_DRAWS.get(mechanism.key, DRAWS)):
        for layer in measured_layers(drawn_again(mechanism.key, params, view, seed)):
            error = np.abs(layer.value - true_counts(layer, view))
            errors.setdefault(layer.name, []).extend((error / layer.margin).tolist())
    return {name: np.asarray(each) for name, each in errors.items() if each}


@pytest.mark.statistical
@every_count
def test_its_margins_cover_as_often_as_they_say(mechanism: Mechanism, params: Any) -> None:
    view = city()
    if not can_be_counted(release(mechanism, params, view)):
        pytest.skip("Its own tests look at margins of what is no box.")
    if measures_as_the_defaults_do(mechanism, params, view):
        # This test checks the margins of the same measurements when it runs with the defaults.
        return
    exceeded: dict[str, list[bool]] = {}
    chosen: set[str] = set()
    for seed in range(DRAWS):
        for layer in measured_layers(drawn_again(mechanism.key, params, nobody(), seed)):
            reached = layer.value >= layer.threshold
            unlisted = 0
            if isinstance(layer, BoxLayer):
                unlisted = layer.grid.inside(AREA).sum() - layer.cells.sum()
            exceeded.setdefault(layer.name, []).extend([*reached.tolist(), *[False] * unlisted])
            chosen |= {layer.name} if layer.least_listed else set()
    for name, each in errors_in_margins(mechanism, params, view).items():
        # Seven standard errors: the chance of a false alarm is below 1e-11.
        slack = 7 * (0.05 * 0.95 / len(each)) ** 0.5
        assert np.mean(each <= 1) > 0.95 - slack, name
        # A margin twice as wide as necessary would be wrong as well. Errors are on average a third
        # of a right margin with Laplace noise (1 / ln 20, and as much is their standard deviation),
        # two fifths with Gaussian noise, and half of that if it is twice as wide. (Where a cell is
        # listed or not depending on its noise, no margin covers exactly 95 %.)
        least = 0.3 - 6 * 0.334 / len(each) ** 0.5
        if name not in chosen and len(each) >= MIN_COUNTS:
            assert np.mean(each) > least > 0.334 / 2, name
    for name, hits in exceeded.items():
        assert np.mean(hits) <= 1e-3 + 7 * (1e-3 / len(hits)) ** 0.5, name
