"""Notes on maps in a real browser: pins, their texts, downloaded pictures, and placing them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache

from dpgeo.releases.models import Release
from dpgeo.releases.notes import release_annotate
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import Open
from tests.browser.pixels import read_png, where
from tests.maps import BOUNDS, grid_release, install

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WEST, SOUTH, EAST, NORTH = BOUNDS

NOTES = [
    {
        "text": f"{where_} <b>more</b> than elsewhere, in the middle of the map.",
        "longitude": WEST + (EAST - WEST) * share,
        "latitude": SOUTH + (NORTH - SOUTH) * share,
    }
    for where_, share in (("South:", 0.3), ("North:", 0.7))
]


@pytest.fixture
def noted() -> Release:
    cache.clear()
    release = install(grid_release(StudyArea.from_bounds(*BOUNDS), 32), "Where people are")
    Release.objects.filter(pk=release.pk).update(state="draft")
    release.refresh_from_db()
    release_annotate(release=release, by=None, notes=NOTES)
    Release.objects.filter(pk=release.pk).update(state="published")
    return release


def pins_in(image: Any, theme: str) -> int:
    """Return the number of pixels in the accent colour, in which a publisher's pins are drawn."""
    return int(where(image, "accent", theme).sum())


@pytest.mark.parametrize(
    ("page_of", "size", "theme"),
    [
        ("maps", (390, 844), "light"),
        ("maps", (1440, 900), "dark"),
        ("embed", (390, 520), "dark"),
        ("embed", (800, 520), "light"),
    ],
)
def test_pins_stand_on_the_map_and_tell_their_text(
    open_page: Open, noted: Release, size: tuple[int, int], theme: str, page_of: str
) -> None:
    page = open_page(f"/{page_of}/{noted.pk}/", size=size, theme=theme)
    pins = page.get_by_role("group", name="Notes on the map").get_by_role("button")
    assert pins.count() == 2
    image = read_png(page.locator(".sheet").screenshot(animations="disabled"))
    assert pins_in(image, theme) > 300
    first = page.get_by_role("button", name="Note 1: South: <b>more</b> than elsewhere")
    card = page.locator(".flag.noted")
    assert not card.is_visible()
    first.focus()
    page.keyboard.press("Enter")
    assert "South: <b>more</b> than" in card.inner_text()
    box, sheet = card.bounding_box(), page.locator(".sheet").bounding_box()
    assert sheet["x"] <= box["x"]
    assert box["x"] + box["width"] <= sheet["x"] + sheet["width"]
    page.keyboard.press("Escape")
    assert not card.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
