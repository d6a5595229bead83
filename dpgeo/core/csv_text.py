"""Lines of CSV that no spreadsheet program takes for formulas, whatever separator it expects.

CSV injection: a spreadsheet runs a cell that begins like a formula, and it decides by the reader's
country whether a comma, a semicolon or a tab ends a cell. So a text becomes harmless not only at
its own beginning, but also after each separator and line break within it. An apostrophe is put
there, which spreadsheets read as "this is text"; nothing else is changed. Cells are quoted unless
they are plain words or numbers, so that a text cannot continue the number before it either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dpgeo.blanks import BLANKS

SEPARATORS = ",;\t"
"""The separators that spreadsheets expect in one country or another."""

FORMULA_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
"""Signs with which formulas begin, also in full width, as some programs accept them."""

_BEGINNING = re.compile(
    rf'(?:^|[{SEPARATORS}\r\n])(?=[{re.escape(BLANKS)}"]*[{re.escape(FORMULA_SIGNS)}\t\r])'
)
"""Matches the beginning of a text, a separator or a line break before what may be a formula.

Blanks do not protect from it, and a quotation mark may begin a cell of another separator.
"""

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:.+-]*")
"""Matches what is not quoted: a word, a number or a time. None contains a separator or a call."""


class NumberText(str):
    """Text of a number, such as "-0.25" or "1/3", which is written as it is."""

    __slots__ = ()


def harmless(text: str) -> str:
    """Return a text with an apostrophe wherever a formula would begin, whatever the separator."""
    return _BEGINNING.sub(lambda found: f"{found[0]}'", text)


def csv_line(cells: Iterable[object], *, separator: str = ",", end: str = "\n") -> str:
    """Return a line of CSV. Texts become harmless; numbers stay numbers, and None an empty cell."""
    return separator.join(map(_cell, cells)) + end


def _cell(value: object) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, NumberText) or not isinstance(value, str):
        return str(value)
    if _PLAIN.fullmatch(value):
        return value
    return '"' + harmless(value).replace('"', '""') + '"'
