"""Colours in screenshots, compared with the design tokens."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from PIL import Image

TOLERANCE = 6
"""Largest difference in a colour channel that counts as equal, to allow for rounding in drawing."""

RAMP = [f"tide-{step}" for step in range(7)]


def screenshot(page: Any, selector: str) -> NDArray[np.uint8]:
    """Return a screenshot (height, width, 3) of one element."""
    return read_png(page.locator(selector).first.screenshot(animations="disabled"))


def read_png(png: bytes) -> NDArray[np.uint8]:
    """Decode a PNG picture (height, width, 3)."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        return np.asarray(image.convert("RGB"))


def token(name: str, theme: str) -> tuple[int, int, int]:
    """Return the colour of a design token in a theme, from the file that defines the tokens."""
    text = (Path(settings.BASE_DIR) / "frontend/src/ui/tokens.css").read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)", 1)
    match = re.search(rf"--{name}: #([0-9a-f]{{6}});", dark if theme == "dark" else light)
    assert match, f"there is no token --{name}"
    value = int(match[1], 16)
    return value >> 16, value >> 8 & 255, value & 255


def where(image: NDArray[np.uint8], name: str, theme: str) -> NDArray[np.bool_]:
    """Return a mask (height, width) of the pixels that have the colour of a design token."""
    colour = np.array(token(name, theme), dtype=np.int16)
    close: NDArray[np.bool_] = (np.abs(image.astype(np.int16) - colour) <= TOLERANCE).all(axis=2)
    return close


def colours(image: NDArray[np.uint8]) -> int:
    """Return the number of different colours in an image."""
    return len(np.unique(image @ np.array([1 << 16, 1 << 8, 1])))


def share(image: NDArray[np.uint8], name: str, theme: str) -> float:
    """Return the share of an image's pixels that have the colour of a design token."""
    return float(where(image, name, theme).mean())


def ramp_share(image: NDArray[np.uint8], theme: str) -> float:
    """Return the share of an image's pixels that have any colour of the map's colour ramp."""
    return sum(share(image, name, theme) for name in RAMP)
