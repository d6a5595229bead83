"""How tests open a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PATIENCE = 90_000
"""Milliseconds a page may take on a busy machine."""

DRAWN = "#map[data-state=idle]"
"""Matches once the map of a page stands still."""

Open = Callable[..., Any]
"""Opens a path; see `conftest.open_page`."""
