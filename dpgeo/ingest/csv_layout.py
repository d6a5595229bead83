"""Guesses at the layout of a text file: encoding, separator, and whether it has a header."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpgeo.ingest.layout import (
    BLANKS,
    DELIMITERS,
    ENCODINGS,
    MAX_SKIP,
    PLAIN,
    SEPARATORS,
    Layout,
)

HEAD_BYTES = 1 << 18
NAMES = {mark: name for name, mark in SEPARATORS.items()}
LINES_LOOKED_AT = 50
MAX_JUDGED_BYTES = 1 << 14
MAX_RIVALS = 3
ALIKE = 0.1
"""Difference in measures of chaos and coherence up to which two encodings fit equally well."""

SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?', re.IGNORECASE)
"""Matches the first line by which Excel is told the delimiter."""

VALUE = re.compile(
    r"[+-]?[0-9][0-9.,:/ TZ+-]*|[0-9a-f]{8}-[0-9a-f-]{20,}|POINT ?\(.*|[NSEW] ?[0-9][^a-z]*"
)
"""Matches values that are common in rows and hardly ever name a column.

These are numbers, times, ids and positions.
"""


@dataclass(frozen=True, slots=True)
class LayoutGuess:
    """The layout that the first line suggests, and the one that suits the following lines too.

    API keys may see the former, since it reveals nothing about the rows. `rivals` are other
    encodings in which the text makes as much sense as in the likely one.
    """

    by_header: Layout
    likely: Layout
    rivals: tuple[str, ...] = ()


def guess_layout(path: Path) -> LayoutGuess:
    """Guess the layout of a text file from its first lines."""
    with path.open("rb") as file:
        raw = file.read(HEAD_BYTES)
    encoding = likely = marked_encoding(raw)
    rivals: tuple[str, ...] = ()
    lines = _lines(raw, encoding)
    if not encoding and lines:
        readable = _decodes(lines[0])
        encoding = "" if readable else guess_encodings(lines[:1])[0]
        named = readable and not lines[0].isascii()
        if not named and (not readable or _mostly_undecodable(lines[1:-1] or lines[1:])):
            likely, *others = guess_encodings(lines)
            rivals = tuple(others)
    texts = [line.decode(ENCODINGS[likely], errors="replace") for line in lines]
    texts = [text.lstrip("\ufeff").strip("\r\n") for text in texts]
    texts = [text for text in texts if text.strip()]
    if len(texts) > 1 and SEPARATOR_LINE.fullmatch(texts[0].strip()):
        del texts[0]
    layout = replace(_columns(texts[0]), encoding=encoding) if texts else PLAIN
    return LayoutGuess(layout, _with_rows(replace(layout, encoding=likely), texts), rivals)


def guess_encodings(lines: list[bytes]) -> list[str]:
    """Return the likeliest encoding of lines that are not UTF-8, and others that fit as well.

    Two encodings that give the same text are one.
    """
    from charset_normalizer import from_bytes

    odd = b"\n".join(line for line in lines if not line.isascii())[:MAX_JUDGED_BYTES]
    names = {codec: name for name, codec in ENCODINGS.items() if name and "utf" not in name}
    matches = [
        each for each in from_bytes(odd, cp_isolation=list(names)) if not _mixes_scripts(str(each))
    ]
    if not matches:
        return ["latin-1"]
    best = matches[0]
    alike = [
        each
        for each in matches
        if each.chaos <= best.chaos + ALIKE and each.coherence >= best.coherence - ALIKE
    ]
    found = []
    for match in sorted(alike, key=lambda each: -each.coherence):
        known = [names[codec] for codec in match.could_be_from_charset if codec in names]
        found.append("latin-1" if "latin-1" in known else known[0])
    return list(dict.fromkeys(found))[:MAX_RIVALS]


def _mixes_scripts(text: str) -> bool:
    """Return whether most words with other letters than ASCII mix those with letters of ASCII.

    No language does, except with accented Latin letters.
    """
    words = [word for word in re.findall(r"[^\W\d_]+", text) if not word.isascii()]
    mixed = [word for word in words if re.search("[A-Za-z]", word) and not _is_latin(word)]
    return len(mixed) * 2 > len(words)


def _is_latin(word: str) -> bool:
    return all("LATIN" in unicodedata.name(sign, "") for sign in word)


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


def _with_rows(layout: Layout, texts: list[str]) -> Layout:
    """Add to the layout that the first line suggests what only the following lines can tell.

    That is how many lines stand above the header, and whether the rows have names.
    """
    looked_at = texts[:LINES_LOOKED_AT]
    if len(looked_at) < 2 or not all(_width(text, ",") for text in looked_at):
        return layout
    for skip in range(min(MAX_SKIP, len(looked_at) - 2) + 1):
        delimiter = max(
            DELIMITERS, key=lambda mark: [_width(text, mark) for text in looked_at[skip : skip + 2]]
        )
        rows = [split_line(text, delimiter) for text in looked_at[skip:]]
        if not lines_above(rows):
            break
    else:
        return layout
    if skip:
        layout = replace(_columns(looked_at[skip]), encoding=layout.encoding, skip=str(skip))
    width, rows = len(rows[0]), rows[1:]
    if layout.unnamed or layout.delimiter == NAMES[BLANKS] or width < 2:
        return layout
    longer = [row for row in rows if len(row) == width + 1 and row[-1].strip()]
    return replace(layout, row_names="yes") if len(longer) * 2 > len(rows) else layout


def lines_above(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of a table's first rows, none of them blank, stand above its header.

    Such a row is a title, a comment, or names groups of columns: it has at most one cell where the
    rows below have several, begins with # or //, or has blanks between names that the next row
    fills.
    """
    for number in range(min(MAX_SKIP + 1, len(rows) - 1)):
        if not _is_above(rows[number], rows[number + 1 :]):
            return number
    return 0


def _is_above(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    usual = sorted(map(len, below))[len(below) // 2]
    cells, following = [cell.strip() for cell in row], [cell.strip() for cell in below[0]]
    filled = [cell for cell in cells if cell]
    if len(cells) != usual and cells[0].startswith(("#", "//")):
        return True
    if len(filled) <= 1:
        names = not any(map(is_value, following))
        return usual > 1 and (names or len(cells) > 1 or len(cells[0].split()) != usual)
    return (
        len(cells) == usual == len(following)
        and (not all(cells) or len(set(cells)) < len(cells))
        and all(following)
        and not any(map(is_value, [*filled, *following]))
    )


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
