"""The planner in a real browser: tasks and circles, checked pixel by pixel."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.pixels import ramp_share, screenshot, share
from tests.browser.test_accessibility import tab_to, violations
from tests.maps import BOUNDS, contour_release, install

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)
PATIENCE = 180_000
SIZES = [(320, 720), (768, 1024), (1440, 900)]

TASKS = (
    "name,longitude,latitude,reward\nQuay,12.555,55.65,\nCorner,12.52,55.67,9\nSea,12.73,55.57,\n"
)

Open = Callable[..., Any]


@pytest.fixture
def contours() -> Release:
    cache.clear()
    return install(contour_release(AREA, 48), "Contours of Vessby")


@pytest.fixture
def open_planner(browser: Any, live_server: Any) -> Iterator[Open]:
    """Yield a function that opens the planner; afterwards check that no script has failed."""
    contexts, faults = [], []

    def open_one(
        path: str = "/plan/",
        size: tuple[int, int] = (1440, 900),
        theme: str = "light",
        cookies: Sequence[Any] = (),
    ) -> Any:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme
        )
        context.add_cookies(list(cookies))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"script failed: {error}"))
        page.goto(live_server.url + path)
        page.wait_for_selector("#map[data-state=idle]", state="attached", timeout=PATIENCE)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not faults, faults


def planned(page: Any, count: int) -> None:
    page.wait_for_selector(f"main[data-planned='{count}']", timeout=PATIENCE)


def upload(page: Any, text: str = TASKS, name: str = "tasks.csv") -> None:
    page.set_input_files("#upload", {"name": name, "mimeType": "text/csv", "buffer": text.encode()})


def test_a_file_is_planned_with_reasons(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    upload(page)
    planned(page, 3)
    rows = page.locator("#tasks tbody tr")
    assert rows.count() == 3
    assert "9" in rows.nth(1).inner_text()
    assert rows.nth(2).locator(".why").count() == 1
    assert page.locator("[data-figure=met]").inner_text().startswith("2")


BAD = """name,longitude,latitude,reward
Good,12.555,55.65,
Away,2.0,48.0,
Not a number,NaN,55.65,
Word,far,55.65,
Out of range,12.5,400.17,
Cheap,12.555,55.65,0.5
Not an amount,12.555,55.65,seven
"""


def test_every_bad_row_of_a_file_is_reported_and_the_rest_planned(
    contours: Release, open_planner: Open
) -> None:
    page = open_planner()
    upload(page, BAD)
    planned(page, 7)
    with page.expect_download() as taken:
        page.click("[data-take=csv]")
    rows = list(csv.DictReader(io.StringIO(Path(taken.value.path()).read_text())))
    assert [row["reason"] for row in rows] == [
        "",
        "outside_area",
        "not_a_place",
        "not_a_place",
        "not_a_place",
        "reward_too_low",
        "reward_too_low",
    ]
    assert page.locator("#tasks .why").count() == 6
    for field, value, reason in (
        ("least_reward", "1000", "least that anybody accepts"),
        ("travel_metres", "0", "Nobody travels 0 metres"),
    ):
        page.locator(".workers").evaluate("each => each.open = true")
        typed = page.input_value(f"#{field}")
        page.fill(f"#{field}", value)
        page.wait_for_function(
            "words => document.querySelector('#tasks tbody tr').innerText.includes(words)",
            arg=reason,
            timeout=PATIENCE,
        )
        page.fill(f"#{field}", typed)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_overflows_and_circles_are_visible(
    contours: Release, open_planner: Open, size: tuple[int, int], theme: str, tmp_path: Path
) -> None:
    page = open_planner("/plan/", size, theme)
    upload(page)
    planned(page, 3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    image = screenshot(page, "#map")
    assert ramp_share(image, theme) > 0.02
    assert share(image, "accent", theme) > 1e-4


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(320, 720), (1440, 900)])
def test_axe_finds_nothing_on_a_plan(
    contours: Release, open_planner: Open, size: tuple[int, int], theme: str
) -> None:
    page = open_planner("/plan/", size, theme)
    assert violations(page) == []
    upload(page)
    planned(page, 3)
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    page.locator("#tasks tbody .name").first.click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_a_plan_needs_only_the_keyboard(contours: Release, open_planner: Open) -> None:
    """Everything about a task works without a mouse, from typing its place to removing it."""
    page = open_planner()
    tab_to(page, ".add summary")
    page.keyboard.press("Enter")
    for field, value in (("longitude", "12.555"), ("latitude", "55.65")):
        tab_to(page, f"#add-{field}")
        page.keyboard.type(value)
    page.keyboard.press("Enter")
    planned(page, 1)
    tab_to(page, "#target")
    page.keyboard.press("Home")
    page.wait_for_function("() => location.hash.includes('target=50')", timeout=PATIENCE)
    tab_to(page, "#tasks .remove")
    page.keyboard.press("Enter")
    planned(page, 0)
