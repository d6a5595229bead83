"""DCAT for open data catalogues; schema.org and a sitemap for search engines."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from django.test import Client
from django.utils import timezone

from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import grid_release, partition_release, sparse_release
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

HOST = "http://testserver"


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), partition_release())


def get(client: Client, address: str) -> Any:
    answer = client.get(address.removeprefix(HOST))
    assert answer.status_code == 200
    return json.loads(answer.content)


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
    for field in statement:
        lacking = {name: value for name, value in statement.items() if name != field}
        assert not validator.is_valid(lacking), field
    assert not validator.is_valid({**statement, "more": 1})


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
    assert updated.endswith("T00:00:00+00:00")
    assert feed.findtext("a:updated", namespaces=names) == updated
    assert "are you in these data, too?" in (entry.findtext("a:summary", namespaces=names) or "")


def test_control_characters_and_markup_in_texts_do_not_break_the_feed(client: Client) -> None:
    release = install(make_dataset())
    Release.objects.filter(pk=release.pk).update(title="a\x0b<b>", description="x\x07 < y")
    feed = ElementTree.fromstring(client.get("/feed.atom").content)  # noqa: S314
    [entry] = feed.iter("{http://www.w3.org/2005/Atom}entry")
    assert entry.findtext("{http://www.w3.org/2005/Atom}title") == "a<b>"
    summary = entry.findtext("{http://www.w3.org/2005/Atom}summary") or ""
    assert html.unescape(summary).startswith("x < y")
