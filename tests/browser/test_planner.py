"""The planner in a real browser: tasks and circles, checked pixel by pixel."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.pixels import ramp_share, screenshot, share
from tests.browser.test_accessibility import tab_to, violations
from tests.maps import BOUNDS, contour_release, grid_release, install, partition_release
from tests.web.published import make_member, make_organisation

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


@pytest.mark.parametrize("size", [(390, 844), (900, 800), (1440, 900)])
def test_the_map_opens_beside_its_legend_and_below_its_box(
    open_planner: Open, size: tuple[int, int]
) -> None:
    """The whole study area is visible when the planner opens, and nothing covers the credit."""
    cache.clear()
    area = StudyArea.from_bounds(9.0, 48.6, 9.4, 48.9)  # The area is inland, so no coast is drawn.
    release = install(grid_release(area, 48), "Stuttgart")
    page = open_planner(f"/plan/?release={release.pk}", size=size)
    sheet = page.locator("#map .sheet").bounding_box()
    # The key to the circles is part of the map's legend and has no border of its own.
    assert page.locator(".legend > .circle-key").count() == 1
    assert (
        page.eval_on_selector(".circle-key", "each => getComputedStyle(each).borderTopWidth")
        == "0px"
    )
    covers = ["#map .legend", ".circle-key", ".shows", "form.find"]
    boxes = [page.locator(each).bounding_box() for each in covers]
    credit = page.locator(".attrib").bounding_box()
    assert not any(overlap(credit, each) for each in boxes)
    page.add_style_tag(content=f"{', '.join(covers)} {{ visibility: hidden; }}")
    image = screenshot(page, "#map .sheet")
    assert share(image, "map-hatch", "light") > 0.03
    left, top = sheet["x"], sheet["y"]
    for name, box in zip(covers, boxes, strict=True):
        if not overlap(sheet, box):
            continue
        x, y = int(box["x"] - left), int(box["y"] - top)
        part = image[max(y, 0) : y + int(box["height"]), max(x, 0) : x + int(box["width"])]
        assert share(part, "map-hatch", "light") + ramp_share(part, "light") < 0.005, name


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return whether two rectangles on a page overlap."""
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "width"), ("y", "height"))
    )


def upload(page: Any, text: str = TASKS, name: str = "tasks.csv") -> None:
    page.set_input_files("#upload", {"name": name, "mimeType": "text/csv", "buffer": text.encode()})


