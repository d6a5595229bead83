"""OGC API - Features: the standard's requirements, hidden drafts, GDAL as client."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import geopandas
import jsonschema
import numpy as np
import pytest
from django.test import Client

from dpgeo.api.ogc.description import description
from dpgeo.artefacts.files import build_files
from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import grid_release, partition_release
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

HOST = "http://testserver"


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), partition_release())


def get(client: Client, address: str, status: int = 200, **headers: str) -> Any:
    """Return the JSON of an answer with the expected status."""
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


def test_clients_find_everything_from_the_landing_page(client: Client, release: Release) -> None:
    landing = get(client, "/ogc/")
    (described,) = by_relation(landing, "service-desc")
    assert get(client, described["href"])["openapi"].startswith("3.0")
    (conforming,) = by_relation(landing, "conformance")
    classes = get(client, conforming["href"])["conformsTo"]
    assert {name.rpartition("/")[2] for name in classes} == {"core", "oas30", "html", "geojson"}
    (data,) = by_relation(landing, "data")
    listed = get(client, data["href"])["collections"]
    assert {each["id"] for each in listed} == {f"{release.pk}.partitions", f"{release.pk}.estimate"}
    for each in listed:
        (address, *_) = (link["href"] for link in each["links"] if link["rel"] == "items")
        assert get(client, address)["features"]


def test_a_collection_is_the_same_in_the_list_and_alone(client: Client, release: Release) -> None:
    for listed in get(client, "/ogc/collections")["collections"]:
        (own, *_) = by_relation(listed, "self")
        assert get(client, own["href"]) == listed
        assert listed["crs"] == ["http://www.opengis.net/def/crs/OGC/1.3/CRS84"]
        assert len(listed["extent"]["spatial"]["bbox"][0]) == 4


def test_every_link_leads_somewhere_and_says_its_type(client: Client, release: Release) -> None:
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
    found = geopandas.GeoDataFrame.from_features(document["features"], crs="EPSG:4326")
    assert found["estimate"].tolist() == expected["estimate"].tolist()
    assert found.geometry.geom_equals_exact(expected.geometry, 0).all()
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


def test_a_box_may_cross_the_antimeridian(client: Client, release: Release) -> None:
    everything = get(client, items(release))["numberMatched"]
    around = get(client, f"{items(release)}?bbox=100,-90,50,90&limit=10000")
    assert around["numberReturned"] == everything
    beyond = get(client, f"{items(release)}?bbox=170,-90,-170,90")
    assert beyond["features"] == []


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-31T12:00:00Z",
        "2026-03-31T12:00:00.123456789%2B02:00/..",
        "/2026-03-31T12:00:00Z",
        "2026-01-01/2026-12-31",
    ],
)
def test_counts_without_time_match_every_time(client: Client, release: Release, text: str) -> None:
    document = get(client, f"{items(release)}?datetime={text}")
    assert document["numberMatched"] == get(client, items(release))["numberMatched"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=many", "limit"),
        ("bbox=1,2,3", "bbox"),
        ("bbox=1,2,3,nan", "bbox"),
        ("bbox=1,2,3,1e999", "bbox"),
        ("bbox=0,50,1,40", "bbox"),
        ("bbox=-200,0,200,1", "bbox"),
        ("bbox=", "bbox"),
        ("datetime=yesterday", "datetime"),
        ("datetime=..", "datetime"),
        ("datetime=../..", "datetime"),
        ("datetime=2026-02-30T00:00:00Z", "datetime"),
        ("datetime=2026-12-31/2026-01-01", "datetime"),
        ("datetime=a/b/c", "datetime"),
        ("start=-1", "start"),
        ("f=xml", "f"),
        ("Bbox=1,2,3,4", "Bbox"),
        ("limit=1&limit=2", "limit"),
    ],
)
def test_invalid_parameters_are_refused_by_name(
    client: Client, release: Release, query: str, field: str
) -> None:
    answer = client.get(f"{items(release)}?{query}")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert json.loads(answer.content)["field"] == field


def test_a_limit_above_the_maximum_is_no_error(client: Client, release: Release) -> None:
    assert get(client, f"{items(release)}?limit=1000000000")["features"]
    assert get(client, f"{items(release)}?start=1000000")["features"] == []


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


@pytest.mark.parametrize(
    "tail", ["/none", "/collections/none", "/collections/a.b/items", "/collections/%00.x", "/x/y"]
)
def test_other_addresses_are_not_found(client: Client, release: Release, tail: str) -> None:
    answer = client.get(f"/ogc{tail}")
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    for feature in ("99999", "x", "-1"):
        assert client.get(f"{items(release)}/{feature}").status_code == 404
    assert client.post("/ogc/collections").status_code == 405


def test_browsers_get_pages_with_the_same_content_and_links(
    client: Client, release: Release
) -> None:
    collection = f"/ogc/collections/{release.pk}.estimate"
    for address in ("/ogc/", "/ogc/conformance", "/ogc/collections", collection, items(release)):
        accept = "text/html,application/xhtml+xml,*/*;q=0.8"
        page = client.get(address, headers={"accept": accept})
        assert page["Content-Type"].startswith("text/html")
        assert "Accept" in page["Vary"]
        text = html.unescape(page.content.decode())
        document = get(client, address)
        shown = [link["href"] for link in document["links"]]
        for each in document.get("collections", ()):
            shown += [link["href"] for link in each["links"]]
        for href in shown:
            assert href in text
    first = get(client, items(release))["features"][0]
    assert str(first["properties"]["margin"]) in text
    assert f'"coordinates":{first["geometry"]["coordinates"]}'.replace(" ", "") in text


def test_an_unchanged_answer_is_not_sent_again(client: Client, release: Release) -> None:
    for address in ("/ogc/collections", items(release)):
        answer = client.get(address)
        assert answer["Cache-Control"] == "public, no-cache"
        again = client.get(address, headers={"if-none-match": answer["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


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


def test_the_description_names_every_address(client: Client, release: Release) -> None:
    from dpgeo.api.ogc.urls import urlpatterns

    described = [re.sub(r"{\w+}", "", path).strip("/") for path in description("")["paths"]]
    served = [re.sub(r"<[^>]+>", "", str(each.pattern)) for each in urlpatterns[:-1]]
    assert sorted(described) == sorted(each.strip("/") for each in served)


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
"""Runs in a process of its own, as GDAL holds the interpreter's lock while it waits."""


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
    found, expected = geopandas.read_parquet(copy), table_of("estimate.parquet", tmp_path)
    assert np.array_equal(found["estimate"], expected["estimate"])
    assert np.array_equal(found["margin"], expected["margin"])
    assert found.crs is not None
    assert found.geometry.geom_equals_exact(expected.geometry, 1e-9, align=False).all()
    assert 0 < seen["part"] < len(expected)
