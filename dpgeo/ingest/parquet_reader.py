"""Reader of Parquet and GeoParquet, in batches of the declared columns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.batch import PREVIEW_ROWS, Batch, Head, Reader, as_text
from dpgeo.ingest.crs import WGS84, check_stated
from dpgeo.ingest.header import check_names, positions
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import MEASURE, Role, Wanted, field_of, role_name
from dpgeo.ingest.text import is_text
from dpgeo.phrases import Phrase

BATCH_ROWS = 32_768
BATCH_BYTES = 32 << 20
MIN_ROWS = 4_096
DICTIONARY_BYTES = 4 << 20
MAX_FOOTER_BYTES = 64 << 20
SAMPLE_GROUPS = 64
SAMPLE_ROWS = 6_400
SAMPLE_REACH = 2_000_000
"""Number of rows that a sample decodes at most, to take every k-th of them."""

DAMAGED = "The Parquet file is damaged or cut short; export and upload it again."

ARROW_SCHEMA, UNREAD = b"ARROW:schema", b"ARROW:unread"
"""Key under which a Parquet footer stores Arrow's types, and an unused key of equal length.

Replacing the former by the latter makes Arrow ignore its types without moving any byte.
"""

COLUMNS_AT_ONCE = 50
"""Number of columns that a preview reads at a time."""

CRS84 = {"id": {"authority": "OGC", "code": "CRS84"}}
"""Coordinate reference system of a GeoParquet column that states none."""

UNUSABLE_METADATA = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors raised by reading metadata that does not follow GeoParquet or is nested too deeply."""


