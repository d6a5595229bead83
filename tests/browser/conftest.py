"""Fixtures that run page tests in real Chromium, without network access and without a GPU."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.browser.opening import DRAWN, PATIENCE, Open
from tests.migrated import copied_into_memory
from tests.requirements import need

CHROMIUM = Path("/usr/bin/chromium")
FOLDER = Path(__file__).parent

QUIET = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SOFTWARE_WEBGL = [
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # Only WebGL needs SwiftShader, which is slow; Chromium draws the rest of a page without it.
    "--disable-gpu-compositing",
    "--disable-gpu-rasterization",
]
NO_WEBGL = ["--disable-gpu", "--disable-3d-apis"]


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest) -> None:
    """Start the test database as a migrated copy; running all migrations would take ten seconds."""
    with copied_into_memory():
        request.getfixturevalue("django_db_setup")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests in subfolders first, because a single process has to run a whole subfolder."""
    items.sort(key=lambda item: FOLDER not in item.path.parent.parents)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let `--dist loadfile` give all files of a folder, which share fixtures, to one process."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            path = config.rootpath / nodeid.partition("::")[0]
            folder = path.parent if FOLDER in path.parent.parents else path
            return str(folder)

    return Scheduling(config, log)


def need_browser() -> None:
    """Skip or fail the test unless Chromium is installed and the frontend is built."""
    need(CHROMIUM.exists(), "Chromium: apt-get install chromium")
    built = (Path(settings.BASE_DIR) / "frontend/dist/manifest.json").exists()
    need(built, "the built frontend: make frontend")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Run Playwright only while a module needs it, because its event loop occupies this thread."""
    need_browser()
    sync_api = pytest.importorskip("playwright.sync_api")
    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as driver:
        # Django refuses to use the database in a thread that runs an event loop. Allowing it is
        # safe here, because no Django code awaits.
        patch.setitem(os.environ, "DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        sync_api.expect.set_options(timeout=PATIENCE)
        yield driver.chromium


@pytest.fixture(scope="module")
def browser(chromium: Any) -> Iterator[Any]:
    """Start a Chromium that draws WebGL in software."""
    browser = chromium.launch(executable_path=str(CHROMIUM), args=[*QUIET, *SOFTWARE_WEBGL])
    yield browser
    browser.close()


@pytest.fixture
def browser_without_webgl(chromium: Any) -> Iterator[Any]:
    """Start a Chromium in which WebGL does not work."""
    browser = chromium.launch(executable_path=str(CHROMIUM), args=[*QUIET, *NO_WEBGL])
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser: Any, live_server: Any) -> Iterator[Open]:
    """Yield a function that opens pages of the site; afterwards check that nothing failed.

    The check fails if a request left this machine. Pass functions, not expressions, to
    `wait_for_function`: the pages' Content Security Policy forbids evaluating text.
    """
    contexts, faults = [], []

    def watch(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"blob", "data"} and parts.hostname not in {
            "127.0.0.1",
            "localhost",
        }:
            faults.append(f"asked {request.url}")

    def open_one(
        path: str,
        size: tuple[int, int] = (1200, 800),
        theme: str = "light",
        wait: str = DRAWN,
        until: str = "load",
        chosen: Any = browser,
        prepare: Callable[[Any], None] = lambda page: None,
        **options: Any,
    ) -> Any:
        context = chosen.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, **options
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("request", watch)
        page.on("pageerror", lambda error: faults.append(f"script failed: {error}"))
        prepare(page)
        page.goto(live_server.url + path, wait_until=until)
        page.wait_for_selector(wait, state="attached", timeout=PATIENCE)
        return page

    yield open_one
    for context in contexts:
        context.close()
    wait_for_requests()
    assert faults == []


def wait_for_requests() -> None:
    """Wait until the server has answered all requests of closed pages.

    The server's threads share the test's SQLite connection, and a table cannot be emptied after the
    test while a thread reads it. A thread ends when its page's connection is closed.
    """
    until = time.monotonic() + PATIENCE / 1000
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(max(until - time.monotonic(), 0))
            assert not thread.is_alive(), "a request of a closed page is still being answered"
