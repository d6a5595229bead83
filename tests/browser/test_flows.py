"""Flows on the page of a map: arcs, table, matrix, hours, and two areas drawn by hand."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.urls import reverse

from dpgeo.postprocess.flow_answers import FlowAnswers
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import released_of
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, PATIENCE, Open, unfold
from tests.browser.pixels import read_png, screenshot, share, where
from tests.browser.test_accessibility import violations
from tests.makers import ask_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WEST, EAST = (10.0, 50.0, 10.05, 50.1), (10.05, 50.0, 10.1, 50.1)
ANSWER = "#area .answer:not([hidden])"
SIZES = [(1440, 900, "light"), (1440, 900, "dark"), (390, 844, "light"), (390, 844, "dark")]


@pytest.fixture
def published(tmp_path: Path) -> Release:
    """Publish flows between the squares of a town, before and after noon, from a file of trips.

    Most trips lead to square B2 in the morning, and back from it in the afternoon. A fifth of the
    riders do not ride back. So even with noise, the morning has most trips, and the map shows it
    first.
    """
    cache.clear()
    random = np.random.default_rng(6)
    middles = [
        (10.0125 + 0.025 * column, 50.0875 - 0.025 * row)
        for row, column in itertools.product(range(4), range(4))
    ]
    share_of = 1 / (2 + np.arange(16.0))
    lines = ["rider,lon,lat,to_lon,to_lat,start"]
    for rider, home in enumerate(random.choice(16, 8_000, p=share_of / share_of.sum()).tolist()):
        work = 5 if rider % 4 else int(random.integers(16))
        ways = ((home, work, "07:30"), (work, home, "17:30"))
        for start, end, hour in ways[: 2 if rider % 5 else 1]:
            at = np.array([*middles[start], *middles[end]]) + random.uniform(-0.01, 0.01, 4)
            text = ",".join(f"{each:.6f}" for each in at)
            lines.append(f"r{rider},{text},2026-05-05T{hour}:00")
    path, output = tmp_path / "trips.csv", io.StringIO()
    path.write_text("\n".join([*lines, ""]))
    call_command(
        "ingest", str(path), "--create", "--dataset=rides", "--title=Rides", "--person=rider",
        "--organisation=Bikes", "--area=10,50,10.1,50.1", "--budget=3", "--time=start",
        "--destination_longitude=to_lon", "--destination_latitude=to_lat", "--row-noun=trip",
        stdout=output,
    )  # fmt: skip
    call_command(
        "release", "rides", "--mechanism=flows", "--title=Rides to work", "--epsilon=2",
        "--bound=2", "--counting=visits", "--param=cells=4", "--param=slices=12 hours",
        "--publish", "--wait", stdout=output,
    )  # fmt: skip
    return Release.objects.get()


@pytest.mark.parametrize(("width", "height", "theme"), SIZES)
def test_map_table_and_matrix_fit_and_axe_finds_nothing(
    open_page: Open, published: Release, width: int, height: int, theme: str
) -> None:
    page = open_page(reverse("release", args=[published.pk]), (width, height), theme)
    assert share(screenshot(page, "#map .sheet"), "ink", theme) > 0.005, "arcs are ink"
    page.wait_for_selector("#flows .told table")
    assert page.locator("#flow-region option:checked").inner_text() == "B2"
    assert page.locator("#flows .told tbody tr").count() > 5
    for words in ("The flows as a table", "All flows as a matrix"):
        unfold(page, words)
    assert page.locator(".flow-table tbody tr").count() > 5
    assert page.locator(".flow-matrix tbody tr").count() == 17
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_region_is_chosen_without_a_mouse(open_page: Open, published: Release) -> None:
    page = open_page(reverse("release", args=[published.pk]))
    page.focus("#map canvas.maplibregl-canvas")
    page.keyboard.press("ArrowRight")
    said = "() => /arrive|leave|go here/.test(document.querySelector('#map [aria-live]').innerText)"
    page.wait_for_function(said, timeout=PATIENCE)
    page.keyboard.press("Enter")
    chosen = page.locator("#flow-region").input_value()
    assert chosen
    assert chosen in page.inner_text(".legend")
    page.locator("#flows").get_by_role("button", name="Departures").press("Enter")
    page.wait_for_function(
        "(name) => document.querySelector('.legend').innerText.includes(`leaving ${name}`)",
        arg=chosen,
        timeout=PATIENCE,
    )
    assert page.locator("#flows [aria-pressed=true]").inner_text() == "Departures"


def test_the_slider_leads_from_morning_to_afternoon(open_page: Open, published: Release) -> None:
    page = open_page(reverse("release", args=[published.pk]))
    page.locator("#flow-region").select_option("B2")

    def told() -> tuple[float, float]:
        """Return the numbers of arrivals at B2 and of departures from B2 that the panel shows."""
        arriving = page.inner_text("#flows .total").split()[0]
        leaving = page.inner_text("#flows .told .small >> nth=0").split()[0]
        return float(arriving.replace(",", "")), float(leaving.replace(",", ""))

    slider = page.get_by_role("slider", name="By time")
    for key, words in (("End", "12:00 to 24:00"), ("Home", "00:00 to 12:00")):
        slider.press(key)
        page.wait_for_function(
            "(words) => document.querySelector('[type=range]').getAttribute('aria-valuetext')"
            ".includes(words)",
            arg=words,
            timeout=PATIENCE,
        )
        page.wait_for_function(
            "(many) => many === (1000 < parseInt("
            "document.querySelector('#flows .total').innerText.replace(',', '')))",
            arg=key == "Home",
            timeout=PATIENCE,
        )
        arriving, leaving = told()
        assert (arriving > leaving) == (key == "Home"), "to work before noon, home after it"


def type_sides(page: Any, sides: tuple[float, ...]) -> None:
    page.locator("#area details").evaluate("each => each.open = true")
    for name, side in zip(("West", "South", "East", "North"), sides, strict=True):
        page.locator("#area").get_by_label(name).fill(str(side))
    page.get_by_role("button", name="Count here").click()


def expected(release: Release, layer: str, origin: Any, destination: Any) -> str:
    """Return the text expected on the page for the trips between two boxes."""
    shapes = [sides and StudyArea.from_bounds(*sides).shape for sides in (origin, destination)]
    answer = FlowAnswers(released_of(release), layer=layer).answer(*shapes)
    return f"{answer.estimate:,.0f} ± {answer.margin:,.0f} trips"


def shown(page: Any, words: str) -> str:
    """Return the text of the page's answer once it contains `words`, the direction of the trips."""
    page.wait_for_selector(f"{ANSWER} >> text={words}", timeout=PATIENCE)
    text: str = page.inner_text("#area .total")
    return text


