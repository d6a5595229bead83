"""Flows on the page of a map: arcs, table, matrix, hours, and two areas drawn by hand."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.urls import reverse

from dpgeo.releases.models import Release
from tests.browser.opening import PATIENCE, Open, unfold
from tests.browser.pixels import screenshot, share
from tests.browser.test_accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

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
    weights = 1 / (2 + np.arange(16.0))
    lines = ["rider,lon,lat,to_lon,to_lat,start"]
    for rider, home in enumerate(random.choice(16, 8_000, p=weights / weights.sum()).tolist()):
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
