"""Maps embedded in other sites under the strictest Content Security Policy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, PATIENCE, Open
from tests.maps import BOUNDS, grid_release, install

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

COMPONENT = settings.BASE_DIR / "dpgeo/pages/static/dp-map.js"

ALONE = "default-src 'none'; base-uri 'none'; require-trusted-types-for 'script'; "
"""A Content Security Policy that allows nothing on the page, not even parsing text as HTML."""

Elsewhere = Callable[[str, str], str]


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """Yield a function that serves a page with a given body and policy from another origin.

    The function returns the page's address.
    """
    pages: list[tuple[str, str]] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if self.path == "/dp-map.js":
                self.send_header("Content-Type", "text/javascript")
                content = COMPONENT.read_bytes()
            else:
                body, allowed = pages[-1]
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Security-Policy", ALONE + allowed)
                content = f"<!doctype html><html lang=en><title>News</title>{body}".encode()
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
            """Log nothing, to keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def put(body: str, allowed: str) -> str:
        pages.append((body, allowed))
        return f"http://127.0.0.1:{server.server_port}/news.html"

    yield put
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def release() -> Release:
    cache.clear()
    return install(grid_release(StudyArea.from_bounds(*BOUNDS), 16), "Where people are")


def element(address: str, more: str = "") -> str:
    return (
        f'<h1>News</h1><dp-map src="{address}" caption="Where people are" {more}>'
        f'<a href="{address}">Where people are</a></dp-map><script src="/dp-map.js"></script>'
    )


@pytest.mark.parametrize("size", [(390, 800), (1440, 900)], ids=["phone", "desktop"])
def test_the_element_shows_the_map_under_a_strict_policy(
    open_page: Open, elsewhere: Elsewhere, release: Release, live_server: Any, size: Any
) -> None:
    site = live_server.url
    body = element(f"{site}/maps/{release.pk}/")
    page = open_page("/robots.txt", size=size, wait="body")
    page.goto(elsewhere(body, f"script-src 'self'; frame-src {site}"))
    page.wait_for_selector("dp-map[data-shows=frame]", timeout=PATIENCE)
    frame = page.frame_locator("dp-map iframe")
    frame.locator(DRAWN).wait_for(state="attached", timeout=PATIENCE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_element_falls_back_to_what_the_policy_allows(
    open_page: Open, elsewhere: Elsewhere, release: Release, live_server: Any
) -> None:
    site = live_server.url
    address = f"{site}/maps/{release.pk}/"
    page = open_page("/robots.txt", wait="body")
    page.goto(elsewhere(element(address), f"script-src 'self'; img-src {site}"))
    page.wait_for_selector("dp-map[data-shows=picture]", timeout=PATIENCE)
    picture = page.locator("dp-map img")
    page.wait_for_function(
        """() => document.querySelector("dp-map")
            .shadowRoot.querySelector("img").naturalWidth === 1200"""
    )
    assert picture.get_attribute("alt") == "Where people are"
    page.goto(elsewhere(element(address, "still"), f"script-src 'self'; img-src {site}"))
    page.wait_for_selector("dp-map[data-shows=picture]", timeout=PATIENCE)
    for where, allowed in ((address, "script-src 'self'"), ("javascript:alert(1)", "script-src *")):
        page.goto(elsewhere(element(where), allowed))
        page.wait_for_selector("dp-map[data-shows=words]", timeout=PATIENCE)
        assert page.locator("dp-map > a").is_visible()
