"""The Python client's choice of layer, where none is named."""

from __future__ import annotations

import httpx
import pytest
from django.test import Client
from dpgeo_client import Catalogue

from dpgeo.core.levels import make_level
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import layers
from tests.unit.artefacts.releases import examples
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

HOST = "http://testserver"


def answer(request: httpx.Request) -> httpx.Response:
    """Answer over the test's own connection to the database."""
    said = Client().get(request.url.raw_path.decode())
    return httpx.Response(said.status_code, headers=dict(said.headers), content=said.content)


@pytest.mark.parametrize("released", examples(), ids=lambda each: type(each.content).__name__)
def test_the_measured_layer_is_the_default(released: Released) -> None:
    release = install(make_dataset(points_budget=make_level("ln 16", 200)), released)
    catalogue = Catalogue(HOST)
    catalogue._connection._client = httpx.Client(
        transport=httpx.MockTransport(answer), base_url=HOST
    )
    measured = next(layer.name for layer in layers(released) if layer.kind == "measured")
    taken = catalogue.release(release.pk).file("GeoParquet")
    assert taken["layer"] == measured
