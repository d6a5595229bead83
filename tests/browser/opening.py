"""Types and constants of the browser tests, and a function that unfolds parts of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PATIENCE = 90_000
"""Longest time, in milliseconds, that a page may take on a busy machine."""

DRAWN = "#map[data-state=idle]"
"""Selector that matches once a page's map is drawn and has stopped moving."""

Open = Callable[..., Any]
"""Type of the function that opens a page by its path; see `conftest.open_page`."""


def unfold(page: Any, words: str) -> None:
    """Unfold the part of the page (a `details` element) whose summary contains `words`."""
    page.locator("summary", has_text=words).first.click()
