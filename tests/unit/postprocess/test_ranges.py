"""Range answers, which are sums over a region and exact if there is no noise."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.core.counted import Counted
from dpgeo.core.errors import Conflict
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import (
    PartitionRelease,
    Released,
    TreeRelease,
)
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.postprocess.areas import UNEVEN_ERRORS
from dpgeo.postprocess.layers import box_layers
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.ranges import (
    CUT,
    CUT_UNEVENLY,
    EXACT,
    OUTSIDE,
    UNMEASURED,
    RangeAnswer,
    Ranges,
    Reason,
)
from dpgeo.postprocess.tree_areas import BoxTree
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.conformance.cases import AREA, DOMAIN, city
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.artefacts import releases
from tests.unit.artefacts.releases import clusters_release

INFERRED = ["auto", "adaptive-grid", "quadtree"]
"""Mechanisms that count all of the map in boxes of several sizes and infer counts from them."""

GRIDS = ["auto", "uniform-grid", "contours", "dpcube", "adaptive-grid", "quadtree", "privtree"]


def released(key: str, *, noisy: bool = False, **given: Any) -> Released:
    mechanism = MECHANISMS[key]
    chosen = {"zones": "wards"} if key == "zones" else {"cells": 32, **given}
    params = parse_parameters(mechanism.params, chosen)
    return run(
        mechanism, city(), params, Fraction(1), SeededEntropy(3) if noisy else ZeroNoise(), {}
    )


def answer(content: Released, *regions: Any) -> list[RangeAnswer]:
    return Ranges(content).answer(regions)


def cells_box(grid: Grid, top: int, bottom: int, left: int, right: int) -> Any:
    west, south, east, north = grid.box_bounds(np.array([[top, bottom, left, right]]))[0]
    return shapely.box(west, south, east, north)


@pytest.mark.parametrize("cells", [7, 32, 100])
def test_boxes_along_cells_are_the_cells_sums(cells: int) -> None:
    content = released("uniform-grid", cells=cells)
    grid = content.content.grid  # type: ignore[attr-defined]
    counted = city().histogram(grid)._read_by_meter()
    random = np.random.default_rng(4)
    rows = np.sort(random.integers(0, cells + 1, (40, 2)), axis=1)
    columns = np.sort(random.integers(0, cells + 1, (40, 2)), axis=1)
    for (top, bottom), (left, right) in zip(rows, columns, strict=True):
        if top == bottom or left == right:
            continue
        (only,) = answer(content, cells_box(grid, top, bottom, left, right))
        expected = counted[top:bottom, left:right].sum()
        assert only.cut == 0
        if only.reason:
            assert (expected, only.areas) == (0, 0)
        else:
            assert only.estimate == pytest.approx(expected)


def test_a_cut_cell_adds_its_share_by_ground_in_the_area() -> None:
    content = released("uniform-grid", cells=1)
    counted = float(city().histogram(Grid.over(AREA, 1))._read_by_meter().sum())
    west, south, east, north = AREA.bounds
    half = shapely.box(west, south, (west + east) / 2, north)
    part = shapely.intersection(half, AREA.shape).area / AREA.shape.area
    (only,) = answer(content, half)
    assert only.estimate == pytest.approx(counted * part, rel=1e-5)
    assert not only.exact
    assert only.notes == (CUT,)
    (whole,) = answer(content, AREA.shape)
    assert only.margin < whole.margin


@pytest.mark.parametrize("key", GRIDS)
def test_answers_for_disjoint_regions_add_up(key: str) -> None:
    """Answers for disjoint regions add up if they are all computed from the same counts."""
    content = released(key, noisy=key != "quadtree")
    west, south, east, north = AREA.bounds
    across, along = np.linspace(west, east, 4), np.linspace(south, north, 4)
    parts = [
        shapely.box(across[i], along[j], across[i + 1], along[j + 1])
        for i in range(3)
        for j in range(3)
    ]
    whole, *answers = answer(content, shapely.box(west, south, east, north), *parts)
    assert sum(each.estimate for each in answers) == pytest.approx(
        whole.estimate, rel=1e-6, abs=1e-6
    )


def test_there_is_no_figure_outside_the_study_area() -> None:
    outside, within = answer(released("uniform-grid"), shapely.box(50, 50, 51, 51), AREA.shape)
    assert math.isnan(outside.estimate)
    assert math.isnan(outside.margin)
    assert (outside.exact, outside.areas, outside.people) == (False, 0, None)
    assert (outside.reason, outside.notes) == (Reason.OUTSIDE, (OUTSIDE,))
    assert within.reason is None


def test_there_is_no_figure_where_no_count_was_listed() -> None:
    content = releases.sparse_release(listed=0)
    (only,) = answer(content, content.area.shape)
    assert math.isnan(only.estimate)
    assert only.reason is Reason.UNMEASURED
    assert only.notes[0] == UNMEASURED


def test_a_sum_of_people_over_squares_is_one_of_sightings() -> None:
    content = dataclasses.replace(releases.grid_release(), bound=8)
    grid = content.content.grid  # type: ignore[attr-defined]
    whole, one = answer(content, content.area.shape, cells_box(grid, 2, 3, 2, 3))
    assert (whole.counted, one.counted) == (Counted.SIGHTINGS, Counted.PEOPLE)
    low, high = whole.estimate - whole.margin, whole.estimate + whole.margin
    assert whole.people == (math.floor(low / 8), math.ceil(high))
    assert one.people is None
    once = dataclasses.replace(content, bound=1)
    (only,) = answer(once, once.area.shape)
    assert (only.counted, only.people) == (Counted.PEOPLE, None)


@pytest.mark.parametrize("key", ["adaptive-grid", "quadtree"])
def test_boxes_of_a_tree_are_answered_with_the_sums_of_its_estimates(key: str) -> None:
    content = released(key, noisy=True)
    tree = content.content
    assert isinstance(tree, TreeRelease)
    *_, estimate = box_layers(content)
    inner = np.flatnonzero((tree.level == 1) & np.isin(np.arange(len(tree.level)), tree.parent))
    box = tree.boxes[inner[np.argmax(tree.counts[inner])]]
    top, bottom, left, right = box.tolist()
    rows, columns = estimate.boxes[:, 0], estimate.boxes[:, 2]
    within = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
    region = cells_box(tree.grid, top, bottom, left, right)
    (found,) = answer(content, region)
    assert found.estimate == pytest.approx(estimate.value[within].sum(), rel=1e-9)
    assert (found.areas, found.cut) == (int(within.sum()), 0)
    (added,) = Ranges(content, layer="partitions").answer([region])
    assert (added.areas, added.exact) == (found.areas, True)
    assert added.noise > found.noise


def test_a_region_that_cuts_a_partition_has_a_wider_interval() -> None:
    content = released("dpcube", noisy=True)
    partition = content.content
    assert isinstance(partition, PartitionRelease)
    sizes = np.prod(np.diff(partition.boxes)[:, [0, 2]], axis=1)
    box = partition.boxes[np.argmax(np.where(sizes > 1, partition.totals, -1))]
    top, bottom, left, right = box.tolist()
    grid = partition.grid
    whole, half = answer(
        content,
        cells_box(grid, top, bottom, left, right),
        shapely.box(*_left_half(cells_box(grid, top, bottom, left, right))),
    )
    assert (whole.model, whole.notes) == (0.0, (EXACT,))
    assert half.notes == (CUT_UNEVENLY,)
    assert half.model == pytest.approx(UNEVEN_ERRORS * whole.estimate / 2, rel=1e-6)
    assert half.margin == pytest.approx(math.hypot(half.noise, half.model or 0.0))


def _left_half(box: Any) -> tuple[float, float, float, float]:
    west, south, east, north = box.bounds
    return west, south, (west + east) / 2, north


def test_a_trees_counts_are_added_up_from_their_own_level_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To add up the counts of a tree's level, the sum starts at that level, not at the leaves.

    If it started at the leaves for every level, every first visitor of a map with a million squares
    in eleven levels would have to wait.
    """
    content = released("quadtree")
    levels = int(content.content.level.max()) + 1  # type: ignore[attr-defined]
    lowest: list[int | None] = []
    add_up = BoxTree.up

    def counted(tree: BoxTree, values: Any, lowest_level: Any = None) -> Any:
        lowest.append(lowest_level)
        return add_up(tree, values, lowest_level)

    monkeypatch.setattr(BoxTree, "up", counted)
    assert Ranges(content, layer="partitions").answer([content.area.shape])
    assert [each for each in lowest if each is not None] == list(range(levels))
    assert lowest.count(None) == 2, "The ground and the counts are added up from the leaves."


def test_overlapping_zones_are_not_added_up() -> None:
    content = released("zones")
    counts = content.content.counts  # type: ignore[attr-defined]
    west, middle, east, centre = counts
    (whole,) = answer(content, AREA.shape)
    assert whole.estimate == pytest.approx(west + middle + east)
    shapes = DOMAIN.layer("wards", Zones).shapes
    (one,) = answer(content, shapes[3])
    assert one.estimate == pytest.approx(centre)
    assert (one.areas, one.exact) == (1, True)


def test_releases_without_counted_regions_are_refused() -> None:
    with pytest.raises(Conflict, match="no counts of areas"):
        Ranges(clusters_release())


@pytest.mark.parametrize("key", GRIDS)
def test_the_margin_is_that_of_one_noise_for_each_count(key: str) -> None:
    content = released(key, noisy=True)
    layer = "partitions" if key in INFERRED else ""
    (only,) = Ranges(content, layer=layer).answer([AREA.shape])
    noises = {line.noise for line in content.trace if isinstance(line.noise, DiscreteLaplace)}
    least = min(margin_of_sum({noise: only.areas}) for noise in noises)
    assert only.margin >= least
