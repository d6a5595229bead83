"""Streets and names under and over a map, and the box that finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache

from dpgeo.ground.adding import ground_add
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, Open
from tests.browser.pixels import screenshot, token, where
from tests.browser.test_accessibility import violations
from tests.maps import grid_release
from tests.unit.ground.files import TILES
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

VADUZ = StudyArea.from_bounds(9.50, 47.12, 9.54, 47.16)


@pytest.fixture
def released(tmp_path: Path, settings: Any) -> Release:
    """Publish a map in a town whose ground is there."""
    settings.GROUND_DIR = tmp_path
    ground_add(tmp_path, TILES, name="here")
    cache.clear()
    return install(make_dataset(area=VADUZ), grid_release(VADUZ, 16))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_streets_and_names_lie_on_the_map(
    open_page: Open, released: Release, settings: Any, tmp_path: Path, theme: str
) -> None:
    path = f"/maps/{released.pk}/"
    with_ground = screenshot(open_page(path, theme=theme), "#map .canvas").astype(int)
    settings.GROUND_DIR = tmp_path / "nothing"
    cache.clear()
    bare = screenshot(open_page(path, theme=theme), "#map .canvas").astype(int)
    changed = (np.abs(with_ground - bare).max(axis=2) > 12).mean()
    assert 0.03 < changed < 0.6, changed
    ink = np.array(token("ink", theme))
    dark = (np.abs(with_ground - ink).max(axis=2) < 40).sum()
    without = (np.abs(bare - ink).max(axis=2) < 40).sum()
    assert dark > without + 200, "no name is written"
    # What was published is still the loudest: its highest class keeps its colour between streets.
    kept = where(with_ground.astype(np.uint8), "tide-6", theme).sum()
    assert kept > 0.5 * where(bare.astype(np.uint8), "tide-6", theme).sum()


def test_a_place_is_found_and_shown(open_page: Open, released: Release) -> None:
    page = open_page(f"/maps/{released.pk}/")
    assert violations(page) == []
    before = page.url
    page.get_by_role("combobox", name="Find a place or a street").fill("stadtel")
    page.wait_for_selector("#found-places option[value^='Städtle']", state="attached")
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => location.href !== before", arg=before)
    page.wait_for_selector(DRAWN)
    assert "The map shows Städtle" in page.text_content("form.find [role=status]")
    page.get_by_role("combobox", name="Find a place or a street").fill("qqqqqqq")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.find input[aria-invalid=true]")
    assert "No place is known" in page.text_content("form.find [role=status]")


def test_the_credit_leads_to_the_licence(open_page: Open, released: Release) -> None:
    page = open_page(f"/maps/{released.pk}/", size=(390, 800))
    credit = page.locator(".attrib a")
    assert credit.get_attribute("href") == "https://www.openstreetmap.org/copyright"
    assert credit.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
