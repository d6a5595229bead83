"""Radius maps: levels, bands, unreachable areas, and areas across the antimeridian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.plan import Allocation, Model, Reason, Settings, Tasks, plan_tasks
from dpgeo.postprocess.tasks.radius_map import (
    MOST_LINES,
    Lattice,
    RadiusMap,
    levels_between,
    radius_map,
)
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.unit.postprocess.tasks.surfaces import AREA, even_surface, surface_of, two_towns

REWARD = 4.0

ACROSS = StudyArea(
    shapely.MultiPolygon([shapely.box(179.6, -17, 180, -16.4), shapely.box(-180, -17, -179.5, -16)])
)


def settings(**changes: Any) -> Settings:
    facts: dict[str, Any] = {
        "target": 0.9,
        "total_reward": 0.0,
        "willingness": 50.0,
        "least_reward": 1.0,
        "travel_metres": 3000.0,
        "worker_share": 0.2,
    }
    return Settings(**{**facts, **changes})


def drawn(
    surface: DensitySurface, area: StudyArea = AREA, points: int = 32, **changes: Any
) -> RadiusMap:
    return radius_map(surface, area, Lattice.over(area, points), REWARD, settings(**changes))


def planned_radii(
    surface: DensitySurface, area: StudyArea, place: np.ndarray, **changes: Any
) -> np.ndarray:
    tasks = Tasks(longitude=place[:, 0], latitude=place[:, 1], reward=np.full(len(place), REWARD))
    (plan,) = plan_tasks(surface, area, tasks, settings(**changes), [Allocation.UNIFORM])
    return plan.radius


@pytest.mark.parametrize(
    ("low", "high", "levels"),
    [
        (88, 3000, [100, 200, 500, 1000, 2000]),
        (100, 200, []),
        (0.2, 6, [1, 2, 5]),
        (40, 200_000, [2000, 5000, 10_000, 20_000, 50_000, 100_000]),
        (0.1, 0.3, []),
    ],
)
def test_lines_lie_at_steps_of_one_two_and_five(
    low: float, high: float, levels: list[float]
) -> None:
    assert levels_between(low, high) == levels
    assert len(levels) <= MOST_LINES


def test_a_radius_lies_within_the_limits_of_its_band() -> None:
    surface = two_towns()
    drawing = drawn(surface, points=48, travel_metres=8000)
    random = np.random.default_rng(3)
    place = random.uniform((17.9, 59.2), (18.3, 59.4), (600, 2))
    radii = planned_radii(surface, AREA, place, travel_metres=8000)
    number_inside = outside = 0
    for band in drawing.bands:
        inside = shapely.contains_xy(band.shape, place)
        within = (radii[inside] >= band.from_metres) & (radii[inside] <= band.to_metres)
        number_inside += int(inside.sum())
        outside += int((~within).sum())
    assert number_inside > 150
    assert outside <= 0.05 * number_inside


def test_bands_and_what_is_out_of_reach_share_out_the_area() -> None:
    drawing = drawn(two_towns())
    shapes = [*(band.shape for band in drawing.bands), drawing.out_of_reach]
    assert len(shapes) > 4
    assert all(shape.is_valid and shape.geom_type == "MultiPolygon" for shape in shapes)
    assert sum(shape.area for shape in shapes) == pytest.approx(AREA.shape.area, rel=1e-6)
    assert shapely.union_all(shapes).symmetric_difference(AREA.shape).area < 1e-6


def test_where_everybody_is_near_nothing_is_out_of_reach_and_there_is_one_band() -> None:
    drawing = drawn(even_surface(500.0))
    assert drawing.out_of_reach.is_empty
    assert drawing.out_of_reach.geom_type == "MultiPolygon"
    assert len(drawing.bands) - len(drawing.lines) == 1
    assert all(reason == Reason.PLANNED for reason in drawing.reasons.ravel())


def test_a_map_without_anybody_is_one_area_out_of_reach_without_lines() -> None:
    drawing = drawn(even_surface(0.0))
    assert drawing.bands == []
    assert drawing.lines == []
    assert len(drawing.out_of_reach.geoms) == 1
    assert shapely.equals(drawing.out_of_reach, AREA.shape)
    assert set(drawing.reasons.ravel()) == {Reason.NOBODY_NEAR}
    assert np.isnan(drawing.radius).all()


def test_a_radius_beyond_the_travel_limit_is_not_drawn() -> None:
    drawing = drawn(two_towns(), travel_metres=700)
    assert drawing.bands[-1].to_metres == 700
    assert not drawing.out_of_reach.is_empty
    assert np.nanmax(drawing.radius) <= 700


def test_the_circle_model_draws_up_to_one_and_a_half_times_the_travel_limit() -> None:
    drawing = drawn(two_towns(), points=48, model=Model.CIRCLE, travel_metres=3000)
    assert drawing.bands[-1].to_metres == 4500
    assert 3000 < np.nanmax(drawing.radius) <= 4500


def test_only_what_lies_in_the_study_area_is_drawn() -> None:
    corner = shapely.Polygon([(17.9, 59.2), (18.3, 59.2), (17.9, 59.4)])
    area = StudyArea(corner)
    lattice = Lattice.over(area, 40)
    assert 0.4 < lattice.near.mean() < 0.65
    drawing = drawn(two_towns(), area, 40)
    shapes = [*(band.shape for band in drawing.bands), drawing.out_of_reach]
    assert shapely.union_all(shapes).difference(corner.buffer(1e-6)).is_empty
    assert sum(shape.area for shape in shapes) == pytest.approx(corner.area, rel=1e-5)
    lines = shapely.union_all([line.shape for line in drawing.lines])
    assert lines.difference(corner.buffer(1e-6)).is_empty


def people_on(area: StudyArea) -> DensitySurface:
    """Return a surface over the area's grid with the same number of people in each cell."""
    grid = Grid.over(area, 1024)
    return surface_of(grid, np.full(grid.shape, 20_000.0))


