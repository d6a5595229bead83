"""Which places of a person are kept is chosen per request, paid for, and told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Bounding
from dpgeo.privacy.bounding import LOOK
from dpgeo.releases.selectors import released_of
from dpgeo.releases.services import release_quote
from tests.makers import make_dataset, make_ready, make_release
from tests.web.api import REQUEST, program_of
from tests.web.desk import make_desk

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 8},
    "epsilon": "1",
    "bound": 2,
    "counting": "people",
}


def test_popular_places_cost_a_tenth_and_the_release_says_so(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    release = make_release(dataset, **{**ASKED, "bounding": "popular"})
    assert release.bounding == "popular"
    assert release.epsilon == 1
    released = released_of(release)
    assert released.bounding is Bounding.POPULAR
    assert released.trace[0].label == LOOK
    assert released.trace[0].epsilon == Fraction(1, 10)
    assert released.guarantee.epsilon == 1


def test_the_quote_foretells_the_noise_of_what_is_left() -> None:
    dataset = make_dataset()
    quotes = [
        release_quote(dataset=dataset, **ASKED, bounding=bounding)
        for bounding in ("random", "popular")
    ]
    assert [quote.forecast.noise.epsilon for quote in quotes] == [1, Fraction(9, 10)]
    assert [quote.epsilon for quote in quotes] == [1, 1]
    assert [spend.label for spend in quotes[1].plan] == [LOOK, "cell counts"]


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(InvalidInput, match="random or popular"):
        release_quote(dataset=make_dataset(), **ASKED, bounding="best")
    records = make_dataset(unit="record")
    asked = {**ASKED, "counting": "visits", "bound": 1}
    with pytest.raises(InvalidInput, match="nothing to choose"):
        release_quote(dataset=records, **asked, bounding="popular")
    clusters = {**ASKED, "mechanism": "private-clusters", "parameters": {}}
    with pytest.raises(InvalidInput, match="does not count in public places"):
        release_quote(dataset=make_dataset(), **clusters, bounding="popular")


def test_programs_and_the_desk_choose_it() -> None:
    desk = make_desk()
    dataset, asks = desk.declare(ready=True), program_of(desk)
    address = f"/api/v1/datasets/{dataset.slug}/quote"
    quote = asks.ask("POST", address, {**REQUEST, "bounding": "popular"})
    assert quote["bounding"] == "popular"
    assert quote["plan"][0] == {"what": LOOK, "epsilon": "0.05", "cost": "epsilon 0.05"}
    assert asks.ask("POST", address, REQUEST)["bounding"] == "random"
    assert asks.ask("POST", address, {**REQUEST, "bounding": "x"}, 400)["field"] == "bounding"
    body = {**REQUEST, "dataset": dataset.slug, "title": "Walks", "bounding": "popular"}
    asks.ask("POST", "/api/v1/releases", body, 202, Idempotency_Key="a")
    other = {**body, "bounding": "random"}
    assert asks.ask("POST", "/api/v1/releases", other, 409, Idempotency_Key="a")
    page = desk.page(f"/desk/datasets/{dataset.slug}/release/")
    assert "The most popular ones" in page
