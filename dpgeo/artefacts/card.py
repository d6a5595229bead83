"""card.png: a picture of a release for link previews on other sites.

The card has the size that such sites show, 1200 by 630 pixels. The map is on the right; its title,
legend, publisher and verdict are on the left. Like every file, the card is computed from the
release alone.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from dpgeo.artefacts.picture_names import INK, OUTLINE, QUIET, SHEET, font
from dpgeo.artefacts.preview import PNG_LEVEL, draw_map, margin_words
from dpgeo.artefacts.statement import promise_of
from dpgeo.artefacts.view import NOISE, View, unit_words
from dpgeo.core.released import Released
from dpgeo.phrases import translatable

NAME = "card.png"
MEDIA_TYPE = "image/png"
TITLE = "Card"
USE = translatable("a picture for links to the map")

WIDTH, HEIGHT, SIDE, EDGE = 1200, 630, 450, 48
"""Width and height of the card, width of its text column and margin around the text, in pixels."""

TITLE_SIZE, TITLE_LINE, MAX_LINES = 44, 52, 4
TEXT_SIZE, TEXT_LINE = 19, 25

LETTER = 0.52
"""Width of an average letter as a fraction of the font size."""


def write(released: Released, view: View, path: Path) -> None:
    """Write the picture for link previews, with the layer that the release's map shows first."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (WIDTH, HEIGHT), SHEET)
    picture.paste(draw_map(released, view, WIDTH - SIDE, HEIGHT), (SIDE, 0))
    pen = ImageDraw.Draw(picture)
    pen.line((SIDE, 0, SIDE, HEIGHT), fill=INK, width=2)
    top = EDGE
    for line in _lines(released.about.get("title", ""), TITLE_SIZE, MAX_LINES):
        pen.text((EDGE, top), line, fill=INK, font=font(TITLE_SIZE))
        top += TITLE_LINE
    _draw_legend(pen, released, view)
    picture.save(path, format="PNG", compress_level=PNG_LEVEL)


def _draw_legend(pen: Any, released: Released, view: View) -> None:
    """Draw the legend, and below it the publisher's name and the verdict of the promise."""
    about = released.about
    source = ", ".join(
        filter(None, (about.get("publisher", ""), about.get("requested_on", "")[:4]))
    )
    verdict = str(promise_of(released).lead)
    last = [*_lines(source, TEXT_SIZE, 2), *_lines(verdict, TEXT_SIZE, 3)]
    top = HEIGHT - EDGE - TEXT_LINE * len(last)
    for number, line in enumerate(last):
        pen.text((EDGE, top + TEXT_LINE * number), line, fill=QUIET, font=font(TEXT_SIZE))
    top -= 62
    if view.edges:
        wide = (SIDE - 2 * EDGE) / len(view.edges)
        for number, edge in enumerate(view.edges):
            left = EDGE + wide * number
            pen.rectangle((left, top, left + wide - 1, top + 20), fill=view.ramp[number])
            if number:
                pen.text((left, top + 26), f"{edge:,.6g}", QUIET, font(16), anchor="ma")
    else:
        pen.rectangle((EDGE, top, SIDE - EDGE, top + 20), fill=NOISE, outline=OUTLINE)
    words = _lines(unit_words(released, view) + margin_words(view), TEXT_SIZE, 3)
    for number, line in enumerate(reversed(words), 1):
        pen.text((EDGE, top - 6 - TEXT_LINE * number), line, fill=INK, font=font(TEXT_SIZE))


def _lines(text: str, size: int, most: int) -> list[str]:
    """Wrap a text to the width of the text column, in at most `most` lines.

    `size` is the font size in pixels.
    """
    letters = int((SIDE - 2 * EDGE) / (LETTER * size))
    return textwrap.wrap(text, letters, max_lines=most, placeholder="…")
