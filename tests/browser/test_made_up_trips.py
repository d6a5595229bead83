"""The map of made-up trips: arrows for frequent moves, thin lines of trips, and the disclaimer."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.urls import reverse

from tests.browser.opening import Open
from tests.browser.pixels import ramp_share, screenshot
from tests.browser.test_accessibility import violations
from tests.unit.artefacts.releases import trips_release
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FLAG = ".flag:not(.yours)"


@pytest.fixture
def address() -> str:
    """Publish a map of made-up trips and return its path."""
    cache.clear()
    return reverse("release", args=[install(make_dataset(), trips_release()).pk])


@pytest.mark.parametrize(("size", "theme"), [((1440, 900), "light"), ((390, 844), "dark")])
def test_it_shows_where_trips_lead_and_says_that_they_are_made_up(
    open_page: Open, address: str, size: tuple[int, int], theme: str
) -> None:
    page = open_page(address, size, theme)
    assert "A made-up trip: nobody made it" in page.locator(".legend").text_content()
    assert "Nobody made the trips on this map." in page.locator(".made-up").text_content()
    assert ramp_share(screenshot(page, "#map"), theme) > 0.002
    page.locator("#map canvas").first.focus()
    # The first key goes to the square in the middle of the map, which has no arrow on a phone.
    page.keyboard.press("ArrowRight")
    if not page.locator(FLAG).is_visible():
        assert "Too few to tell from none" in page.locator("#map [aria-live]").first.text_content()
        page.keyboard.press("ArrowLeft")
    page.locator(FLAG, has_text="Most lead east").wait_for(timeout=20_000)
    assert violations(page) == []
