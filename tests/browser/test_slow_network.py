"""Pages on a slow or broken connection: first text, then the map, a picture or a retry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.urls import reverse
from numpy.typing import NDArray

from dpgeo.artefacts.view import NOISE
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, PATIENCE, Open, unfold
from tests.browser.pixels import ramp_share, screenshot, share, where
from tests.browser.test_accessibility import violations
from tests.maps import BOUNDS, grid_release, install
from tests.unit.artefacts.releases import zones_release

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)
LOADING = ".map-loading"
NOTICE = "#map .sheet .map-notice"
STYLED = "selector => getComputedStyle(document.querySelector(selector)).position === 'absolute'"
PICTURE = ".early img"
MOVABLE = ".early.movable"
BELOW = """([below, above]) => {
    const [low, high] = [below, above].map((each) => document.querySelector(each));
    return low.getBoundingClientRect().top >= high.getBoundingClientRect().bottom;
}"""
"""Script that says whether the first of two elements lies below the second."""
UNCOVERED = """selector => {
    const { x, y } = document.querySelector(selector).getBoundingClientRect();
    return document.elementFromPoint(x + 4, y + 4).matches(selector);
}"""
"""Script that says whether nothing covers the upper left corner of an element."""
SWATCH = """() => {
    const style = getComputedStyle(document.querySelector(".legend .hatch"));
    return [style.backgroundImage, style.backgroundColor];
}"""
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


def test_on_a_phone_the_servers_picture_lies_where_the_map_will_be(
    open_page: Open, gridded: Release
) -> None:
    requests = Held()
    page = open_page(
        path(gridded),
        (390, 844),
        wait=MOVABLE,
        until="commit",
        prepare=lambda page: page.route("**/map.bin", requests),
    )
    assert page.locator(LOADING).is_visible()
    assert page.evaluate(BELOW, [LOADING, "#map .sheet"])
    early = screenshot(page, "#map .sheet")
    assert ramp_share(early, "light") > 0.02
    # The legend shows counts below the threshold as the still picture does, in grey. The map, which
    # is not there yet, hatches them.
    assert page.evaluate(SWATCH) == ["none", "rgb({}, {}, {})".format(*NOISE)]
    assert (early[..., :3] == NOISE).all(axis=-1).mean() > 0.02
    requests.release()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    assert page.locator(".ahead, .early").count() == 0
    assert "gradient" in page.evaluate(SWATCH)[0]
    late = screenshot(page, "#map .sheet")
    assert np.abs(middle_of_crowds(early) - middle_of_crowds(late)).max() < 6


def test_on_a_phone_the_picture_follows_a_finger_before_the_library_has_come(
    open_page: Open, gridded: Release
) -> None:
    """The map, and later the data, appear where the reader has dragged the static picture."""
    library, data = Held(), Held()

    def prepare(page: Any) -> None:
        page.route("**/assets/map-*.js", library)
        page.route("**/map.bin", data)

    page = open_page(path(gridded), (390, 844), wait=MOVABLE, until="commit", prepare=prepare)
    first, still = screenshot(page, "#map .sheet"), page.locator(PICTURE).bounding_box()
    sheet = page.locator("#map .sheet").bounding_box()
    x, y = sheet["x"] + 195, sheet["y"] + 190
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y + 30, steps=4)
    library.release()  # The map does not replace a picture that is being dragged.
    page.wait_for_selector("#map[data-state=pictured]", state="attached", timeout=PATIENCE)
    page.wait_for_timeout(1500)
    page.mouse.move(x + 30, y + 40, steps=4)
    moved = page.locator(PICTURE).bounding_box()
    assert (moved["x"] - still["x"], moved["y"] - still["y"]) == pytest.approx((30, 40), abs=1)
    page.mouse.up()
    page.wait_for_selector(PICTURE, state="detached", timeout=PATIENCE)
    early = screenshot(page, "#map .sheet")
    shift = middle_of_crowds(early) - middle_of_crowds(first)
    assert np.abs(shift - (40, 30)).max() < 6
    data.release()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    late = screenshot(page, "#map .sheet")
    assert np.abs(middle_of_crowds(early) - middle_of_crowds(late)).max() < 6


def test_on_a_phone_the_picture_can_be_moved_before_the_data_have_come(
    open_page: Open, gridded: Release
) -> None:
    """The data appear where the reader has dragged the static picture."""
    requests = Held()
    page = open_page(
        path(gridded),
        (390, 844),
        wait="#map[data-state=pictured]",
        until="commit",
        prepare=lambda page: page.route("**/map.bin", requests),
    )
    page.wait_for_selector(PICTURE, state="detached", timeout=PATIENCE)
    assert page.locator(LOADING).is_visible()
    assert page.evaluate(UNCOVERED, ".find input")
    still = screenshot(page, "#map .sheet")
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(1500)
    moved = screenshot(page, "#map .sheet")
    assert ramp_share(moved, "light") > 2 * ramp_share(still, "light") > 0.02
    assert violations(page) == []
    requests.release()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    late = screenshot(page, "#map .sheet")
    assert np.abs(middle_of_crowds(moved) - middle_of_crowds(late)).max() < 6


def middle_of_crowds(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the row and column, in pixels, around which the higher classes of counts lie."""
    crowded = np.any([where(image, f"tide-{step}", "light") for step in (3, 4, 5)], axis=0)
    return np.asarray(np.argwhere(crowded).mean(axis=0), dtype=np.float64)


