"""The Python client: contents of its tables, images and lists, and its error messages."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet
import pytest
from django.test import Client
from dpgeo_client import Catalogue, NetworkError, upload
from dpgeo_client import Release as Read

from dpgeo.core.levels import make_level
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import layers
from tests.unit.artefacts.releases import (
    examples,
    grid_release,
    slices_release,
)
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

HOST = "http://testserver"


def answer(request: httpx.Request) -> httpx.Response:
    """Return the site's response to a client's request, using the test's database connection."""
    where = request.url.raw_path.decode()
    form = request.headers.get("Content-Type", "")
    response = Client().generic(request.method, where, request.content, content_type=form)
    return httpx.Response(
        response.status_code, headers=dict(response.headers), content=response.getvalue()
    )


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Answer all requests of the client within the test, without a server.

    The value of the fixture is a function that sets another request handler.
    """

    def serve(handler: Any) -> None:
        def made(**given: Any) -> httpx.Client:
            return plain(transport=httpx.MockTransport(handler), **given)

        monkeypatch.setattr(httpx, "Client", made)

    plain = httpx.Client
    serve(answer)
    return serve


def read(released: Released) -> Read:
    """Publish a release and read it through the client."""
    stored = install(make_dataset(points_budget=make_level("ln 16", 200)), released)
    return Catalogue(HOST).release(stored.pk)


@pytest.mark.parametrize("released", examples(), ids=lambda each: type(each.content).__name__)
def test_the_measured_layer_is_the_default_or_every_slice_is(released: Released) -> None:
    release = read(released)
    shown = layers(released)
    measured = next((layer for layer in shown if layer.kind == "measured"), shown[0])
    slices = [layer for layer in shown if layer.sliced]
    table = release.to_arrow()
    if release.slices:
        with pytest.raises(LookupError, match=f"for each slice.*{slices[0].name}"):
            release.file("GeoParquet")
        assert len(table) == sum(map(len, slices))
    else:
        assert release.file("GeoParquet")["layer"] == measured.name
        assert len(table) == len(measured)


def test_tables_carry_the_guarantee_the_licence_and_the_citation(tmp_path: Path) -> None:
    release = read(slices_release())
    statement = release.statement()
    attributes = release.to_geopandas().attrs
    assert attributes["epsilon"] == statement["guarantee"]["epsilon"]
    assert attributes["licence"] == statement["licence"]
    assert attributes["citation"] == statement["citation"] != ""
    assert attributes["margins"]["cells-00-12"]["margin_95"]["largest"] > 0
    assert attributes["counted"] == "people"
    table = release.to_arrow()
    pyarrow.parquet.write_table(table, tmp_path / "all.parquet")
    metadata = pyarrow.parquet.read_schema(tmp_path / "all.parquet").metadata
    assert json.loads(metadata[b"dpgeo"]) == attributes
    assert json.loads(metadata[b"geo"])["primary_column"] == "geometry"


def test_notebooks_show_a_map_without_trusting_its_title() -> None:
    released = grid_release()
    hostile = {**released.about, "title": "<script>alert(1)</script>"}
    release = read(dataclasses.replace(released, about=hostile))
    shown = release._repr_html_() + release.explore()._repr_html_()
    shown += Catalogue(HOST).search()._repr_html_()
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 4
    assert release.facts["promise"]["sentence"].split(".")[0] in shown


def test_a_file_changed_on_its_way_is_not_kept(
    served: Callable[[Any], None], tmp_path: Path
) -> None:
    release = read(grid_release())
    served(lambda request: httpx.Response(200, content=b"PAR1"))
    meddled = Read(Catalogue(HOST)._connection, release.facts)
    meddled._statement = release.statement()
    with pytest.raises(NetworkError, match="changed on its way"):
        meddled.download(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_upload_goes_on_where_it_stopped(
    served: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(upload, "PIECE_BYTES", 40)
    content = bytes(range(100))
    (tmp_path / "walks.csv").write_bytes(content)
    store = _Store()
    served(store.answer)
    sent = Catalogue(HOST, key="dpg_x").upload("walks", tmp_path / "walks.csv", progress=False)
    assert bytes(store.arrived) == content
    assert sent.facts["state"] == "received"
    assert store.broken == 2


class _Store:
    """A tus server that breaks the connection twice, each time in the middle of a piece."""

    def __init__(self) -> None:
        self.arrived, self.broken = bytearray(), 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        here = f"{HOST}/api/v1/uploads/1/tus"
        if request.method == "POST":
            return httpx.Response(201, headers={"location": here})
        if request.method == "GET":
            return httpx.Response(200, json={"url": here, "state": "received"})
        if request.method == "PATCH":
            assert int(request.headers["upload-offset"]) == len(self.arrived)
            if self.broken < 2:
                self.broken += 1
                self.arrived += request.content[:10]
                raise httpx.ReadError("Connection reset by peer")
            self.arrived += request.content
        return httpx.Response(204, headers={"upload-offset": str(len(self.arrived))})
