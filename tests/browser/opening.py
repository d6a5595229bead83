"""Opening a page in a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PATIENCE = 90_000
"""Milliseconds that a page may take on a busy machine."""

DRAWN = "#map[data-state=idle]"
"""Selector that matches once the map of a page is drawn and no longer moves."""

Open = Callable[..., Any]
"""Opens a path; see `conftest.open_page`."""


def unfold(page: Any, words: str) -> None:
    """Open a part of the page that is folded, by the words of its summary."""
    page.locator("summary", has_text=words).first.click()