def test_what_a_link_chooses_has_no_picture_before_it(open_page: Open, gridded: Release) -> None:
    page = open_page(f"{path(gridded)}#ramp=ember", (390, 844))
    assert page.evaluate("performance.getEntriesByName('dpgeo:picture').length") == 0


def test_a_static_map_is_shown_before_the_map_library_is_loaded(
    open_page: Open, gridded: Release
) -> None:
    """On a slow connection a static map is shown first.

    The map library takes much longer to load than the map's data.
    """
    page = open_page(
        path(gridded),
        wait="canvas.ahead",
        until="commit",
        prepare=lambda page: page.route("**/assets/map-*.js", lambda route: None),
    )
    assert page.locator(LOADING).is_hidden()
    assert ramp_share(screenshot(page, "#map .sheet"), "light") > 0.02
    assert re.search("(People|Sightings) per", page.inner_text(".legend"))


def test_the_static_map_stays_until_the_library_has_drawn(open_page: Open) -> None:
    """The library draws only an empty background without its worker, so the static map stays."""
    cache.clear()
    page = open_page(
        path(install(zones_release(), "By ward")),
        wait="canvas.maplibregl-canvas",
        until="commit",
        prepare=lambda page: page.route("**/assets/map-worker-*.js", lambda route: None),
    )
    page.wait_for_timeout(2000)
    assert ramp_share(screenshot(page, "#map .sheet"), "light") > 0.02
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_selector("canvas.ahead", state="detached", timeout=PATIENCE)


def test_the_map_stays_static_if_its_library_fails_to_load(
    open_page: Open, gridded: Release
) -> None:
    page = open_page(
        path(gridded), wait="#map[data-state=drawn]", prepare=refusing("**/assets/map-*.js")
    )
    assert "the map is a still picture" in page.inner_text(NOTICE)
    assert page.locator("canvas.ahead").count() == 0
    assert ramp_share(screenshot(page, "#map .sheet"), "light") > 0.02
    unfold(page, "Map settings")
    page.get_by_role("button", name="Margin").click()
    assert share(screenshot(page, "#map .sheet"), "tide-3", "light") > 0.2


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


def test_if_the_zones_fail_to_load_the_page_offers_the_same_way_on(open_page: Open) -> None:
    cache.clear()
    release = install(zones_release(), "By ward")
    page = open_page(
        path(release),
        wait=f"{NOTICE}:not([hidden])",
        prepare=refusing("**/zones.geojson"),
    )
    assert "shapes did not load (no connection)" in page.inner_text(NOTICE)
    assert page.get_by_role("button", name="Try again").is_visible()


def test_without_scripts_the_map_is_a_picture(open_page: Open, gridded: Release) -> None:
    page = open_page(path(gridded), wait="#content", java_script_enabled=False)
    picture = page.locator("img.unscripted")
    assert picture.is_visible()
    assert page.locator(LOADING).is_hidden()
    assert picture.get_attribute("alt") == "Where people are, as a picture with its legend"
    assert ramp_share(screenshot(page, "#map"), "light") > 0.05
