"""Time and bytes until a visitor sees a large map, measured with a real server and browser."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import report

ROOT = Path(__file__).resolve().parent.parent

SECONDS, TRANSFER, SCRIPTS = 1.5, 1_500_000, 400_000
"""Limits: seconds to the first heatmap, bytes sent for the map, bytes of all scripts."""

VIEWPORT: Any = {"width": 1440, "height": 900}

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]

INSTALL = """
from dpgeo.spatial.area import StudyArea
from tests import maps

area = StudyArea.from_bounds(*maps.BOUNDS)
print(maps.install({made}, "Measured").pk)
"""

INSTALL_SERIES = """
from dpgeo.spatial.area import StudyArea
from tests import maps
from tests.series_maps import install_series

area = StudyArea.from_bounds(*maps.BOUNDS)
print(install_series({made}, {maps}).pk)
"""

GRID = "maps.grid_release(area, {cells})"
ZONES = "maps.many_zones_release(area, {zones})"

MEASURE = """() => {
  const at = (mark) => performance.getEntriesByName(mark)[0].startTime / 1000;
  const loaded = performance.getEntriesByType("resource");
  const bytes = (chosen) => chosen.reduce((sum, each) => sum + each.transferSize, 0);
  return {
    seconds: at("dpgeo:heatmap"),
    idle: at("dpgeo:drawn"),
    map: bytes(loaded.filter(({ name }) => /(map|series)\\.bin|geojson|basemap\\.json/.test(name))),
    scripts: bytes(loaded.filter(({ name }) => /\\.m?js(\\?|$)/.test(name))),
    all: bytes(loaded),
  };
}"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `page` to the command line."""
    parser = subcommands.add_parser("page", help=__doc__)
    parser.add_argument("--cells", type=int, default=1024, help="cells along each side of the map")
    parser.add_argument("--zones", type=int, help="measure a map of so many zones instead")
    parser.add_argument(
        "--embed", action="store_true", help="measure the frame that other pages and notebooks show"
    )
    parser.add_argument("--series", type=int, help="measure the page of a series of so many maps")
    parser.add_argument("--repeat", type=int, default=5, help="visits, each with an empty cache")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print the median figures of several visits. Raises OSError if the site does not start."""
    made, words = GRID.format(cells=options.cells), f"{options.cells} x {options.cells} cells"
    if options.zones:
        made, words = ZONES.format(zones=options.zones), f"{options.zones} zones"
    install, folder = INSTALL.format(made=made), "embed" if options.embed else "maps"
    if options.series:
        install = INSTALL_SERIES.format(made=made, maps=options.series)
        folder, words = "series", f"{options.series} maps of {words}"
    with site(install) as measured:
        address = f"{measured.address}/{folder}/{measured.release}/"
        visits = list(visit(address, options.repeat))
    seconds = [each["seconds"] for each in visits]
    line: dict[str, str | float] = {
        "name": f"{'frame' if options.embed else 'page'}: first heatmap of {words}",
        "seconds": statistics.median(seconds),
        "seconds_least": min(seconds),
        "seconds_most": max(seconds),
        "seconds_promised": SECONDS,
        "seconds_until_it_moves": statistics.median(each["idle"] for each in visits),
        "processor_seconds": statistics.median(each["processor"] for each in visits),
        "map_bytes": max(each["map"] for each in visits),
        "map_bytes_promised": TRANSFER,
        "script_bytes": max(each["scripts"] for each in visits),
        "all_script_bytes": all_scripts(),
        "all_script_bytes_promised": SCRIPTS,
        "page_bytes": max(each["all"] for each in visits),
    }
    report(line, options.json)


def visit(address: str, repeat: int) -> Iterator[dict[str, float]]:
    """Yield the figures of `repeat` visits, each with an empty cache.

    `processor` is the time of a processor that the page's main thread took until it was asked.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for count in range(repeat + 1):
            context = browser.new_context(viewport=VIEWPORT)
            page = context.new_page()
            session = context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            page.goto(address)
            page.wait_for_selector("#map[data-state=idle]", state="attached", timeout=60_000)
            figures: dict[str, float] = page.evaluate(MEASURE)
            metrics = session.send("Performance.getMetrics")["metrics"]
            figures["processor"] = next(
                each["value"] for each in metrics if each["name"] == "TaskDuration"
            )
            context.close()
            if count:
                # The first visit warms up the server and is not counted.
                yield figures
        browser.close()


@dataclass(frozen=True, slots=True)
class Site:
    """A running installation: its URL, its release's id, its folder, and a function for commands.

    `manage` runs a command of manage.py and returns its output.
    """

    address: str
    release: str
    folder: Path
    manage: Callable[..., str]


@contextmanager
def site(install: str) -> Iterator[Site]:
    """Run a new installation with one map, and yield it.

    `install` is a script that makes the map and prints the id of its release at the end.
    """
    with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as folder:
        environment = os.environ | {
            "DPGEO_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
        }
        manage = [sys.executable, "manage.py"]

        def run(*words: str) -> str:
            done = subprocess.run(  # noqa: S603 - our own commands
                [*manage, *words], cwd=ROOT, env=environment, check=True, capture_output=True
            )
            return done.stdout.decode()

        run("migrate", "-v0")
        run("collectstatic", "-v0", "--no-input")
        release = run("shell", "-v0", "-c", install).split()[-1]
        port = free_port()
        server = subprocess.Popen(  # noqa: S603 - our own server
            [*manage, "serve", "--port", str(port), "--workers", "1"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/about/privacy/")
            yield Site(f"http://127.0.0.1:{port}", release, Path(folder), run)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(address: str) -> None:
    """Wait until a page responds. Raises TimeoutError after 240 attempts."""
    for _ in range(240):
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - our own server
                return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(address)


def all_scripts() -> int:
    """Return the compressed size in bytes of all scripts of the frontend, the desk's included."""
    return sum(path.stat().st_size for path in (ROOT / "frontend/dist/assets").glob("*.js.br"))
