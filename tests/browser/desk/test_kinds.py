"""An owner maps flows, places and averages from files in public formats, with default settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgeo.spatial.area import StudyArea
from tests.browser.desk.owner import CROWDS, PATIENCE, declare, press, sign_in
from tests.browser.opening import DRAWN, unfold
from tests.browser.pixels import screenshot, share
from tests.browser.test_accessibility import violations

pytestmark = pytest.mark.browser

SIZES = [(1440, 900), (390, 844)]


def rides(path: Path) -> Path:
    """Write rides between stations in the format of bike-share systems; a few have no end
    station.
    """
    crowd, random = next(CROWDS), np.random.default_rng(6)
    lines = ["ride_id,rider,started_at,ended_at,start_lat,start_lng,end_lat,end_lng,member_casual"]
    for ride, start in enumerate(random.integers(0, 16, 6_000).tolist()):
        ends = divmod(start, 4), divmod(5 if ride % 3 else int(random.integers(16)), 4)
        spots = [(50.0875 - 0.025 * row, 10.0125 + 0.025 * column) for row, column in ends]
        at = np.array(spots).ravel() + random.uniform(-0.001, 0.001, 4)
        texts = [f"{each:.5f}" for each in at] if ride % 500 else [*map(str, at[:2]), "", ""]
        day = f"2026-05-{ride % 28 + 1:02d}"
        times = f"{day} 07:10:00,{day} 07:30:00"
        lines.append(f"R{ride},c{crowd}-{ride},{times},{','.join(texts)},member")
    path.write_text("\n".join([*lines, ""]))
    return path


def boardings(path: Path, stops: Path) -> Path:
    """Write a list of thirty stops, and boardings near them, most of them near stop 1."""
    crowd, random = next(CROWDS), np.random.default_rng(4)
    at = np.column_stack([random.uniform(10.005, 10.095, 30), random.uniform(50.005, 50.095, 30)])
    listed = [f"s{n},Stop {n},{lon:.6f},{lat:.6f}" for n, (lon, lat) in enumerate(at, 1)]
    stops.write_text("\n".join(["key,name,lon,lat", *listed, ""]))
    weight = 1 / np.arange(1, 31)
    lines = ["card;zeit;lat;lon"]
    for card, stop in enumerate(random.choice(30, 6_000, p=weight / weight.sum()).tolist()):
        lon, lat = at[stop] + random.normal(0, 2e-4, 2)
        lines.append(f"c{crowd}-{card};2026-05-{card % 28 + 1:02d} 12:10;{lat:.6f};{lon:.6f}")
    path.write_text("\n".join([*lines, ""]))
    return path


def speeds(path: Path, districts: Path) -> Path:
    """Write four districts, and records of cars driving through; cars are faster in the east."""
    crowd, random = next(CROWDS), np.random.default_rng(8)
    shapes = [
        {
            "type": "Feature",
            "properties": {"gid": f"d{at}", "name": f"District {at + 1}"},
            "geometry": StudyArea.from_bounds(
                10 + at / 40, 50, 10 + (at + 1) / 40, 50.1
            ).to_geojson(),
        }
        for at in range(4)
    ]
    districts.write_text(json.dumps({"type": "FeatureCollection", "features": shapes}))
    lines = ["device,time,lat,lon,v_kmh,kind"]
    for car, (east, north) in enumerate(random.uniform(0, 0.1, (6_000, 2)).tolist()):
        speed = 20 + 10 * int(east * 40) + random.normal(0, 2)
        lines.append(
            f"c{crowd}-{car},2026-05-{car % 28 + 1:02d} {car % 24:02d}:10,{50 + north:.5f},"
            f"{10 + east:.5f},{speed:.1f},{('car', 'lorry')[car % 2]}"
        )
    path.write_text("\n".join([*lines, ""]))
    return path


def publish(
    page: Any,
    file: Path,
    kind: str,
    detail: str,
    declare_columns: Callable[[Any], None] = lambda page: None,
) -> None:
    """Go through the owners' pages from the upload on, publish the map and end on its page."""
    page.set_input_files("[name=file]", file)
    page.wait_for_url("**/desk/uploads/**", timeout=PATIENCE)
    fits(page)
    declare_columns(page)
    press(page, "Looks right")
    page.wait_for_selector("main >> text=Make a map", timeout=PATIENCE)
    page.locator("main a.primary").first.click()
    chosen = page.get_by_text(kind, exact=True)
    if not chosen.is_visible():
        unfold(page, "Other kinds:")
    chosen.click()
    press(page, "Continue")
    page.wait_for_selector(".path-map canvas[data-state=drawn]", timeout=PATIENCE)
    assert share(screenshot(page, ".path-map canvas"), "ink", "light") > 0.002, "a rehearsal"
    assert detail in page.inner_text(".cards >> nth=0")
    fits(page)
    press(page, "Continue")
    fits(page)
    page.locator("main button.primary").last.click()
    page.wait_for_selector("text=Look at the draft map", timeout=PATIENCE)
    address = page.get_attribute("text=Look at the draft map", "href")
    press(page, "Publish now")
    page.wait_for_selector(".state:has-text('Published')", timeout=PATIENCE)
    page.goto(page.url.split("/desk/")[0] + address)
    page.wait_for_selector(DRAWN, timeout=PATIENCE)
    fits(page)


