"""Streets and place names under a map, and the search box that finds places."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler

from dpgeo.ground import archives
from dpgeo.ground.adding import ground_add
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, Open
from tests.browser.pixels import ramp_share, read_png, screenshot, token, where
from tests.browser.test_accessibility import violations
from tests.maps import grid_release
from tests.unit.ground.files import TILES
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

VADUZ = StudyArea.from_bounds(9.50, 47.12, 9.54, 47.16)

WIDE = (1900, 700)
"""A window size at which a map of VADUZ opens beside its legend, with free space in the east."""


@pytest.fixture
def released(tmp_path: Path, settings: Any) -> Release:
    """Publish a map of a town for which a background of streets and names exists."""
    settings.GROUND_DIR = tmp_path
    ground_add(tmp_path, TILES, name="here")
    cache.clear()
    return install(make_dataset(area=VADUZ), grid_release(VADUZ, 16))


@pytest.fixture
def elsewhere(tmp_path: Path, settings: Any) -> Iterator[list[Any]]:
    """Serve tiles from another origin named in the settings; yield the requests it receives."""
    requests: list[Any] = []

    class Tiles(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append((self.path, dict(self.headers)))
            body = archives.tile(TILES, *map(int, self.path.strip("/").split("/")))
            self.send_response(200 if body else 204)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
            """Log nothing, so that requests do not appear in the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Tiles)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    settings.GROUND_DIR = tmp_path / "nothing"
    settings.DPGEO_GROUND_URL = f"http://127.0.0.1:{server.server_port}/{{z}}/{{x}}/{{y}}"
    settings.DPGEO_GROUND_ATTRIBUTION = "© OpenStreetMap contributors"
    yield requests
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def with_policies(live_server: Any, settings: Any) -> Iterator[None]:
    """Serve scripts with the headers used in production: a web worker obeys its script's policy."""
    settings.WHITENOISE_USE_FINDERS = settings.WHITENOISE_AUTOREFRESH = True
    server = live_server.thread.httpd
    usual = server.get_app()
    server.set_app(WSGIHandler())
    yield
    server.set_app(usual)


@pytest.mark.usefixtures("with_policies")
@pytest.mark.parametrize("path", ["/maps/{}/", "/embed/{}/"])
def test_another_servers_ground_is_drawn_where_the_operator_names_it(
    open_page: Open, elsewhere: list[Any], settings: Any, path: str
) -> None:
    cache.clear()
    address = path.format(install(make_dataset(area=VADUZ), grid_release(VADUZ, 16)).pk)
    page = open_page(address, size=WIDE)
    credit = page.locator("footer.outside-ground")
    assert credit.is_visible()
    assert settings.DPGEO_GROUND_URL.split("/")[2] in credit.text_content()
    assert violations(page) == []
    with_ground = screenshot(page, "#map .canvas").astype(int)
    assert elsewhere, "no tile was asked for"
    # The requests contain no cookie and no map's URL, which may be that of a draft.
    for _, headers in elsewhere:
        assert not {"referer", "cookie"} & {name.lower() for name in headers}
    settings.DPGEO_GROUND_URL = ""
    cache.clear()
    elsewhere.clear()
    bare = screenshot(open_page(address, size=WIDE), "#map .canvas").astype(int)
    assert elsewhere == []
    # Outside the study area, in the east, only the background of streets and names is drawn.
    spread = [
        each[100:450, int(0.8 * each.shape[1]) : int(0.96 * each.shape[1])].std(axis=(0, 1)).max()
        for each in (with_ground, bare)
    ]
    assert spread[0] > 1 > 0.1 > spread[1], spread


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_streets_and_names_lie_on_the_map(
    open_page: Open, released: Release, settings: Any, tmp_path: Path, theme: str
) -> None:
    path = f"/maps/{released.pk}/"
    with_ground = screenshot(open_page(path, (1600, 900), theme), "#map .canvas").astype(int)
    settings.GROUND_DIR = tmp_path / "nothing"
    cache.clear()
    bare = screenshot(open_page(path, (1600, 900), theme), "#map .canvas").astype(int)
    changed = (np.abs(with_ground - bare).max(axis=2) > 12).mean()
    assert 0.03 < changed < 0.6, changed
    ink = np.array(token("ink", theme))
    dark = (np.abs(with_ground - ink).max(axis=2) < 40).sum()
    without = (np.abs(bare - ink).max(axis=2) < 40).sum()
    assert dark > without + 200, "no name is written"
    # Between the streets, cells of the highest class keep their colour.
    highest = where(with_ground.astype(np.uint8), "tide-6", theme).sum()
    assert highest > 0.5 * where(bare.astype(np.uint8), "tide-6", theme).sum()


