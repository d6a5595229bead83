"""The owners' pages that lead to averages by district, maps by category and weekly profiles."""

from __future__ import annotations

import io
import json

import pytest

from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.provenance import PublicSource
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.web.desk import Desk, make_desk

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def declared(desk: Desk) -> Dataset:
    """Return a dataset with a measure, a category, times, and a district that is half its area."""
    dataset = desk.declare(ready=True)
    dataset.measures = [
        {"column": "speed", "title": "Speed", "unit": "km/h", "low": 0, "high": 9, "steps": 1000}
    ]
    dataset.categories = [{"column": "mode", "title": "Mode", "values": ["walk", "bike"]}]
    dataset.columns = {**dataset.columns, "time": "seen"}
    dataset.save()
    west, south, east, north = dataset.bounds
    half = StudyArea.from_bounds(west, south, (west + east) / 2, north).to_geojson()
    feature = {"type": "Feature", "properties": {"key": "w", "name": "West"}, "geometry": half}
    document = {"type": "FeatureCollection", "features": [feature]}
    source = {"name": "Office", "url": "https://office.example/d", "date": "2026-01-01"}
    public_layer_add(
        dataset=dataset,
        name="districts",
        kind="zones",
        title="Districts",
        file=io.BytesIO(json.dumps(document).encode()),
        created_by=None,
        key_property="key",
        name_property="name",
        provenance=PublicSource.read(source, field="public_source"),
    )
    return dataset


def test_the_column_of_a_map_is_chosen_and_named_before_it_is_paid(desk: Desk) -> None:
    dataset = declared(desk)
    dataset.measures = [
        *dataset.measures,
        {"column": "rent", "title": "Rent", "unit": "EUR", "low": 0, "high": 3, "steps": 1000},
    ]
    dataset.save()
    at = f"/desk/datasets/{dataset.slug}/map"
    asked = desk.page(f"{at}/cost/?kind=averages&total=2&column=rent")
    assert '<option value="rent" selected>Rent, EUR</option>' in asked
    assert "Which column" not in desk.page(f"{at}/cost/?kind=category&total=2")
    first, second = (
        desk.client.get(f"{at}/publish/?kind=averages&total=2&column={column}")
        for column in ("speed", "rent")
    )
    assert "<dd>Rent, EUR</dd>" in second.content.decode()
    sent = {"title": "Rents", "licence": "CC BY 4.0", "token": first.context["token"]}
    changed = desk.client.post(f"{at}/publish/?kind=averages&total=2&column=rent", sent)
    assert changed.status_code == 422
    assert not Release.objects.exists()
    sent["token"] = second.context["token"]
    desk.client.post(f"{at}/publish/?kind=averages&total=2&column=rent", sent)
    assert Release.objects.get().request.parameters["measure"] == "rent"
