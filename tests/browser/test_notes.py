"""Notes on maps in a real browser: pins, their texts, downloaded pictures, and placing them."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from dpgeo.releases.models import Release
from dpgeo.releases.notes import release_annotate
from dpgeo.releases.services import release_run
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import PATIENCE, Open
from tests.browser.pixels import read_png, where
from tests.maps import BOUNDS, grid_release, install
from tests.web.desk import make_desk

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


def test_pins_move_with_the_map_and_leave_with_it(open_page: Open, noted: Release) -> None:
    page = open_page(f"/maps/{noted.pk}/", size=(1200, 800))
    first = page.locator(".pin").first
    before = first.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function("() => document.querySelector('#map').dataset.state === 'idle'")
    page.wait_for_timeout(600)
    assert first.bounding_box() != before
    away = f"#map=13/{NORTH:.4f}/{EAST:.4f}"
    page = open_page(f"/maps/{noted.pk}/{away}", size=(1200, 800))
    assert page.locator(".pin:visible").count() == 0


def test_the_picture_has_the_pins_that_are_seen_and_their_words(
    open_page: Open, noted: Release
) -> None:
    def picture(link: str) -> Any:
        page = open_page(f"/maps/{noted.pk}/{link}", size=(1200, 800))
        page.wait_for_selector("#map[data-state=idle]")
        with page.expect_download() as download:
            page.get_by_role("button", name="Picture").click()
        return read_png(download.value.path().read_bytes())

    with_notes, without = picture(""), picture(f"#map=13/{NORTH:.4f}/{EAST:.4f}")
    assert pins_in(with_notes, "light") > 1000
    assert pins_in(without, "light") == 0
    assert with_notes.shape[0] > without.shape[0], "the words stand under the picture"


def test_a_press_on_the_draft_places_a_note(open_page: Open, live_server: Any) -> None:
    cache.clear()
    desk = make_desk()
    release = desk.request(desk.declare(ready=True))
    assert release_run(release_id=release.pk)
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": desk.client.cookies[name].value}

    def sign_in(page: Any) -> None:
        page.context.add_cookies([cookie | {"url": live_server.url}])

    page = open_page(
        f"/desk/releases/{release.pk}/", (390, 844), wait="canvas[data-state]", prepare=sign_in
    )
    page.get_by_text("Put notes on the map").click()
    page.get_by_label("Note", exact=True).first.fill("The middle is busy.")
    canvas = page.locator(".placing canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert page.locator(".placing .pin").count() == 1
    page.get_by_role("button", name="Save the notes").click()
    page.get_by_role("button", name="Publish with its notes").wait_for(timeout=PATIENCE)
    (note,) = Release.objects.get().notes
    assert note["text"] == "The middle is busy."
    assert abs(note["longitude"] - 10.05) < 0.001
    assert abs(note["latitude"] - 50.05) < 0.001
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
