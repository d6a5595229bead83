"""The public pages in a real browser, checked pixel by pixel."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.postprocess.layers import box_layers
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, PATIENCE, Open, unfold
from tests.browser.pixels import RAMP, ramp_share, screenshot, share, where
from tests.maps import BOUNDS, grid_release, install, partition_release

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)
SIZES = [(320, 720), (768, 1024), (1440, 900)]
THEMES = ["light", "dark"]
"""Script that counts the shader programs that a page links, and those of them whose result it asks
for at once, so that it has to wait until they are linked.
"""
"""Script that records the order of three events: the drawing of a map's first picture begins, the
page runs an urgent task, as it would for a click, and the drawing ends with the picture's frame."""
"""Script that makes a page behave as in a background tab: hidden, and without animation frames.

It is needed because Chromium without a screen treats all of its tabs as visible.
"""


@pytest.fixture
def gridded() -> Release:
    cache.clear()
    return install(grid_release(AREA, 64), "Where people are")


@pytest.fixture
def boxed() -> Release:
    cache.clear()
    return install(partition_release(AREA, 64), "In boxes")


def release_path(release: Release, link: str = "") -> str:
    return reverse("release", args=[release.pk]) + link


def cell_view(release: Release, index: int) -> str:
    """Return a URL that centres the map on a measured box at a high zoom."""
    layer = box_layers(load_released(release))[0]
    west, south, east, north = layer.grid.box_bounds(layer.boxes[[index]])[0]
    return f"#map=13.5/{(south + north) / 2:.6f}/{(west + east) / 2:.6f}"


def middle(image: Any, half: int = 12) -> Any:
    """Return a patch in the middle of an image; at zoom 13.5 it is well inside one cell."""
    y, x = image.shape[0] // 2, image.shape[1] // 2
    return image[y - half : y + half, x - half : x + half]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_the_map_shows_ramp_hatch_and_land_at_every_size_and_in_both_themes(
    open_page: Open, gridded: Release, size: tuple[int, int], theme: str
) -> None:
    page = open_page(release_path(gridded), size, theme)
    image = screenshot(page, "#map .sheet")
    seen = [name for name in RAMP if share(image, name, theme) > 0.0004]
    assert len(seen) >= 6, f"only {seen}"
    assert 0.01 < share(image, "map-hatch", theme) < 0.2
    assert share(image, "map-land", theme) > 0.05
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("doubt", ["just below the threshold", "below zero"])
def test_counts_below_the_threshold_are_hatched_and_never_coloured(
    open_page: Open, gridded: Release, theme: str, doubt: str
) -> None:
    layer = box_layers(load_released(gridded))[0]
    _, south, east, _ = layer.grid.box_bounds(layer.boxes).T
    # Choose among cells on land, so that neither coast nor sea is in the picture.
    wanted = (east < 12.52) & (south > 55.65) & (layer.value < layer.threshold)
    if doubt == "below zero":
        wanted &= layer.value < 0
    index = int(np.flatnonzero(wanted)[np.argmax(layer.value[wanted])])
    page = open_page(release_path(gridded, cell_view(gridded, index)), theme=theme)
    patch = middle(screenshot(page, "#map .sheet"))
    assert ramp_share(patch, theme) == 0.0
    hatched = where(patch, "map-hatch", theme)
    assert 0.03 < hatched.mean() < 0.4
    rows, columns = np.nonzero(hatched)
    assert len(set((rows + columns) % 8)) <= 2, "the lines run at 45 degrees, 8 pixels apart"


