"""Public layers: declared once, returned unchanged, and protected while in use."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from dpgeo.accounts.models import Role
from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.datasets import layer_documents, layers
from dpgeo.datasets.layer_declaration import PublicSource
from dpgeo.datasets.layers import (
    domain_of,
    layer_kinds,
    public_layer_add,
    public_layer_remove,
)
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.datasets.services import dataset_discard
from dpgeo.datasets.storage import private_storage
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_run
from dpgeo.spatial.zones import Zones
from tests.makers import (
    SOURCE,
    make_dataset,
    make_organisation,
    make_ready,
    make_release,
    make_user,
)
from tests.web.api import program_of
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db


def wards(dataset: Dataset) -> dict[str, Any]:
    """Return a layer of zones: two halves of a dataset's area, and one zone elsewhere."""
    west, south, east, north = dataset.area.bounds
    middle = (west + east) / 2
    sides = {"w": (west - 1, middle), "e": (middle, east + 1), "far": (east + 2, east + 3)}
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"key": key, "name": f"Ward {key}"},
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [
                        [[a, south], [b, south], [b, north], [a, north], [a, south]],
                    ],
                },
            }
            for key, (a, b) in sides.items()
        ],
    }


def add(dataset: Dataset, **changes: Any) -> PublicLayer:
    fields: dict[str, Any] = {
        "dataset": dataset,
        "name": "wards",
        "kind": "zones",
        "title": "Wards of 2026",
        "file": io.BytesIO(json.dumps(wards(dataset)).encode()),
        "created_by": None,
    }
    return public_layer_add(**{**fields, **changes})


def stored() -> set[str]:
    folder = Path(private_storage().path("layers"))
    return {each.name for each in folder.iterdir()} if folder.exists() else set()


def test_a_layer_is_stored_whole_and_cut_to_the_area_when_used() -> None:
    dataset = make_dataset()
    layer = add(dataset)
    assert (layer.features, len(layer.sha256)) == (3, 64)
    assert layer_kinds(dataset) == {"wards": LayerKind.ZONES}
    zones = domain_of(dataset, ["wards"]).layer("wards", Zones)
    assert zones.keys == ("w", "e")
    assert zones.names == ("Ward w", "Ward e")
    assert domain_of(dataset).layers == {}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": "a b"}, "name", "letters, digits"),
        ({"name": ""}, "name", "is required"),
        ({"name": "a" * 61}, "name", "at most 60"),
        ({"kind": "lakes"}, "kind", "choose from density, places, zones"),
        ({"title": "x" * 201}, "title", "201 characters"),
        ({"file": io.BytesIO(b"\xff\xfe")}, "file", "UTF-8"),
        ({"file": io.BytesIO(b"{")}, "file", "Is not GeoJSON"),
        ({"file": io.BytesIO(b"[]")}, "file", "FeatureCollection"),
        ({"file": io.BytesIO(b"[" * 200_000)}, "file", "GeoJSON"),
        ({"file": io.BytesIO(b'{"a": NaN}')}, "file", "NaN"),
        ({"key_property": "nothing"}, "file", "first feature has: key, name"),
    ],
)
def test_an_invalid_layer_is_refused_and_not_stored(
    changes: dict[str, Any], field: str, words: str
) -> None:
    before = stored()
    with pytest.raises(InvalidInput, match=words) as refusal:
        add(make_dataset(), **changes)
    assert refusal.value.field == field
    assert stored() == before
    assert not PublicLayer.objects.exists()


def test_zones_outside_the_study_area_are_refused() -> None:
    dataset = make_dataset()
    document = wards(dataset)
    document["features"] = document["features"][2:]
    with pytest.raises(InvalidInput, match="No zone touches"):
        add(dataset, file=io.BytesIO(json.dumps(document).encode()))


def test_a_name_is_used_once_and_a_file_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make_dataset()
    add(dataset)
    with pytest.raises(InvalidInput, match="a layer 'wards' already"):
        add(dataset)
    monkeypatch.setattr(layers, "MAX_LAYERS", 1)
    with pytest.raises(Conflict, match="at most 1 layers"):
        add(dataset, name="tracts")
    monkeypatch.setattr(layer_documents, "MAX_BYTES", 100)
    with pytest.raises(InvalidInput, match="larger than"):
        add(make_dataset(), name="tracts")


