"""Sums over an area that is drawn, typed, read from a file or given in a link."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.postprocess.ranges import Ranges
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import PATIENCE, Open
from tests.browser.pixels import screenshot, share
from tests.maps import BOUNDS, grid_release, install

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)
ANSWER = "#area .answer:not([hidden])"
VIEW = "#map=11/55.66/12.58"


@pytest.fixture
def gridded() -> Release:
    cache.clear()
    return install(grid_release(AREA, 64), "Where people are")


def total(page: Any) -> str:
    """Return the area's total as shown on the page."""
    page.wait_for_selector(ANSWER, timeout=PATIENCE)
    text: str = page.inner_text("#area .total")
    return text


def expected(release: Release, *sides: float) -> str:
    """Return the text expected on the page: the range answer for a box from the released counts."""
    [answer] = Ranges(load_released(release)).answer([StudyArea.from_bounds(*sides).shape])
    return f"{answer.estimate:,.0f} ± {answer.margin:,.0f} {answer.counted.value}"


def type_sides(page: Any, *sides: float | str) -> None:
    page.locator("#area details").evaluate("each => each.open = true")
    for name, side in zip(("West", "South", "East", "North"), sides, strict=True):
        page.locator("#area").get_by_label(name).fill(str(side))
    page.get_by_role("button", name="Count here").click()


def test_typed_sides_are_answered_with_a_margin(open_page: Open, gridded: Release) -> None:
    page = open_page(reverse("release", args=[gridded.pk]))
    type_sides(page, 12.55, 55.62, 12.6, 55.68)
    assert total(page) == expected(gridded, 12.55, 55.62, 12.6, 55.68)
    words = page.inner_text("#area .answer")
    assert "people." in words
    assert "counts once for each" in words
    assert "area=12.55,55.62;12.6,55.62;12.6,55.68;12.55,55.68" in page.evaluate("location.hash")
    page.get_by_role("button", name="Remove").click()
    assert page.locator(ANSWER).count() == 0
    assert "area" not in page.evaluate("location.hash")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dragging_draws_a_box_over_the_map(open_page: Open, gridded: Release, theme: str) -> None:
    page = open_page(reverse("release", args=[gridded.pk]) + VIEW, theme=theme)
    page.get_by_role("button", name="Draw a box").click()
    place = page.locator("#map .canvas").bounding_box()
    page.mouse.move(place["x"] + 300, place["y"] + 200)
    page.mouse.down()
    page.mouse.move(place["x"] + 400, place["y"] + 300, steps=3)
    page.mouse.up()
    assert "±" in total(page)
    assert share(screenshot(page, "#map .sheet"), "accent", theme) > 0.001
    before = page.evaluate("location.hash")
    assert "map=11/55.66/12.58&" in before, "the map stays where it is while a box is dragged"


def test_a_clicked_outline_is_restored_from_its_link(open_page: Open, gridded: Release) -> None:
    page = open_page(reverse("release", args=[gridded.pk]) + VIEW)
    page.get_by_role("button", name="Draw an outline").click()
    place = page.locator("#map .canvas").bounding_box()
    for x, y in ((300, 200), (450, 220), (380, 380)):
        page.mouse.click(place["x"] + x, place["y"] + y)
    page.keyboard.press("Enter")
    sum_shown, link = total(page), page.evaluate("location.hash")
    again = open_page(reverse("release", args=[gridded.pk]) + link)
    assert total(again) == sum_shown
    assert again.evaluate("location.hash") == link