@pytest.mark.parametrize("width", [1200, 390])
def test_trips_between_two_areas_are_those_of_the_release(
    open_page: Open, published: Release, width: int
) -> None:
    path = reverse("release", args=[published.pk])
    page = open_page(path + "#layer=flows-00-12", (width, 844))
    type_sides(page, EAST)
    begun = shown(page, "From the area to anywhere")
    assert begun == expected(published, "flows-00-12", EAST, None)
    type_sides(page, WEST)
    assert shown(page, "From the one area to the other") == expected(
        published, "flows-00-12", EAST, WEST
    )
    assert [each.inner_text().split("\n")[0] for each in page.locator(".flag.yours:visible").all()]
    assert page.locator(".area-overlay .line").count() == 2
    link = page.evaluate("location.hash")
    assert "from=10.05," in link
    assert "to=10," in link
    assert violations(page) == []
    again = open_page(path + link, (width, 844))
    assert shown(again, "From the one area to the other") == page.inner_text("#area .total")
    again.get_by_role("button", name="Remove").click()
    assert again.locator(".area-overlay .line").count() == 0
    assert "from=" not in again.evaluate("location.hash")
    assert again.locator("#area [data-end=from]").get_attribute("aria-pressed") == "true"


def test_both_areas_are_drawn_over_the_map(open_page: Open, published: Release) -> None:
    """Drawing an outline over the map does not select the region under it."""
    page = open_page(reverse("release", args=[published.pk]) + "#map=12.2/50.05/10.05")
    chosen = page.locator("#flow-region").input_value()
    place = page.locator("#map .canvas").bounding_box()
    middle = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    for tool, left in (("Draw a box", -110), ("Draw an outline", 30)):
        page.get_by_role("button", name=tool).click()
        corners = [(left, -70), (left + 80, -70), (left + 80, 60)]
        if tool == "Draw a box":
            page.mouse.move(middle[0] + left, middle[1] - 70)
            page.mouse.down()
            page.mouse.move(middle[0] + left + 80, middle[1] + 60, steps=3)
            page.mouse.up()
        else:
            for x, y in corners:
                page.mouse.click(middle[0] + x, middle[1] + y)
            page.keyboard.press("Enter")
        assert "±" in shown(page, "From the ")
    told = shown(page, "From the one area to the other")
    assert "trips" in told
    assert page.locator("#flow-region").input_value() == chosen
    with page.expect_download() as download:
        page.get_by_role("button", name="Picture").click()
    picture = read_png(download.value.path().read_bytes())
    sheet = int(2 * place["height"])
    assert share(picture[:sheet], "accent", "light") > 0.002, "both outlines"
    ink = where(picture[sheet:], "ink", "light")
    assert ink[:, 40:120].all(axis=1).any(), "the legend has the sign of an arc"
    page.locator("#area [data-end=from]").click()
    page.get_by_role("button", name="Remove").click()
    assert page.locator(ANSWER).count() == 0


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_a_transport_planner_takes_flows_from_the_catalogue_to_a_model(
    open_page: Open, published: Release, size: tuple[int, int]
) -> None:
    """A planner asks who comes to B2 before noon, compares it with the afternoon, and downloads the
    matrix of the morning.
    """
    matrix = next(each.name for each in published.files.all() if "00-12.matrix" in each.name)
    ask_for(published, matrix)
    page = open_page(reverse("catalogue"), size, wait=".scripted")
    page.get_by_role("link", name="Rides to work").first.click()
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    page.locator("#flow-region").select_option("B2")
    rows = page.locator("#flows .told tbody tr")
    told = {
        row.locator("th").inner_text(): int(
            row.locator("td").last.inner_text().split()[0].replace(",", "")
        )
        for row in rows.all()
        if "smaller" not in row.inner_text()
    }
    assert len(told) > 5
    assert "00:00 to 12:00" in page.inner_text("#time-slices output")
    unfold(page, "Data")
    page.locator(".group summary", has_text="00:00 to 12:00").first.click()
    with page.expect_download() as download:
        page.locator(f"a[href*='{matrix}']").first.click()
    table = list(csv.reader(download.value.path().read_text().splitlines()))
    column = next(at for at, name in enumerate(table[0]) if name == "B2")
    counts = {row[0]: row[column] for row in table[1:]}
    assert {name: int(counts[name]) for name in told} == told
    before = page.inner_text("#flows .total")
    page.get_by_role("slider", name="By time").press("End")
    page.wait_for_function(
        "(before) => document.querySelector('#flows .total').innerText !== before",
        arg=before,
        timeout=PATIENCE,
    )
    assert page.locator("#flow-region").input_value() == "B2"
    assert violations(page) == []
