"""Lines of a text file, and their fields: the row-local part of reading CSV.

One line is one row. CSV libraries let a quoted field span several lines, so a single stray
quotation mark can absorb the rows of other people into a field, and removing one person's row could
change everyone's. Here quotation marks have a meaning only within their own line, and a line that
leaves a quotation open is refused alone. Line breaks inside quotes are therefore not supported, but
no field that a map needs contains any.

A line ends at LF, CRLF or CR. Empty lines are not rows. Within a line, a field may be quoted as a
whole; it may then contain delimiters and doubled quotation marks (RFC 4180). In a line where no
field begins with a quotation mark, all quotation marks are plain characters, such as those for
seconds: 52°30'15"N.

Whole blocks of bytes are processed with NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.ingest.report import MAX_LINE_BYTES

BLOCK_BYTES = 1 << 21
LF, CR, QUOTE, TAB, SPACE = 10, 13, 34, 9, 32

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines of a block of bytes.

    `starts` and `ends` (n,) are byte positions in `block`, and `numbers` (n,) are the lines'
    numbers in the file. `done` is how many bytes of the file have been read so far. A line longer
    than `MAX_LINE_BYTES` is cut to its first bytes and marked in `too_long`.
    """

    block: bytes
    starts: Positions
    ends: Positions
    numbers: Positions
    too_long: NDArray[np.bool_]
    done: int


class Bytes(Protocol):
    """Interface of a file that is read as bytes."""

    def read(self, size: int, /) -> bytes:
        """Return about `size` bytes, or none at the end of the file."""

    def tell(self) -> int:
        """Return how many bytes have been read."""


def read_lines(file: Bytes, block_bytes: int = BLOCK_BYTES, *, first: int = 1) -> Iterator[Lines]:
    """Yield the lines of `file` from its position on, numbered from `first`.

    The file is read in blocks of `block_bytes` bytes.

    Memory holds at most one block and one line, however long the line is.
    """
    remainder, after_cr = b"", False
    while True:
        fresh = file.read(block_bytes)
        block = remainder + (fresh or (b"\n" if remainder else b""))
        if not block:
            return
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        lines, first, after_cr = _lines_of(block[:cut], first, after_cr, file.tell())
        remainder = block[cut:]
        if len(remainder) > MAX_LINE_BYTES:
            remainder = remainder[: MAX_LINE_BYTES + 1]
        if len(lines.starts):
            yield lines


def _lines_of(block: bytes, first: int, after_cr: bool, done: int) -> tuple[Lines, int, bool]:
    data = np.frombuffer(block, dtype=np.uint8)
    terminators = data == LF
    returns = b"\r" in block
    if returns:
        terminators |= data == CR
    ends = np.flatnonzero(terminators)
    starts = np.concatenate([ends[:1] * 0, ends[:-1] + 1])
    counted = np.ones(len(ends), dtype=np.int64)
    if returns or after_cr:
        before = np.where(ends > 0, data[ends - 1], CR if after_cr else 0)
        # In CRLF, the CR has already ended the line, so the LF is not counted.
        counted[(data[ends] == LF) & (before == CR)] = 0
    numbers = first + np.cumsum(counted) - 1
    after_cr = bool(data[-1] == CR) if len(data) else after_cr
    first += int(counted.sum())
    length = ends - starts
    real = length > 0
    lines = Lines(
        block, starts[real], ends[real], numbers[real], length[real] > MAX_LINE_BYTES, done
    )
    return lines, first, after_cr


class Spans(Protocol):
    """Texts in a block of bytes, in ascending order; text i of n is `block[starts[i]:ends[i]]`."""

    @property
    def block(self) -> bytes:
        """The bytes."""

    @property
    def starts(self) -> Positions:
        """Where texts begin."""

    @property
    def ends(self) -> Positions:
        """Where texts end."""


