"""Maps by category, averages of districts and profiles of the week, in a real browser."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.urls import reverse

from dpgeo.core.released import SlicesRelease
from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.provenance import PublicSource
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import PATIENCE, Open, unfold
from tests.browser.pixels import ramp_share, screenshot
from tests.browser.test_accessibility import violations
from tests.maps import BOUNDS, install, slices_release

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)


@pytest.fixture
def by_category() -> Release:
    cache.clear()
    released = slices_release(AREA)
    content = released.content
    assert isinstance(content, SlicesRelease)
    twice = dataclasses.replace(
        content,
        keys=("1-foot-a", "1-foot-b", "2-other-a", "2-other-b"),
        titles=("On foot, Morning", "On foot, Evening", "Other, Morning", "Other, Evening"),
        counts=np.concatenate([content.counts, content.counts[::-1] // 2]),
        values=("On foot", "Other"),
        times=("Morning", "Evening"),
        category="Mode of transport",
    )
    whole = dataclasses.replace(released, mechanism="category-slices", content=twice)
    return install(whole, "Where people are, by mode")


def test_a_switch_and_a_slider_choose_value_and_time(open_page: Open, by_category: Release) -> None:
    page = open_page(reverse("release", args=[by_category.pk]))
    assert "On foot, Morning" in page.inner_text(".legend")
    page.get_by_label("Show", exact=True).select_option("Other")
    page.wait_for_function("() => location.hash.includes('cells-2-other-a')", timeout=PATIENCE)
    page.get_by_role("slider", name="By time").press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('cells-2-other-b')", timeout=PATIENCE)
    page.wait_for_function(
        "() => document.querySelector('.legend').innerText.includes('Other, Evening')",
        timeout=PATIENCE,
    )
    unfold(page, "All maps side by side")
    page.wait_for_function(
        "() => document.querySelectorAll('.multiples canvas').length === 4",
        timeout=PATIENCE,
    )
    page.wait_for_timeout(500)
    assert ramp_share(screenshot(page, ".multiples li:first-child canvas"), "light") > 0.05
    assert violations(page) == []


def test_a_choice_made_while_the_map_loads_is_kept(open_page: Open, by_category: Release) -> None:
    held: list[Any] = []
    page = open_page(
        reverse("release", args=[by_category.pk]),
        wait="#slice-value:enabled",
        prepare=lambda page: page.route("**/assets/map-*.js", lambda route: held.append(route)),
    )
    page.get_by_label("Show", exact=True).select_option("Other")
    for route in held:
        route.continue_()
    page.wait_for_function("() => location.hash.includes('cells-2-other-a')", timeout=PATIENCE)
    assert held, "the map's library was held back"


DISTRICTS = 4


@pytest.fixture
def from_a_file(tmp_path: Path) -> dict[str, Release]:
    """Publish the mean and median speed and the weekly profile of 12,000 trips in four districts.

    The trips come from a file. Speeds are 20 km/h in the westernmost district, 30 in the next, and
    so on.
    """
    cache.clear()
    random = np.random.default_rng(4)
    lines = ["who,lon,lat,speed,seen"]
    for person, (east, north) in enumerate(random.uniform(0, 0.1, (12_000, 2)).tolist()):
        day, hour = person % 28 + 1, int(random.normal(13, 4)) % 24
        lines.append(
            f"p{person},{10 + east:.5f},{50 + north:.5f},{20 + 10 * int(east * 40)},"
            f"2026-05-{day:02d}T{hour:02d}:10:00"
        )
    path, output = tmp_path / "trips.csv", io.StringIO()
    path.write_text("\n".join([*lines, ""]))
    call_command(
        "ingest", str(path), "--create", "--dataset=speeds", "--title=Speeds", "--person=who",
        "--organisation=Roads", "--area=10,50,10.1,50.1", "--budget=3", "--time=seen",
        "--measure=speed = Speed: 0 to 100 km/h", stdout=output,
    )  # fmt: skip
    strips = [
        {
            "type": "Feature",
            "properties": {"key": f"d{at}", "name": f"District {at + 1}"},
            "geometry": StudyArea.from_bounds(
                10 + at / 40, 50, 10 + (at + 1) / 40, 50.1
            ).to_geojson(),
        }
        for at in range(DISTRICTS)
    ]
    source = {"name": "Roads office", "url": "https://roads.example/d", "date": "2026-01-01"}
    public_layer_add(
        dataset=Dataset.objects.get(),
        name="districts",
        kind="zones",
        title="Districts",
        file=io.BytesIO(json.dumps({"type": "FeatureCollection", "features": strips}).encode()),
        created_by=None,
        key_property="key",
        name_property="name",
        provenance=PublicSource.read(source, field="public_source"),
    )
    titles = {
        "averages": "Mean speed by district",
        "quartiles": "Median speed by district",
        "profile": "The week",
    }
    for mechanism, title in titles.items():
        call_command(
            "release", "speeds", f"--mechanism={mechanism}", f"--title={title}", "--epsilon=1",
            "--param=zones=districts", "--publish", "--wait", stdout=output,
        )  # fmt: skip
    return {each.mechanism: each for each in Release.objects.all()}


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_a_file_becomes_a_map_of_mean_speeds_by_district(
    open_page: Open, from_a_file: dict[str, Release], width: int, theme: str
) -> None:
    release = from_a_file["averages"]
    page = open_page(reverse("release", args=[release.pk]), size=(width, 900), theme=theme)
    table = page.locator(".means tbody tr")
    names = [row.locator("th").inner_text() for row in table.all()]
    assert names == ["District 4", "District 3", "District 2", "District 1"]
    assert [row.locator("td").last.inner_text() for row in table.all()] == list("1234")
    assert "District 4 is surely the highest." in page.inner_text(".means")
    assert "Speed, km/h" in page.inner_text(".legend")
    assert ramp_share(screenshot(page, "#map .sheet"), theme) > 0.2
    assert violations(page) == []
    week = open_page(
        reverse("release", args=[from_a_file["profile"].pk]), size=(width, 900), theme=theme
    )
    rows = week.locator(".week").first.locator("tbody tr")
    assert rows.count() == 7
    assert rows.first.locator("td").count() == 25
    assert "District" in week.inner_text(".week-profile")
    assert violations(week) == []


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_a_file_becomes_a_map_of_median_speeds_by_district(
    open_page: Open, from_a_file: dict[str, Release], width: int, theme: str
) -> None:
    release = from_a_file["quartiles"]
    page = open_page(reverse("release", args=[release.pk]), size=(width, 900), theme=theme)
    rows = page.locator(".means tbody tr")
    assert [row.locator("th").inner_text() for row in rows.all()] == [
        f"District {number}" for number in (4, 3, 2, 1)
    ]
    for row, speed in zip(rows.all(), (50, 40, 30, 20), strict=True):
        low, high = row.locator(".pm").inner_text().split(" to ")
        assert float(low) <= speed <= float(high)
    assert "District 4 is surely the highest." in page.inner_text(".means")
    assert "Median: Speed, km/h" in page.inner_text(".legend")
    assert ramp_share(screenshot(page, "#map .sheet"), theme) > 0.2
    assert violations(page) == []
