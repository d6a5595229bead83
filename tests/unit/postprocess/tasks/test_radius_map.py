"""Radius maps: levels, bands, unreachable areas, and areas across the antimeridian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.plan import Tasks, plan_tasks
from dpgeo.postprocess.tasks.radius_map import (
    MAX_LINES,
    Lattice,
    RadiusMap,
    levels_between,
    radius_map,
)
from dpgeo.postprocess.tasks.settings import Conditions, Settings
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.unit.postprocess.tasks.surfaces import AREA, surface_of, two_towns

REWARD = 4.0

ACROSS = StudyArea(
    shapely.MultiPolygon([shapely.box(179.6, -17, 180, -16.4), shapely.box(-180, -17, -179.5, -16)])
)


def conditions(**changes: Any) -> Conditions:
    facts: dict[str, Any] = {
        "target": 0.9,
        "willingness": 50.0,
        "least_reward": 1.0,
        "travel_metres": 3000.0,
        "worker_share": 0.2,
    }
    return Conditions(**{**facts, **changes})


def drawn(
    surface: DensitySurface, area: StudyArea = AREA, points: int = 32, **changes: Any
) -> RadiusMap:
    return radius_map(surface, area, Lattice.over(area, points), REWARD, conditions(**changes))


def planned_radii(
    surface: DensitySurface, area: StudyArea, place: np.ndarray, **changes: Any
) -> np.ndarray:
    tasks = Tasks(longitude=place[:, 0], latitude=place[:, 1], reward=np.full(len(place), REWARD))
    whole = Settings(**dict(conditions(**changes)), total_reward=0.0)
    return plan_tasks(surface, area, tasks, whole).radius


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
    assert len(levels) <= MAX_LINES


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
