"""Maps from a budget in rho, from the quote to every file: all figures are of Gaussian noise."""

from __future__ import annotations

import csv
import io
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse
from dpgeo_client import Catalogue

from dpgeo.artefacts import map_array
from dpgeo.budgets.services import Accounting
from dpgeo.core.guarantees import Counting, Notion
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released
from dpgeo.core.zcdp import exponent_delta, nano_rho_for
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.postprocess.layers import Layer, layers
from dpgeo.privacy.mechanism import forecast, run
from dpgeo.releases.models import Release
from dpgeo.releases.rehearsal import rehearse
from dpgeo.releases.requests import read_request
from tests.conformance.cases import BOUND, DOMAIN, city
from tests.makers import ask_for
from tests.noise import gaussian
from tests.randomness import SeededEntropy
from tests.web.published import install, make_dataset
from tests.web.test_client import HOST, answer

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

DELTA = exponent_delta(9)

RHO = Fraction(nano_rho_for(Fraction(1), DELTA), 10**9)

ABOUT = {
    "title": "A made-up city",
    "description": "",
    "publisher": "Nobody",
    "licence": "CC0-1.0",
    "id": "made-up",
}

KINDS: dict[str, dict[str, object]] = {
    "uniform-grid": {"cells": 8},
    "flows": {"zones": "parts"},
    "averages": {"zones": "parts", "measure": "speed"},
}

PURE_WORDS = ("Laplace", "epsilon-differentially", "pure differential privacy")
"""Words that are wrong for Gaussian noise, so descriptions of maps from rho must not have them."""

TEXTS = (".json", ".csv", ".geojson", ".qml", ".txt", ".svg")


SUFFIXES = {".bin", ".csv", ".geojson", ".parquet", ".gpkg", ".json", ".png"}
"""Suffixes of files that are made of every map."""


def drawn(key: str) -> Released:
    mechanism = MECHANISMS[key]
    params = parse_parameters(mechanism.params, KINDS[key])
    view = city(counting=Counting.PEOPLE)
    return run(mechanism, view, params, RHO, SeededEntropy(1), ABOUT, delta=DELTA)


@pytest.fixture(params=KINDS)
def released(request: pytest.FixtureRequest) -> Released:
    return drawn(request.param)


@pytest.fixture
def stored(released: Released) -> Release:
    """Publish the release, with all of its files, from a budget in rho."""
    accounting = Accounting(delta_exponent=9, population=3_000_000)
    dataset = make_dataset(area=DOMAIN.area, budget=Fraction(3), accounting=accounting)
    return ask_for(install(dataset, released))


def quantile(noise: DiscreteGaussian) -> int:
    """Return the least m with P(|noise| <= m) >= 0.95, by adding up the probabilities."""
    s = float(noise.square_scale)
    values = np.arange(-math.ceil(20 * math.sqrt(s)), math.ceil(20 * math.sqrt(s)) + 1)
    masses = np.exp(-(values**2) / (2 * s))
    masses /= masses.sum()
    return next(m for m in range(values.size) if masses[np.abs(values) <= m].sum() >= 0.95)


def counted(released: Released) -> list[Layer]:
    """Return the measured layers with one margin for all values, which layers of averages lack."""
    shown = layers(released)
    return [each for each in shown if each.kind == "measured" and each.margin is not None]


def test_margins_hatching_and_forecast_are_of_gaussian_noise(released: Released) -> None:
    noises = [gaussian(line.noise) for line in released.trace]
    margins = {quantile(noise) for noise in noises}
    assert margins == {noise.margin() for noise in noises}
    mechanism = MECHANISMS[released.mechanism]
    params = parse_parameters(mechanism.params, KINDS[released.mechanism])
    expected = forecast(mechanism, params, RHO, BOUND, DOMAIN, Counting.PEOPLE, Notion.ZCDP)
    assert expected.noise in noises
    for layer in counted(released):
        assert layer.margin is not None
        assert layer.threshold is not None
        # Which cells are listed above a threshold depends partly on their noise, so their margins
        # are wider than those of the noise alone.
        if layer.least_listed:
            assert layer.margin.min() >= min(margins)
            continue
        assert set(np.unique(layer.margin).tolist()) <= margins
        assert set(np.unique(layer.threshold).tolist()) <= {each.threshold() for each in noises}


