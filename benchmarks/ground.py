"""Cost of the basemap for a first visit, and speed and error tolerance of its place search.

`--part page` alternates visits to one map with and without a basemap. `--part search` writes a
file of invented names and searches it as the site does.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.generated_names import invented_places, mistyped
from benchmarks.page import ARGUMENTS, CHROMIUM, ROOT, VIEWPORT, site
from benchmarks.report import report
from dpgeo.ground import names
from dpgeo.ground.words import MIN_FUZZY_LENGTH, fold

GROUND = ROOT / "fixtures" / "ground" / "liechtenstein.pmtiles"

VADUZ = (9.48, 47.08, 9.60, 47.20)

PARTS = ("page", "search")

EXTRA_BYTES, EXTRA_SECONDS = 300_000, 0.3
"""Limits on what the basemap may add to a first view, in bytes and in seconds."""

WORD_MILLISECONDS, LETTER_MILLISECONDS = 50, 100
"""Limits in milliseconds on a search in a million names, for words and for a single letter."""

MAP = (10.0, 48.0, 11.0, 49.0)
"""Bounds of a map, in degrees; searches with these bounds find only places within them."""

MIN_FOUND, OFFERED, ERRORS_TRIED = 85, 5, 100
"""Of ERRORS_TRIED mistyped names, at least MIN_FOUND must be among the first OFFERED results."""

INSTALL = """
from dpgeo.spatial.area import StudyArea
from tests import maps
print(maps.install(maps.grid_release(StudyArea.from_bounds(*{bounds}), {cells}), "Measured").pk)
"""

MEASURE = """() => {
  const at = (mark) => performance.getEntriesByName(mark)[0].startTime / 1000;
  return { heat: at("dpgeo:heatmap"), drawn: at("dpgeo:drawn") };
}"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `ground` to the command line."""
    parser = subcommands.add_parser("ground", help="cost of the ground, and its search")
    parser.add_argument("--part", choices=PARTS, help="one part alone")
    parser.add_argument("--names", type=int, default=1_000_000, help="names to search")
    parser.add_argument("--cells", type=int, default=256, help="cells along each side of the map")
    parser.add_argument("--repeat", type=int, default=7, help="visits with and without ground")
    parser.add_argument("--seed", type=int, default=1, help="of the invented names")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print the figures of the parts that `--part` requests: page, search or both."""
    if options.part in {None, "page"}:
        report(first_view(options.cells, options.repeat), options.json)
    if options.part in {None, "search"}:
        for line in searches(options.names, options.seed):
            report(line, options.json)


def first_view(cells: int, repeat: int) -> dict[str, str | float]:
    """Return what the basemap adds to the first view of a map, as medians over several visits."""
    install = INSTALL.format(bounds=VADUZ, cells=cells)
    with site(install) as installed:
        installed.manage("ground", "add", str(GROUND), "--name", "here")
        region = installed.folder / "ground" / "here.json"
        address = f"{installed.address}/maps/{installed.release}/"
        bare, grounded = _visits(address, region, repeat)
    middle = {
        name: [statistics.median(each[name] for each in visits) for visits in (bare, grounded)]
        for name in bare[0]
    }
    added = {name: with_it - without for name, (without, with_it) in middle.items()}
    return {
        "name": f"ground: first view of {cells} x {cells} cells",
        "added_bytes": added["bytes"],
        "added_bytes_promised": EXTRA_BYTES,
        "added_requests": added["requests"],
        "seconds_to_heat": middle["heat"][1],
        "added_seconds_to_heat": added["heat"],
        "added_seconds_promised": EXTRA_SECONDS,
        "added_seconds_until_all_is_drawn": added["drawn"],
        "seconds_from_heat_to_ground": middle["drawn"][1] - middle["heat"][1],
    }


def _visits(
    address: str, region: Path, repeat: int
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Return the figures of visits without and with a basemap.

    The visits alternate, each with an empty cache.
    """
    from playwright.sync_api import sync_playwright

    aside = region.with_suffix(".aside")
    times: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for count in range(2 * repeat + 2):
            grounded = count % 2
            (aside if grounded else region).rename(region if grounded else aside)
            context = browser.new_context(viewport=VIEWPORT)
            page = context.new_page()
            finished: list[Any] = []
            page.on("requestfinished", _keeper(finished))
            page.goto(address)
            page.wait_for_selector("#map[data-state=idle]", state="attached", timeout=120_000)
            if count > 1:  # the first two visits warm up the server
                times[grounded].append({**page.evaluate(MEASURE), **_sent(finished)})
            context.close()
        browser.close()
    return times


