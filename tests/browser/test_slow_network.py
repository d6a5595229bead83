"""Pages on a slow or broken connection: first text, then the map, a picture or a retry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, PATIENCE, Open, unfold
from tests.browser.pixels import ramp_share, screenshot
from tests.browser.test_accessibility import violations
from tests.maps import BOUNDS, grid_release, install

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)
LOADING = ".map-loading"
NOTICE = "#map .sheet .map-notice"
STYLED = "selector => getComputedStyle(document.querySelector(selector)).position === 'absolute'"
"""Script that says whether the first of two elements lies below the second."""
UNCOVERED = """selector => {
    const { x, y } = document.querySelector(selector).getBoundingClientRect();
    return document.elementFromPoint(x + 4, y + 4).matches(selector);
}"""
"""Script that says whether nothing covers the upper left corner of an element."""
"""Script that returns the legend's background image and colour for counts below the threshold."""
THIN = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
"""A connection of 400 kbit/s on which each response begins after 0.4 seconds."""


@pytest.fixture
def gridded() -> Release:
    cache.clear()
    return install(grid_release(AREA, 64), "Where people are")


def path(release: Release) -> str:
    return reverse("release", args=[release.pk])


def thin(page: Any) -> Any:
    """Slow the page's connection down, and return the debugging session that controls it."""
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", THIN)
    return line


class Held:
    """Requests that get no answer until they are released."""

    def __init__(self) -> None:
        self.routes: list[Any] = []
        self.released = False

    def __call__(self, route: Any) -> None:
        """Hold a request back, or let it through if the requests were released."""
        if self.released:
            route.continue_()
        else:
            self.routes.append(route)

    def release(self) -> None:
        """Let all requests through, also later ones."""
        self.released = True
        for route in self.routes:
            route.continue_()


def refusing(address: str, **answer: Any) -> Callable[[Any], None]:
    """Return a function that makes a page's requests to `address` fail, or get this `answer`."""

    def prepare(page: Any) -> None:
        page.route(
            address, lambda route: route.fulfill(**answer) if answer else route.abort("failed")
        )

    return prepare


@pytest.mark.parametrize(("size", "theme"), [((320, 720), "dark"), ((1440, 900), "light")])
def test_text_is_shown_before_the_map_on_a_slow_connection(
    open_page: Open, gridded: Release, size: tuple[int, int], theme: str
) -> None:
    requests = Held()
    lines: list[Any] = []

    def prepare(page: Any) -> None:
        lines.append(thin(page))
        for held in ("map.bin", "preview.png"):
            page.route(f"**/{held}", requests)

    page = open_page(path(gridded), size, theme, wait=LOADING, until="commit", prepare=prepare)
    page.wait_for_function(STYLED, arg=LOADING)
    assert page.locator(LOADING).is_visible()
    assert "The map is loading" in page.inner_text(LOADING)
    assert page.get_by_role("heading", name="Where people are", exact=True).is_visible()
    assert "±" in page.inner_text(".margin .total >> nth=0")
    assert "Too few to tell from none" in page.inner_text(".legend")
    unfold(page, "Data")
    assert page.get_by_role("link", name="GeoParquet").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert ramp_share(screenshot(page, "#map .sheet"), theme) == 0
    assert violations(page) == []
    # At this speed the whole map takes half a minute to load.
    lines[0].send("Network.emulateNetworkConditions", THIN | {"downloadThroughput": 500_000})
    requests.release()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    assert page.locator(LOADING).is_hidden()
    assert re.search("(People|Sightings) per", page.inner_text(".legend"))
    assert ramp_share(screenshot(page, "#map .sheet"), theme) > 0.02


@pytest.mark.parametrize(
    ("answer", "said"),
    [({}, "(no connection)"), ({"status": 503, "body": "busy"}, "(503)")],
    ids=["broken off", "refused"],
)
def test_if_the_data_fail_to_load_the_page_offers_a_way_on(
    open_page: Open, gridded: Release, answer: dict[str, Any], said: str
) -> None:
    page = open_page(
        path(gridded),
        (320, 720),
        wait=f"{NOTICE}:not([hidden])",
        prepare=refusing("**/map.bin", **answer),
    )
    assert said in page.inner_text(NOTICE)
    assert page.evaluate(UNCOVERED, NOTICE)
    assert page.locator(LOADING).is_hidden()
    assert violations(page) == []
    picture = page.get_by_role("link", name="See it as a picture").get_attribute("href")
    response = page.request.get(page.evaluate("location.origin") + picture)
    assert response.body().startswith(b"\x89PNG")
    page.unroute("**/map.bin")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    assert page.locator(NOTICE).is_hidden()
