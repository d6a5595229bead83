"""The planner's radius map in a real browser: bands, hatching, tooltip, file and saved tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyogrio
import pytest

from dpgeo.accounts.models import Role
from dpgeo.crowdsourcing.requests import NewCampaign
from dpgeo.crowdsourcing.services import campaign_create
from dpgeo.releases.models import Release
from tests.browser.pixels import RAMP, ramp_share, screenshot, share
from tests.browser.test_accessibility import tab_to, violations
from tests.browser.test_planner import (
    PATIENCE,
    Open,
    contours,
    open_planner,
    planned,
    upload,
)
from tests.web.published import make_member, make_organisation

__all__ = ["contours", "open_planner"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

IN_TOWN = (0.45, 0.5)
AT_SEA = (0.6, 0.2)


def show(page: Any, what: str = "radius") -> None:
    page.click(f"[data-choose=shows] [data-value={what}]")
    shown(page, what)


def shown(page: Any, what: str = "radius") -> None:
    page.wait_for_selector(f"#map[data-shows={what}]", timeout=PATIENCE)
    page.wait_for_timeout(1000)


def point(page: Any, place: tuple[float, float]) -> None:
    box = page.locator("#map .canvas").bounding_box()
    page.mouse.move(box["x"] + place[0] * box["width"], box["y"] + place[1] * box["height"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bands_are_drawn_in_the_ramp_and_the_rest_is_hatched(
    contours: Release, open_planner: Open, theme: str
) -> None:
    page = open_planner(theme=theme)
    density = screenshot(page, "#map .sheet")
    show(page)
    radius = screenshot(page, "#map .sheet")
    assert (radius != density).any(axis=-1).mean() > 0.05
    assert ramp_share(radius, theme) > 0.1
    assert sum(share(radius, name, theme) > 0.005 for name in RAMP) >= 3
    # The hatching's lines are thinner than a pixel, so few pixels have their pure colour.
    assert share(radius, "map-hatch", theme) > 0.002
    legend = page.inner_text("#map .legend")
    assert "in metres" in legend
    assert "Out of reach" in legend
    assert violations(page) == []
    show(page, "density")
    assert "per square kilometre" in page.inner_text("#map .legend")
    assert (screenshot(page, "#map .sheet") == density).all(axis=-1).mean() > 0.99


def test_pointing_says_radius_people_and_the_reason_where_there_is_none(
    contours: Release, open_planner: Open
) -> None:
    page = open_planner()
    point(page, IN_TOWN)
    assert not page.locator(".flag").is_visible()
    show(page)
    point(page, IN_TOWN)
    words = page.locator("#map .flag").inner_text()
    assert "m around" in words
    assert "people asked" in words
    point(page, AT_SEA)
    page.wait_for_selector("#map .flag:has-text('Out of reach')", timeout=PATIENCE)
    assert "travel limit" in page.locator("#map .flag").inner_text()


def test_the_map_follows_the_reward_and_the_link_holds_it(
    contours: Release, open_planner: Open
) -> None:
    page = open_planner()
    assert not page.locator("#reward").is_visible()
    show(page)
    before = screenshot(page, "#map .canvas")
    tab_to(page, "#reward")
    page.keyboard.press("Home")
    page.wait_for_function("() => location.hash.includes('reward=1')", timeout=PATIENCE)
    page.wait_for_timeout(2000)
    after = screenshot(page, "#map .canvas")
    assert (after != before).any(axis=-1).mean() > 0.01
    assert ramp_share(after, "light") < ramp_share(before, "light")
    link = page.evaluate("location.pathname + location.search + location.hash")
    other = open_planner(link)
    shown(other)
    assert other.input_value("#reward") == "1"
    assert (screenshot(other, "#map .canvas") == after).all(axis=-1).mean() > 0.99


def test_a_wrong_setting_is_named(contours: Release, open_planner: Open) -> None:
    page = open_planner()
    show(page)
    page.locator(".workers summary").click()
    page.fill("#worker_share", "500")
    page.wait_for_selector("#radius-error:not([hidden])", timeout=PATIENCE)
    assert page.inner_text("#radius-error").startswith("How many of 100 people")
    page.fill("#worker_share", "2")
    page.wait_for_selector("#radius-error", state="hidden", timeout=PATIENCE)


def test_a_map_that_is_out_of_reach_says_what_to_change(
    contours: Release, open_planner: Open
) -> None:
    page = open_planner()
    show(page)
    page.locator(".workers summary").click()
    page.fill("#worker_share", "0.001")
    page.wait_for_selector("#radius-error:not([hidden])", timeout=PATIENCE)
    assert "0.001 % of those on this map" in page.inner_text("#radius-error")


def test_the_file_has_the_bands_that_are_drawn(
    contours: Release, open_planner: Open, tmp_path: Path
) -> None:
    page = open_planner()
    show(page)
    with page.expect_download() as taken:
        page.click("[data-take=radius]")
    path = tmp_path / taken.value.suggested_filename
    taken.value.save_as(path)
    assert path.name == "radius.gpkg"
    tables = {name for name, _ in pyogrio.list_layers(path)}
    assert tables == {"radius_bands", "radius_lines", "radius_out_of_reach", "layer_styles"}
    classes = page.locator("#map .legend .ramp i").count()
    assert len(pyogrio.read_dataframe(path, layer="radius_bands")) == classes


def test_a_campaign_opens_on_the_radius_at_the_even_reward_of_its_tasks(
    contours: Release, open_planner: Open
) -> None:
    organisation = make_organisation()
    campaign = campaign_create(
        organisation=organisation,
        release=contours,
        request=NewCampaign.read(
            {
                "release": contours.pk,
                "name": "Lamps",
                "tasks": [
                    {"longitude": 12.555, "latitude": 55.65},
                    {"longitude": 12.52, "latitude": 55.67},
                ],
                "settings": {
                    "target": 0.8,
                    "total_reward": 60.0,
                    "willingness": 20.0,
                    "travel_metres": 2500.0,
                    "worker_share": 0.02,
                },
                "shared": True,
            }
        ),
        created_by=make_member(organisation, "keeper", Role.ADMINISTRATOR),
    )
    page = open_planner(f"/plan/?campaign={campaign.pk}#shows=radius")
    planned(page, 2)
    shown(page)
    assert page.input_value("#reward") == "30"
    point(page, IN_TOWN)
    assert "people asked" in page.locator("#map .flag").inner_text()
    assert ramp_share(screenshot(page, "#map .sheet"), "light") > 0.05


@pytest.mark.parametrize("size", [(320, 720), (390, 844), (768, 1024)])
def test_nothing_overflows_or_covers_the_switch(
    contours: Release, open_planner: Open, size: tuple[int, int]
) -> None:
    page = open_planner("/plan/#shows=radius", size)
    shown(page)
    upload(page)
    planned(page, 3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    show(page, "density")  # Playwright's click fails if another element covers the button.
    assert violations(page) == []
