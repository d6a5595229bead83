"""Time and bytes until a visitor sees a large map, measured with a real server and browser.

On a phone (`--phone`) the processor is four times slower and the connection has 1.6 Mbit/s and a
delay of 150 ms, both by the browser's own emulation. The browser's performance entries give the
figures: when the still picture is painted, the largest paint, shifts of the layout, and tasks of
more than 50 ms. On a phone, the reader can first move a stored picture of the map, which is part of
the page (`seconds_until_it_moves`), then the same picture on a map
(`seconds_until_the_map_moves`), and last the map with its cells and their figures
(`seconds_until_figures`).

The times depend on the load of the machine, and are longer without a graphics card, since a page
waits until it is drawn. After each visit the same browser therefore opens a reference: a map
without layers, with MapLibre as its authors publish it (`empty_map_...`). Left out: https and a
proxy.
"""

from __future__ import annotations

import argparse
import base64
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import report

ROOT = Path(__file__).resolve().parent.parent

SECONDS, TRANSFER, SCRIPTS = 1.5, 1_500_000, 400_000
"""Limits: seconds to the first heatmap, bytes sent for the map, bytes of all scripts."""

PICTURE_SECONDS, MOVING_SECONDS, BLOCKED_SECONDS = 2.5, 6.0, 0.3
"""Limits in seconds: until a phone shows the picture; until its map moves; and for which long tasks
may block a desktop.
"""

VIEWPORT: Any = {"width": 1440, "height": 900}

PHONE: Any = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}

SLOW_LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
SLOWER_PROCESSOR = 4

FILM_SECONDS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)

GAP = 12
"""Distance in pixels between the pictures in the strip of a film."""

OBSERVE = """
  window.seen = { largest: 0, shifted: 0, blocked: 0, picture: 0 };
  const watch = (type, each) => new PerformanceObserver((list) => list.getEntries().forEach(each))
    .observe({ type, buffered: true });
  watch("largest-contentful-paint", ({ startTime }) => { seen.largest = startTime / 1000; });
  watch("element", ({ renderTime }) => { seen.picture = renderTime / 1000; });
  watch("layout-shift", (each) => { seen.shifted += each.hadRecentInput ? 0 : each.value; });
  watch("longtask", ({ duration }) => { seen.blocked += Math.max(0, duration - 50) / 1000; });
"""

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

DRAWN = "document.querySelector('#map')?.dataset.state === 'idle'"

MEASURE = """() => {
  const at = (mark) => (performance.getEntriesByName(mark)[0]?.startTime ?? 0) / 1000;
  const page = performance.getEntriesByType("navigation")[0];
  const loaded = [page, ...performance.getEntriesByType("resource")];
  const bytes = (chosen) => chosen.reduce((sum, each) => sum + each.transferSize, 0);
  return {
    seconds: at("dpgeo:heatmap") || at("dpgeo:drawn"),
    moves: at("dpgeo:moves") || at("dpgeo:map"),
    map: at("dpgeo:map"),
    idle: at("dpgeo:drawn"),
    ...seen,
    files: loaded.length,
    sent: bytes(loaded.filter(({ name }) => /(map|series)\\.bin|geojson|basemap.json/.test(name))),
    scripts: bytes(loaded.filter(({ name }) => /\\.m?js(\\?|$)/.test(name))),
    all: bytes(loaded),
  };
}"""


MAPLIBRE = ROOT / "frontend/node_modules/maplibre-gl/dist"