def test_bands_are_drawn_and_a_click_draws_a_circle(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    before = screenshot(page, "#map")
    assert ramp_share(before, "light") > 0.03
    assert page.locator("#no-tasks").is_visible()
    box = page.locator("#map .canvas").bounding_box()
    page.mouse.click(box["x"] + 0.42 * box["width"], box["y"] + 0.55 * box["height"])
    planned(page, 1)
    after = screenshot(page, "#map")
    assert share(after, "accent", "light") > share(before, "accent", "light") + 1e-4
    assert page.locator("#tasks tbody tr").count() == 1


def test_a_file_is_planned_both_ways_with_reasons(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    upload(page)
    planned(page, 3)
    rows = page.locator("#tasks tbody tr")
    assert rows.count() == 3
    assert "9" in rows.nth(1).inner_text()
    assert rows.nth(2).locator(".why").count() == 1
    assert page.locator("[data-figure=met-even]").inner_text().startswith("2")


def test_the_plan_follows_the_slider_at_once(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    upload(page)
    planned(page, 3)
    before = page.locator("#tasks tbody").inner_text()
    ring = screenshot(page, "#map")
    page.locator("#target").evaluate(
        "input => {input.value = '50'; input.dispatchEvent(new Event('input', {bubbles: true}))}"
    )
    page.wait_for_function(
        "(before) => document.querySelector('#tasks tbody').innerText !== before",
        arg=before,
        timeout=PATIENCE,
    )
    assert (screenshot(page, "#map") != ring).any()


def test_downloads_contain_the_plan(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    upload(page)
    planned(page, 3)
    with page.expect_download() as taken:
        page.click("[data-take=csv]")
    rows = list(csv.DictReader(io.StringIO(Path(taken.value.path()).read_text())))
    assert [row["name"] for row in rows] == ["Quay", "Corner", "Sea"]
    assert float(rows[1]["allocated_reward"]) == 9
    assert rows[2]["uniform_reason"]
    with page.expect_download() as taken:
        page.click("[data-take=geojson]")
    document = json.loads(Path(taken.value.path()).read_text())
    kinds = [each["geometry"]["type"] for each in document["features"]]
    assert kinds.count("Point") == 3
    assert kinds.count("Polygon") == 2


def test_regions_are_drawn_beside_circles_and_compared_in_numbers(open_planner: Open) -> None:
    cache.clear()
    release = install(partition_release(AREA, 32), "In boxes")
    page = open_planner(f"/plan/?release={release.pk}")
    upload(page)
    planned(page, 3)
    before = screenshot(page, "#map")
    assert not page.locator("[data-figure=notified-regions]").is_visible()
    page.check("[name=geocast]")
    page.wait_for_selector("[data-figure=notified-regions]", timeout=PATIENCE)
    assert page.inner_text("[data-figure=met-regions]").endswith("of 3")
    assert "regions" in page.inner_text("#tasks tbody tr")
    after = screenshot(page, "#map")
    assert (after != before).any(axis=-1).mean() > 5e-4
    with page.expect_download() as taken:
        page.click("[data-take=geojson]")
    features = json.loads(Path(taken.value.path()).read_text())["features"]
    assert "regions" in [each["properties"]["feature"] for each in features]
    with page.expect_download() as taken:
        page.click("[data-take=csv]")
    rows = list(csv.DictReader(io.StringIO(Path(taken.value.path()).read_text())))
    assert int(rows[0]["geocast_regions"]) >= 1
    link = page.evaluate("location.search + location.hash")
    assert open_planner(f"/plan/{link}").is_checked("[name=geocast]")


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
    assert [row["uniform_reason"] for row in rows] == [
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


def test_a_link_restores_the_whole_plan(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    upload(page)
    page.fill("#travel_metres", "2500") if page.locator("#travel_metres").is_visible() else None
    planned(page, 3)
    path = page.evaluate("location.pathname + location.search + location.hash")
    other = open_planner(path)
    planned(other, 3)
    assert other.locator("#tasks tbody").inner_text() == page.locator("#tasks tbody").inner_text()


def test_a_place_can_be_typed(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    page.locator(".add summary").press("Enter")
    page.fill("#add-longitude", "12.555")
    page.fill("#add-latitude", "55.65")
    page.fill("#add-name", "Typed")
    page.locator("#add-name").press("Enter")
    planned(page, 1)
    assert "Typed" in page.locator("#tasks tbody").inner_text()


def test_tasks_are_planned_on_any_map_of_cells(open_planner: Open) -> None:
    cache.clear()
    release = install(grid_release(AREA, 48), "Where people are")
    page = open_planner(f"/plan/?release={release.pk}")
    upload(page)
    planned(page, 3)
    assert ramp_share(screenshot(page, "#map"), "light") > 0.01


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
    page = open_planner("/plan/#geocast=on", size, theme)
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
    tab_to(page, "[data-choose=allocation] [data-value=optimal]")
    page.keyboard.press("Enter")
    tab_to(page, "[name=geocast]")
    page.keyboard.press("Space")
    page.wait_for_selector("[data-figure=notified-regions]", timeout=PATIENCE)
    link = page.evaluate("location.hash")
    assert "target=50" in link
    assert "allocation=optimal" in link
    tab_to(page, "#tasks .remove")
    page.keyboard.press("Enter")
    planned(page, 0)


@pytest.mark.parametrize("size", [(320, 720), (1440, 900)])
def test_a_member_saves_a_plan_and_opens_it_again(
    contours: Release, open_planner: Open, live_server: Any, size: tuple[int, int]
) -> None:
    organisation = make_organisation()
    member = make_member(organisation, "planner")
    client = Client()
    client.force_login(member)
    cookie = {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": live_server.url,
    }
    page = open_planner("/plan/", size, cookies=[cookie])
    upload(page)
    planned(page, 3)
    page.fill("#keep-name", "Spring lamps")
    page.check("#keep [name=shared]")
    page.click("#keep button")
    page.wait_for_selector("#said a", timeout=PATIENCE)
    assert violations(page) == []
    shared = page.get_attribute("#said a", "href").removeprefix(live_server.url)
    planned(open_planner(shared), 3)
    page.goto(f"{live_server.url}/desk/campaigns/")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.get_by_label("Name of Spring lamps").fill("Summer lamps")
    page.get_by_role("button", name="Save Spring lamps").click()
    page.get_by_role("link", name="Summer lamps", exact=True).click()
    planned(page, 3)
    page.goto(f"{live_server.url}/desk/campaigns/")
    page.get_by_role("button", name="Delete Summer lamps").click()
    assert "None is saved yet" in page.inner_text("main")
