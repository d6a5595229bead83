"""Maps of several time slices, with a slider that changes picture, range answers and URL."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.postprocess.ranges import Ranges
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import PATIENCE, Open, unfold
from tests.browser.pixels import ramp_share, screenshot
from tests.maps import BOUNDS, install, slices_release

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BOX = (12.5, 55.62, 12.62, 55.7)


@pytest.fixture
def by_time() -> Release:
    cache.clear()
    return install(slices_release(StudyArea.from_bounds(*BOUNDS)), "Where people are, by time")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_slider_goes_from_slice_to_slice_by_keys(
    open_page: Open, by_time: Release, theme: str
) -> None:
    page = open_page(reverse("release", args=[by_time.pk]), theme=theme)
    slider = page.get_by_role("slider", name="By time")
    slider.focus()
    working_days = screenshot(page, "#map .sheet")
    half = working_days.shape[1] // 2
    classes = page.inner_text(".legend .axis")
    assert slider.get_attribute("aria-valuetext") == "Monday to Friday"
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('cells-weekends')", timeout=PATIENCE)
    page.wait_for_timeout(300)
    weekends = screenshot(page, "#map .sheet")
    assert slider.get_attribute("aria-valuetext") == "Saturday and Sunday"
    west, east = (slice(None), slice(half)), (slice(None), slice(half, None))
    assert ramp_share(working_days[west], theme) > 2 * ramp_share(weekends[west], theme)
    assert ramp_share(weekends[east], theme) > 2 * ramp_share(working_days[east], theme)
    assert page.inner_text(".legend .axis") == classes, (
        "a colour means the same count in every slice"
    )
    assert "Saturday and Sunday" in page.inner_text(".legend")


def test_a_link_opens_its_slice(open_page: Open, by_time: Release) -> None:
    page = open_page(reverse("release", args=[by_time.pk]) + "#layer=cells-weekends")
    assert page.get_by_role("slider", name="By time").input_value() == "1"
    assert page.inner_text("#time-slices output") == "Saturday and Sunday"


def test_an_area_is_added_up_for_the_slice_that_is_shown(open_page: Open, by_time: Release) -> None:
    released = load_released(by_time)
    page = open_page(reverse("release", args=[by_time.pk]))
    page.locator("#area details").evaluate("each => each.open = true")
    for name, side in zip(("West", "South", "East", "North"), BOX, strict=True):
        page.locator("#area").get_by_label(name).fill(str(side))
    page.locator("#area form button").click()
    for number, layer in enumerate(("cells-working-days", "cells-weekends")):
        page.get_by_role("slider", name="By time").fill(str(number))
        [answer] = Ranges(released, layer=layer).answer([StudyArea.from_bounds(*BOX).shape])
        figure = f"{answer.estimate:,.0f} ± {answer.margin:,.0f}"
        page.wait_for_function(
            "figure => document.querySelector('#area .total').textContent"
            ".replace(/\\s+/g, ' ').includes(figure)",
            arg=figure,
            timeout=PATIENCE,
        )


def test_the_page_has_the_totals_of_all_slices_without_scripts(
    open_page: Open, by_time: Release
) -> None:
    page = open_page(
        reverse("release", args=[by_time.pk]), wait="#content", java_script_enabled=False
    )
    unfold(page, "All times in a table")
    rows = page.locator(".bars tbody tr")
    assert [row.split("\t")[0].strip() for row in rows.all_inner_texts()] == [
        "Monday to Friday",
        "Saturday and Sunday",
    ]
    assert page.locator("#time-slices").is_hidden()
