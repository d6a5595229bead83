"""Range answers for polygons of any shape, checked by clipping every box with shapely."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import CountNoise
from dpgeo.core.released import Released, TreeRelease
from dpgeo.postprocess import areas, zone_areas
from dpgeo.postprocess.noise_sums import margin_of_shares, margin_of_sum
from dpgeo.postprocess.ranges import Ranges
from dpgeo.postprocess.tree_areas import NOISE_ERRORS
from dpgeo.spatial.coverage import Lines, as_array, coverage, edges_of
from dpgeo.spatial.grid import Grid
from tests.conformance.cases import AREA
from tests.unit.postprocess.test_ranges import released

WEST, SOUTH, EAST, NORTH = AREA.bounds
SIDE = max(EAST - WEST, NORTH - SOUTH)


def star(random: np.random.Generator, reach: float) -> Any:
    """Return a polygon with spikes, which may lie partly outside the study area."""
    corners = int(random.integers(4, 120))
    angle = np.sort(random.uniform(0, 2 * np.pi, corners))
    radius = reach * random.uniform(0.05, 1, corners)
    x = random.uniform(WEST - SIDE / 10, EAST + SIDE / 10) + radius * np.cos(angle)
    y = random.uniform(SOUTH - SIDE / 10, NORTH + SIDE / 10) + radius * np.sin(angle) * 0.7
    return shapely.make_valid(shapely.polygons(np.column_stack([x, y])))


def polygons(number: int = 40) -> list[Any]:
    """Return random polygons and the area itself.

    The polygons include some with holes, some with several parts, slivers and boxes.
    """
    random = np.random.default_rng(5)
    drawn: list[Any] = [AREA.shape, shapely.box(WEST - 1, SOUTH - 1, EAST + 1, NORTH + 1)]
    for index in range(number):
        shape = star(random, SIDE * random.uniform(0.01, 0.8))
        if index % 4 == 1:
            shape = shape.difference(star(random, SIDE / 5))
        if index % 4 == 2:
            shape = shape.union(star(random, SIDE / 8))
        if index % 4 == 3:
            at = random.uniform(WEST, EAST)
            width = SIDE * 10 ** -random.uniform(1, 7)
            shape = shapely.box(at, SOUTH - 1, at + width, random.uniform(SOUTH, NORTH))
        if shape.geom_type in {"Polygon", "MultiPolygon"} and shape.area > 0:
            drawn.append(shape)
    return drawn


def nodes_used(content: Any, mechanism: str) -> tuple[NDArray[Any], ...]:
    """Return the boxes that answers add up, their counts, and the index of each box's noise.

    The index is that among the noise distributions of the release.
    """
    if isinstance(content, TreeRelease):
        leaf = ~np.isin(np.arange(len(content.parent)), content.parent)
        return content.boxes[leaf], content.counts[leaf], content.level[leaf]
    if mechanism == "dpcube":
        return content.boxes, content.totals, np.zeros(len(content.boxes), dtype=int)
    if mechanism == "sparse-grid":
        row, column = np.divmod(content.cells, content.grid.columns)
        counts = content.counts
    else:
        row, column = np.divmod(np.arange(content.grid.size), content.grid.columns)
        counts = content.counts.ravel()
    boxes = np.column_stack([row, row + 1, column, column + 1])
    return boxes, counts, np.zeros(len(boxes), dtype=int)


def expected(given: Released, region: Any) -> tuple[float, float, int, int]:
    """Return an answer's estimate and margin, found by clipping every box to the region.

    Also returns how many boxes intersect the region, and how many of these it cuts.
    """
    content: Any = given.content
    boxes, counts, noise = nodes_used(content, given.mechanism)
    noises = getattr(content, "noises", None) or [
        getattr(content, "totals_noise", None) or content.noise
    ]
    shapes = areas.squares(content.grid, boxes)
    within = shapely.intersection(region, AREA.shape)
    share = areas.clipped_shares(shapes, as_array([within] * len(shapes)), AREA)
    whole, cut = share == 1, (share > 0) & (share < 1)
    wholes: dict[CountNoise, int] = {}
    for each in noise[whole]:
        wholes[noises[each]] = wholes.get(noises[each], 0) + 1
    scales = np.array([each.scale for each in noises])[noise]
    if not cut.any():
        margin = float(margin_of_sum(wholes))
    else:
        spread = [each.scale * number**0.5 for each, number in wholes.items()]
        margin = margin_of_shares(
            np.concatenate([spread, scales[cut]]),
            np.concatenate([np.ones(len(spread)), share[cut]]),
            noises[0].tail(0.025),
        )
    return float(counts @ share), margin, int(whole.sum() + cut.sum()), int(cut.sum())


@pytest.mark.parametrize("key", ["uniform-grid", "dpcube", "privtree", "sparse-grid"])
def test_answers_are_those_of_clipping_every_box(key: str) -> None:
    content = released(key, noisy=True, **({"threshold": 5} if key == "sparse-grid" else {}))
    regions = polygons()
    for region, actual in zip(regions, Ranges(content).answer(regions), strict=True):
        estimate, margin, number, cut = expected(content, region)
        assert (actual.areas, actual.cut) == (number, cut)
        if not number:
            assert math.isnan(actual.estimate)
            continue
        assert actual.estimate == pytest.approx(estimate, rel=1e-7, abs=1e-6)
        assert actual.noise == pytest.approx(margin, rel=1e-7)


@pytest.mark.parametrize("key", ["adaptive-grid", "quadtree"])
def test_inferred_answers_of_trees_are_those_of_clipping_every_leaf(key: str) -> None:
    content = released(key, noisy=True)
    tree: Any = content.content
    precision = np.array([1 / noise.variance for noise in tree.noises])[tree.level]
    leaves = np.setdiff1d(np.arange(len(tree.parent)), tree.parent)
    shapes = areas.squares(tree.grid, tree.boxes[leaves])
    # What to expect, from the normal equations of least squares: a node's noisy count is the sum of
    # its leaves plus noise.
    below = np.zeros((len(tree.parent), len(leaves)))
    below[leaves, np.arange(len(leaves))] = 1
    for node in range(len(tree.parent) - 1, -1, -1):
        if tree.parent[node] >= 0:
            below[tree.parent[node]] += below[node]
    covariance = np.linalg.inv(below.T @ (precision[:, None] * below))
    value = covariance @ below.T @ (precision * tree.counts)
    regions = polygons(12)
    for region, actual in zip(regions, Ranges(content).answer(regions), strict=True):
        within = shapely.intersection(region, AREA.shape)
        if actual.reason:
            continue
        share = areas.clipped_shares(shapes.copy(), as_array([within] * len(shapes)), AREA)
        assert actual.estimate == pytest.approx(share @ value, rel=1e-6, abs=1e-5)
        deviation = math.sqrt(share @ covariance @ share)
        assert actual.noise == pytest.approx(NOISE_ERRORS * deviation, rel=1e-3)
        uneven = share * (1 - share) @ np.square(np.maximum(value, 0))
        assert actual.model == pytest.approx(areas.UNEVEN_ERRORS * math.sqrt(uneven), rel=1e-5)


@pytest.mark.parametrize("cells", [1, 7, 64])
def test_the_coverage_of_every_cell_is_exact(cells: int) -> None:
    grid = Grid.over(AREA, cells)
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    shapes = areas.squares(grid, np.column_stack([row, row + 1, column, column + 1]))
    ground = areas.ground_of(shapes)
    regions = as_array([shapely.intersection(each, AREA.shape) for each in polygons(20)])
    regions = regions[shapely.area(regions) > 0]
    lines, edges = Lines(grid), edges_of(regions)
    covered = coverage(lines, edges, len(regions))
    assert len(covered.pieces.row) <= edges.pieces(lines)
    shares = np.zeros((len(regions), grid.size))
    shares[covered.polygon, covered.cell] = covered.share
    for polygon, start, end in zip(*covered.runs, strict=True):
        shares[polygon, start:end] = 1
    for index, region in enumerate(regions):
        clipped = areas.ground_of(shapely.intersection(shapes, region)) / ground
        np.testing.assert_allclose(shares[index], clipped, atol=1e-9)


@pytest.mark.parametrize("key", ["uniform-grid", "privtree", "zones"])
def test_outlines_that_would_take_too_long_are_refused_before_work_starts(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Ranges(released(key))
    monkeypatch.setattr(areas, "MAX_PIECES", 50)
    monkeypatch.setattr(zone_areas, "MAX_CLIPPED_PIECES", 5)
    monkeypatch.setattr(areas, "coverage", None)
    monkeypatch.setattr(zone_areas, "clipped_shares", None)
    with pytest.raises(InvalidInput, match="simplify it to fewer corners"):
        answers.answer([AREA.shape])