def _keeper(finished: list[Any]) -> Callable[[Any], None]:
    """Return a handler that appends finished requests to `finished`.

    Playwright sets attributes on its handlers, which `finished.append` itself would not accept.
    """

    def keep(request: Any) -> None:
        finished.append(request)

    return keep


def _sent(finished: Sequence[Any]) -> dict[str, float]:
    """Return the number and the total size in bytes of the responses from the server.

    Responses to the map's web worker are included.
    """
    sizes = [each.sizes() for each in finished if each.url.startswith("http")]
    size = sum(each["responseBodySize"] + each["responseHeadersSize"] for each in sizes)
    return {"bytes": size, "requests": len(sizes)}


def searches(count: int, seed: int) -> Iterator[dict[str, str | float]]:
    """Yield figures on searches in many invented names.

    The figures are the build time and size of the file, the search times for several kinds of text,
    and how many names are found despite a typing error.
    """
    rng = random.Random(seed)  # noqa: S311 - invented names
    places = list(invented_places(count, rng))
    with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as folder:
        path = Path(folder) / "names.sqlite"
        begun = time.perf_counter()
        names.build(path, places, "invented")
        yield {
            "name": f"ground: file of {count:,} names",
            "seconds": time.perf_counter() - begun,
            "megabytes": path.stat().st_size / 1e6,
        }
        names.search(path, "warm", OFFERED)
        chosen = [rng.choice(places).name for _ in range(200)]
        words = [fold(name) for name in chosen]
        yield _timed(path, "words", words, WORD_MILLISECONDS)
        yield _timed(path, "beginnings", _beginnings(words, rng), WORD_MILLISECONDS)
        yield _timed(path, "one letter", _letters(words), LETTER_MILLISECONDS)
        yield _timed(path, "beginnings, on a map", _beginnings(words, rng), WORD_MILLISECONDS, MAP)
        yield _timed(path, "one letter, on a map", _letters(words), LETTER_MILLISECONDS, MAP)
        wrong = [(mistyped(name, rng), name) for name in forgivable(places, rng)]
        yield _timed(path, "mistyped", [typed for typed, _ in wrong], WORD_MILLISECONDS)
        yield found_despite_errors(path, wrong)


def _beginnings(words: Sequence[str], rng: random.Random) -> list[str]:
    """Return the beginning of each name, of random length but at least two letters."""
    return [word[: rng.randint(2, max(2, len(word) - 1))] for word in words]


def _letters(words: Sequence[str]) -> list[str]:
    """Return the first letters of names."""
    return sorted({word[:1] for word in words})


def forgivable(places: Sequence[names.Place], rng: random.Random) -> list[str]:
    """Return a sample of names that contain a word long enough for errors in it to be tolerated."""
    long = [
        each.name
        for each in places
        if len(max(fold(each.name).split(), key=len)) > MIN_FUZZY_LENGTH
    ]
    return rng.sample(long, ERRORS_TRIED)


def _timed(
    path: Path,
    kind: str,
    typed: Sequence[str],
    most: float,
    box: tuple[float, float, float, float] | None = None,
) -> dict[str, str | float]:
    """Return the elapsed times of searches, and the longest processor time of one.

    With a `box` in degrees, only places in it are searched for, as on a map.
    """
    taken, computed = [], []
    for text in typed:
        begun, used = time.perf_counter(), time.process_time()
        names.search(path, text, box=box)
        taken.append(1000 * (time.perf_counter() - begun))
        computed.append(1000 * (time.process_time() - used))
    taken.sort()
    return {
        "name": f"ground: search by {kind}",
        "searches": len(taken),
        "milliseconds": statistics.median(taken),
        "milliseconds_95_in_100": taken[int(0.95 * len(taken))],
        "milliseconds_most": taken[-1],
        "milliseconds_of_processor_most": max(computed),
        "milliseconds_promised": most,
    }


def found_despite_errors(path: Path, wrong: Sequence[tuple[str, str]]) -> dict[str, str | float]:
    """Return how many names are among the first OFFERED results for their mistyped text."""
    missed = [
        f"{typed} ({name})"
        for typed, name in wrong
        if name not in [each.name for each in names.search(path, typed, OFFERED)]
    ]
    return {
        "name": "ground: names found despite a typing error",
        "found_in_100": 100 - 100 * len(missed) / len(wrong),
        "found_promised": MIN_FOUND,
        "missed": "; ".join(missed[:20]),
    }