def test_only_stewards_declare_and_remove_layers() -> None:
    organisation = make_organisation()
    dataset = make_dataset(organisation=organisation)
    steward = make_user(organisation, Role.STEWARD)
    with pytest.raises(NotAllowed):
        add(dataset, created_by=make_user())
    layer = add(dataset, created_by=steward)
    with pytest.raises(NotAllowed):
        public_layer_remove(layer=layer, by=make_user())
    public_layer_remove(layer=layer, by=steward)
    public_layer_remove(layer=layer, by=steward)
    assert not PublicLayer.objects.exists()
    assert not private_storage().exists(layer.stored_name)


def test_a_layer_used_by_a_release_cannot_be_removed(tmp_path: Path) -> None:
    dataset = make_dataset()
    layer = add(dataset)
    make_ready(dataset, tmp_path)
    make_release(dataset).layers.add(layer)
    with pytest.raises(Conflict, match="has to stay"):
        public_layer_remove(layer=layer, by=None)
    assert private_storage().exists(layer.stored_name)


def test_the_layers_of_a_discarded_dataset_are_deleted() -> None:
    dataset = make_dataset()
    layer = add(dataset)
    dataset_discard(dataset=dataset)
    assert not private_storage().exists(layer.stored_name)


STOPS = """line,stop,lon,lat
1,Harbour,10.05,50.01
1,Market,10.05,50.06
2,Mill,10.09,50.01
"""


def stops(**changes: Any) -> dict[str, Any]:
    """Return a request that declares a layer of places, given as CSV text."""
    return {"name": "stops", "kind": "places", "layer": STOPS, **changes}


def test_the_sensitivity_of_each_level_is_shown_before_anything_is_paid(desk: Desk) -> None:
    dataset, asks = desk.declare(ready=True), program_of(desk)
    body = stops(public_source=SOURCE)
    layer = asks.ask("POST", f"/api/v1/datasets/{dataset.slug}/layers", body, 201)
    assert (layer["kind"], layer["features"]) == ("places", 3)
    parameters = {"people": 10, "places": "stops", "hidden": 1, "clusters": 2}
    request = {"mechanism": "prilocation", "epsilon": "1", "bound": 1, "parameters": parameters}
    address = f"/api/v1/datasets/{dataset.slug}/quote"
    forecast = asks.ask("POST", address, request)["forecast"]
    assert forecast["facts"] == [
        "Hiding stop: two places of one line are up to 5.56 km apart.",
        "Hiding line, stop: two places of one study area are up to 6.25 km apart.",
    ]
    assert "1 of the visible units, such as 2, have a single place" in (forecast["caution"])
    many = {**request, "parameters": {**parameters, "clusters": 4}}
    refusal = asks.ask("POST", address, many, 400)
    assert (refusal["field"], "more than the 3 places" in refusal["detail"]) == ("clusters", True)


def test_zones_are_requested_drawn_and_served(desk: Desk) -> None:
    dataset, asks = desk.declare(ready=True), program_of(desk)
    public_layer_add(
        dataset=dataset,
        name="wards",
        kind="zones",
        title="Wards",
        file=io.BytesIO(json.dumps(wards(dataset)).encode()),
        created_by=None,
        provenance=PublicSource.read(SOURCE),
    )
    request = {"mechanism": "zones", "parameters": {}, "epsilon": "0.5", "bound": 2}
    quote = asks.ask("POST", f"/api/v1/datasets/{dataset.slug}/quote", request)
    assert quote["parameters"] == {"zones": "wards"}
    assert quote["forecast"]["regions"] == 2
    unknown = {**request, "parameters": {"zones": "parks"}}
    refusal = asks.ask("POST", f"/api/v1/datasets/{dataset.slug}/quote", unknown, 400)
    assert (refusal["field"], "choose from wards" in refusal["detail"]) == ("zones", True)
    body = {**request, "dataset": dataset.slug, "title": "Wards", "publish_when_done": True}
    asks.ask("POST", "/api/v1/releases", body, 202, Idempotency_Key="one")
    release = Release.objects.get()
    release_run(release_id=release.pk)
    assert asks.ask("POST", "/api/v1/releases", body, 200, Idempotency_Key="one")
    shown = asks.ask("GET", f"/api/v1/releases/{release.pk}")
    assert (shown["kind"], shown["parameters"]) == ("zones", {"zones": "wards"})
    assert {"zones.geojson", "zones.csv", "zones.parquet"} <= {f["name"] for f in shown["files"]}
    with pytest.raises(Conflict, match="has to stay"):
        public_layer_remove(layer=dataset.layers.get(), by=None)
    for page in (f"/maps/{release.pk}/", f"/maps/{release.pk}/privacy/"):
        assert desk.client.get(page).status_code == 200, page
