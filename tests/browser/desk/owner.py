"""Steps of the installation's owner on its pages, with a mouse or with keys alone."""

from __future__ import annotations

import itertools
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 180_000
"""Longest time, in milliseconds, that a job may take on a busy machine."""

CROWDS = itertools.count()
"""A different number for each file of people, so that no two contain the same invented people.

If they did, the desk would warn about it.
"""


def press(page: Any, name: str) -> None:
    """Press the button that is called `name`."""
    page.get_by_role("button", name=name, exact=True).click()


def sign_in(page: Any, site: str) -> None:
    """Sign in to the site as the owner."""
    page.goto(f"{site}/desk/")
    page.fill("#id_username", "owner")
    page.fill("#id_password", "secret-words")
    page.click("main button")
    page.wait_for_url(f"{site}/desk/")


def declare(page: Any, site: str, title: str) -> None:
    """Declare a dataset, starting at the owner's desk and ending at the upload page."""
    page.goto(f"{site}/desk/datasets/new/")
    page.fill("[name=title]", title)
    for name, value in {"west": "10", "south": "50", "east": "10.1", "north": "50.1"}.items():
        page.fill(f"[name={name}]", value)
    page.fill("[name=budget]", "2")
    page.click("main button[type=submit]")
    page.wait_for_url("**/upload/")


UNSEEN = """() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return "";
  const drawn = (each) => {
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(each);
    const { width, height, top, bottom, left, right } = each.getBoundingClientRect();
    const ringed = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    const shown = width > 4 && height > 4 && bottom > 0 && right > 0;
    const inside = shown && top < innerHeight && left < innerWidth;
    return ringed && outlineColor !== "transparent" && inside;
  };
  const places = [focused, ...(focused.labels ?? [])];
  return places.some(drawn) ? "" : focused.outerHTML.slice(0, 160);
}"""
"""Script that returns the focused element if its focus ring is not visible, otherwise nothing."""


class Keys:
    """A person who uses only the keyboard."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.unseen: set[str] = set()

    def to(self, selector: str) -> Keys:
        """Press Tab until the element that matches `selector` has the focus.

        Elements whose focus is not visible are recorded in `unseen` on the way.
        """
        for _ in range(150):
            self.page.keyboard.press("Tab")
            if unseen := self.page.evaluate(UNSEEN):
                self.unseen.add(f"{urlsplit(self.page.url).path} {unseen}")
            matches = "(wanted) => document.activeElement?.matches(wanted) ?? false"
            if self.page.evaluate(matches, selector):
                return self
        raise AssertionError(f"{selector} is not reached by Tab on {self.page.url}")

    def press(self, *keys: str) -> Keys:
        """Press keys one after another."""
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def write(self, words: str) -> Keys:
        """Replace the content of the focused field with `words`."""
        self.press("Control+a").page.keyboard.type(words)
        return self
