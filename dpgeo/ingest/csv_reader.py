"""Reader of CSV and other delimited text, with or without a header.

A CSV library splits only single lines: the header, and the rows of previews. In a whole file, it
would let one stray quotation mark absorb the rows of other people (see `csv_lines`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.blanks import trim
from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import csv_fields, csv_lines
from dpgeo.ingest.batch import PREVIEW_ROWS, Batch, Head, Reader, Sieve
from dpgeo.ingest.cores import in_order
from dpgeo.ingest.crs import WGS84
from dpgeo.ingest.csv_layout import (
    SEPARATOR_LINE,
    LayoutGuess,
    best_delimiter,
    guess_layout,
    split_line,
)
from dpgeo.ingest.csv_lines import Lines
from dpgeo.ingest.formats import BYTE_ORDER_MARK
from dpgeo.ingest.header import check_names, positions, with_groups
from dpgeo.ingest.layout import PLAIN, Layout, unnamed_columns
from dpgeo.ingest.report import MAX_EXAMPLE_LENGTH, MAX_LINE_BYTES, Reason, Tally, shorten
from dpgeo.ingest.schema import Wanted
from dpgeo.ingest.text import cut_text, mask, trimmed
from dpgeo.ingest.text_bytes import TextBytes, open_text

USUAL_HEADER_BYTES = 1 << 14
MAX_HEADER_BYTES = 1 << 20
HEAD_BYTES = 1 << 18


SAMPLE_BLOCKS = 64
SAMPLE_HEAD_BYTES = 1 << 15
SAMPLE_BYTES = 1 << 12


@dataclass(frozen=True, slots=True)
class Header:
    """Column names, the delimiter between columns, and the number of the line after the header."""

    names: list[str]
    delimiter: str
    next_line: int


def read_csv(
    path: Path,
    wanted: Wanted,
    tally: Tally,
    *,
    crs: str = WGS84,
    layout: Layout = PLAIN,
    block_bytes: int = csv_lines.BLOCK_BYTES,
) -> Iterator[Batch]:
    """Yield the rows of a text file in batches; fields are pyarrow string arrays.

    A CSV file states no coordinate reference system, so `crs` cannot be checked. Lines with more or
    fewer fields than the header are refused. Raises InvalidInput if the header is unusable or lacks
    a declared column.
    """
    with open_text(path, layout.encoding) as file:
        header = read_header(file, layout)
        where = positions(wanted, header.names)
        blocks = csv_lines.read_lines(file, block_bytes, first=header.next_line)
        tasks = (partial(_parsed, lines, header, where, file.total) for lines in blocks)
        for batch, counted in in_order(tasks):
            tally.add(counted)
            yield batch


def _parsed(
    lines: Lines, header: Header, where: Mapping[str, int], total: int
) -> tuple[Batch, Tally]:
    """Return the rows of a block of lines, and a tally of these lines alone."""
    tally = Tally()
    return _batch(lines, header, where, tally, total), tally


def sample_csv(
    path: Path, wanted: Wanted, tally: Tally, *, crs: str = WGS84, layout: Layout = PLAIN
) -> Iterator[Batch]:
    """Yield rows from the start of a text file, and from blocks spread over the rest of it."""
    with open_text(path, layout.encoding) as file:
        header = read_header(file, layout)
        where = positions(wanted, header.names)
        total, head = file.total, b""
        # Blocks of a shorter file would overlap, so all of it is read.
        whole = total <= SAMPLE_HEAD_BYTES + 2 * SAMPLE_BLOCKS * SAMPLE_BYTES
        enough = total if whole else SAMPLE_HEAD_BYTES
        while len(head) < enough and (text := file.read(SAMPLE_HEAD_BYTES)):
            head += text
        rest = file.tell()
        parts = [head if whole else head[: _line_end(head, last=True)]]
        for block in () if whole else range(SAMPLE_BLOCKS):
            file.leap(rest + (total - rest) * block // SAMPLE_BLOCKS)
            text = file.read(SAMPLE_BYTES)
            if _line_end(text) == _line_end(text, last=True):
                text += file.read(8 * SAMPLE_BYTES)  # The lines are long.
            parts.append(text[_line_end(text) : _line_end(text, last=True)])
        for part in parts:
            for lines in csv_lines.read_lines(io.BytesIO(part), max(len(part), 1)):
                yield _batch(replace(lines, done=total * whole), header, where, tally, total)


def _line_end(text: bytes, *, last: bool = False) -> int:
    """Return the position where the first or, if `last`, the last line of a text ends."""
    ends = [text.rfind(mark) if last else text.find(mark) for mark in (b"\n", b"\r")]
    line_ends = [end + 1 for end in ends if end >= 0]
    return (max if last else min)(line_ends, default=0)


def read_header(file: TextBytes, layout: Layout = PLAIN) -> Header:
    """Read the header, which is the first line that is not blank, and leave `file` after it.

    Lines that the layout skips come before it, and so does Excel's `sep=;`, which declares the
    delimiter. Otherwise the delimiter is the declared one, or else whichever of comma, semicolon,
    tab and bar gives the most columns. Nothing is read from a file that is declared to have no
    header. Raises InvalidInput (field "file") if there is no usable header.
    """
    if layout.unnamed:
        _skip_mark(file)
        return Header(unnamed_columns(layout.columns), layout.separator or ",", 1)
    head = file.read(USUAL_HEADER_BYTES)
    if layout.skip or not _line_end(head.lstrip()):
        head += file.read(MAX_HEADER_BYTES + 1)
    start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
    position, declared = start, layout.separator
    lines: list[bytes] = []
    number = 0
    for line in head[start:].splitlines(keepends=True):
        number += 1
        position += len(line)
        if not lines and (marked := SEPARATOR_LINE.fullmatch(line.decode("latin-1").strip())):
            declared = declared or marked[1]
        elif line.strip():
            lines.append(line)
        if len(lines) > layout.skipped:
            break
    else:
        raise InvalidInput(
            "The file has only blank lines; its first line must name the columns.", field="file"
        )
    if position > MAX_HEADER_BYTES:
        raise InvalidInput(
            "The header line is longer than 1 MiB; keep only the columns a map needs: person, "
            "position and time.",
            field="file",
        )
    file.rewind(position)
    delimiter, names = _columns(_header_text(lines[-1]), declared)
    if layout.skip:
        groups = split_line(_header_text(lines[-2]), delimiter)
        names = with_groups(names, [trim(group) for group in groups])
    if layout.row_names:
        names = ["", *names]
    check_names(names)
    return Header(names, delimiter, number + 1)


def _skip_mark(file: TextBytes) -> None:
    """Skip the byte order mark, if any, of a file without a header. No other line is skipped."""
    file.rewind(len(BYTE_ORDER_MARK) if file.read(4).startswith(BYTE_ORDER_MARK) else 0)


def _header_text(line: bytes) -> str:
    try:
        return line.decode().strip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "The header is not UTF-8 text; save the file with the encoding UTF-8.", field="file"
        ) from error


def read_head(path: Path, layout: Layout | None = None) -> Head:
    """Return the header and first rows, each cut or padded to the number of columns.

    Without a declared layout, the layout is guessed (`csv_layout`).
    """
    guess = guess_layout(path) if layout is None else LayoutGuess(layout, layout)
    with open_text(path, guess.likely.encoding) as file:
        header = read_header(file, guess.likely)
        head = io.BytesIO(file.read(HEAD_BYTES))
    lines = next(csv_lines.read_lines(head, HEAD_BYTES), None)
    rows = []
    if lines is not None:
        for start, end in zip(lines.starts[:PREVIEW_ROWS], lines.ends[:PREVIEW_ROWS], strict=True):
            text = lines.block[start : min(end, start + MAX_LINE_BYTES)].decode(errors="replace")
            cells = [shorten(trim(cell)) for cell in split_line(text, header.delimiter)]
            cells = cells[: len(header.names)]
            rows.append(cells + [""] * (len(header.names) - len(cells)))
    return Head(
        header.names, rows, layout=guess.by_header, likely=guess.likely, encodings=guess.rivals
    )


def _columns(text: str, declared: str) -> tuple[str, list[str]]:
    """Return the delimiter and the column names of a header line."""
    delimiter = declared or best_delimiter(text)
    try:
        names = split_line(text, delimiter, strict=True)
    except csv.Error as error:
        raise InvalidInput(
            "The header has a quotation mark out of place or a name that is far too long; "
            "correct the first line.",
            field="file",
        ) from error
    return delimiter, [trim(name) for name in names]


def _batch(
    lines: Lines, header: Header, where: Mapping[str, int], tally: Tally, total: int
) -> Batch:
    tally.read += len(lines.starts)
    sieve = Sieve(lines.numbers, tally)
    examples = _LineStarts(lines)
    sieve.refuse(lines.too_long, Reason.LINE_TOO_LONG, examples)
    sieve.refuse(csv_lines.undecodable(lines), Reason.UNDECODABLE, examples)
    readable = np.flatnonzero(sieve.kept)
    text = cut_text(lines.block, lines.starts[readable], lines.ends[readable])
    fields = csv_fields.split(text, header.delimiter)
    for failing, reason in (
        (fields.unclosed, Reason.UNCLOSED_QUOTE),
        (fields.stray, Reason.STRAY_QUOTE),
        (~_fit(fields, len(header.names)), Reason.WRONG_FIELDS),
    ):
        of_lines = np.zeros(len(lines.starts), dtype=bool)
        of_lines[readable] = failing
        sieve.refuse(of_lines, reason, examples)
    lists = fields.lists.filter(pa.array(sieve.kept[readable]))
    return Batch(
        rows=lines.numbers[sieve.kept],
        fields={role: pc.list_element(lists, index) for role, index in where.items()},
        done=lines.done,
        total=total,
    )


def _fit(fields: csv_fields.Fields, columns: int) -> NDArray[np.bool_]:
    """Return a mask (n,) of the lines with a field for each column.

    A line may end with a further delimiter, after which there is nothing.
    """
    count = fields.count
    fits: NDArray[np.bool_] = count == columns
    longer = np.flatnonzero(count == columns + 1)
    if len(longer):
        last = pc.list_element(fields.lists.take(pa.array(longer)), columns)
        fits[longer] = mask(pc.equal(trimmed(last), ""))
    return fits


class _LineStarts:
    """The first bytes of each line, as many as an example of a refused row may need.

    They are copied only if the line is shown as such an example.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __getitem__(self, index: int) -> bytes:
        start, end = int(self._lines.starts[index]), int(self._lines.ends[index])
        return self._lines.block[start : min(end, start + 4 * MAX_EXAMPLE_LENGTH)]


READER = Reader(read_csv, read_head, sample_csv, has_layouts=True)