def test_every_file_and_page_states_gaussian_noise(stored: Release, client: Client) -> None:
    files = {each.name: each for each in stored.files.all()}
    assert all(each.stored_name and each.size for each in files.values())
    assert {Path(name).suffix for name in files} >= SUFFIXES
    for name in files:
        if name.endswith(TEXTS):
            text = b"".join(client.get(reverse("api:release-file", args=[stored.pk, name])))
            for words in PURE_WORDS:
                assert words not in text.decode(), name
    document: Any = json.loads(
        b"".join(client.get(reverse("api:release-file", args=[stored.pk, "statement.json"])))
    )
    assert document["guarantee"]["notion"] == "zero-concentrated differential privacy"
    assert document["guarantee"]["delta"] == "1e-9"
    assert Fraction(document["guarantee"]["rho"]) == RHO
    assert {each["noise"]["distribution"] for each in document["spends"]} == {"discrete Gaussian"}
    for name in ("release", "release-privacy"):
        page = client.get(reverse(name, args=[stored.pk])).content.decode()
        assert "1e-9" in page
        for words in PURE_WORDS:
            assert words not in page, name


@pytest.mark.parametrize("released", ["uniform-grid", "flows"], indirect=True)
def test_tables_maps_and_the_client_give_the_margins_of_the_layer(
    released: Released, stored: Release, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = next(each for each in layers(released) if each.margin is not None)
    assert layer.margin is not None

    def body(suffix: str) -> bytes:
        name = f"{layer.name}{suffix}"
        return b"".join(client.get(reverse("api:release-file", args=[stored.pk, name])))

    expected = sorted(float(each) for each in layer.margin)
    rows = list(csv.DictReader(io.StringIO(body(".csv").decode())))
    assert sorted(float(row["margin"]) for row in rows) == expected
    features = json.loads(body(".geojson"))["features"]
    assert sorted(each["properties"]["margin"] for each in features) == expected
    table = pq.read_table(io.BytesIO(body(".parquet")))
    assert sorted(table["margin"].to_pylist()) == expected
    plain = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **given: plain(transport=httpx.MockTransport(answer), **given)
    )
    read = Catalogue(HOST).release(stored.pk)
    own = read.to_arrow(layer.name)
    assert sorted(own["margin"].to_pylist()) == expected
    assert read.statement()["guarantee"]["delta"] == "1e-9"


def test_a_range_adds_the_variances_of_gaussian_noise(client: Client) -> None:
    accounting = Accounting(delta_exponent=9, population=3_000_000)
    dataset = make_dataset(area=DOMAIN.area, budget=Fraction(3), accounting=accounting)
    released = drawn("uniform-grid")
    stored = install(dataset, released)
    address = reverse("api:release-query", args=[stored.pk])
    west, south, east, north = DOMAIN.area.bounds
    (found,) = client.get(f"{address}?bbox={west},{south},{east},{north}").json()["results"]
    (line,) = released.trace
    deviation = math.sqrt(found["areas"] * gaussian(line.noise).square_scale)
    assert (found["high"] - found["low"]) / 2 == pytest.approx(1.96 * deviation, rel=0.02)


def test_a_rehearsal_on_invented_people_has_gaussian_noise() -> None:
    accounting = Accounting(delta_exponent=9, population=3_000_000)
    dataset = make_dataset(area=DOMAIN.area, budget=Fraction(3), accounting=accounting)
    asked: dict[str, Any] = {"mechanism": "uniform-grid", "parameters": {"cells": 8}, "totals": 0}
    request = read_request(dataset, **asked, epsilon="1", bound=5, counting="people")
    shown = rehearse(dataset, request, 200)
    array = shown.files[map_array.NAME]
    header = json.loads(array[12 : 12 + int.from_bytes(array[8:12], "little")])
    (noise,) = header["layers"][0]["noise"]
    expected = DiscreteGaussian(RHO, 5)
    assert (noise["margin"], noise["threshold"]) == (expected.margin(), expected.threshold())
