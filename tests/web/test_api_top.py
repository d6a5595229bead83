"""The busiest places of a release, as the API and the Python client return them."""

from __future__ import annotations

import pytest

from tests.makers import make_dataset
from tests.unit.artefacts.releases import places_release, zones_release
from tests.web.api import Program
from tests.web.published import install

pytestmark = pytest.mark.django_db


def address(**changes: object) -> str:
    released = changes.pop("released", None) or places_release(by_time=True)
    return f"/api/v1/releases/{install(make_dataset(), released).pk}/top"  # type: ignore[arg-type]


def test_the_busiest_places_come_with_their_ranks() -> None:
    answer = Program().ask("GET", f"{address()}?k=3")
    assert [each["name"] for each in answer["results"]] == ["Post", "Station", "Market"]
    assert [each["count"] for each in answer["results"]] == [412, 391, 208]
    assert (answer["k"], answer["places"], answer["ranked_in"]) == (3, 6, "")
    first = answer["results"][0]
    assert first["rank_best"] == 1
    assert first["rank_worst"] >= 1
    assert answer["surely_among_top"] == sum(each["among_top"] for each in answer["results"])
    assert "as bounded: at most 2" in answer["ranks"]


def test_other_releases_have_no_places_to_rank() -> None:
    Program().ask("GET", address(released=zones_release()), None, 409)
