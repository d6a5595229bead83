"""Guesses at the layout of a text file: encoding, separator, and whether it has a header."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path

from dpgeo.ingest.layout import BLANKS, DELIMITERS, ENCODINGS, PLAIN, SEPARATORS, Layout

HEAD_BYTES = 1 << 18
NAMES = {mark: name for name, mark in SEPARATORS.items()}
LINES_LOOKED_AT = 50
VALUE = re.compile(
    r"[+-]?[0-9][0-9.,:/ TZ+-]*|[0-9a-f]{8}-[0-9a-f-]{20,}|POINT ?\(.*|[NSEW] ?[0-9][^a-z]*"
)
"""Matches values that are common in rows and hardly ever name a column.

These are numbers, times, ids and positions.
"""


@dataclass(frozen=True, slots=True)
class LayoutGuess:
    """The layout that the first line suggests, and the one that suits the following lines too.

    They differ only in the encoding. API keys may see the former, since it reveals nothing about
    the rows.
    """

    by_header: Layout
    likely: Layout


def guess_layout(path: Path) -> LayoutGuess:
    """Guess the layout of a text file from its first lines."""
    with path.open("rb") as file:
        raw = file.read(HEAD_BYTES)
    encoding = marked_encoding(raw)
    lines = _lines(raw, encoding)
    if not encoding and lines and not _decodes(lines[0]):
        encoding = "latin-1"
    likely = encoding
    # If the header has non-ASCII letters, it alone determines the encoding, so that rows cannot
    # change how the names are read.
    plain = not encoding and bool(lines) and lines[0].isascii()
    if plain and _mostly_undecodable(lines[1:-1] or lines[1:]):
        likely = "latin-1"
    texts = [line.decode(ENCODINGS[encoding], errors="replace") for line in lines]
    texts = [text.lstrip("\ufeff").strip("\r\n") for text in texts]
    texts = [text for text in texts if text.strip()]
    layout = replace(_columns(texts[0]), encoding=encoding) if texts else PLAIN
    return LayoutGuess(layout, replace(layout, encoding=likely))


def marked_encoding(raw: bytes) -> str:
    """Return the codec of a file in UTF-16, or "" for any other file.

    UTF-16 is recognised by a byte order mark, or by ASCII at the beginning of the file.
    """
    for mark, order in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if raw.startswith(mark):
            return order
    start = raw[:64]
    if len(start) >= 4 and not any(start[1::2]) and all(start[0::2]):
        return "utf-16-le"
    if len(start) >= 4 and not any(start[0::2]) and all(start[1::2]):
        return "utf-16-be"
    return ""


def _lines(raw: bytes, encoding: str) -> list[bytes]:
    if encoding.startswith("utf-16"):
        text = raw[: len(raw) // 2 * 2].decode(ENCODINGS[encoding], errors="replace")
        codec = ENCODINGS[encoding]
        return [line.encode(codec, "replace") for line in text.splitlines()[:LINES_LOOKED_AT]]
    return [line for line in raw.splitlines() if line.strip()]


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _mostly_undecodable(lines: list[bytes]) -> bool:
    """Return whether most of the lines that are not plain ASCII are invalid UTF-8."""
    odd = [line for line in lines if not line.isascii()]
    return sum(not _decodes(line) for line in odd) * 2 > len(odd)


def _columns(first: str) -> Layout:
    """Guess the separator and the header from the first line.

    The line is taken for a row instead of a header if at least half of its fields look like values.
    No other line has a say in whether this one names the columns.
    """
    delimiter = best_delimiter(first)
    if not _width(first, delimiter):
        return PLAIN  # `csv_reader` will refuse the file and say what is wrong with this line
    fields = split_line(first, delimiter)
    if len(fields) == 1 and len(first.split()) > 1:
        blanks = split_line(first, BLANKS)
        # Two words may be the name of one column. Three or more fields, or a value among them,
        # are taken for columns separated by blanks.
        if len(blanks) >= 3 or any(map(is_value, blanks)):
            delimiter, fields = BLANKS, blanks
    values = sum(map(is_value, fields))
    if values and values * 2 >= len([each for each in fields if each.strip()]):
        return Layout(delimiter=NAMES[delimiter], unnamed=str(len(fields)))
    return Layout(delimiter=NAMES[BLANKS]) if delimiter == BLANKS else PLAIN


def is_value(field: str) -> bool:
    """Return whether a field looks like a value rather than a column's name."""
    return VALUE.fullmatch(field.strip()) is not None


def best_delimiter(text: str) -> str:
    """Return the separator (comma, semicolon, tab or bar) that divides a line into most columns."""
    return max(DELIMITERS, key=lambda mark: _width(text, mark))


def _width(text: str, delimiter: str) -> int:
    """Count the columns that a delimiter gives; 0 if a name is too long for the CSV library."""
    try:
        return len(next(csv.reader([text], delimiter=delimiter)))
    except csv.Error:
        return 0


def split_line(text: str, delimiter: str, *, strict: bool = False) -> list[str]:
    """Return the fields of a line, for the header and previews.

    Raises csv.Error; with `strict`, also for misplaced quotation marks.
    """
    if delimiter == BLANKS:
        text = re.sub(r"[ \t]+", " ", text.strip(" \t"))
    return next(csv.reader([text], delimiter=delimiter, strict=strict), [])