def test_outside_the_study_area_nothing_is_drawn(open_page: Open, gridded: Release) -> None:
    west, south, east, north = BOUNDS
    view = f"#map=12/{(south + north) / 2}/{west - 0.2 * (east - west)}"
    image = screenshot(open_page(release_path(gridded, view)), "#map .sheet")
    left = image[60:-160, 120 : image.shape[1] // 2]
    assert ramp_share(left, "light") == 0.0
    assert share(left, "map-hatch", "light") == 0.0


def test_a_map_opens_smoothed_and_shows_what_was_counted_beside_it(
    open_page: Open, boxed: Release
) -> None:
    """A map opens with the smoothed counts, and can show the measured counts instead."""
    page = open_page(release_path(boxed))
    smoothed = screenshot(page, "#map .sheet")
    assert ramp_share(smoothed, "light") > 0.08
    assert "by a formula" in page.inner_text(".legend")
    unit = page.inner_text(".legend h2")
    unfold(page, "Map settings")
    assert not page.get_by_role("button", name="Outline only").is_visible(), "there are no streets"
    page.get_by_role("button", name="As counted").click()
    page.wait_for_timeout(500)
    counted = screenshot(page, "#map .sheet")
    assert (counted != smoothed).any(axis=2).mean() > 0.02
    assert "by a formula" not in page.inner_text(".legend")
    assert page.inner_text(".legend h2") == unit, "both are stated for the same square"
    assert "layer=partitions" in page.evaluate("location.hash")


def test_margins_cover_the_whole_area_without_hatch(open_page: Open, gridded: Release) -> None:
    page = open_page(release_path(gridded))
    doubtful = share(screenshot(page, "#map .sheet"), "map-hatch", "light")
    unfold(page, "Map settings")
    page.get_by_role("button", name="Margin").click()
    page.wait_for_timeout(500)
    image = screenshot(page, "#map .sheet")
    # The share is not 0, because some pixels of place names have the colour of the hatch.
    assert share(image, "map-hatch", "light") < doubtful / 3
    assert share(image, "tide-3", "light") > 0.2
    assert re.search("Margin of error, (people|sightings) per", page.inner_text(".legend"))


def test_pointing_at_a_cell_shows_its_count_and_margin(open_page: Open, gridded: Release) -> None:
    layer = box_layers(load_released(gridded))[0]
    index = int(np.argmax(layer.value))
    page = open_page(release_path(gridded, cell_view(gridded, index)))
    page.locator("#map .canvas").hover()
    flag = page.locator(".flag:not(.yours)")
    flag.wait_for(state="visible")
    match = re.search(r"([\d,]+) ± 12 in this", flag.inner_text())
    assert match, flag.inner_text()
    # The map loads values that are rounded to a quarter of the noise scale, so they may differ a
    # little from the released ones.
    assert abs(int(match[1].replace(",", "")) - int(layer.value[index])) <= 1
    noun, unit = page.inner_text(".legend h2").split(" ", 1)
    assert f"{noun.lower()} {unit}" in flag.inner_text(), "the unit of the legend"


def test_the_arrow_keys_walk_from_cell_to_cell(open_page: Open, gridded: Release) -> None:
    page = open_page(release_path(gridded))
    page.focus("#map canvas.maplibregl-canvas")
    heard = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
        page.keyboard.press(key)
        heard.append(page.inner_text("#map [aria-live=polite]"))
    assert len(set(heard)) == 4
    assert all("± 12 in this" in words and "° N" in words for words in heard)
    page.keyboard.press("Escape")
    assert page.locator(".flag:not(.yours)").is_hidden()


@pytest.mark.parametrize("link", ["#map=99/1/1", "#map=9/0/0", "#layer=none&show=all", "#%%%"])
def test_a_nonsense_link_still_shows_the_map(open_page: Open, gridded: Release, link: str) -> None:
    page = open_page(release_path(gridded, link))
    assert page.locator(".legend").is_visible()


def test_without_webgl_a_static_map_is_drawn(
    open_page: Open, gridded: Release, browser_without_webgl: Any
) -> None:
    page = open_page(
        release_path(gridded), wait="#map[data-state=drawn]", chosen=browser_without_webgl
    )
    image = screenshot(page, "#map .sheet")
    assert ramp_share(image, "light") > 0.02
    assert share(image, "map-hatch", "light") > 0.01
    assert "no WebGL" in page.inner_text(".map-notice")
    unfold(page, "Map settings")
    page.get_by_role("button", name="Margin").click()
    assert share(screenshot(page, "#map .sheet"), "tide-3", "light") > 0.2


def test_without_scripts_the_figures_and_files_are_there(open_page: Open, gridded: Release) -> None:
    page = open_page(release_path(gridded), wait="#content", java_script_enabled=False)
    assert page.locator(".largest tbody tr").count() == 20
    unfold(page, "Data")
    assert page.get_by_role("link", name="GeoParquet").first.is_visible()
    assert page.locator("noscript .map-notice").is_visible()


def test_a_map_whose_data_fail_to_load_says_what_to_do(open_page: Open, gridded: Release) -> None:
    page = open_page(
        release_path(gridded),
        wait=".map-notice:not([hidden])",
        prepare=lambda page: page.route(
            "**/map.bin", lambda route: route.fulfill(status=503, body="busy")
        ),
    )
    assert "The map's data did not load (503)" in page.inner_text(".map-notice >> nth=0")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_the_catalogue_shows_the_picture_of_each_map(
    open_page: Open, gridded: Release, size: tuple[int, int], theme: str
) -> None:
    asked: list[str] = []

    def prepare(page: Any) -> None:
        page.on("request", lambda request: asked.append(request.url))

    page = open_page("/", size, theme, wait="img.thumbnail", prepare=prepare)
    page.wait_for_function("document.querySelector('img.thumbnail').naturalWidth > 0")
    image = screenshot(page, "img.thumbnail")
    if theme == "light":
        assert ramp_share(image, theme) > 0.01
    assert (image.mean() < 128) == (theme == "dark")
    assert not any(url.endswith((".bin", "basemap.json")) for url in asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.get_by_role("link", name="Where people are").click()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)


def test_every_choice_is_restored_from_the_link(open_page: Open, gridded: Release) -> None:
    page = open_page(release_path(gridded))
    unfold(page, "Map settings")
    for name in ("Ember", "Equal groups", "Margin"):
        page.get_by_role("button", name=name).click()
    page.locator("#opacity").fill("60")
    link = page.evaluate("location.hash")
    for part in ("ramp=ember", "scale=quantile", "show=margin", "opacity=60"):
        assert part in link
    again = open_page(release_path(gridded, link))
    assert again.evaluate("location.hash") == link or again.evaluate(
        "location.hash.split('&').slice(1).join()"
    ) == ",".join(link.split("&")[1:])
    unfold(again, "Map settings")
    for name in ("Ember", "Equal groups", "Margin"):
        pressed = again.get_by_role("button", name=name).get_attribute("aria-pressed")
        assert pressed == "true"
    page.mouse.move(0, 0)
    assert (screenshot(page, "#map .sheet") == screenshot(again, "#map .sheet")).all()
