"""The page of a series in a browser: time line, changes, two periods, and a place over time."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.releases.models import Series
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import Open
from tests.browser.test_accessibility import violations
from tests.maps import BOUNDS, grid_release
from tests.series_maps import install_series

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)


@pytest.fixture
def series() -> Series:
    cache.clear()
    return install_series(grid_release(AREA, 16), 4)


def path_of(series: Series) -> str:
    return reverse("series", args=[series.pk])


def choose(page: Any, shows: str) -> None:
    page.click(f"#shows [data-value={shows}]")


def test_the_time_line_is_walked_with_the_keyboard_and_plays(
    open_page: Open, series: Series
) -> None:
    page = open_page(path_of(series))
    assert page.inner_text("#period .days") == "26 Jan 2026 to 1 Feb 2026"
    slider = page.locator("#timeline input")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#period .days") == "19 Jan 2026 to 25 Jan 2026"
    assert slider.get_attribute("aria-valuetext") == "19 Jan 2026 to 25 Jan 2026"
    assert page.url.endswith("#day=2026-01-19")
    third = series.releases.get(number=3)
    assert third.pk in page.get_attribute("#own-page", "href")
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('#period .place').textContent[0] === '1'")
    assert page.inner_text("#timeline button") == "Stop"
    page.keyboard.press(" ")
    assert page.inner_text("#timeline button") == "Play"


def test_only_changes_that_noise_would_not_make_are_coloured(
    open_page: Open, series: Series
) -> None:
    page = open_page(path_of(series))
    assert page.is_disabled("#shows [data-value=year]")
    choose(page, "change")
    assert "More or fewer people" in page.inner_text(".legend")
    assert page.get_attribute("#map", "data-ramp") == "drift"
    # In every second map, half of the people in the fullest square have moved to the last square.
    rows = page.locator("#changes tbody tr")
    assert rows.count() == 2
    assert "In 2 of" in page.inner_text("#changes .found")
    assert sorted(row[0] for row in page.locator("#changes td.r").all_inner_texts()) == [
        "+",
        "\u2212",
    ]
    choose(page, "period")
    assert "drift" not in page.get_attribute("#map", "data-ramp")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(320, 720), (1440, 900)])
def test_axe_finds_nothing(
    open_page: Open, series: Series, size: tuple[int, int], theme: str
) -> None:
    page = open_page(f"{path_of(series)}#show=change", size, theme)
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
