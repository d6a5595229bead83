"""Vector tiles over HTTP, from a release's tile archive, for readers who may see the release."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pmtiles.reader
import pytest
from django.test import Client

from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import grid_release
from tests.web.published import install, make_dataset
from tests.web.test_api_files import PUBLIC

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), grid_release(16))


def tilejson(release: Release) -> str:
    return f"/api/v1/releases/{release.pk}/tiles/cells.json"


def tiles_of(client: Client, release: Release) -> dict[Any, bytes]:
    archive = client.get(f"/api/v1/releases/{release.pk}/files/cells.pmtiles").getvalue()
    return dict(pmtiles.reader.all_tiles(pmtiles.reader.MemorySource(archive)))


def test_every_tile_of_the_archive_is_served(client: Client, release: Release) -> None:
    document = json.loads(client.get(tilejson(release)).content)
    (template,) = document["tiles"]
    assert document["tilejson"] == "3.0.0"
    assert document["vector_layers"][0]["fields"]["estimate"] == "Number"
    tiles = tiles_of(client, release)
    assert {zoom for zoom, _, _ in tiles} == set(
        range(document["minzoom"], document["maxzoom"] + 1)
    )
    for (z, x, y), tile in tiles.items():
        address = template.format(z=z, x=x, y=y).removeprefix("http://testserver")
        plain = client.get(address)
        packed = client.get(address, headers={"accept-encoding": "gzip"})
        assert packed.content == tile
        assert packed["Content-Encoding"] == "gzip"
        assert plain.content == gzip.decompress(tile)
        assert not plain.has_header("Content-Encoding")
        assert plain["Content-Type"] == "application/vnd.mapbox-vector-tile"
        assert plain["Cache-Control"] == PUBLIC
        assert plain["ETag"] != packed["ETag"]
        again = client.get(address, headers={"if-none-match": plain["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("tail", ["0/1/0", "31/0/0", "2/0/4", "x/0/0", "99999999999999999999/0/0"])
def test_there_are_no_other_tiles(client: Client, release: Release, tail: str) -> None:
    answer = client.get(tilejson(release).replace(".json", f"/{tail}.pbf"))
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
