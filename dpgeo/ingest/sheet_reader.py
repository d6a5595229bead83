"""Spreadsheets (xlsx, xlsb, xls, ods) read by calamine, one sheet of each file.

The sheet is the declared one, or else the first. A cell holds what the file stores: text, a number
or a date. Formulas are not computed; their stored results are read. calamine holds one sheet in
memory, so the sandbox's memory limit also limits the sheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import time, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

from dpgeo.blanks import trim
from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.csv_layout import is_value, lines_above
from dpgeo.ingest.header import check_names, quoted, with_groups
from dpgeo.ingest.layout import PLAIN, Layout, unnamed_columns
from dpgeo.ingest.records import Record, Table, record_reader
from dpgeo.ingest.report import Reason

TITLE_ROWS = 20
"""Maximum number of rows above the header that are skipped, such as a title.

A row is skipped if it has fewer than two cells.
"""


HEADER_ROWS = 10
"""Number of rows after the first that are looked at for the header."""


@contextmanager
def open_sheet(path: Path, layout: Layout | None) -> Iterator[Table]:
    """Open a sheet as a table of records. Raises InvalidInput."""
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            sheets = [
                each.name for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet
            ]
            wanted = layout.sheet if layout else ""
            if not sheets or (wanted and wanted not in sheets):
                raise InvalidInput(
                    "There is no sheet {name!r} in this file; it has {names}.",
                    name=wanted,
                    names=quoted(sheets[:20]),
                    field="columns.sheet",
                )
            sheet = book.get_sheet_by_name(wanted or sheets[0])
            # calamine drops leading columns in which no row has a value, so a single row could
            # shift all others. The dropped columns are added again.
            left = [""] * (sheet.start[1] if sheet.start else 0)
            yield _table((left + row for row in sheet.iter_rows()), sheet.total_height, layout)
    except CalamineError as error:
        raise InvalidInput(
            "The spreadsheet is damaged, protected by a password or not one that can be read; "
            "save the sheet as CSV.",
            field="file",
        ) from error


def _table(rows: Iterator[list[Any]], total: int, layout: Layout | None) -> Table:
    counted = _Counted(rows)
    if layout and layout.unnamed:
        names = unnamed_columns(layout.columns)
        return _records_of(names, counted, counted, total, layout)
    first: list[Any] = []
    for row in islice(counted, TITLE_ROWS):
        first = row
        if sum(cell not in {None, ""} for cell in row) > 1:
            break
    ahead = list(islice(counted, HEADER_ROWS)) if layout is None else []
    if layout is None:
        layout = _guess(first, ahead)
    body: Iterator[list[Any]] = chain(ahead, counted)
    if layout.unnamed:
        names = unnamed_columns(layout.columns)
        body = chain([first], body)
    else:
        names, groups = _names(first), []
        for row in islice(body, layout.skipped):
            names, groups = _names(row), names
        names = with_groups(names, groups)
        while names and not names[-1]:
            names.pop()
        check_names(names or [""])
    return _records_of(names, body, counted, total, layout)


def _names(row: Sequence[Any]) -> list[str]:
    return [trim(str(_cell(cell) or "")) for cell in row]


def _records_of(
    names: list[str], rows: Iterator[list[Any]], counted: _Counted, total: int, layout: Layout
) -> Table:
    records = (_record(names, row) for row in rows if any(cell != "" for cell in row))
    return Table(names, records, lambda: counted.count, total, layout=layout)


class _Counted:
    """An iterator that counts the items it has yielded."""

    def __init__(self, rows: Iterator[list[Any]]) -> None:
        self.count = 0
        self._rows = rows

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        row = next(self._rows)
        self.count += 1
        return row


def _guess(first: Sequence[Any], ahead: Sequence[Sequence[Any]]) -> Layout:
    """Guess the layout from the first row, which may be a header, names of groups or values.

    `ahead` are the rows after it. They tell only whether one of them is the header.
    """
    if skip := lines_above([_names(row) for row in (first, *ahead)]):
        return Layout(skip=str(skip))
    cells = [cell for cell in first if cell not in {None, ""}]
    values = sum(not isinstance(cell, str) or is_value(cell) for cell in cells)
    return Layout(unnamed=str(len(first))) if values * 2 >= len(cells) > 0 else PLAIN


def _record(names: Sequence[str], row: Sequence[Any]) -> Record:
    if any(cell != "" for cell in row[len(names) :]):
        return Reason.WRONG_FIELDS
    return {name: _cell(cell) for name, cell in zip(names, row, strict=False)}


def _cell(cell: Any) -> Any:
    """Return a cell's value: None for an empty cell, text for a time of day or a duration."""
    if cell == "":
        return None
    return str(cell) if isinstance(cell, time | timedelta) else cell


READER = record_reader(open_sheet)