def test_a_place_is_found_and_shown(open_page: Open, released: Release) -> None:
    page = open_page(f"/maps/{released.pk}/")
    assert violations(page) == []
    before = page.url
    page.get_by_role("combobox", name="Find a place or a street").fill("stadtel")
    page.wait_for_selector("#find-place-options li:has-text('Städtle')")
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#find-place-options li[aria-selected=true]:has-text('Städtle')")
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => location.href !== before", arg=before)
    page.wait_for_selector(DRAWN)
    assert "The map shows Städtle" in page.text_content("form.find [role=status]")
    page.get_by_role("combobox", name="Find a place or a street").fill("qqqqqqq")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.find input[aria-invalid=true]")
    assert "No place is known" in page.text_content("form.find [role=status]")


def test_the_planner_finds_places_on_its_map(open_page: Open, released: Release) -> None:
    page = open_page(f"/plan/?release={released.pk}")
    page.get_by_role("combobox", name="Find a place or a street").fill("stadtel")
    page.wait_for_selector("#find-place-options li:has-text('Städtle')")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.find [role=status]:has-text('The map shows Städtle')")


SCRIPTS = {
    "Latin": "Győr, Łódź",
    "Greek": "Αθήνα",
    "Cyrillic": "Москва",
    "CJK": "東京",
    "Arabic": "القاهرة",
    "Hebrew": "ירושלים",
    "Thai": "กรุงเทพ",
    "Devanagari": "दिल्ली",
}
"""A name in each writing system that the map's fonts must be able to show."""


@pytest.mark.parametrize("script", SCRIPTS)
def test_names_of_every_script_are_written_with_fonts_of_this_site_or_machine(
    open_page: Open, settings: Any, tmp_path: Path, script: str
) -> None:
    settings.GROUND_DIR = tmp_path
    cache.clear()
    release = install(make_dataset(area=VADUZ), grid_release(VADUZ, 16))

    def picture(names: list[Any]) -> Any:
        def prepare(page: Any) -> None:
            def answer(route: Any) -> None:
                document = route.fetch().json()
                route.fulfill(json={**document, "names": names})

            page.route("**/basemap.json", answer)

        return screenshot(open_page(f"/maps/{release.pk}/", prepare=prepare), "#map .canvas")

    name = {"name": SCRIPTS[script], "kind": "city", "at": [9.52, 47.14]}
    written, bare = (picture(names).astype(int) for names in ([name], []))
    # The name was drawn, and with fonts of this server: `open_page` fails on requests to others.
    assert (np.abs(written - bare).max(axis=2) > 60).sum() > 150


def test_the_credit_leads_to_the_licence(open_page: Open, released: Release) -> None:
    page = open_page(f"/maps/{released.pk}/", size=(390, 800))
    credit = page.locator(".attrib a")
    assert credit.get_attribute("href") == "https://www.openstreetmap.org/copyright"
    assert credit.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # On a phone, the search box is a strip over the map, and the map is fitted into the space below
    # it.
    box, sheet = (page.locator(each).bounding_box() for each in ("form.find", "#map .sheet"))
    page.locator("form.find").evaluate("box => { box.style.visibility = 'hidden'; }")
    image = screenshot(page, "#map .sheet")
    strip = int(box["y"] + box["height"] - sheet["y"])
    beside = int(box["x"] - sheet["x"])
    assert ramp_share(image[:strip, beside:-8], "light") == 0
    assert ramp_share(image[strip:], "light") > 0.01


def test_the_picture_file_has_the_streets_and_their_credit(
    open_page: Open, released: Release, tmp_path: Path, settings: Any
) -> None:
    path = f"/maps/{released.pk}/"
    with_ground = picture_of(open_page(path)).astype(int)
    settings.GROUND_DIR = tmp_path / "nothing"
    cache.clear()
    bare = picture_of(open_page(path)).astype(int)
    # With and without a basemap, the picture has one line of credit: for the basemap, or for the
    # names of the world's cities.
    assert with_ground.shape == bare.shape
    above = slice(60, 1000)
    changed = (np.abs(with_ground[above] - bare[above]).max(axis=2) > 12).mean()
    assert 0.03 < changed < 0.6, changed


def picture_of(page: Any) -> Any:
    """Download the page's picture file and return it as an image."""
    button = page.locator("[data-share=png]")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    with page.expect_download() as download:
        button.click()
    return read_png(Path(download.value.path()).read_bytes())
