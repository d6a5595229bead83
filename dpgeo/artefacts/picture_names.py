"""Names of the largest places, written on a release's pictures.

They are stored in the release when it is made, so a picture still follows from the release alone.
They depend only on the release's study area and on the basemap that the site had then.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dpgeo.artefacts.view import Colour
from dpgeo.core.released import Released

NAMES = "names_of_places"
"""Key of `Released.about` that holds the names: JSON with `places` (name, longitude, latitude;
the most important first) and `sources`.
"""

SHEET: Colour = (252, 252, 250)
INK: Colour = (20, 32, 42)
QUIET: Colour = (68, 82, 94)
OUTLINE: Colour = (93, 107, 116)

SIZE, HALO, SMALL = 20, 3, 15
"""Sizes in pixels: letters of names, the halo around them, and letters of the credit."""

ROOM = 8
"""Smallest distance in pixels between two names."""

PER_NAME = 60_000
"""Number of pixels of the map for each name; with more names, they would hide the map."""

FONT = Path(__file__).parent / "fonts" / "archivo-medium.ttf"

LAST_LETTER, FURTHER = "\u017f", frozenset("\u0218\u0219\u021a\u021b")
"""Last of the consecutive Latin letters that the font has, and further (Romanian) letters."""

Box = tuple[float, float, float, float]


def draw_names(
    pen: Any,
    released: Released,
    pixels: Callable[[Any, Any], NDArray[Any]],
    width: int,
    height: int,
) -> None:
    """Write the place names that fit on a map of `width` by `height` pixels, and credit sources.

    `pixels` converts longitudes and latitudes to pixel coordinates (n, 2).
    """
    stored = json.loads(released.about.get(NAMES, "{}"))
    places = [each for each in stored.get("places", []) if _can_draw(each[0])]
    if not places:
        return
    _, longitude, latitude = zip(*places, strict=True)
    at = pixels(list(longitude), list(latitude)).tolist()
    credit = ", ".join(stored["sources"])
    corner = (width - ROOM, height - ROOM)
    taken = [_box(pen, corner, credit, SMALL, "rs")]
    for (name, _, _), (x, y) in zip(places, at, strict=True):
        if len(taken) > width * height / PER_NAME:
            break
        box = _box(pen, (x, y), name, SIZE, "mm")
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            _write(pen, (x, y), name, SIZE, "mm", INK)
    _write(pen, corner, credit, SMALL, "rs", QUIET)


def font(size: int) -> Any:
    """Return the pages' typeface for Latin letters in a size of `size` pixels."""
    from PIL import ImageFont

    return ImageFont.truetype(FONT, size)


def _can_draw(name: str) -> bool:
    return all(letter <= LAST_LETTER or letter in FURTHER for letter in name)


def _write(
    pen: Any, at: tuple[float, float], text: str, size: int, anchor: str, colour: Colour
) -> None:
    pen.text(
        at, text, fill=colour, font=font(size), anchor=anchor, stroke_width=HALO, stroke_fill=SHEET
    )


def _box(pen: Any, at: tuple[float, float], text: str, size: int, anchor: str) -> Box:
    """Return the box of pixels that a text takes, with a margin around it."""
    left, top, right, bottom = pen.textbbox(at, text, font=font(size), anchor=anchor)
    return left - ROOM, top - ROOM, right + ROOM, bottom + ROOM


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
