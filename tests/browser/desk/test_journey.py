"""A data owner's path through the owners' pages ("the desk"), with real browser and worker."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.desk.owner import CROWDS, PATIENCE, declare, press, sign_in
from tests.requirements import need

need(importlib.util.find_spec("playwright"), "Playwright: make test-all installs it")
from playwright import sync_api  # noqa: E402

pytestmark = pytest.mark.browser


@pytest.fixture
def swapped_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a two-megabyte CSV file of invented people, with longitude and latitude swapped."""
    crowd = next(CROWDS)
    rows = (
        f"p{crowd}-{n % 500},{10.01 + n % 89 / 1000},{50.01 + n % 83 / 1000},2026-05-01T12:00:00Z\n"
        for n in range(40_000)
    )
    path = tmp_path_factory.mktemp("files") / "trips.csv"
    path.write_text("device,lat,lon,seen\n" + "".join(rows) + f"p{crowd}-1,10.02,400.17,\n")
    return path


def confirm_exchanged(page: Any) -> None:
    """Correct the swapped columns, confirm them, and open the private report."""
    sync_api.expect(page.locator(".checked")).to_contain_text("swapped")
    address = page.url
    page.locator(".answer button").first.click()
    sync_api.expect(page.locator(".lead")).to_contain_text("can be used")
    press(page, "Looks right")
    page.wait_for_selector("main >> text=Make a map", timeout=PATIENCE)
    page.goto(address)
    page.wait_for_selector("text=Rows read", timeout=PATIENCE)


def ask(page: Any) -> None:
    """Choose a method and its options in the form of a request."""
    page.click("main a.primary")
    page.click("text=For experts")
    page.click("text=Uniform grid")
    page.click("text=More options")
    page.fill("[name='parameters.cells']", "16")
    page.check("[name=bound][value='5']")


def test_the_desk_works_without_scripts(site: str, browser: Any, swapped_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, site)
    declare(page, site, "Trips without a script")
    page.set_input_files("[name=file]", swapped_file)
    press(page, "Upload")
    confirm_exchanged(page)
    ask(page)
    page.fill("[name=epsilon]", "0.25")
    press(page, "Show the figures")
    sync_api.expect(page.locator("[data-live=figures]")).to_contain_text("Margin of one square")
    assert page.input_value("[name='parameters.cells']") == "16"
    press(page, "Continue")
    page.fill("[name=title]", "A plain map")
    press(page, "Make a draft first")
    page.wait_for_selector("text=Look at the draft map", timeout=PATIENCE)
    context.close()


@pytest.mark.parametrize("width", [320, 768, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_the_desk_overflows(
    site: str, browser: Any, swapped_file: Path, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    sign_in(page, site)
    declare(page, site, f"size {width} {scheme}")
    home = urlsplit(page.url).path.removesuffix("upload/")
    page.set_input_files("[name=file]", swapped_file)
    page.wait_for_url("**/desk/uploads/**", timeout=PATIENCE)
    addresses = [page.url.removeprefix(site), "/desk/", "/desk/ledger/", "/desk/datasets/new/"]
    addresses += [home, f"{home}upload/", f"{home}people/"]
    for address in addresses:
        page.goto(site + address)
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0, address
    context.close()


def crowd(west: float, south: float, east: float, north: float) -> bytes:
    """Return a file of six hundred invented people at three places in an area."""
    rows = ["device,lon,lat,seen"]
    for n in range(600):
        share = (n % 3 + 1) / 4
        lon, lat = west + share * (east - west), south + share * (north - south)
        rows.append(f"q{n},{lon:.6f},{lat:.6f},2026-05-01T12:00:00Z")
    return "\n".join(rows).encode()
