"""Lines of a text file: the row-local part of reading CSV.

One line is one row. CSV libraries let a quoted field span several lines, so a single stray
quotation mark can absorb the rows of other people into a field, and removing one person's row could
change everyone's. Line breaks inside quotes are therefore not supported, but no field that a map
needs contains any. `csv_fields` splits each line on its own.

A line ends at LF, CRLF or CR. Empty lines are not rows. Whole blocks of bytes are processed with
NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.ingest.report import MAX_LINE_BYTES

BLOCK_BYTES = 1 << 21
LF, CR = 10, 13

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
