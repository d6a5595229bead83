"""Hostile query parameters, path segments and bodies, which never cause a server error."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import pytest
from django.http import HttpResponseBase
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import RoutePattern, URLPattern, URLResolver

from dpgeo.accounts.models import Role
from dpgeo.api.paging import write_cursor
from dpgeo.api.queries import query_schemas
from dpgeo.core.declared import Declared
from dpgeo.core.levels import make_level
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release
from tests.hostile import MINUTES, THOROUGH, json_text, seeds, value, word
from tests.makers import SOURCE
from tests.series_maps import install_series
from tests.unit.artefacts.releases import (
    contour_release,
    flows_release,
    grid_release,
    places_release,
    points_release,
    zone_quartiles_release,
    zones_release,
)
from tests.web.api import DECLARATION, REQUEST, Program, program
from tests.web.published import install, make_dataset, make_member

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.timeout((3600 if THOROUGH else 300) + 60 * MINUTES),
]

CASES = 20_000 if THOROUGH else 600

PAGES = (
    *("q", "kind", "publisher", "from", "to", "west", "south", "east", "north", "page"),
    *("release", "campaign", "next", "lang", "format", "near", "box", "url", "maxwidth"),
    *("maxheight", "name", "go", "dataset", "spreadsheet", "waited", "outside"),
)
"""Query parameters of pages, which, unlike API operations, do not declare them."""

Route = tuple[str, tuple[str, ...]]
"""A path as Django writes it, such as maps/<str:release_id>/, and its query parameters."""


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[Route]:
    """Yield all of the project's routes, each with its query parameters.

    `before` is the path to which `patterns` are relative.
    """
    for each in patterns:
        written = str(each.pattern) if isinstance(each.pattern, RoutePattern) else ""
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, before + written)
        else:
            queries = getattr(getattr(each.callback, "view_class", None), "queries", Declared)
            yield before + written, tuple(query_schemas(queries)) or PAGES


STRICT = sorted({one for one in routes(get_resolver().url_patterns) if one[1] is not PAGES})
ROUTES = sorted({one for one in routes(get_resolver().url_patterns) if "admin/" not in one[0]})


@pytest.fixture
def releases() -> list[Release]:
    """Return published maps of several kinds; the last two belong to a series."""
    dataset: Dataset = make_dataset(budget=Fraction(20), points_budget=make_level("ln 16", 200))
    kinds = (
        *(grid_release, contour_release, points_release, zones_release, flows_release),
        *(places_release, zone_quartiles_release),
    )
    series = install_series(grid_release(), 2)
    return [*(install(dataset, make()) for make in kinds), *series.releases.all()]


def program_in(releases: list[Release]) -> Program:
    """Return an API client of the publisher with all scopes."""
    organisation = releases[0].dataset.organisation
    return program(organisation, make_member(organisation, "owner", Role.ADMINISTRATOR))


def address(random: Random, releases: list[Release]) -> str:
    """Return the path of a random route, with plausible or hostile segments and a query."""
    release = random.choice(releases)
    names = {
        "release_id": [release.pk],
        "collection_id": [f"{release.pk}-{layer}" for layer in ("cells", "points")],
        "slug": [release.dataset.slug],
        "series_id": [str(each.series_id) for each in releases if each.series_id],
        "layer": ["cells", "points", "contours", "zones", "flows", "places"],
        "name": [each.name for each in release.files.all()],
        "key": ["dpcube"],
    }

    def segment(match: re.Match[str]) -> str:
        kind, _, name = match[1].rpartition(":")
        if kind == "int":
            return str(random.choice([0, 1, 3, 30, 2**31, 2**64, "9" * 400]))
        known = names.get(name, [])
        chosen = random.choice(known) if known and random.random() < 0.7 else ""
        return chosen or (str(UUID(int=0)) if kind == "uuid" else quoted(word(random)))

    route, known_queries = random.choice(ROUTES if random.random() < 0.3 else STRICT)
    path = re.sub(r"<([^>]+)>", segment, route)
    query = []
    for _ in range(random.choice((1, 1, 1, 1, 2))):
        name = random.choice(known_queries) if random.random() < 0.9 else word(random)
        text = cursor(random) if name == "cursor" and random.random() < 0.8 else word(random)
        query.append((name, text))
    return f"/{path}?{urlencode(query, errors='surrogatepass')}"


def cursor(random: Random) -> str:
    """Return a cursor made of hostile texts, encoded like the API's own cursors."""
    first = random.choice(("2026-01-01", "9999-12-31", word(random)))
    return write_cursor(
        [first, random.choice(("\ud800", word(random)))][: random.choice((1, 2, 2))]
    )


def quoted(text: str) -> str:
    return quote(text[:300], safe="", errors="surrogatepass")


