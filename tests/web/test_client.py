"""What the Python client takes where nobody says which layer is meant."""

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
    """What the site says, over the test's own connection to the database."""
    said = Client().get(request.url.raw_path.decode())
    return httpx.Response(said.status_code, headers=dict(said.headers), content=said.content)


@pytest.mark.parametrize("released", examples(), ids=lambda each: type(each.content).__name__)
def test_it_takes_what_was_measured_and_not_what_was_inferred(released: Released) -> None:
    release = install(make_dataset(points_budget=make_level("ln 16", 200)), released)
    catalogue = Catalogue(HOST)
    catalogue._connection._client = httpx.Client(
        transport=httpx.MockTransport(answer), base_url=HOST
    )
    measured = next(layer.name for layer in layers(released) if layer.kind == "measured")
    taken = catalogue.release(release.pk).file("GeoParquet")
    assert taken["layer"] == measured
