"""Streets and place names under a map, and the search box that finds places."""

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
from tests.browser.pixels import ramp_share, screenshot, token, where
from tests.browser.test_accessibility import violations
from tests.maps import grid_release
from tests.unit.ground.files import TILES
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

VADUZ = StudyArea.from_bounds(9.50, 47.12, 9.54, 47.16)

"""A window size at which a map of VADUZ opens beside its legend, with free space in the east."""


@pytest.fixture
def released(tmp_path: Path, settings: Any) -> Release:
    """Publish a map of a town for which a background of streets and names exists."""
    settings.GROUND_DIR = tmp_path
    ground_add(tmp_path, TILES, name="here")
    cache.clear()
    return install(make_dataset(area=VADUZ), grid_release(VADUZ, 16))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_streets_and_names_lie_on_the_map(
    open_page: Open, released: Release, settings: Any, tmp_path: Path, theme: str
) -> None:
    path = f"/maps/{released.pk}/"
    with_ground = screenshot(open_page(path, (1600, 900), theme), "#map .canvas").astype(int)
    settings.GROUND_DIR = tmp_path / "nothing"
    cache.clear()
    bare = screenshot(open_page(path, (1600, 900), theme), "#map .canvas").astype(int)
    changed = (np.abs(with_ground - bare).max(axis=2) > 12).mean()
    assert 0.03 < changed < 0.6, changed
    ink = np.array(token("ink", theme))
    dark = (np.abs(with_ground - ink).max(axis=2) < 40).sum()
    without = (np.abs(bare - ink).max(axis=2) < 40).sum()
    assert dark > without + 200, "no name is written"
    # Between the streets, cells of the highest class keep their colour.
    highest = where(with_ground.astype(np.uint8), "tide-6", theme).sum()
    assert highest > 0.5 * where(bare.astype(np.uint8), "tide-6", theme).sum()


def test_a_place_is_found_and_shown(open_page: Open, released: Release) -> None:
    page = open_page(f"/maps/{released.pk}/")
    assert violations(page) == []
    before = page.url
    page.get_by_role("combobox", name="Find a place or a street").fill("stadtel")
    page.wait_for_selector("#find-place-options li:has-text('Städtle')")
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#find-place-options li[aria-selected=true]:has-text('Städtle')")
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => location.href !== before", arg=before)
    page.wait_for_selector(DRAWN)
    assert "The map shows Städtle" in page.text_content("form.find [role=status]")
    page.get_by_role("combobox", name="Find a place or a street").fill("qqqqqqq")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.find input[aria-invalid=true]")
    assert "No place is known" in page.text_content("form.find [role=status]")


"""A name in each writing system that the map's fonts must be able to show."""


def test_the_credit_leads_to_the_licence(open_page: Open, released: Release) -> None:
    page = open_page(f"/maps/{released.pk}/", size=(390, 800))
    credit = page.locator(".attrib a")
    assert credit.get_attribute("href") == "https://www.openstreetmap.org/copyright"
    assert credit.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # On a phone, the search box is a strip over the map, and the map is fitted into the space below
    # it.
    box, sheet = (page.locator(each).bounding_box() for each in ("form.find", "#map .sheet"))
    page.locator("form.find").evaluate("box => { box.style.visibility = 'hidden'; }")
    image = screenshot(page, "#map .sheet")
    strip = int(box["y"] + box["height"] - sheet["y"])
    beside = int(box["x"] - sheet["x"])
    assert ramp_share(image[:strip, beside:-8], "light") == 0
    assert ramp_share(image[strip:], "light") > 0.01