EMPTY_MAP = """<!doctype html>
<style>body { margin: 0 } #map { height: 100vh }</style>
<div id="map"></div>
<script type="module">
  import { Map, setWorkerUrl } from "./maplibre-gl.mjs";
  setWorkerUrl(new URL("maplibre-gl-worker.mjs", location.href).href);
  const style = { version: 8, sources: {}, layers: [] };
  new Map({ container: "map", style, attributionControl: false }).once("idle", () => {
    performance.mark("dpgeo:drawn");
    document.querySelector("#map").dataset.state = "idle";
  });
</script>"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `page` to the command line."""
    parser = subcommands.add_parser("page", help=__doc__)
    parser.add_argument("--cells", type=int, default=1024, help="cells along each side of the map")
    parser.add_argument("--zones", type=int, help="measure a map of so many zones instead")
    parser.add_argument(
        "--embed", action="store_true", help="measure the frame that other pages and notebooks show"
    )
    parser.add_argument("--series", type=int, help="measure the page of a series of so many maps")
    parser.add_argument("--phone", action="store_true", help="a phone on a slow connection")
    parser.add_argument("--film", type=Path, help="folder for pictures of the first four seconds")
    parser.add_argument("--repeat", type=int, default=5, help="visits, each with an empty cache")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print the median of every measured figure over several visits.

    Raises OSError if the site does not start.
    """
    made, words = GRID.format(cells=options.cells), f"{options.cells} x {options.cells} cells"
    if options.zones:
        made, words = ZONES.format(zones=options.zones), f"{options.zones} zones"
    install, folder = INSTALL.format(made=made), "embed" if options.embed else "maps"
    if options.series:
        install = INSTALL_SERIES.format(made=made, maps=options.series)
        folder, words = "series", f"{options.series} maps of {words}"
    with site(install) as measured:
        address = f"{measured.address}/{folder}/{measured.release}/"
        visits = list(visit(address, options.repeat, phone=options.phone, film=options.film))
    seconds = [each["seconds"] for each in visits]
    device = "on a phone" if options.phone else "on a desktop"
    line: dict[str, str | float] = {
        "name": f"{'frame' if options.embed else 'page'} {device}: first heatmap of {words}",
        **({"picture_seconds": middle(visits, "picture")} if options.phone else {}),
        **({"picture_seconds_promised": PICTURE_SECONDS} if options.phone else {}),
        "largest_paint_seconds": middle(visits, "largest"),
        "layout_shift": middle(visits, "shifted"),
        "blocked_seconds": middle(visits, "blocked"),
        "blocked_seconds_promised": BLOCKED_SECONDS,
        "empty_map_blocked_seconds": middle(visits, "empty_blocked"),
        "blocked_of_empty_map": middle(visits, "blocked")
        / max(0.001, middle(visits, "empty_blocked")),
        "seconds": statistics.median(seconds),
        "seconds_least": min(seconds),
        "seconds_most": max(seconds),
        "seconds_promised": SECONDS,
        "seconds_until_it_moves": middle(visits, "moves"),
        "seconds_until_it_moves_promised": MOVING_SECONDS,
        "seconds_until_the_map_moves": middle(visits, "map"),
        "seconds_until_figures": middle(visits, "idle"),
        "empty_map_seconds": middle(visits, "empty_idle"),
        "processor_seconds": middle(visits, "processor"),
        "map_bytes": max(each["sent"] for each in visits),
        "map_bytes_promised": TRANSFER,
        "script_bytes": max(each["scripts"] for each in visits),
        "all_script_bytes": all_scripts(),
        "all_script_bytes_promised": SCRIPTS,
        "page_bytes": max(each["all"] for each in visits),
        "page_files": max(each["files"] for each in visits),
    }
    report(line, options.json)


def middle(visits: Sequence[dict[str, float]], name: str) -> float:
    """Return the median of one figure over the visits."""
    return statistics.median(each[name] for each in visits)


def visit(
    address: str, repeat: int, *, phone: bool = False, film: Path | None = None
) -> Iterator[dict[str, float]]:
    """Yield the measured figures of `repeat` visits, all with an empty cache; the last is filmed.

    `processor` is the processor time in seconds that the page's main thread has used.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for count in range(repeat + 1):
            context = browser.new_context(**(PHONE if phone else {"viewport": VIEWPORT}))
            page = context.new_page()
            page.add_init_script(OBSERVE)
            session = context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            if phone and count:
                session.send("Network.enable")
                session.send("Network.emulateNetworkConditions", SLOW_LINE)
                session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER_PROCESSOR})
            shots: list[tuple[float, str]] = []
            if film and count == repeat:
                roll(session, shots)
            began = time.time()
            page.goto(address, wait_until="commit")
            wait_until_drawn(session)
            figures: dict[str, float] = page.evaluate(MEASURE)
            metrics = session.send("Performance.getMetrics")["metrics"]
            figures["processor"] = next(
                each["value"] for each in metrics if each["name"] == "TaskDuration"
            )
            if film and shots:
                keep(shots, began, film)
            open_empty(page, session, address)
            empty: dict[str, float] = page.evaluate(MEASURE)
            figures |= {f"empty_{each}": empty[each] for each in ("blocked", "idle")}
            context.close()
            if count:
                # The first visit warms up the server and is not counted.
                yield figures
        browser.close()


def wait_until_drawn(session: Any) -> None:
    """Wait until a map is drawn. Raises TimeoutError after two minutes.

    Playwright's own way of waiting has the page read a third of a megabyte of script, which would
    be counted as time for which the page is blocked.
    """
    for _ in range(1200):
        answer = session.send("Runtime.evaluate", {"expression": DRAWN})
        if answer["result"].get("value"):
            return
        time.sleep(0.1)
    raise TimeoutError("the map is not drawn")


def open_empty(page: Any, session: Any, address: str) -> None:
    """Open a map without layers, the reference, and wait until it is drawn.

    Requests for it are answered here, at an address of the measured site, so that the browser
    treats both pages alike.
    """

    def answer(route: Any) -> None:
        name = route.request.url.rpartition("/")[2]
        if name:
            route.fulfill(path=MAPLIBRE / name, content_type="text/javascript")
        else:
            route.fulfill(body=EMPTY_MAP, content_type="text/html")

    empty = urllib.parse.urljoin(address, "/empty-map/")
    page.context.route(f"{empty}**", answer)
    page.goto(empty, wait_until="commit")
    wait_until_drawn(session)


def roll(line: Any, shots: list[tuple[float, str]]) -> None:
    """Collect in `shots` the time and a screenshot of the page, whenever it changes."""

    def take(frame: Any) -> None:
        shots.append((frame["metadata"]["timestamp"], frame["data"]))
        line.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    line.on("Page.screencastFrame", take)
    line.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})


def keep(shots: Sequence[tuple[float, str]], began: float, folder: Path) -> None:
    """Write a screenshot for each of FILM_SECONDS after the time `began`, and a strip of all of
    these.
    """
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    frames = []
    for seconds in FILM_SECONDS:
        seen = [data for taken, data in shots if taken <= began + seconds]
        if seen:
            path = folder / f"{seconds:.1f}-seconds.png"
            path.write_bytes(base64.b64decode(seen[-1]))
            frames.append(Image.open(path).convert("RGB"))
    height = max((frame.height for frame in frames), default=1)
    strip = Image.new("RGB", (sum(frame.width + GAP for frame in frames) or 1, height), "white")
    left = 0
    for frame in frames:
        strip.paste(frame, (left, 0))
        left += frame.width + GAP
    strip.save(folder / "film.png")


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
