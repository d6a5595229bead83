"""Accessibility of all pages: axe finds no violation, and nothing requires a mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.urls import reverse

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import DRAWN, PATIENCE, Open
from tests.maps import BOUNDS, grid_release, install, partition_release
from tests.requirements import need

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)
AXE = Path(settings.BASE_DIR) / "frontend/node_modules/axe-core/axe.min.js"
RUN = """async () => {
  const { violations } = await axe.run(document, { iframes: false });
  const words = ({ target, failureSummary }) => `${target} ${failureSummary}`;
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(words).join(" | ")}`);
}"""

PAGES = {
    "catalogue": "img.thumbnail",
    "release": DRAWN,
    "release-privacy": "main",
    "embed": DRAWN,
    "about-privacy": "main",
    "about-words": "main",
}


@pytest.fixture
def shown() -> Release:
    cache.clear()
    install(partition_release(AREA, 32), "In boxes")
    return install(grid_release(AREA, 32), "Where people are")


def violations(page: Any) -> list[str]:
    """Return descriptions of the accessibility violations that axe finds on a page."""
    need(AXE.exists(), "axe-core: make frontend")
    # The page's content security policy forbids foreign scripts, so axe is evaluated by the
    # debugger.
    page.evaluate(AXE.read_text())
    problems: list[str] = page.evaluate(RUN)
    return problems


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(320, 720), (1440, 900)])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(
    open_page: Open, shown: Release, name: str, size: tuple[int, int], theme: str
) -> None:
    of_release = name in {"release", "release-privacy", "embed"}
    path = reverse(name, args=[shown.pk] if of_release else [])
    page = open_page(path, size, theme, wait=PAGES[name])
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_axe_finds_a_planted_fault(open_page: Open) -> None:
    page = open_page("/about/privacy/", wait="main")
    page.evaluate("document.querySelector('main').innerHTML = '<img src=\"/static/icon.svg\">'")
    assert any(problem.startswith("image-alt") for problem in violations(page))


def test_a_visit_needs_only_the_keyboard(open_page: Open, shown: Release) -> None:
    """A visitor can find a map, move around in it, compare and sum over an area without a mouse."""
    page = open_page("/", wait="img.thumbnail")
    tab_to(page, "#find")
    page.keyboard.type("where")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=where**")
    tab_to(page, ".sheets h2 a")
    page.keyboard.press("Enter")
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    tab_to(page, "#map canvas.maplibregl-canvas")
    page.keyboard.press("ArrowRight")
    assert "± 12 in this" in page.inner_text("#map [aria-live=polite]")
    tab_to(page, "#map-options summary")
    page.keyboard.press("Enter")
    tab_to(page, "[data-choose=ramp] [data-value=slate]")
    page.keyboard.press("Enter")
    assert "ramp=slate" in page.evaluate("location.hash")
    tab_to(page, "#opacity")
    page.keyboard.press("ArrowLeft")
    assert "opacity=95" in page.evaluate("location.hash")
    tab_to(page, "#compare")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("[data-compared]", state="attached", timeout=PATIENCE)
    tab_to(page, ".divider")
    page.keyboard.press("ArrowLeft")
    assert "divider=48" in page.evaluate("location.hash")


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until an element has the focus, and check that the focus is visible."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement?.matches(wanted) ?? false", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def test_nothing_is_animated_for_readers_who_prefer_reduced_motion(
    open_page: Open, shown: Release
) -> None:
    page = open_page(reverse("release", args=[shown.pk]), reduced_motion="reduce")
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((each) => {
          const { transitionDuration, animationName } = getComputedStyle(each);
          const still = transitionDuration.split(",").every((time) => parseFloat(time) === 0);
          return !still || animationName !== "none";
        }).map((each) => each.outerHTML.slice(0, 100))"""
    )
    assert moving == []
    page.get_by_role("button", name="Zoom in").click()
    zoom = page.evaluate("location.hash")
    page.wait_for_timeout(600)
    assert page.evaluate("location.hash") == zoom, "the zoom changes at once"