def add_layer(page: Any, home: str, kind: str, title: str, file: Path) -> None:
    """Add a public layer to the dataset whose pages have paths that begin with `home`."""
    page.goto(f"{home}layers/")
    for name, text in {
        "name": kind, "title": title, "source_name": "City", "source_date": "2026-01-01",
        "source_url": "https://city.example/layer",
    }.items():  # fmt: skip
        page.fill(f"[name={name}]", text)
    page.select_option("[name=kind]", kind)
    page.set_input_files("[name=file]", file)
    page.locator("form[enctype] button.primary").click()
    page.wait_for_selector(f"td:has-text('{title}')")
    fits(page)


def fits(page: Any) -> None:
    assert violations(page) == [], page.url
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


@pytest.mark.parametrize("size", SIZES)
def test_a_file_of_bike_share_becomes_a_map_of_flows(
    site: str,
    browser: Any,
    tmp_path: Path,
    size: tuple[int, int],
) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(PATIENCE)
    sign_in(page, site)
    declare(page, site, f"Rides {size[0]}")
    publish(page, rides(tmp_path / "rides.csv"), "Where people go", "from one square of")
    assert "From where to where" in page.inner_text("h1")
    assert page.locator("#flows .told tbody tr").count() > 5
    assert page.locator(".flow-table tbody tr").count() > 5
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_list_of_stops_and_a_file_become_a_ranking(
    site: str,
    browser: Any,
    tmp_path: Path,
    size: tuple[int, int],
) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(PATIENCE)
    sign_in(page, site)
    declare(page, site, f"Stops {size[0]}")
    home = page.url.removesuffix("upload/")
    file = boardings(tmp_path / "boardings.csv", tmp_path / "stops.csv")
    add_layer(page, home, "places", "Bus stops", tmp_path / "stops.csv")
    page.goto(f"{home}upload/")
    publish(page, file, "The busiest places", "at each place")
    assert "The busiest places" in page.inner_text("h1")
    assert "among the 10 busiest" in page.inner_text("[data-places] h2")
    assert page.inner_text("[data-places] .ranked tbody th >> nth=0") == "Stop 1"
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_file_and_districts_become_mean_speeds(
    site: str,
    browser: Any,
    tmp_path: Path,
    size: tuple[int, int],
) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(PATIENCE)
    sign_in(page, site)
    declare(page, site, f"Speeds {size[0]}")
    home = page.url.removesuffix("upload/")
    file = speeds(tmp_path / "speeds.csv", tmp_path / "districts.geojson")
    add_layer(page, home, "zones", "Districts", tmp_path / "districts.geojson")
    page.goto(f"{home}upload/")

    def name_the_speed(page: Any) -> None:
        unfold(page, "Average a column")
        page.fill("[name=measures]", "v_kmh = Speed: 0 to 100 km/h")
        fits(page)

    kind = "How much, on average, by district"
    publish(page, file, kind, "rows in a district", name_the_speed)
    rows = page.locator(".means tbody tr th")
    assert [each.inner_text() for each in rows.all()] == [f"District {n}" for n in (4, 3, 2, 1)]
    assert "Speed, km/h" in page.inner_text(".legend")
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_file_becomes_a_weekly_series_at_the_desk(
    site: str,
    browser: Any,
    tmp_path: Path,
    size: tuple[int, int],
) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(PATIENCE)
    sign_in(page, site)
    declare(page, site, f"Weeks {size[0]}")
    home = page.url.removesuffix("upload/")
    page.set_input_files("[name=file]", rides(tmp_path / "rides.csv"))
    page.wait_for_url("**/desk/uploads/**", timeout=PATIENCE)
    press(page, "Looks right")
    page.wait_for_selector("main >> text=Make a map", timeout=PATIENCE)
    page.goto(home)
    page.click("text=A map every week")
    page.wait_for_selector("#declare")
    fits(page)
    page.fill("[name=title]", "Weekly rides")
    page.fill("[name=first_day]", "2026-05-04")
    press(page, "See what it promises")
    page.wait_for_selector("text=What it promises")
    fits(page)
    page.click("button:has-text('Declare it for')")
    page.wait_for_selector("text=The series is declared.")
    page.fill("[name=through]", "2026-05-17")
    press(page, "Say so")
    page.wait_for_selector("text=2 maps are due.")
    fits(page)
    page.close()