def failed(answer: HttpResponseBase) -> str:
    """Return a description of the failure, or "" if the response is not a server error.

    Status 501 is not a failure if it comes from oEmbed, which requires it for unsupported formats.
    """
    if answer.status_code < 500 or answer.status_code == 501:
        return ""
    caught = getattr(answer, "exc_info", None)
    if caught is None:
        return str(answer.status_code)
    frames = traceback.extract_tb(caught[2])[-3:]
    places = " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)
    return f"{answer.status_code} {caught[0].__name__} at {places}"


def test_hostile_queries_are_answered(releases: list[Release]) -> None:
    keys = [{}, program_in(releases).headers]
    client = Client(raise_request_exception=False)
    failures = {}
    for number, seed in enumerate(seeds("queries", CASES)):
        where = address(Random(seed), releases)  # noqa: S311 - the same in each run
        if problem := failed(client.get(where, headers=keys[number % 2])):
            failures[where[:200]] = problem
    assert not failures


POLYGON = {"type": "Polygon", "coordinates": [[[4.4, 52.1], [4.6, 52.1], [4.5, 52.2], [4.4, 52.1]]]}

FEATURES = {
    "type": "FeatureCollection",
    "features": [{"type": "Feature", "id": 1, "properties": {"key": "a"}, "geometry": POLYGON}],
}

PLAN = {
    "release": "",
    "tasks": [{"name": "a", "longitude": 4.5, "latitude": 52.1, "reward": 1}],
    "total_reward": 10,
}

BODIES: dict[str, dict[str, Any]] = {
    "api/v1/datasets": DECLARATION,
    "api/v1/datasets/walks/layers": {
        "name": "wards",
        "kind": "zones",
        "layer": FEATURES,
        "public_source": SOURCE,
    },
    "api/v1/datasets/walks/quote": REQUEST,
    "api/v1/releases": {"dataset": "walks", **REQUEST},
    "api/v1/datasets/walks/series": {
        **{"title": "a", "mechanism": "uniform-grid", "parameters": {"cells": 8}},
        **{"period": "week", "first_day": "2026-01-05", "each": 1, "most": 2, "epsilon": "0.5"},
    },
    "api/v1/releases/RELEASE/query": {"regions": FEATURES, "layer": "cells"},
    "api/v1/releases/RELEASE/query#flows": {"from": POLYGON, "to": POLYGON},
    "api/v1/series/SERIES/query": {"polygon": POLYGON},
    "api/v1/plan": PLAN,
    "api/v1/plan/radius": {"release": "", "reward": 4, "lattice": 8, "target": 0.9},
    "api/v1/campaigns": {"name": "a", **PLAN, "settings": {"total_reward": 10}},
}


def spoiled(document: Any, random: Random) -> Any:
    """Return a document in which one name or one value has been made hostile."""
    if isinstance(document, dict) and document and random.random() < 0.9:
        name = random.choice(list(document))
        if random.random() < 0.1:
            return {**document, word(random): value(random)}
        return {**document, name: spoiled(document[name], random)}
    if isinstance(document, list) and document and random.random() < 0.8:
        index = random.randrange(len(document))
        return [*document[:index], spoiled(document[index], random), *document[index + 1 :]]
    return value(random)


def test_hostile_bodies_of_programs_are_answered(releases: list[Release]) -> None:
    client = program_in(releases)
    client.client = Client(raise_request_exception=False)
    series = next(str(each.series_id) for each in releases if each.series_id)
    failures = {}
    for seed in seeds("bodies", CASES):
        random = Random(seed)  # noqa: S311 - the same in each run
        route = random.choice(list(BODIES))
        kinds = [each for each in releases if each.mechanism in route.partition("#")[2]]
        release = random.choice(kinds or releases)
        plan = {"release": release.pk} if "release" in BODIES[route] else {}
        body = json_text(spoiled(BODIES[route] | plan, random))
        path = route.partition("#")[0].replace("SERIES", series).replace("RELEASE", release.pk)
        where = "/" + path.replace("walks", release.dataset.slug)
        answer = client.send("POST", where, body.encode(), Content_Type="application/json")
        if problem := failed(answer):
            failures[f"{where} {body}"[:300]] = problem
    assert not failures


def test_ids_with_null_characters_are_unknown() -> None:
    """An id with null characters is treated as unknown.

    PostgreSQL cannot store null characters, and a comparison with one raises an error.
    """
    for page in ("/maps/%00/", "/maps/%00/privacy/", "/api/v1/releases/%00"):
        assert Client().get(page).status_code == 404, page
    plan = {**PLAN, "release": "\0"}
    answer = Client().post("/api/v1/plan", plan, content_type="application/json")
    assert (answer.status_code, answer.json()["field"]) == (400, "release")
