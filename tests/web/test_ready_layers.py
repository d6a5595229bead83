"""Built-in zones and places from the basemap and public grids, which need no file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpgeo.datasets.models import Dataset
from dpgeo.ground.adding import ground_add
from dpgeo.pages.desk.ready_layers import offered
from fixtures.country import AREA
from tests.unit.ground.files import EXTRACT, TILES
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

DAY_OF_THE_EXTRACT = "2015-07-27"


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed test basemap."""
    folder = tmp_path_factory.mktemp("ground")
    assert ground_add(folder, TILES, name="here", extract=EXTRACT).date == DAY_OF_THE_EXTRACT
    return folder


@pytest.fixture
def desk(ground: Path, settings: Any) -> Desk:
    settings.GROUND_DIR = ground
    return make_desk()


@pytest.fixture
def dataset(desk: Desk) -> Dataset:
    """Declare a dataset whose study area is that in the file AREA."""
    return desk.declare(study_area=json.loads(AREA.read_text()))


def take(desk: Desk, dataset: Dataset, value: str) -> Any:
    address = f"/desk/datasets/{dataset.slug}/ready-layers/"
    return desk.client.post(address, {"ready": value}, follow=True)


@pytest.mark.parametrize(
    ("value", "kind", "fewest"),
    [
        ("points:here:towns", "places", 10),
        ("points:here:stations", "places", 3),
        ("areas:here:park", "zones", 2),
        ("squares:europe:1000", "zones", 160),
        ("squares:switzerland:1000", "zones", 160),
        ("hexagons::8", "zones", 200),
    ],
)
def test_each_offer_makes_a_layer(
    desk: Desk, dataset: Dataset, value: str, kind: str, fewest: int
) -> None:
    if value.startswith("hexagons"):
        pytest.importorskip("h3")
    if value not in dict(offered(dataset.area)):
        pytest.skip("The extract has none.")
    page = take(desk, dataset, value).content.decode()
    layer = dataset.layers.get()
    assert layer.kind == kind
    assert layer.features >= fewest
    assert layer.title in page
    dataset.refresh_from_db()
    assert ("OpenStreetMap" in dataset.attribution) == (":here:" in value)


def test_nothing_else_is_taken(desk: Desk, dataset: Dataset) -> None:
    for value in (
        "",
        "squares:europe:1",
        "squares:mars:1000",
        "areas:here:country",
        "areas:../x:park",
    ):
        assert "Choose one of the layers" in take(desk, dataset, value).content.decode()
    assert not dataset.layers.exists()
