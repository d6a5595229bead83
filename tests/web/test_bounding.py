"""Contribution bounding: chosen per request, charged for, and stated in the release."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Bounding
from dpgeo.privacy.bounding import PILOT
from dpgeo.releases.selectors import load_released
from tests.makers import make_dataset, make_ready, make_release, quote_release
from tests.noise import laplace
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


def test_popular_bounding_costs_a_tenth_and_is_stated(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    release = make_release(dataset, **{**ASKED, "bounding": "popular"})
    assert release.request.bounding == "popular"
    assert release.epsilon == 1
    released = load_released(release)
    assert released.bounding is Bounding.POPULAR
    assert released.trace[0].label == PILOT
    assert released.trace[0].epsilon == Fraction(1, 10)
    assert released.guarantee.epsilon == 1


def test_the_quote_forecasts_noise_without_that_tenth() -> None:
    dataset = make_dataset()
    quotes = [
        quote_release(dataset, **ASKED, bounding=bounding) for bounding in ("random", "popular")
    ]
    assert [laplace(quote.forecast.noise).epsilon for quote in quotes] == [1, Fraction(9, 10)]
    assert [quote.epsilon for quote in quotes] == [1, 1]
    assert [spend.label for spend in quotes[1].plan] == [PILOT, "cell counts"]


def test_invalid_choices_are_refused() -> None:
    with pytest.raises(InvalidInput, match="choose from random, popular"):
        quote_release(make_dataset(), **ASKED, bounding="best")
    records = make_dataset(unit="record")
    fields = {**ASKED, "counting": "visits", "bound": 1}
    with pytest.raises(InvalidInput) as refusal:
        quote_release(records, **fields, bounding="popular")
    assert refusal.value.field == "bounding"
    clusters = {**ASKED, "mechanism": "private-clusters", "parameters": {}}
    with pytest.raises(InvalidInput, match="does not count in public places"):
        quote_release(make_dataset(), **clusters, bounding="popular")


def test_too_large_a_grid_is_refused_with_an_alternative_before_paying() -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True)
    remedy = "choose privtree, or sparse-grid beyond 4096"

    body = {**REQUEST, "mechanism": "auto", "parameters": {"cells": 2049}}
    address = f"/api/v1/datasets/{dataset.slug}/quote"
    problem = program_of(desk).ask("POST", address, body, 400)
    assert problem["field"] == "cells"
    assert remedy in problem["detail"]

    typed = {"mechanism": "auto", "epsilon": "0.5", "bound": "3", "parameters.cells": "2049"}
    answer = desk.client.get(f"/desk/datasets/{dataset.slug}/map/cost/", typed)
    assert remedy in str(answer.context["form"].errors["parameters.cells"])
