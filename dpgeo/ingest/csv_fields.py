"""Fields of lines of delimited text, each line split on its own.

A field may be quoted as a whole; it may then contain delimiters and doubled quotation marks (RFC
4180). In a line where no field begins with a quotation mark, all quotation marks are plain
characters, such as those for seconds: 52°30'15"N. Quotation marks have a meaning only within their
own line, and a line that leaves a quotation open is refused alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.ingest.layout import BLANKS
from dpgeo.ingest.text import mask

BLANK = "[ \t]"


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """The fields of n lines, as a pyarrow array of lists of strings.

    `unclosed` and `stray` (n,) mark the lines that have a quotation mark that is never closed, or
    that is out of place. Their lists are empty.
    """

    lists: Any
    unclosed: NDArray[np.bool_]
    stray: NDArray[np.bool_]

    @property
    def count(self) -> NDArray[np.int64]:
        """Number of fields of each line (n,)."""
        counts: NDArray[np.int64] = pc.list_value_length(self.lists).to_numpy()
        return counts


def split(lines: Any, delimiter: str) -> Fields:
    """Split each of the pyarrow strings `lines` (n,); BLANKS stands for spaces and tabs."""
    if delimiter == BLANKS:
        lines = pc.ascii_trim(lines, characters=" \t")
        lists = pc.split_pattern_regex(lines, pattern=f"{BLANK}+")
    else:
        lists = pc.split_pattern(lines, pattern=delimiter)
    unclosed = np.zeros(len(lines), dtype=bool)
    stray = np.zeros(len(lines), dtype=bool)
    marked = np.flatnonzero(mask(pc.match_substring(lines, pattern='"')))
    begins = pc.match_substring_regex(lines.take(marked), pattern=_quote_begins(delimiter))
    quoted = marked[mask(begins)]
    if not len(quoted):
        return Fields(lists, unclosed, stray)
    texts = lines.take(quoted).to_pylist()
    parsed = [split_quoted(text, delimiter) for text in texts]
    failed = np.array([fields is None for fields in parsed])
    odd = np.array([text.count('"') % 2 == 1 for text in texts])
    unclosed[quoted], stray[quoted] = failed & odd, failed & ~odd
    order = np.arange(len(lines))
    order[quoted] = len(lines) + np.arange(len(quoted))
    fields = pa.array([each or [] for each in parsed], lists.type)
    return Fields(pa.concat_arrays([lists, fields]).take(order), unclosed, stray)


def split_quoted(text: str, delimiter: str) -> list[str] | None:
    """Return the fields of a line in which a field begins with a quotation mark.

    Returns None if a quotation mark is out of place or never closed.
    """
    whole, each = _grammar(delimiter)
    if not whole.fullmatch(text):
        return None
    fields = [quoted or plain for quoted, plain in each.findall(text)]
    return [field.replace('""', '"') for field in fields] if '""' in text else fields


def _quote_begins(delimiter: str) -> str:
    """Return the pattern of a line in which a field begins with a quotation mark.

    Blanks may stand before it: the mark is then out of place, but the line is not plain.
    """
    return f'(?:^|{BLANK})"' if delimiter == BLANKS else f'(?:^|{re.escape(delimiter)}){BLANK}*"'


@cache
def _grammar(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a whole line and of its next field.

    Neither goes back over what it has matched, so the time is linear in the line's length.
    """
    between = f"{BLANK}+" if delimiter == BLANKS else re.escape(delimiter)
    plain = r'[^" \t]++' if delimiter == BLANKS else f'[^"{re.escape(delimiter)}]*+'
    quoted = '"(?:[^"]|"")*+"'
    field = f"(?:{quoted}|{plain})"
    whole = re.compile(f"{field}(?:{between}{field})*+", re.DOTALL)
    return whole, re.compile(f'(?:^|{between})(?:"((?:[^"]|"")*+)"|({plain}))', re.DOTALL)
