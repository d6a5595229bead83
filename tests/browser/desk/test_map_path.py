"""The owner's six steps to a map, in a real browser, with clicks and decisions counted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api

from tests.browser.desk.owner import Keys
from tests.browser.opening import DRAWN, PATIENCE
from tests.browser.pixels import ramp_share, screenshot
from tests.browser.test_accessibility import violations

pytestmark = pytest.mark.browser

COUNTS = re.compile(r"[0-9],[0-9]{3} (of|rows)")
"""Matches an exact count of the file's rows, as the check step shows it."""

MAX_CLICKS = 25
MAX_DECISIONS = 8


class Counted:
    """A person whose clicks and decisions are counted; typing some text counts as one decision."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0
        self.decisions = 0

    def click(self, selector: str) -> None:
        """Click on something that everybody has to click on; this is not a decision."""
        self.page.locator(selector).first.click()
        self.clicks += 1

    def decide(self, selector: str) -> None:
        """Make a decision: click on something when another choice was possible."""
        self.click(selector)
        self.decisions += 1

    def write(self, selector: str, text: str) -> None:
        """Click into a field and type some text."""
        self.click(selector)
        self.page.keyboard.type(text)
        self.decisions += 1


def crowd(tmp_path: Path, west: float, south: float) -> Path:
    """Return a file of invented people in a square of 0.3 degrees, with unusual column names."""
    rows = ["Benutzer;Breite;Länge;Zeitpunkt"]
    for n in range(4_000):
        lat, lon = south + 0.3 * (n % 61) / 61, west + 0.3 * (n % 53) / 53
        rows.append(f"w{west}-{n % 900};{lat:.5f};{lon:.5f};2026-05-{n % 28 + 1:02d}T12:00:00Z")
    path = tmp_path / "trips.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def pictures_drawn(page: Any) -> None:
    """Wait until all pictures on the page have been drawn."""
    page.wait_for_function(
        """() => [...document.querySelectorAll("canvas[data-ground]")]
            .every((each) => each.dataset.state === "drawn")""",
        timeout=PATIENCE,
    )


def faults_of(page: Any) -> list[str]:
    """Return the problems that axe finds, and one more if the page is wider than the window."""
    pictures_drawn(page)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth") > 0
    problems = [f"{page.url}: {each}" for each in violations(page)]
    return [*problems, f"{page.url}: too wide"] if wide else problems


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_a_map_takes_eight_decisions_and_twenty_five_clicks(
    site: str, browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    someone = Counted(page)
    page.goto(f"{site}/desk/")
    page.fill("#id_username", "owner")
    page.fill("#id_password", "secret-words")
    someone.click("main button")
    page.wait_for_url(f"{site}/desk/")

    someone.click("text=Make a map from your file")
    place, west, south = ("Tokyo", 139.6, 35.5) if width > 800 else ("Nairobi", 36.7, -1.4)
    someone.write("[name=place]", place.lower())
    sync_api.expect(page.locator("main button.primary")).to_have_text(f"Use {place}")
    page.wait_for_selector(".area-map[data-state=drawn]")
    problems += faults_of(page)
    someone.click("main button[type=submit]")

    page.wait_for_selector("text=Nothing is public until you press Publish")
    problems += faults_of(page)
    page.set_input_files("[name=file]", crowd(tmp_path, west, south))
    # a click on the button, then one on the file in the dialogue
    someone.clicks += 2
    someone.decisions += 1

    page.wait_for_url("**/desk/uploads/**", timeout=PATIENCE)
    sync_api.expect(page.locator(".lead")).to_contain_text("can be used.")
    sync_api.expect(page.locator("figcaption")).to_contain_text("Only you see this")
    sync_api.expect(page.locator("main")).to_contain_text("Benutzer")
    problems += faults_of(page)
    someone.decide("text=Looks right")

    page.wait_for_selector("main >> text=Make a map", timeout=PATIENCE)
    someone.clicks += 1
    page.click("main >> text=Make a map")
    page.wait_for_url("**/map/", timeout=PATIENCE)
    problems += faults_of(page)
    someone.decide("main button.primary")

    page.wait_for_url("**/map/cost/**")
    someone.decide("#total-2")
    sync_api.expect(page.locator("[data-live=promise]")).to_contain_text("Strong protection")
    sync_api.expect(page.locator("[data-live=promise]")).to_contain_text("Left after it: 0.5 of 1")
    problems += faults_of(page)
    assert ramp_share(screenshot(page, ".path-map canvas"), scheme) > 0.002
    someone.decide("button[name=go]")

    page.wait_for_url("**/map/publish/**")
    problems += faults_of(page)
    assert not COUNTS.search(page.inner_text("main"))
    someone.decide("text=Spend 0.5 and publish")
    page.wait_for_url("**/desk/releases/**")
    page.wait_for_selector("form[action$='publish/'] button, .state.published", timeout=PATIENCE)
    if page.locator("form[action$='publish/'] button").count():
        # The map would be published by itself up to an hour later; publish it now.
        someone.click("form[action$='publish/'] button")
    sync_api.expect(page.locator(".state")).to_have_text("Published")

    stranger = browser.new_context().new_page()
    stranger.goto(site + page.get_attribute("main a[href*='/maps/']", "href"))
    stranger.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    stranger.context.close()
    assert someone.clicks <= MAX_CLICKS
    assert someone.decisions <= MAX_DECISIONS
    assert problems == []
    context.close()


def test_the_six_steps_need_no_mouse(site: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    keys = Keys(page)
    page.goto(f"{site}/desk/new/")
    keys.to("#id_username").write("owner").to("#id_password").write("secret-words").press("Enter")
    page.wait_for_url(f"{site}/desk/new/")
    keys.to("[name=place]").write("Reykjavik").press("Escape").to("main button.primary")
    keys.press("Enter")
    page.wait_for_url("**/upload/")
    keys.to("form[action$='practice/'] button").press("Enter")
    page.wait_for_url("**/desk/uploads/**", timeout=PATIENCE)
    keys.to("form.mapping .go button.primary").press("Enter")
    page.wait_for_selector("p.go a.primary", timeout=PATIENCE)
    keys.to("p.go a.primary").press("Enter")
    page.wait_for_url("**/map/", timeout=PATIENCE)
    keys.to("#kind-heat").to("main button.primary").press("Enter")
    page.wait_for_url("**/map/cost/**")
    keys.to("[name=total]").press("Space").to("[name=detail]").press("ArrowRight")
    keys.to("button[name=go]").press("Enter")
    page.wait_for_url("**/map/publish/**")
    assert "epsilon=0.1&" in page.url
    keys.to("main button.primary").press("Enter")
    page.wait_for_url("**/desk/releases/**")
    assert keys.unseen == set()
    context.close()
