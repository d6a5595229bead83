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
