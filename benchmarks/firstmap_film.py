"""The first map of a new owner in a real browser, with pictures of every page at two widths.

Every click that a person would make is counted. A decision is a choice between alternatives on a
page. A question about the file gets the answer with which the most rows can be read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.page import ARGUMENTS, CHROMIUM

WINDOWS = {"phone": (390, 844), "desktop": (1440, 900)}
"""Width and height of the window in CSS pixels, for each device."""

PATIENCE = 120_000
"""Longest time to wait for a page, in milliseconds."""

MAX_QUESTIONS = 4

CONFIRM = "form.mapping button.primary"
"""Selector of the button that confirms how a file is read; it is absent if no row is usable."""

MAP_DRAWN = "#map[data-state=idle]"

AXE = Path(__file__).resolve().parent.parent / "frontend/node_modules/axe-core/axe.min.js"

VIOLATIONS = """async () => {
  const { violations } = await axe.run(document, { iframes: false });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target).join(" ")}`);
}"""

DRAWN = """() => [...document.querySelectorAll("canvas[data-ground]")]
    .every((each) => each.dataset.state === "drawn")"""

Figures = dict[str, Any]


class Film:
    """A browser window whose pages are photographed, with clicks, decisions and pages counted."""

    def __init__(self, page: Any, folder: Path, schemes: tuple[str, ...]) -> None:
        self.page = page
        self.folder = folder
        self.schemes = schemes
        self.clicks = 0
        self.decisions: list[str] = []
        self.pages = 0
        self.pictures = 0
        self.faults: list[str] = []
        self.posing = 0.0
        """Seconds spent on taking pictures, which are not part of an owner's waiting time."""
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def click(self, selector: str, decided: str = "") -> None:
        """Click on something; `decided` names the decision that this makes, if it is one."""
        self.page.locator(selector).first.click()
        self.clicks += 1
        if decided:
            self.decisions.append(decided)

    def shoot(self, name: str, ready: str = "") -> None:
        """Take pictures of a page at both widths, in each colour scheme, and run axe's checks.

        If the selector `ready` is given, the page is loaded anew at each width and awaited until
        `ready` matches. The map's view, which the page keeps in its address, is removed first.
        """
        began = time.monotonic()
        self.pages += 1
        for scheme in self.schemes:
            self.page.emulate_media(color_scheme=scheme)
            for device, (width, height) in WINDOWS.items():
                self.page.set_viewport_size({"width": width, "height": height})
                if ready:
                    self.page.goto(self.page.url.partition("#")[0])
                    self.page.wait_for_selector(ready, state="attached")
                self.page.wait_for_timeout(400)
                self.page.wait_for_function(DRAWN, timeout=PATIENCE)
                if self.page.evaluate("document.documentElement.scrollWidth") > width:
                    self.faults.append(f"{name} is wider than {width} pixels")
                path = self.folder / f"{name}-{device}-{scheme}.png"
                self.page.screenshot(path=path, full_page=True)
                self.pictures += 1
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
            self.faults += [f"{name}: {each}" for each in self.page.evaluate(VIOLATIONS)]
        self.posing += time.monotonic() - began


@contextmanager
def filmed(port: int, cookies: Mapping[str, str], folder: Path, dark: bool) -> Iterator[Film]:
    """Start a browser that is signed in, and yield its window as a `Film`."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    address = f"http://127.0.0.1:{port}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(base_url=address, locale="en", reduced_motion="reduce")
        context.set_default_timeout(PATIENCE)
        context.add_cookies([{"name": n, "value": v, "url": address} for n, v in cookies.items()])
        try:
            yield Film(context.new_page(), folder, ("light", "dark") if dark else ("light",))
        finally:
            browser.close()


def make_map(film: Film, file: Path, place: Mapping[str, str], total: str) -> Iterator[Figures]:
    """Publish a map with the default settings, and yield the figures of each step.

    The map is public at the end, unless a line says why it could not be made.
    """
    began = time.monotonic()
    film.page.goto("/desk/")
    film.click("text=Make a map from your file")
    _choose_place(film, place)
    film.page.wait_for_selector("[name=file]")
    film.shoot("2-file")
    film.page.set_input_files("[name=file]", file)
    film.clicks += 2  # A person clicks the button, then the file in the dialogue.
    film.decisions.append(f"file {file.name}")
    film.page.wait_for_url("**/desk/uploads/**")
    if not _check(film):
        yield _way(film, began) | {"step": "stopped", "why": film.page.inner_text("main")[:400]}
        return
    film.page.wait_for_url("**/map/")
    film.shoot("4-kind")
    film.click("main button.primary", "kind")
    film.page.wait_for_url("**/map/cost/**")
    film.click(f"[name=total][value='{total}']", f"total {total}")
    film.page.wait_for_selector("[data-live=promise] .promise")
    film.shoot("5-cost")
    film.click("button[name=go]", "detail")
    film.page.wait_for_url("**/map/publish/**")
    film.shoot("6-publish")
    film.click("main button.primary", "publish")
    film.page.wait_for_url("**/desk/releases/**")
    film.page.wait_for_selector(".state.published")
    film.shoot("7-desk")
    film.click("main a[href*='/maps/']")
    film.page.wait_for_selector(MAP_DRAWN, state="attached")
    film.shoot("8-map", MAP_DRAWN)
    yield _way(film, began)
    yield {"step": "pictures", "pictures": film.pictures, "faults": "; ".join(film.faults)}


def _choose_place(film: Film, place: Mapping[str, str]) -> None:
    film.page.wait_for_selector("[name=place]")
    if "place" in place:
        film.click("[name=place]", f"place {place['place']}")
        film.page.keyboard.type(place["place"])
        film.page.wait_for_function(
            "() => document.querySelector('main button.primary').textContent.startsWith('Use ')"
        )
    else:
        film.click("summary:has-text('Enter coordinates')", "area")
        for side, degrees in place.items():
            film.click(f"[name={side}]")
            film.page.keyboard.type(degrees)
    film.page.keyboard.press("Escape")  # Escape closes the list of suggestions.
    film.page.wait_for_selector(".area-map[data-state=drawn]")
    film.shoot("1-where")
    film.click("main button.primary")


def _check(film: Film) -> bool:
    """Answer the questions about the file and confirm it; return whether it could be confirmed."""
    film.page.wait_for_selector("h1")
    film.shoot("3-check")
    for number in range(MAX_QUESTIONS):
        answers = film.page.locator("li.asks form.answer, li.stops form.answer")
        answered = film.page.locator(f"{CONFIRM}, li.asks [aria-pressed=true]").count() > 1
        if not answers.count() or (number and answered):
            break
        words = answers.all_inner_texts()
        best = max(range(len(words)), key=lambda index: _rows(words[index]))
        film.decisions.append(" ".join(words[best].split()))
        film.clicks += 1
        with film.page.expect_navigation():
            answers.nth(best).locator("button").click()
        film.shoot(f"3-check-{number + 1}-answered")
    if not film.page.locator(CONFIRM).count():
        return False
    film.click(CONFIRM, "columns")
    film.page.wait_for_function(
        "() => !location.pathname.includes('/uploads/')"
        " || document.querySelector('.report a.btn, p.go a.primary, [role=alert], .wrong')"
    )
    if "/uploads/" in film.page.url:
        film.page.wait_for_selector("h1")
        film.shoot("3-read")
        if not film.page.locator("p.go a.primary").count():
            return False
        anyway = "anyway" in film.page.inner_text("p.go a.primary")
        film.click("p.go a.primary", "continue anyway" if anyway else "")
    return True


def _rows(words: str) -> int:
    """Return how many rows can be read, as an answer button says; 0 if it states no number."""
    found = re.search(r"reads ([\d,]+) of", words)
    return int(found[1].replace(",", "")) if found else 0


def _way(film: Film, began: float) -> Figures:
    return {
        "step": "film",
        "seconds": time.monotonic() - began - film.posing,
        "pages": film.pages,
        "decisions": len(film.decisions),
        "clicks": film.clicks,
        "decided": "; ".join(film.decisions),
    }
