"""Maps of zones, clusters, contours and moved points, checked pixel by pixel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.core.levels import make_level
from dpgeo.core.released import ClustersRelease
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_publish
from tests import makers
from tests.browser.opening import DRAWN, Open, unfold
from tests.browser.pixels import ramp_share, screenshot, share, token
from tests.browser.test_accessibility import violations
from tests.unit.artefacts.releases import (
    clusters_release,
    contour_release,
    grid_quartiles_release,
    zones_release,
)
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

KINDS = ("zones", "clusters", "contours", "points")
FLAG = ".flag:not(.yours)"
HALF = 8
"""Half the side, in pixels, of the patch checked in the middle of a map."""


@pytest.fixture
def published(tmp_path: Path) -> Any:
    """Return a function that publishes a map of a given kind."""
    cache.clear()

    def publish(kind: str) -> Release:
        if kind == "points":
            return moved_points(tmp_path)
        made = {
            **{"zones": zones_release, "clusters": clusters_release, "contours": contour_release},
            "quartiles by mode": grid_quartiles_release,
        }
        return install(make_dataset(), made[kind]())

    return publish


def moved_points(folder: Path) -> Release:
    """Return a release of forty reports, perturbed with real noise."""
    dataset = makers.make_dataset(points_budget=make_level("ln 16", 200))
    makers.make_ready(dataset, folder)
    parameters = {"level": "ln(2)", "radius": 200, "cells": 16}
    draft = makers.make_release(
        dataset, mechanism="planar-laplace", parameters=parameters, epsilon=None, bound=2
    )
    return release_publish(release=draft, by=None)


def path(release: Release, longitude: float = 0, latitude: float = 0, zoom: float = 0) -> str:
    """Return the path of a map's page, centred on a place if a zoom is given."""
    view = f"#map={zoom}/{latitude:.6f}/{longitude:.6f}" if zoom else ""
    return reverse("release", args=[release.pk]) + view


def middle(page: Any) -> Any:
    """Return the pixels in the middle of the map."""
    image = screenshot(page, "#map .sheet")
    y, x = image.shape[0] // 2, image.shape[1] // 2
    return image[y - HALF : y + HALF, x - HALF : x + HALF]


def told(page: Any) -> str:
    """Return the text of the tooltip for the point in the middle of the map."""
    page.locator("#map .canvas").hover()
    page.locator(FLAG).wait_for(state="visible")
    words: str = page.inner_text(FLAG)
    return words


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_zone_has_the_colour_of_its_count_or_is_hatched(
    open_page: Open, published: Any, theme: str
) -> None:
    release = published("zones")
    page = open_page(path(release, 4.55, 52.25, 11), theme=theme)
    patch = middle(page)
    assert ramp_share(patch, theme) == 1.0, "a count that stands out is coloured without a gap"
    assert "70 ± " in told(page)
    assert "North, Upper" in page.inner_text(FLAG)
    page = open_page(path(release, 4.52, 52.05, 12), theme=theme)
    patch = middle(page)
    assert ramp_share(patch, theme) == 0.0, "a count below zero is never coloured"
    # MapLibre blurs the lines of a pattern, so the test looks for their contrast with the land.
    lines = np.abs(patch.astype(int) - token("map-land", theme)).max(axis=2) > 40
    assert 0.05 < lines.mean() < 0.6
    assert "noise can push a count below zero" in told(page)
    assert "Too few to tell from none" in page.inner_text(".legend")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_cluster_is_a_circle_in_the_colour_of_its_count(
    open_page: Open, published: Any, theme: str
) -> None:
    release = published("clusters")
    content = clusters_release().content
    assert isinstance(content, ClustersRelease)
    largest, below = int(np.argmax(content.counts)), int(np.argmin(content.counts))
    places = list(zip(content.longitude, content.latitude, strict=True))
    page = open_page(path(release, *places[largest], 12), theme=theme)
    assert share(middle(page), "tide-6", theme) == 1.0
    # The map loads values that are rounded to a quarter of the noise scale, so they may differ a
    # little from the released ones.
    assert re.search(r"^(69[89]|70[012]) ± 36 sightings$", told(page), re.M)
    page = open_page(path(release, *places[below], 12), theme=theme)
    assert ramp_share(middle(page), theme) == 0.0
    assert "noise can push a count below zero" in told(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_moved_points_are_dots_with_the_radius_of_their_noise(
    open_page: Open, published: Any, theme: str
) -> None:
    page = open_page(path(published("points")) + "#layer=points", theme=theme)
    image = screenshot(page, "#map .sheet").astype(int)
    dot = np.array(token("tide-5", theme))
    land = np.array(token("map-land", theme))
    seen = np.abs(image - np.rint(0.8 * dot + 0.2 * land)).max(axis=2) <= 8
    assert seen.sum() > 40, "each of the forty dots has some pixels"
    page.focus("#map canvas.maplibregl-canvas")
    page.keyboard.press("ArrowRight")
    assert "inner circle one time in two" in page.inner_text("#map [aria-live=polite]")
    assert page.locator(".shape-outline path").count() == 2, "a chosen dot shows both circles"
    assert "Half were moved by less than" in page.inner_text(".legend")
    assert "±" not in page.inner_text(".legend")


GAPS_OF_THE_LEGEND = """() => {
  const numbers = [...document.querySelectorAll(".legend .axis span")]
    .filter(each => each.style.visibility !== "hidden" && each.textContent)
    .map(each => each.getBoundingClientRect());
  return Math.min(1e6, ...numbers.slice(1).map((each, at) => each.left - numbers[at].right));
}"""
"""Script that returns the smallest gap, in pixels, between two visible numbers of the legend."""


@pytest.mark.parametrize(("size", "theme"), [((320, 720), "dark"), ((1440, 900), "light")])
@pytest.mark.parametrize("kind", [*KINDS, "quartiles by mode"])
def test_every_kind_fits_and_axe_finds_nothing(
    open_page: Open, published: Any, kind: str, size: tuple[int, int], theme: str
) -> None:
    release = published(kind)
    for name in ("release", "release-privacy", "embed"):
        wait = "main" if name == "release-privacy" else DRAWN
        page = open_page(reverse(name, args=[release.pk]), size, theme, wait=wait)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
        assert violations(page) == [], name
        assert page.evaluate(GAPS_OF_THE_LEGEND) >= 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_figures_and_files_without_scripts(
    open_page: Open, published: Any, kind: str
) -> None:
    page = open_page(path(published(kind)), wait="#content", java_script_enabled=False)
    unfold(page, "Data")
    assert page.get_by_role("link", name="GeoParquet").first.is_visible()
    assert page.locator("noscript .map-notice").is_visible()
    assert page.locator("main table tbody tr").count() > 0
