"""Uploads of one file, or of several files of one format in an archive.

The files of an archive are read one after the other, under one declaration. The name of each row's
file becomes an extra column, since it often says whose rows these are. An empty file has no
rows. All other files are read in the declared format, and all of them must have the declared
columns; whether they do depends on their headers and not on their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.batch import TRIAL_ROWS, Batch, Head, Reader, limit_rows
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.formats import InputFormat
from dpgeo.ingest.layout import PLAIN, Layout
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Wanted
from dpgeo.ingest.sniff import sniff

FILE_NAME = "file name"
"""The column for the name of a row's file, without its suffix, if there are several files.

If the files' own header has a column of this name, that column is used. In JSON, no header shows
whether there is a member of this name, so the file's name is used.
"""


def format_of(parts: Sequence[Part]) -> InputFormat:
    """Return the format that is recognised in all files.

    Raises InvalidInput if it differs between them.
    """
    formats = {sniff(part.path, part.name) for part in _filled(parts)}
    if len(formats) > 1:
        raise InvalidInput(
            "The files in the archive are of several formats; pack files of one format.",
            field="file",
        )
    (form,) = formats
    return form


def find_reader(parts: Sequence[Part], declared: InputFormat | None = None) -> Reader:
    """Return a reader of the files in the declared format, or else in the recognised one.

    Raises InvalidInput if no format is declared and the files are not all of one format.
    """
    one = (declared or format_of(parts)).load_reader()
    return one if len(parts) == 1 else _together(one, _filled(parts))


def _filled(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.path.stat().st_size] or list(parts[:1])


def _together(one: Reader, parts: Sequence[Part]) -> Reader:
    """Return a reader that reads all `parts` as one file, whatever path is passed to it."""

    def has_own_name(layout: Layout | None) -> bool:
        """Return whether the files' own header has a column FILE_NAME; False without a header."""
        first_rows = one.first_rows(parts[0].path, layout)
        return first_rows.complete and FILE_NAME in first_rows.names

    def read_all(some: Callable[..., Iterator[Batch]]) -> Callable[..., Iterator[Batch]]:
        def read(
            path: Path, wanted: Wanted, tally: Tally, *, crs: str, layout: Layout = PLAIN
        ) -> Iterator[Batch]:
            added = [role for role, name in wanted.items() if name == FILE_NAME]
            named = [] if added and has_own_name(layout) else added
            others = {role: name for role, name in wanted.items() if role not in named}
            options = {"layout": layout} if one.has_layouts else {}
            sizes = [part.path.stat().st_size for part in parts]
            missed = 0
            for number, part in enumerate(parts):
                before, stem = sum(sizes[:number]), pa.scalar(Path(part.name).stem)
                left_out = False
                for batch in some(part.path, others, tally, crs=crs, **options):
                    names = {role: pa.repeat(stem, len(batch.rows)) for role in named}
                    done = before + sizes[number] * batch.done // max(batch.total, 1)
                    fields = {**batch.fields, **names}
                    yield replace(batch, fields=fields, done=done - missed, total=sum(sizes))
                    left_out = batch.done < batch.total
                # If rows of this file were left out, `done` must not reach `total` in the next.
                missed = missed or int(left_out)

        return read

    def head(path: Path, layout: Layout | None = None) -> Head:
        first_rows = one.first_rows(parts[0].path, layout)
        if FILE_NAME in first_rows.names and first_rows.complete:
            return first_rows
        kept = [index for index, name in enumerate(first_rows.names) if name != FILE_NAME]
        names, stem = [first_rows.names[index] for index in kept], Path(parts[0].name).stem
        rows = [[*(row[index] for index in kept), stem] for row in first_rows.rows]
        return replace(first_rows, names=[*names, FILE_NAME], rows=rows)

    def some(path: Path, wanted: Wanted, tally: Tally, **options: Any) -> Iterator[Batch]:
        """Yield the first rows of one of the files; a trial tries equally many of each."""
        return limit_rows(one.read(path, wanted, tally, **options), TRIAL_ROWS // len(parts))

    return Reader(read_all(one.read), head, read_all(one.sample or some), has_layouts=True)
