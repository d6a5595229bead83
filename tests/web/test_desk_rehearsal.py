"""The rehearsal map shown before a request, which is drawn without private data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from dpgeo.budgets.services import Accounting
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState
from tests.web.desk import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

FIELDS = {
    "mechanism": "uniform-grid",
    "uniform-grid.cells": "16",
    "epsilon": "0.5",
    "counting": "people",
    "bound": "2",
    "bounding": "random",
    "totals": "0",
}


@pytest.fixture
def dataset(desk: Desk) -> Dataset:
    return desk.declare(ready=True)


def rehearsal(desk: Desk, dataset: Dataset, **changes: str) -> Any:
    """Return the data from which the quote page draws the rehearsal map, and the page's HTML."""
    answer = desk.client.get(f"/desk/datasets/{dataset.slug}/quote", FIELDS | changes)
    return answer.context["rehearsal"], answer.content.decode()


def test_it_has_the_noise_and_grid_of_the_quote(desk: Desk, dataset: Dataset) -> None:
    drawn, page = rehearsal(desk, dataset)
    facts = json.loads(drawn.document)
    assert (facts["grid"]["columns"], facts["grid"]["rows"]) == (16, 16)
    assert facts["rate"] == 0.25
    assert facts["margin"] == drawn.quote.forecast.margin
    assert facts["threshold"] == drawn.quote.forecast.stands_out_from
    assert "100,000 invented people" in page
    assert "data-last" not in page


def test_it_has_the_gaussian_noise_of_a_budget_in_rho(desk: Desk) -> None:
    dataset = desk.declare(
        ready=True, accounting=Accounting(delta_exponent=9, population=3_000_000)
    )
    drawn, page = rehearsal(desk, dataset)
    facts = json.loads(drawn.document)
    assert "rate" not in facts
    assert facts["deviation"] ** 2 == pytest.approx(float(drawn.quote.forecast.noise.square_scale))
    assert facts["margin"] == drawn.quote.forecast.noise.margin()
    assert "data-rehearsal" in page


def test_it_uses_only_published_maps(desk: Desk, dataset: Dataset) -> None:
    release = desk.request(dataset)
    assert rehearsal(desk, dataset)[0].last is None
    Release.objects.filter(pk=release.pk).update(
        state=ReleaseState.PUBLISHED,
        published_at=timezone.now(),
        blob_name="blobs/one",
        blob_sha256="0" * 64,
    )
    drawn, page = rehearsal(desk, dataset)
    assert drawn.last == release
    assert "data-last=" in page
    assert rehearsal(desk, dataset, counting="visits")[0].last is None


def test_its_basemap_is_only_for_members(desk: Desk, dataset: Dataset) -> None:
    address = f"/desk/datasets/{dataset.slug}/ground.json"
    shapes = desk.client.get(address).json()
    assert shapes["bounds"] == [10, 50, 10.1, 50.1]
    assert shapes["area"]["type"] == "Polygon"
    shown = {"bounds", "land", "inside", "coast", "names", "names_from"}
    assert set(shapes["basemap"]) == shown
    assert desk.signed_in("stranger", role=None).get(address).status_code == 404
