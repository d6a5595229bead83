"""Hostile query parameters, path segments and bodies: an error in words, never a 5xx."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from urllib.parse import quote, urlencode

import pytest
from django.http import HttpResponseBase
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import RoutePattern, URLPattern, URLResolver

from dpgeo.core.levels import make_level
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release
from tests.hostile import THOROUGH, json_text, value, word
from tests.unit.artefacts.releases import contour_release, grid_release, points_release
from tests.web.api import program_of
from tests.web.desk import make_desk
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(3600 if THOROUGH else 300)]

CASES = int(__import__('os').environ.get('N', 600))

KNOWN = (
    *("limit", "cursor", "bbox", "organisation", "dataset", "mechanism", "kind", "layer"),
    *("published_from", "published_to", "datetime", "start", "f", "q", "publisher", "from", "to"),
    *("west", "south", "east", "north", "page", "release", "campaign", "lang", "format"),
)
"""Query parameters of public addresses."""


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    """Yield the paths of the project as Django writes them, such as maps/<str:release_id>/."""
    for each in patterns:
        written = str(each.pattern) if isinstance(each.pattern, RoutePattern) else ""
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, before + written)
        else:
            yield before + written


PATHS = sorted({route for route in routes(get_resolver().url_patterns) if "admin/" not in route})


@pytest.fixture
def releases() -> list[Release]:
    dataset: Dataset = make_dataset(points_budget=make_level("ln 16", 200))
    return [install(dataset, made()) for made in (grid_release, contour_release, points_release)]


def address(random: Random, releases: list[Release]) -> str:
    """Return the path of a route with plausible or hostile segments, and a query."""
    release = random.choice(releases)
    names = {
        "release_id": [release.pk],
        "collection_id": [f"{release.pk}-{layer}" for layer in ("cells", "points")],
        "slug": [release.dataset.slug],
        "layer": ["cells", "points", "contours"],
        "name": [each.name for each in release.files.all()],
        "key": ["dpcube"],
    }

    def segment(match: re.Match[str]) -> str:
        kind, _, name = match[1].rpartition(":")
        if kind == "int":
            return str(random.choice([0, 1, 3, 30, 2**31, 2**64, "9" * 400]))
        known = names.get(name, [])
        return random.choice(known) if known and random.random() < 0.7 else quoted(word(random))

    path = re.sub(r"<([^>]+)>", segment, random.choice(PATHS))
    query = [
        (random.choice(KNOWN) if random.random() < 0.9 else word(random), word(random))
        for _ in range(random.choice((1, 1, 1, 2, 3)))
    ]
    return f"/{path}?{urlencode(query, errors='surrogatepass')}"


def quoted(text: str) -> str:
    return quote(text[:300], safe="", errors="surrogatepass")


def failed(answer: HttpResponseBase) -> str:
    """Return what went wrong, "" unless the answer is a 5xx."""
    if answer.status_code < 500:
        return ""
    caught = getattr(answer, "exc_info", None)
    return f"{answer.status_code} {caught[0].__name__ if caught else ''}"


def test_hostile_queries_of_visitors_are_answered(releases: list[Release]) -> None:
    client = Client(raise_request_exception=False)
    failures = {}
    for seed in range(CASES):
        where = address(Random(seed), releases)  # noqa: S311 - the same in each run
        if problem := failed(client.get(where)):
            failures[where[:200]] = problem
    assert not failures
