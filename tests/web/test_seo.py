"""DCAT for open data catalogues; schema.org and a sitemap for search engines."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from django.test import Client
from django.utils import timezone
from PIL import Image

from dpgeo.artefacts.statement_schema import Added12, Added13
from dpgeo.artefacts.view import TIDE
from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import grid_release, partition_release, sparse_release
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

GUESSES = ("verdict", "right_guesses_in_100")
ADDED_14 = (
    ("counts", ("total", "rows")),
    ("guarantee", (*GUESSES, "sentence")),
    ("dataset_guarantee", GUESSES),
)
"""Objects in a privacy statement, each with those of its members that version 1.4 added."""

HOST = "http://testserver"


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), partition_release())


def get(client: Client, address: str) -> Any:
    answer = client.get(address.removeprefix(HOST))
    assert answer.status_code == 200
    return json.loads(answer.content)


def test_catalogues_harvest_every_published_release_page_by_page(client: Client) -> None:
    shown = {install(make_dataset(title=f"Map {number}")).pk for number in range(3)}
    install(make_dataset(title="Draft"), published=False)
    install(make_dataset(title="Gone"), withdrawn=True)
    address, seen, pages = f"{HOST}/api/v1/catalogue?limit=2", [], 0
    while address:
        document = get(client, address)
        seen += [each["dcterms:identifier"] for each in document["dcat:dataset"]]
        address = document["hydra:view"].get("hydra:next", {}).get("@id", "")
        pages += 1
    assert (set(seen), len(seen), pages) == (shown, 3, 2)


def test_a_release_has_the_fields_that_dcat_requires(client: Client, release: Release) -> None:
    answer = client.get("/api/v1/catalogue")
    assert answer["Content-Type"] == "application/ld+json"
    catalogue = json.loads(answer.content)
    assert {"dcterms:title", "dcterms:description", "dcterms:publisher"} <= set(catalogue)
    (dataset,) = catalogue["dcat:dataset"]
    assert dataset["dcterms:title"] == "Evening walks"
    assert dataset["dcterms:issued"]["@value"] == timezone.now().date().isoformat()
    assert dataset["dcterms:spatial"]["dcat:bbox"]["@value"].startswith("POLYGON((4.3 52.0,")
    data = [each for each in release.files.all() if each.kind.layer and not each.kind.style]
    assert len(dataset["dcat:distribution"]) == len(data)
    sized = [each for each in dataset["dcat:distribution"] if "dcat:byteSize" in each]
    assert len(sized) == sum(each.is_made for each in data) > 0
    for distribution in sized:
        got = client.get(distribution["dcat:downloadURL"]["@id"].removeprefix(HOST))
        assert got["Content-Length"] == distribution["dcat:byteSize"]["@value"]
        checksum = distribution["spdx:checksum"]["spdx:checksumValue"]["@value"]
        assert got["ETag"] == f'"{checksum}"'
    prefixes = set(re.findall(r'"([a-z]+):[A-Za-z]+"', json.dumps(catalogue)))
    assert prefixes <= set(catalogue["@context"]) | {"http", "https"}


def test_search_engines_read_a_dataset_in_the_page(client: Client, release: Release) -> None:
    hostile = '</script><script>alert("x")</script> & more'
    Release.objects.filter(pk=release.pk).update(title=hostile)
    text = client.get(f"/maps/{release.pk}/").content.decode()
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.S)
    document = json.loads(block)
    assert document["@type"] == "Dataset"
    assert document["name"] == hostile
    assert document["spatialCoverage"]["geo"]["box"].startswith("52.0 4.3 ")
    assert client.get(document["thumbnailUrl"].removeprefix(HOST)).status_code == 200
    data = [each for each in release.files.all() if each.kind.layer and not each.kind.style]
    assert len(document["distribution"]) == len(data)


def test_dataset_search_reads_all_it_asks_for(client: Client) -> None:
    dataset = make_dataset(
        keywords=["walking"], themes=["TRAN"], covers_from="2026-03-01", contact="w@example.org"
    )
    release = install(dataset, partition_release())
    Release.objects.filter(pk=release.pk).update(description="")
    text = client.get(f"/maps/{release.pk}/").content.decode()
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.S)
    document = json.loads(block)
    assert 50 <= len(document["description"]) <= 5000
    assert document["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert document["keywords"] == ["walking", "Transport"]
    assert document["temporalCoverage"] == "2026-03-01/.."
    assert document["creator"]["contactPoint"]["email"] == "w@example.org"
    assert document["includedInDataCatalog"]["url"] == f"{HOST}/"
    assert document["variableMeasured"]["name"].startswith("Number of")
    assert document["datePublished"] == document["dateModified"]


def test_drafts_are_hidden_from_search_engines(client: Client) -> None:
    draft = install(make_dataset(), published=False)
    assert client.get(f"/maps/{draft.pk}/").status_code == 404
    assert draft.pk not in client.get("/sitemap.xml").content.decode()


def test_the_sitemap_lists_public_pages_by_day(client: Client, release: Release) -> None:
    install(make_dataset(title="Gone"), withdrawn=True)
    root = ElementTree.fromstring(client.get("/sitemap.xml").content)  # noqa: S314
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    listed = {
        each.findtext(f"{space}loc"): each.findtext(f"{space}lastmod")
        for each in root.iter(f"{space}url")
    }
    assert listed == {
        f"{HOST}/": None,
        f"{HOST}/about/privacy/": None,
        f"{HOST}/about/words/": None,
        f"{HOST}/maps/{release.pk}/": timezone.now().date().isoformat(),
    }
    robots = client.get("/robots.txt").content.decode()
    assert f"Sitemap: {HOST}/sitemap.xml" in robots
    assert "Disallow: /desk/" in robots


@pytest.mark.parametrize("make", [grid_release, partition_release, sparse_release])
def test_statements_conform_to_the_schema_that_they_name(client: Client, make: Any) -> None:
    release = install(make_dataset(), make())
    answer = client.get(f"/api/v1/releases/{release.pk}/files/statement.json")
    statement = json.loads(answer.getvalue())
    schema = get(client, statement["schema"])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(statement)
    # `files_on_request` is optional, since older statements of version 1.6 lack it.
    for field in statement.keys() - {"files_on_request"}:
        lacking = {name: value for name, value in statement.items() if name != field}
        assert not validator.is_valid(lacking), field
    assert not validator.is_valid({**statement, "more": 1})


@pytest.mark.parametrize(
    ("version", "added"), [("1.1", (Added12, Added13)), ("1.2", (Added13,)), ("1.3", ())]
)
def test_the_schema_of_earlier_statements_remains(
    client: Client, release: Release, version: str, added: tuple[Any, ...]
) -> None:
    file = client.get(f"/api/v1/releases/{release.pk}/files/statement.json")
    earlier = json.loads(file.getvalue())
    address = f"/api/schemas/privacy-statement-{version}.json"
    for part in added:
        for field in part.__annotations__:
            del earlier[field]
    del (
        earlier["study_area_seen"],
        earlier["files_on_request"],
        earlier["request"],
    )  # new in version 1.6
    promise = earlier["dataset_guarantee"]
    for part, fields in ADDED_14:
        for field in fields:
            del earlier[part][field]
    if version != "1.3":
        promise["odds_factor"] = promise.pop("presence_odds_factor")
    validator = jsonschema.Draft202012Validator(get(client, address))
    validator.validate(earlier | {"version": version, "schema": address})


def test_there_is_no_other_version_of_the_schema(client: Client) -> None:
    assert client.get("/api/schemas/privacy-statement-9.json").status_code == 404


def test_a_link_to_a_map_carries_its_card(client: Client, release: Release) -> None:
    page = client.get(f"/maps/{release.pk}/").content.decode()
    tags = re.compile(r'<meta (?:property|name)="((?:og|twitter):[\w:]+)" content="([^"]*)"')
    head = dict(tags.findall(page))
    assert head["og:image"] == f"{HOST}/api/v1/releases/{release.pk}/files/card.png"
    assert (head["og:image:width"], head["og:image:height"]) == ("1200", "630")
    assert head["og:url"] == f"{HOST}/maps/{release.pk}/"
    assert head["twitter:card"] == "summary_large_image"
    assert f'<link rel="canonical" href="{HOST}/maps/{release.pk}/">' in page
    answer = client.get(head["og:image"].removeprefix(HOST))
    with Image.open(io.BytesIO(answer.getvalue())) as card:
        assert card.size == (1200, 630)
        counted = card.convert("RGB").getcolors(100_000) or []
    assert len({colour for _, colour in counted} & set(TIDE)) > 1


def test_other_sites_can_embed_a_map_by_its_address(client: Client, release: Release) -> None:
    for page in (f"/maps/{release.pk}/", f"/de/maps/{release.pk}/", f"/embed/{release.pk}/"):
        response = client.get("/oembed", {"url": HOST + page})
        document = response.json()
        assert (document["type"], document["version"]) == ("rich", "1.0")
        assert f'<iframe src="{HOST}/embed/{release.pk}/"' in document["html"]
        assert document["thumbnail_url"].endswith("/card.png")
    page = client.get(f"/maps/{release.pk}/").content.decode()
    [address] = re.findall(r'type="application/json\+oembed" title="[^"]*" href="([^"]*)"', page)
    response = client.get(html.unescape(address).removeprefix(HOST)).json()
    assert (response["width"], response["title"]) == (800, document["title"])


@pytest.mark.parametrize(
    ("most", "size", "has_card"),
    [
        ({}, (800, 560), True),
        ({"maxwidth": "500"}, (500, 560), False),
        ({"maxheight": "120"}, (800, 120), False),
        ({"maxwidth": "90", "maxheight": "90"}, (90, 90), False),
        ({"maxwidth": "1200", "maxheight": "630"}, (800, 560), True),
    ],
)
def test_an_embedded_map_is_never_larger_than_asked_for(
    client: Client,
    release: Release,
    most: dict[str, str],
    size: tuple[int, int],
    has_card: bool,
) -> None:
    document = client.get("/oembed", {"url": f"{HOST}/maps/{release.pk}/", **most}).json()
    assert (document["width"], document["height"]) == size
    assert f'width="{size[0]}" height="{size[1]}"' in document["html"]
    assert ("thumbnail_url" in document) == has_card


def test_a_map_has_one_address_in_every_language(client: Client, release: Release) -> None:
    for page in (f"/maps/{release.pk}/", f"/de/maps/{release.pk}/", f"/embed/{release.pk}/"):
        text = client.get(page).content.decode()
        assert re.findall(r'<link rel="canonical" href="([^"]*)"', text) == [
            f"{HOST}/maps/{release.pk}/"
        ]
    for page in ("/", f"/maps/{release.pk}/"):
        [feed] = re.findall(
            r'<link rel="alternate" type="application/atom\+xml"[^>]* href="([^"]*)"',
            client.get(page).content.decode(),
        )
        assert feed == "/feed.atom"


def test_nobody_embeds_a_draft_or_another_site(client: Client, release: Release) -> None:
    draft = install(make_dataset(title="Draft"), published=False)
    for address in (f"{HOST}/maps/{draft.pk}/", f"https://other.example/maps/{release.pk}/", "x"):
        assert client.get("/oembed", {"url": address}).status_code == 404
    mine = {"url": f"{HOST}/maps/{release.pk}/"}
    assert client.get("/oembed", mine | {"format": "xml"}).status_code == 501
    assert client.get("/oembed", mine | {"maxwidth": "1e9"}).status_code == 400


def test_the_feed_lists_published_maps_by_their_day(client: Client, release: Release) -> None:
    install(make_dataset(title="Draft"), published=False)
    answer = client.get("/feed.atom")
    assert answer["Content-Type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.content)  # noqa: S314 - our own answer
    names = {"a": "http://www.w3.org/2005/Atom"}
    [entry] = feed.findall("a:entry", names)
    assert entry.findtext("a:id", namespaces=names) == f"{HOST}/maps/{release.pk}/"
    updated = entry.findtext("a:updated", namespaces=names) or ""
    assert updated.endswith("T00:00:00Z")
    assert feed.findtext("a:updated", namespaces=names) == updated
    assert "are you in these data, too?" in (entry.findtext("a:summary", namespaces=names) or "")
