"""OGC API - Features: the standard's requirements, hidden drafts, and GDAL as a client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import geopandas
import jsonschema
import numpy as np
import pytest
import shapely
from django.test import Client

from dpgeo.api.ogc.description import description
from dpgeo.api.ogc.systems import CRS84, EPSG_3857, EPSG_4326
from dpgeo.artefacts.files import build_files
from dpgeo.releases.models import Release, make_public_id
from dpgeo.spatial.projection import to_mercator
from tests.makers import ask_for
from tests.unit.artefacts.releases import (
    grid_release,
    partition_release,
)
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

HOST = "http://testserver"


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), partition_release())


def get(client: Client, address: str, status: int = 200, **headers: str) -> Any:
    """Return the JSON of a response; check that it has the expected status."""
    answer = client.get(address.removeprefix(HOST), headers=headers)
    assert answer.status_code == status, (address, answer.content[:500])
    return json.loads(answer.content)


def items(release: Release, layer: str = "estimate") -> str:
    return f"/ogc/collections/{release.pk}.{layer}/items"


def by_relation(document: dict[str, Any], relation: str) -> list[dict[str, Any]]:
    return [link for link in document["links"] if link["rel"] == relation]


def table_of(name: str, folder: Path) -> geopandas.GeoDataFrame:
    built = {each.name: each.path for each in build_files(partition_release(), folder)}
    return geopandas.read_parquet(built[name])


def test_every_link_leads_somewhere_and_says_its_type(client: Client, release: Release) -> None:
    ask_for(release)
    documents = [
        get(client, address)
        for address in ("/ogc/", "/ogc/conformance", "/ogc/collections", items(release))
    ]
    documents += documents[2]["collections"]
    documents.append(get(client, f"{items(release)}/3"))
    seen = 0
    for document in documents:
        assert by_relation(document, "self")
        assert by_relation(document, "alternate")
        for link in document["links"]:
            answer = client.get(link["href"].removeprefix(HOST))
            assert answer.status_code == 200, link
            assert answer["Content-Type"].partition(";")[0] == link["type"].partition(";")[0]
            seen += 1
    assert seen > 30


def test_features_are_those_of_the_file(client: Client, release: Release, tmp_path: Path) -> None:
    expected = table_of("estimate.parquet", tmp_path)
    document = get(client, f"{items(release)}?limit=10000")
    assert document["numberMatched"] == document["numberReturned"] == len(expected)
    table = geopandas.GeoDataFrame.from_features(document["features"], crs="EPSG:4326")
    assert table["estimate"].tolist() == expected["estimate"].tolist()
    assert table.geometry.geom_equals_exact(expected.geometry, 0).all()
    assert [each["id"] for each in document["features"]] == list(range(len(expected)))


def test_pages_follow_each_other_to_the_last(client: Client, release: Release) -> None:
    address, seen = f"{items(release)}?limit=7", []
    while address:
        document = get(client, address)
        assert document["numberReturned"] == len(document["features"]) <= 7
        seen += [each["id"] for each in document["features"]]
        address = "".join(link["href"] for link in by_relation(document, "next"))
    assert seen == list(range(document["numberMatched"]))


@pytest.mark.parametrize("limit", [3, 1000])
def test_a_box_contains_exactly_the_features_that_touch_it(
    client: Client, release: Release, tmp_path: Path, limit: int
) -> None:
    expected = table_of("estimate.parquet", tmp_path)
    west, south, east, north = expected.total_bounds
    box = (west + (east - west) / 3, south, west + (east - west) / 2, south + (north - south) / 2)
    inside = expected.cx[box[0] : box[2], box[1] : box[3]]
    assert 0 < len(inside) < len(expected)
    for text in (",".join(map(str, box)), f"{box[0]},{box[1]},-9,{box[2]},{box[3]},9"):
        address, seen = f"{items(release)}?limit={limit}&bbox={text}", []
        while address:
            document = get(client, address)
            seen += [each["id"] for each in document["features"]]
            address = "".join(link["href"] for link in by_relation(document, "next"))
        assert seen == inside.index.tolist()


@pytest.mark.parametrize("state", ["draft", "withdrawn", "rejected"])
def test_only_published_releases_have_collections(client: Client, state: str) -> None:
    hidden = install(
        make_dataset(),
        published=False,
        withdrawn=state == "withdrawn",
        rejected=state == "rejected",
    )
    assert get(client, "/ogc/collections")["collections"] == []
    status = 410 if state == "withdrawn" else 404
    for tail in ("", "/items", "/items/0"):
        get(client, f"/ogc/collections/{hidden.pk}.cells{tail}", status)


def test_answers_fit_the_description(client: Client, release: Release) -> None:
    document = get(client, "/ogc/api")
    assert document == description(f"{HOST}/ogc")
    schemas = json.loads(json.dumps(document["components"]).replace('"nullable": true', '"x": 1'))
    answers = {
        "LandingPage": "/ogc/",
        "Conformance": "/ogc/conformance",
        "Collections": "/ogc/collections",
        "Collection": f"/ogc/collections/{release.pk}.estimate",
        "FeatureCollection": items(release),
        "Feature": f"{items(release)}/0",
        "Problem": "/ogc/none",
    }
    for name, address in answers.items():
        root = {"$ref": f"#/components/schemas/{name}", "components": schemas}
        answer = json.loads(client.get(address).content)
        jsonschema.Draft7Validator(root).validate(answer)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(root).validate({"features": []})


def test_features_come_in_the_coordinate_system_asked_for(
    client: Client, release: Release, tmp_path: Path
) -> None:
    table = table_of("estimate.parquet", tmp_path).iloc[:5]
    for system, expected in (
        (CRS84, table.geometry),
        (EPSG_4326, table.geometry.map(lambda shape: shapely.transform(shape, np.fliplr))),
        (EPSG_3857, table.geometry.to_crs(3857)),
    ):
        answer = client.get(items(release), {"limit": "5", "crs": system})
        assert answer["Content-Crs"] == f"<{system}>"
        shapes = [
            shapely.from_geojson(json.dumps(each["geometry"]))
            for each in json.loads(answer.content)["features"]
        ]
        assert shapely.equals_exact(shapes, expected.to_numpy(), 0.02).all()
        one = client.get(f"{items(release)}/3", {"crs": system})
        assert shapely.from_geojson(json.dumps(json.loads(one.content)["geometry"])) == shapes[3]


def test_a_box_may_be_in_another_coordinate_system(client: Client, release: Release) -> None:
    west, south, east, north = 4.45, 52.05, 4.6, 52.2
    box = f"{west},{south},{east},{north}"
    wanted = [each["id"] for each in features(client, release, bbox=box)]
    assert 0 < len(wanted) < 36
    (left, right), (low, top) = to_mercator([west, east], [south, north])
    for system, sides in (
        (EPSG_4326, (south, west, north, east)),
        (EPSG_3857, (left, low, right, top)),
    ):
        text = ",".join(map(str, sides))
        ids = features(client, release, **{"bbox": text, "bbox-crs": system})
        assert [each["id"] for each in ids] == wanted


def features(client: Client, release: Release, **query: str) -> list[dict[str, Any]]:
    answer = client.get(items(release), {"limit": "1000", **query})
    assert answer.status_code == 200, answer.content
    members: list[dict[str, Any]] = json.loads(answer.content)["features"]
    return members


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("estimate >= threshold", "estimate >= threshold"),
        (
            "estimate > 20 AND NOT (row = 3 OR column < 2)",
            "estimate > 20 and not (row == 3 or column < 2)",
        ),
        ("row between 2 and 3", "2 <= row <= 3"),
        ("row NOT IN (2, 3)", "row not in (2, 3)"),
        ("margin_label LIKE 'nom%'", "margin_label == 'nominal'"),
        ("margin_label <> 'it''s'", "margin_label == margin_label"),
        ('"estimate" < -1.5e0', "estimate < -1.5"),
        ("estimate IS NULL", "estimate != estimate"),
        ("TRUE = TRUE", "estimate == estimate"),
        ("TRUE AND row = 3", "row == 3"),
        ("DATE('2026-01-31') < date('2026-02-01') AND row = 3", "row == 3"),
        ("DATE('2026-01-31') IN (DATE('2026-02-01')) OR row = 2", "row == 2"),
        (
            "TIMESTAMP('2026-01-31T23:59:59.5Z') BETWEEN TIMESTAMP('2026-01-31T23:59:59Z') "
            "AND TIMESTAMP('2026-02-01T00:00:00Z') AND row = 3",
            "row == 3",
        ),
    ],
)
def test_a_filter_leaves_the_features_for_which_it_is_true(
    client: Client, release: Release, text: str, same: str, tmp_path: Path
) -> None:
    table = table_of("estimate.parquet", tmp_path)
    table["row"], table["column"] = table["row"].astype(int), table["column"].astype(int)
    wanted = table.drop(columns="geometry").query(same, engine="python").index.tolist()
    assert [each["id"] for each in features(client, release, filter=text)] == wanted
    if len(wanted) > 4:
        first = get(client, f"{items(release)}?{urlencode({'filter': text, 'limit': 3})}")
        assert "numberMatched" not in first
        (following,) = by_relation(first, "next")
        assert get(client, following["href"])["features"][0]["id"] == wanted[3]


def test_ids_never_begin_with_a_hyphen(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["-a", "-b", "c-"])
    monkeypatch.setattr("dpgeo.releases.models.secrets.token_urlsafe", lambda _: next(ids))
    assert make_public_id() == "c-"


GDAL = """
import json, sys, geopandas, pyogrio
source, copy = sys.argv[1:]
layers = pyogrio.list_layers(source)[:, 0].tolist()
name = next(name for name in layers if name.endswith(".estimate"))
found = geopandas.read_file(source, layer=name, PAGE_SIZE=7)
found.to_parquet(copy)
west, south, _, north = found.total_bounds
part = geopandas.read_file(source, layer=name, bbox=(west, south, west + 1e-4, north))
print(json.dumps({"layers": layers, "part": len(part)}))
"""
"""Script that reads with GDAL in a separate process.

GDAL holds the interpreter's lock while it waits, so a server in the same process could not answer.
"""


@pytest.mark.django_db(transaction=True)
def test_gdal_reads_every_collection_as_qgis_does(live_server: Any, tmp_path: Path) -> None:
    for released in (partition_release(), grid_release()):
        install(make_dataset(title=released.mechanism), released)
    copy = tmp_path / "copy.parquet"
    words = [sys.executable, "-c", GDAL, f"OAPIF:{live_server.url}/ogc/", str(copy)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    layers = {name.partition(".")[2] for name in seen["layers"]}
    assert layers == {"cells", "estimate", "partitions"}
    table, expected = geopandas.read_parquet(copy), table_of("estimate.parquet", tmp_path)
    assert np.array_equal(table["estimate"], expected["estimate"])
    assert np.array_equal(table["margin"], expected["margin"])
    assert table.crs is not None
    assert table.geometry.geom_equals_exact(expected.geometry, 1e-9, align=False).all()
    assert 0 < seen["part"] < len(expected)
