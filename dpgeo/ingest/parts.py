"""Uploads of one file, or of several files of one form in an archive.

The files of an archive are read one after the other, under one declaration. The name of a row's
file is a column of its own, since it often says whose rows these are. A file without a byte has no
rows; otherwise all must be of one format, and all must have the declared columns, which depends on
their headers and not on their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.batch import Batch, Head, Reader
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.layout import PLAIN, Layout
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Wanted
from dpgeo.ingest.sniff import sniff

FILE_NAME = "file name"
"""The column with the name of a row's file, without its suffix, where there are several files."""


def reader_of(parts: Sequence[Part]) -> Reader:
    """Return the reader of the files' common format. Raises InvalidInput."""
    filled = [part for part in parts if part.path.stat().st_size] or list(parts[:1])
    formats = {sniff(part.path, part.name) for part in filled}
    if len(formats) > 1:
        raise InvalidInput(
            "The files in the archive are of several formats; pack files of one format.",
            field="file",
        )
    (form,) = formats
    one = form.load_reader()
    return one if len(parts) == 1 else _together(one, filled)


def _together(one: Reader, parts: Sequence[Part]) -> Reader:
    """Return a reader of several files as one; it takes no path of its own."""

    def read_all(some: Callable[..., Iterator[Batch]]) -> Callable[..., Iterator[Batch]]:
        def read(
            path: Path, wanted: Wanted, tally: Tally, *, crs: str, layout: Layout = PLAIN
        ) -> Iterator[Batch]:
            named = [role for role, name in wanted.items() if name == FILE_NAME]
            others = {role: name for role, name in wanted.items() if name != FILE_NAME}
            options = {"layout": layout} if one.has_layouts else {}
            sizes = [part.path.stat().st_size for part in parts]
            for number, part in enumerate(parts):
                before, stem = sum(sizes[:number]), pa.scalar(Path(part.name).stem)
                for batch in some(part.path, others, tally, crs=crs, **options):
                    names = {role: pa.repeat(stem, len(batch.rows)) for role in named}
                    done = before + sizes[number] * batch.done // max(batch.total, 1)
                    fields = {**batch.fields, **names}
                    yield replace(batch, fields=fields, done=done, total=sum(sizes))

        return read

    def head(path: Path, layout: Layout | None = None) -> Head:
        found = one.first_rows(parts[0].path, layout)
        if FILE_NAME in found.names:
            return found
        name = Path(parts[0].name).stem
        rows = [[*row, name] for row in found.rows]
        return replace(found, names=[*found.names, FILE_NAME], rows=rows)

    return Reader(read_all(one.read), head, read_all(one.sample or one.read), has_layouts=True)