def test_an_area_across_the_antimeridian_has_one_lattice_and_bands_on_both_sides() -> None:
    lattice = Lattice.over(ACROSS, 48)
    assert lattice.longitude[0] == 179.6
    assert lattice.longitude[-1] == 180.5
    longitude, _ = lattice.positions
    assert longitude.min() >= -180
    assert longitude.max() <= 180
    surface = people_on(ACROSS)
    drawing = drawn(surface, ACROSS, 48, travel_metres=100_000)
    shapes = [*(band.shape for band in drawing.bands), drawing.out_of_reach]
    assert sum(shape.area for shape in shapes) == pytest.approx(ACROSS.shape.area, rel=1e-5)
    within = shapely.union_all([band.shape for band in drawing.bands])
    west, _, east, _ = within.bounds
    assert (west, east) == (-180, 180)
    # A ring wrongly joined across the antimeridian would be 360 degrees wide.
    assert max(part.bounds[2] - part.bounds[0] for part in within.geoms) < 1


def test_longitudes_begin_after_the_widest_gap_of_the_area() -> None:
    wide = StudyArea(
        shapely.MultiPolygon([shapely.box(-180, 0, -20, 9), shapely.box(20, 0, 180, 9)])
    )
    assert Lattice.over(wide, 8).longitude[-1] == pytest.approx(340)
    narrow = StudyArea.from_bounds(170, 0, 180, 9)
    assert Lattice.over(narrow, 8).longitude[-1] == 180


def test_halving_the_spacing_keeps_every_point_and_fills_planned_cells() -> None:
    corner = shapely.Polygon([(17.9, 59.2), (18.3, 59.2), (17.9, 59.4)])
    lattice = Lattice.over(StudyArea(corner), 12)
    fine = lattice.halved
    np.testing.assert_array_equal(fine.longitude[::2], lattice.longitude)
    np.testing.assert_array_equal(fine.latitude[::2], lattice.latitude)
    np.testing.assert_array_equal(fine.near[::2, ::2], lattice.near)
    near = lattice.near
    whole = near[1:, 1:] & near[1:, :-1] & near[:-1, 1:] & near[:-1, :-1]
    np.testing.assert_array_equal(fine.near[1::2, 1::2], whole)


def test_on_a_map_of_uneven_cells_bands_agree_with_plans() -> None:
    """At most 5 % of places have a planned radius outside the limits of the band they lie in.

    The map is drawn from radii at points one cell apart.
    """
    grid = Grid.over(AREA, 48)
    counts = np.random.default_rng(1).gamma(0.3, 40, grid.shape)
    surface = surface_of(grid, counts)
    place = np.random.default_rng(3).uniform((17.9, 59.2), (18.3, 59.4), (800, 2))
    radii = planned_radii(surface, AREA, place)
    wrong = total = 0
    for band in drawn(surface, points=48).bands:
        inside = shapely.contains_xy(band.shape, place)
        right = (radii[inside] >= band.from_metres) & (radii[inside] <= band.to_metres)
        wrong, total = wrong + int((~right).sum()), total + int(inside.sum())
    assert total > 500
    assert wrong <= 0.05 * total


@pytest.mark.parametrize("points", [1, 65])
def test_a_lattice_has_a_limited_number_of_points(points: int) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Lattice.over(AREA, points)
    assert refusal.value.field == "lattice"


def test_a_narrow_area_has_at_least_two_rows_of_points() -> None:
    lattice = Lattice.over(StudyArea.from_bounds(10, 50, 20, 50.001), 48)
    assert lattice.near.shape == (2, 48)


def test_a_negative_reward_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput) as refusal:
        radius_map(even_surface(), AREA, Lattice.over(AREA, 4), -1.0, settings())
    assert refusal.value.field == "reward"