def undecodable(lines: Spans) -> NDArray[np.bool_]:
    """Return a mask (n,) of the lines that are not valid UTF-8."""
    bad = np.zeros(len(lines.starts), dtype=bool)
    if lines.block.isascii() or _decodes(lines.block):
        return bad
    data = np.frombuffer(lines.block, dtype=np.uint8)
    high = np.searchsorted(lines.ends, np.flatnonzero(data > 127), side="right")
    for line in np.unique(high[high < len(bad)]):
        bad[line] = not _decodes(lines.block[lines.starts[line] : lines.ends[line]])
    return bad


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The positions of fields in a block of lines.

    `delimiters` are the positions of all delimiters outside quotes in the block. Line i has
    `count[i]` of them, beginning at index `first[i]`. `unclosed` and `stray` (n,) mark the lines
    that have a quotation mark that is never closed, or that is out of place.
    """

    delimiters: Positions
    first: Positions
    count: Positions
    unclosed: NDArray[np.bool_]
    stray: NDArray[np.bool_]

    def field(
        self, lines: Lines, which: Positions | slice, index: int, number: int
    ) -> tuple[Positions, Positions]:
        """Return where field `index` starts and ends in the lines `which`, of `number` fields each.

        The positions, (n,) each, are in the block.
        """
        first = self.first[which]
        start = self.delimiters[first + (index - 1)] + 1 if index else lines.starts[which]
        end = self.delimiters[first + index] if index + 1 < number else lines.ends[which]
        return start, end


def split(lines: Lines, delimiter: int | None) -> Split:
    """Find the fields of every line. If `delimiter` is None, spaces or tabs separate fields."""
    data = np.frombuffer(lines.block, dtype=np.uint8)
    delimiters = _blanks(data) if delimiter is None else np.flatnonzero(data == delimiter)
    unclosed = stray = np.zeros(len(lines.starts), dtype=bool)
    if b'"' in lines.block:
        quotes = _quoting(data, np.flatnonzero(data == QUOTE), lines, delimiter)
        before = np.searchsorted(quotes, lines.starts)
        unclosed = (np.searchsorted(quotes, lines.ends) - before) % 2 == 1
        stray = _stray(data, quotes, lines, before, delimiter)
        line = np.searchsorted(lines.ends, delimiters)
        delimiters = delimiters[(np.searchsorted(quotes, delimiters) - before[line]) % 2 == 0]
    first, count = _delimiters_of(lines, delimiters)
    return Split(delimiters, first, count, unclosed, stray)


def _delimiters_of(lines: Lines, delimiters: Positions) -> tuple[Positions, Positions]:
    """Return the index in `delimiters` of each line's first one, and the line's number of them."""
    number = len(lines.starts)
    each, left = divmod(len(delimiters), max(number, 1))
    if each and not left:
        # Checking if all lines have equally many delimiters is quicker than a search for each line.
        of_lines = delimiters.reshape(number, each)
        if (of_lines[:, 0] >= lines.starts).all() and (of_lines[:, -1] < lines.ends).all():
            return np.arange(number) * each, np.full(number, each)
    first = np.searchsorted(delimiters, lines.starts)
    return first, np.searchsorted(delimiters, lines.ends) - first


def _quoting(
    data: NDArray[np.uint8], quotes: Positions, lines: Lines, delimiter: int | None
) -> Positions:
    """Return those of `quotes`, positions of quotation marks, in lines that have quoted fields.

    A field is quoted if it begins with a quotation mark, possibly after blanks.
    """
    line = np.searchsorted(lines.ends, quotes)
    previous = quotes - 1
    if ((data[previous] == SPACE) | (data[previous] == TAB)).any():
        place = np.where((data == SPACE) | (data == TAB), -1, np.arange(len(data)))
        # Step back over blanks. A quotation mark at the block's first byte has no byte before it,
        # so its entry in `previous` stays -1.
        nearest = np.maximum.accumulate(place)
        previous = np.where(previous < 0, -1, nearest[previous])
    begins = previous < lines.starts[line]
    if delimiter is None:
        begins |= previous < quotes - 1
    else:
        begins |= data[previous] == delimiter
    quoted = np.zeros(len(lines.starts), dtype=bool)
    quoted[line[begins]] = True
    return quotes[quoted[line]]


def _blanks(data: NDArray[np.uint8]) -> Positions:
    """Return the last position of each run of spaces and tabs inside a line.

    Runs at the beginning or end of a line are left out.
    """
    blank = (data == SPACE) | (data == TAB)
    signs = np.flatnonzero(~blank)
    if not len(signs):
        return signs
    ends = np.flatnonzero(np.diff(signs) > 1)
    before, after = data[signs[ends]], data[signs[ends + 1]]
    breaks = (before == LF) | (before == CR) | (after == LF) | (after == CR)
    last: Positions = signs[ends + 1][~breaks] - 1
    return last


def _stray(
    data: NDArray[np.uint8],
    quotes: Positions,
    lines: Lines,
    before: Positions,
    delimiter: int | None,
) -> NDArray[np.bool_]:
    """Return a mask (n,) of the lines that have a quotation mark out of place."""
    if delimiter is None:
        data, delimiter = np.where(data == TAB, np.uint8(SPACE), data), SPACE
    line = np.searchsorted(lines.ends, quotes)
    odd = (np.arange(len(quotes)) - before[line]) % 2 == 1
    previous, following = data[quotes - 1], data[quotes + 1]
    opens = (quotes == lines.starts[line]) | (previous == delimiter) | (previous == QUOTE)
    closes = (quotes + 1 == lines.ends[line]) | (following == delimiter) | (following == QUOTE)
    bad = np.zeros(len(before), dtype=bool)
    bad[line[~np.where(odd, closes, opens)]] = True
    return bad
