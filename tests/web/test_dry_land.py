"""Study areas without the sea and large lakes, on the owners' pages and through the services."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from django.core.cache import cache
from django.utils import timezone

from dpgeo.artefacts.declarations import CHOICE, choice_words
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets import dry_land
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.services import dataset_update
from dpgeo.ground.regions import region_save
from dpgeo.ground.water import NATURAL_EARTH
from dpgeo.spatial.area import StudyArea
from tests.maps import grid_release
from tests.unit.ground.test_water import LAKE, region
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

SIDES = {"west": "10", "south": "50", "east": "10.5", "north": "50.2"}

TICKED = {**SIDES, "leave_out_water": "on"}

FIRST_COAST, NEXT_COAST = 10.3, 10.4


@pytest.fixture
def desk(tmp_path: Path, settings: Any) -> Desk:
    """Make an organisation with a signed-in administrator, on a site without a basemap."""
    settings.GROUND_DIR = tmp_path
    cache.clear()
    return make_desk()


@pytest.fixture
def coast(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that moves the world's coast to a longitude; the land lies east of it."""

    def move(longitude: float) -> None:
        land = np.array([shapely.box(longitude, 40, 20, 60)], dtype=object)
        monkeypatch.setattr(dry_land, "land_polygons", lambda _: land)

    move(FIRST_COAST)
    return move


def declare(desk: Desk, **typed: str) -> Any:
    """Submit the form of the first step, and return the response."""
    return desk.client.post("/desk/new/", {"organisation": str(desk.organisation.pk), **typed})


@pytest.mark.usefixtures("coast")
def test_water_stays_unless_the_owner_leaves_it_out(desk: Desk) -> None:
    declare(desk, **SIDES)
    dataset = Dataset.objects.get()
    assert dataset.area.bounds == (10.0, 50.0, 10.5, 50.2)
    assert dataset.area_choice == {"drawn": True}


def test_the_area_without_water_is_stored_once_and_never_follows_the_ground(
    desk: Desk, coast: Callable[[float], None]
) -> None:
    page = desk.client.get("/desk/new/").content.decode()
    assert "Leave out the sea and large lakes" in page
    assert "ferries and long bridges" in page
    declare(desk, **TICKED)
    dataset = Dataset.objects.get()
    west, south, east, north = dataset.area.bounds
    assert west == pytest.approx(FIRST_COAST - 2000 / 71_500, abs=1e-3)
    assert (south, east, north) == (50.0, 10.5, 50.2)
    assert dataset.west == west
    assert dataset.area_choice == {"drawn": True, "without_water": [NATURAL_EARTH]}
    before = dataset.study_area
    coast(NEXT_COAST)
    dataset.refresh_from_db()
    dataset_update(dataset=dataset, changes={"title": "Another title", "study_area": before})
    assert dataset.study_area == before


@pytest.mark.usefixtures("coast")
def test_water_of_openstreetmap_is_credited_with_its_licence(desk: Desk, tmp_path: Path) -> None:
    declare(desk, **TICKED)
    assert Dataset.objects.get().attribution == ""
    region_save(tmp_path, region(tmp_path, "water_polygons", {"water": LAKE}))
    credit = "Boundaries © OpenStreetMap contributors, ODbL 1.0"
    declare(desk, **TICKED)
    dataset = Dataset.objects.latest("pk")
    assert not dataset.area.covers([10.07], [50.03]).any()
    assert dataset.attribution == credit
    other = desk.declare(attribution="© The owner")
    changes = {"study_area": StudyArea.from_bounds(10, 50, 10.5, 50.2).to_geojson()}
    dataset_update(dataset=other, changes=changes | {"leave_out_water": True})
    assert other.attribution == f"© The owner; {credit}"


@pytest.mark.usefixtures("coast")
def test_two_owners_with_the_same_outline_get_the_same_area(desk: Desk) -> None:
    declare(desk, **TICKED)
    declare(desk, **TICKED)
    one, other = Dataset.objects.all()
    assert one.study_area == other.study_area


@pytest.mark.usefixtures("coast")
def test_water_can_be_left_out_of_another_area_only_before_any_file(desk: Desk) -> None:
    declare(desk, **SIDES)
    dataset = Dataset.objects.get()
    changes = {"study_area": dataset.study_area, "leave_out_water": True}
    dataset_update(dataset=dataset, changes=changes)
    assert dataset.area.bounds[0] > 10.2
    assert dataset.area_choice == {"without_water": [NATURAL_EARTH]}
    dataset.first_upload_at = timezone.now()
    dataset.save()
    with pytest.raises(InvalidInput) as refused:
        dataset_update(dataset=dataset, changes=changes)
    assert refused.value.field == "leave_out_water"
    edit = desk.client.get(f"/desk/datasets/{dataset.slug}/edit/").content.decode()
    assert "Leave out the sea" not in edit


def test_statements_say_that_water_was_left_out() -> None:
    choice = json.dumps({"drawn": True, "without_water": ["OpenStreetMap, 2026-11-01"]})
    area = StudyArea.from_bounds(10, 50, 10.1, 50.1)
    released = replace(grid_release(area, 4), about={CHOICE: choice})
    *_, words = map(str, choice_words(released))
    assert "left out the sea" in words
    assert "OpenStreetMap, 2026-11-01" in words
    assert "Ferries and bridges" in words