def read_parquet(
    path: Path,
    wanted: Wanted,
    tally: Tally,
    *,
    crs: str = WGS84,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[Batch]:
    """Yield the rows of a Parquet file in batches of pyarrow arrays.

    Raises InvalidInput if the file cannot be read, lacks a declared column, or has a column with a
    type that does not suit its role.
    """
    names = list(wanted.values())
    with open_parquet(path) as file:
        with readable():
            _check_columns(file.schema_arrow, wanted, crs)
            size = min(batch_rows, _affordable_rows(file.metadata))
        done = 0
        for batch in _guarded(_batches(file, size, names)):
            rows = np.arange(done, done + batch.num_rows, dtype=np.int64) + 1
            done += batch.num_rows
            tally.read += batch.num_rows
            fields = {role: _plain(batch.column(name)) for role, name in wanted.items()}
            yield Batch(rows, fields, done, file.metadata.num_rows)


def sample_parquet(
    path: Path, wanted: Wanted, tally: Tally, *, crs: str = WGS84
) -> Iterator[Batch]:
    """Yield rows that are spread evenly over row groups which are spread over the whole file."""
    with open_parquet(path) as file:
        with readable():
            _check_columns(file.schema_arrow, wanted, crs)
            size = min(BATCH_ROWS, _affordable_rows(file.metadata))
        groups, total = file.num_row_groups, file.metadata.num_rows
        number = groups if total <= SAMPLE_ROWS else min(groups, SAMPLE_GROUPS)
        names, done = list(wanted.values()), 0
        for group in (groups * part // number for part in range(number)):
            reach = min(file.metadata.row_group(group).num_rows, SAMPLE_REACH // number)
            step = max(1, reach * number // SAMPLE_ROWS)
            for batch in _every(step, reach, file.iter_batches(size, [group], names)):
                rows = np.arange(done, done + batch.num_rows, dtype=np.int64) + 1
                done += batch.num_rows
                tally.read += batch.num_rows
                fields = {role: _plain(batch.column(name)) for role, name in wanted.items()}
                yield Batch(rows, fields, done, total)


def _every(step: int, reach: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield every `step`-th of the first `reach` rows of batches."""
    before = 0
    for batch in _guarded(batches):
        chosen = np.arange(-before % step, min(batch.num_rows, reach - before), step)
        before += batch.num_rows
        if len(chosen):
            yield batch.take(pa.array(chosen))
        if before >= reach:
            return


def read_head(path: Path) -> Head:
    """Return the first rows, read a few columns at a time to save memory.

    Cells of unnamed columns are empty, because pyarrow finds columns by their names.
    """
    cells: dict[str, list[str]] = {}
    with open_parquet(path) as file, readable():
        names: list[str] = file.schema_arrow.names
        named = [name for name in names if name]
        for start in range(0, len(named), COLUMNS_AT_ONCE):
            some = named[start : start + COLUMNS_AT_ONCE]
            batches = file.iter_batches(batch_size=PREVIEW_ROWS, columns=some)
            for batch in islice(batches, 1):
                for name in some:
                    cells[name] = [as_text(value) for value in batch.column(name)]
        geometry, crs = primary_geometry(file.schema_arrow)
    blank = [""] * max(map(len, cells.values()), default=0)
    rows = [list(row) for row in zip(*(cells.get(name, blank) for name in names), strict=True)]
    return Head(names, rows, geometry, crs)


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open the file and check its column names. Raises InvalidInput.

    Text is read as dictionaries, so that one long value repeated in many rows is stored once.
    However, pyarrow lets a dictionary grow until its row group ends. A file in which a row group
    has a lot of text is therefore read without dictionaries, even if the file's metadata say that
    its text was a dictionary where it was written.
    """
    _check_footer(path)
    with readable():
        plain = pq.ParquetFile(path, pre_buffer=False)
        schema, metadata = plain.schema_arrow, plain.metadata
        plain.close()
        check_names(schema.names)
        texts = [field.name for field in schema if is_text(field.type)]
        largest = max((size for size, _ in _group_sizes(metadata)), default=0)
        few = largest <= DICTIONARY_BYTES
        coded = any(pa.types.is_dictionary(schema.field(name).type) for name in texts)
        file = None if few or not coded else _without_dictionaries(path, schema)
        file = file or pq.ParquetFile(
            path,
            metadata=metadata,
            read_dictionary=texts if few else [],
            pre_buffer=False,
            buffer_size=1 << 20,
        )
    with file:
        yield file


def _without_dictionaries(path: Path, schema: Any) -> pq.ParquetFile | None:
    """Open a file without the Arrow schema in its metadata, which asks for dictionaries.

    Returns None if that would change the type of anything other than text.
    """
    file = pq.ParquetFile(
        pa.PythonFile(_Overlaid(path), mode="r"), pre_buffer=False, buffer_size=1 << 20
    )
    pairs = zip(file.schema_arrow.types, schema.types, strict=True)
    if all(is_text(its) or _is_alike(ours, its) for ours, its in pairs):
        return file
    file.close()
    return None


def _is_alike(ours: Any, its: Any) -> bool:
    """Return whether two types are equal, or are timestamps both with or both without a zone."""
    if pa.types.is_timestamp(ours) and pa.types.is_timestamp(its):
        return (ours.tz is None) == (its.tz is None)
    return bool(ours == its)


class _Overlaid(io.RawIOBase):
    """A Parquet file in whose footer the key ARROW_SCHEMA is read as UNREAD.

    Arrow then ignores the Arrow types that the footer stores.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        size = self._file.seek(0, 2)
        self._file.seek(size - 8)
        length = int.from_bytes(self._file.read(4), "little") + 8
        self._begins = self._file.seek(size - length)
        footer = self._file.read()
        self._footer = footer.replace(ARROW_SCHEMA, UNREAD)
        self._file.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1, /) -> bytes:
        at = self._file.tell()
        data = self._file.read(size)
        if at + len(data) <= self._begins:
            return data
        kept = data[: max(0, self._begins - at)]
        first = max(0, at - self._begins)
        return kept + self._footer[first : first + len(data) - len(kept)]

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def readable() -> Iterator[None]:
    """Convert pyarrow's errors for bad files to InvalidInput."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        if "crypt" in str(error).lower():
            raise InvalidInput(
                "The Parquet file is encrypted; write it without encryption.", field="file"
            ) from error
        raise InvalidInput(DAMAGED, field="file") from error


def _batches(file: pq.ParquetFile, size: int, names: list[str]) -> Iterator[Any]:
    """Yield batches of rows, one row group after the other.

    If a batch ran across row groups, pyarrow would keep the dictionaries of all groups until the
    end.
    """
    for group in range(file.num_row_groups):
        yield from file.iter_batches(batch_size=size, columns=names, row_groups=[group])


def _guarded(batches: Iterator[Any]) -> Iterator[Any]:
    while True:
        with readable():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _check_footer(path: Path) -> None:
    """Refuse incomplete Parquet files before a library allocates memory for them."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        tail = file.read()
    if tail[4:] == b"PARE":
        raise InvalidInput(
            "The Parquet file is encrypted; write it without encryption.", field="file"
        )
    length = int.from_bytes(tail[:4], "little")
    if size < 12 or tail[4:] != b"PAR1" or length > size - 12:
        raise InvalidInput(DAMAGED, field="file")
    if length > MAX_FOOTER_BYTES:
        raise InvalidInput(
            "The Parquet file describes too many columns or row groups; write only the columns "
            "a map needs (person, position, time), in row groups of 100,000 rows or more.",
            field="file",
        )


def _group_sizes(metadata: Any) -> list[tuple[int, int]]:
    """Return the stated unpacked bytes and the number of rows of each row group.

    The sizes of single columns are not read: if the footer is damaged, reading them ends the
    process.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return [(group.total_byte_size, group.num_rows) for group in groups]


def _affordable_rows(metadata: Any) -> int:
    """Return how many rows to read at a time: some 32 MiB, but at least MIN_ROWS."""
    widest = max((size / max(rows, 1) for size, rows in _group_sizes(metadata)), default=1)
    return max(MIN_ROWS, int(BATCH_BYTES / max(widest, 1)))


def _plain(column: Any) -> Any:
    """Return a column without extension types; dictionaries are expanded unless they hold text."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        codes = pc.min_max(column.indices)
        if column.null_count < len(column) and not (
            codes["min"].as_py() >= 0 and codes["max"].as_py() < len(column.dictionary)
        ):
            raise InvalidInput(DAMAGED, field="file")
        if not is_text(column.type):
            column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    return column


def _check_columns(schema: Any, wanted: Wanted, crs: str) -> None:
    positions(wanted, schema.names)
    for role, name in wanted.items():
        check_type(role, schema.field(name))
    if Role.GEOMETRY in wanted:
        _check_geometry(wanted[Role.GEOMETRY], schema.metadata or {}, crs)


def check_type(role: str, field: Any) -> None:
    """Raise InvalidInput for a column, an Arrow field, whose type does not suit its role."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_null(kind) or any(test(kind) for test in _allowed(role))):
        raise InvalidInput(
            "The column {column!r} holds values of type {type}, which cannot be read as {role}; "
            "{remedy}.",
            column=field.name,
            type=str(field.type)[:60],
            role=role_name(role),
            remedy=_remedy(role),
            field=field_of(role),
        )


def _allowed(role: str) -> tuple[Callable[[Any], bool], ...]:
    """Return tests of a column's Arrow type, one of which must pass.

    `role` is the column's role, or the key of an attribute, a measure or a category.
    """
    if role.startswith(MEASURE):
        return (*PLAIN, pa.types.is_decimal)
    return ALLOWED.get(role, PLAIN)


def _is_whole_decimal(kind: Any) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.scale == 0)


NUMERIC: tuple[Callable[[Any], bool], ...] = (pa.types.is_integer, pa.types.is_floating)
PLAIN = (*NUMERIC, pa.types.is_boolean, is_text)
"""Tests of the Arrow types that a column of a public attribute may have."""

ALLOWED: dict[str, tuple[Callable[[Any], bool], ...]] = {
    Role.LONGITUDE: (*NUMERIC, pa.types.is_decimal, is_text),
    Role.LATITUDE: (*NUMERIC, pa.types.is_decimal, is_text),
    Role.PERSON: (*NUMERIC, _is_whole_decimal, is_text),
    Role.CLOCK: (pa.types.is_time, is_text),
    Role.TIME: (*NUMERIC, pa.types.is_timestamp, pa.types.is_date, is_text),
    Role.GEOMETRY: (is_text,),
    Role.DESTINATION_LONGITUDE: (*NUMERIC, pa.types.is_decimal, is_text),
    Role.DESTINATION_LATITUDE: (*NUMERIC, pa.types.is_decimal, is_text),
}


def _remedy(role: str) -> Phrase:
    if role.startswith(MEASURE):
        return Phrase("write it as a number")
    return REMEDY.get(role, Phrase("write it as text"))


REMEDY: dict[str, Phrase] = {
    Role.LONGITUDE: Phrase("write it as a number of degrees"),
    Role.LATITUDE: Phrase("write it as a number of degrees"),
    Role.PERSON: Phrase("write it as text or as a whole number"),
    Role.CLOCK: Phrase("write it as a time or as text, such as 14:05"),
    Role.TIME: Phrase("write it as a timestamp, as ISO 8601 text or as seconds since 1970"),
    Role.GEOMETRY: Phrase("write it as points in well-known binary (WKB) or text (WKT)"),
    Role.DESTINATION_LONGITUDE: Phrase("write it as a number of degrees"),
    Role.DESTINATION_LATITUDE: Phrase("write it as a number of degrees"),
}


def primary_geometry(schema: Any) -> tuple[str, str]:
    """Return the geometry column that GeoParquet's metadata names, and its coordinate system.

    Each is "" if the metadata does not state it.
    """
    try:
        document = json.loads((schema.metadata or {})[b"geo"])
        name = document["primary_column"]
        stated = _stated(document["columns"][name])
    except UNUSABLE_METADATA:
        return "", ""
    return (name, stated) if name in schema.names else ("", "")


def _stated(column: Mapping[str, Any]) -> str:
    """Return the code, or else the name, of a column's stated coordinate system; "" without one."""
    crs = column.get("crs", CRS84)
    if crs is None:
        return ""
    identifier = crs.get("id") or {}
    if identifier:
        return f"{identifier.get('authority')}:{identifier.get('code')}"
    return str(crs.get("name") or "a system without a name")


def _check_geometry(name: str, metadata: Mapping[bytes, bytes], declared: str) -> None:
    """Refuse a geometry column if its metadata contradicts WKB in the declared system.

    GeoParquet metadata must describe the column. If it has no "crs", the column is in OGC:CRS84,
    GeoParquet's default. If "crs" is null, nothing is stated, and the declared system is assumed. A
    file without GeoParquet metadata is not checked at all. If a file states no system and its
    points are in another system than the declared one, the points usually lie outside the study
    area and are refused for that reason.
    """
    if b"geo" not in metadata:
        return
    try:
        column = json.loads(metadata[b"geo"])["columns"][name]
        encoding, stated = str(column["encoding"]), _stated(column)
    except UNUSABLE_METADATA as error:
        raise InvalidInput(
            "The file's GeoParquet metadata do not describe the column {name!r}; write it again, "
            "for example with geopandas.",
            name=name,
            field="columns.geometry",
        ) from error
    if encoding != "WKB":
        raise InvalidInput(
            "The column {name!r} is encoded as {encoding!r}; write its points as WKB.",
            name=name,
            encoding=encoding[:40],
            field="columns.geometry",
        )
    check_stated(stated, declared, Phrase("The column {name!r}", name=name))


READER = Reader(read_parquet, read_head, sample_parquet)
