"""Maps of notification radii by API: bands, lines, areas where no radius suffices, and the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import clusters_release, contour_release
from tests.web.api import Program
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

SETTINGS = {"willingness": 800, "travel_metres": 9000, "target": 0.9}
REWARD = 6

TASKS_ASKED = 200


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), contour_release(24))


def radius(chosen: Release, status: int = 200, **changes: Any) -> Any:
    body = {"release": chosen.pk, "reward": REWARD, **SETTINGS, **changes}
    return Program().ask("post", "/api/v1/plan/radius", body, status)


def shapes_of(document: dict[str, Any], kind: str) -> list[tuple[dict[str, Any], Any]]:
    return [
        (each["properties"], shapely.geometry.shape(each["geometry"]))
        for each in document["features"]
        if each["properties"]["feature"] == kind
    ]


def positions_in(shape: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random positions (number,) inside a shape in degrees."""
    random = np.random.default_rng(7)
    west, south, east, north = shape.bounds
    longitude = random.uniform(west, east, 100 * number)
    latitude = random.uniform(south, north, 100 * number)
    inside = shapely.contains_xy(shape, longitude, latitude)
    return longitude[inside][:number], latitude[inside][:number]


def test_the_radius_planned_at_a_position_lies_within_its_band(release: Release) -> None:
    """At least 95 % of the radii planned at random positions lie within the map's band there.

    The other positions are within one step of the map's lattice from the border of a band.
    """
    document = radius(release, values=True)
    bands = shapes_of(document, "band")
    longitude, latitude = positions_in(
        shapely.union_all([shape for _, shape in bands]), TASKS_ASKED
    )
    tasks = [
        {"longitude": x, "latitude": y, "reward": REWARD}
        for x, y in zip(longitude.tolist(), latitude.tolist(), strict=True)
    ]
    body = {"release": release.pk, "tasks": tasks, "total_reward": 0, **SETTINGS}
    answer = Program().ask("post", "/api/v1/plan", body, 200)
    borders = shapely.union_all([shape.boundary for _, shape in bands])
    step = max(np.diff(document["points"][axis]).max() for axis in ("longitude", "latitude"))
    outside = 0
    for task in answer["tasks"]:
        here = shapely.Point(task["longitude"], task["latitude"])
        limits = next(limits for limits, shape in bands if shape.intersects(here))
        metres = task["radius_metres"]
        if metres is None or not limits["from_metres"] <= metres <= limits["to_metres"]:
            outside += 1
            assert borders.distance(here) <= step
    assert len(tasks) == TASKS_ASKED
    assert outside <= 0.05 * TASKS_ASKED


def test_bands_and_the_rest_cover_the_study_area_once(release: Release) -> None:
    document = radius(release, travel_metres=4000, worker_share=0.3)
    shapes = [shape for kind in ("band", "out_of_reach") for _, shape in shapes_of(document, kind)]
    assert len(shapes) > 3
    area = shapely.geometry.shape(release.dataset.study_area)
    assert sum(shape.area for shape in shapes) == pytest.approx(area.area, rel=1e-6)
    assert shapely.union_all(shapes).area == pytest.approx(area.area, rel=1e-6)


def test_values_say_radius_people_and_the_reason(release: Release) -> None:
    points = radius(release, values=True, travel_metres=3000, worker_share=0.01)["points"]
    rows, columns = len(points["latitude"]), len(points["longitude"])
    assert max(rows, columns) == 48
    for name in ("radius_metres", "notified", "reason"):
        assert [len(row) for row in points[name]] == [columns] * rows
    for radii, people, reasons in zip(
        points["radius_metres"], points["notified"], points["reason"], strict=True
    ):
        for metres, notified, reason in zip(radii, people, reasons, strict=True):
            assert (metres is None) == (notified is None) == (reason is not None)
    assert {each["reason"] for each in points["reasons"]} & {"too_few_near", "nobody_near"}
    assert "points" not in radius(release)


def test_drafts_and_maps_without_cells_are_refused() -> None:
    dataset = make_dataset()
    draft = install(dataset, contour_release(), published=False)
    assert radius(draft, status=400)["field"] == "release"
    assert "counts of cells" in radius(install(dataset, clusters_release()), status=409)["detail"]
