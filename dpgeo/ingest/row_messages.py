"""Messages with accepted rows, by which the sandbox passes them to the process that stores them.

A message says how many rows, names of persons and bytes of names follow; the bytes that follow are
plain arrays of numbers, in the order and of the types that the declaration determines. So nothing
in them is parsed, and no library reads them, before each array is within the limits that the
declaration sets. Code that took over the sandbox can pass rows only as a plain file holds them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.core.attributes import combinations
from dpgeo.core.categories import category_column
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import measure_column
from dpgeo.ingest.canonical import NamedRows, declared_schema
from dpgeo.ingest.report import MAX_FIELD_BYTES, MAX_NUMBER
from dpgeo.ingest.schema import Schema
from dpgeo.ingest.text import text_bytes
from dpgeo.ingest.times import EARLIEST, LATEST
from dpgeo.spatial.projection import to_mercator

MAX_NAME_BYTES = 3 * MAX_FIELD_BYTES
"""Longest name of a person: no text grows more in Unicode's composed form."""

MAX_ROWS = 1 << 20
"""Most rows in a message; no reader has more in a batch."""

HASH_COLUMNS = 2
"""Number of the first columns of the canonical file, which hold the hash of the person."""


def packed(rows: NamedRows, schema: Schema) -> tuple[dict[str, Any], list[Any]]:
    """Return rows as a message, and the arrays whose bytes follow it."""
    arrays: list[Any] = []
    names = letters = 0
    if rows.persons is not None:
        text, ends = text_bytes(rows.persons.dictionary)
        names, letters = len(rows.persons.dictionary), len(text)
        arrays += [ends[1:], text, rows.persons.indices.to_numpy()]
    arrays.append(rows.numbers)
    for field, column in zip(_fields(schema), rows.columns, strict=True):
        if field.nullable:
            arrays.append(column.is_valid().to_numpy(zero_copy_only=False))
            column = pc.fill_null(column, 0)
        arrays.append(column.to_numpy())
    return {"rows": [len(rows.numbers), names, letters]}, list(map(np.ascontiguousarray, arrays))


def unpacked(message: Mapping[str, Any], content: bytes, schema: Schema) -> NamedRows:
    """Return the rows of a message and the bytes that follow it. Raises ValueError or TypeError."""
    size, names, letters = (operator.index(each) for each in message["rows"])
    if not (0 <= names <= size <= MAX_ROWS and 0 <= letters <= len(content)):
        raise ValueError("The numbers of the message are impossible.")
    arrays = _Arrays(content)
    persons = None
    if schema.unit is Unit.PERSON:
        ends, text = arrays.take(names, np.int32), arrays.take(letters, np.uint8)
        persons = _persons(ends, text, arrays.take(size, np.int32))
    numbers = arrays.take(size, np.int64, (0, MAX_NUMBER))
    limits = dict(_limits(schema))
    stated = {"time": bool(schema.columns.time), "attributes": bool(schema.attributes)}
    columns = []
    for field in _fields(schema):
        valid = arrays.take(size, np.uint8, (0, 1)) > 0 if field.nullable else None
        if valid is not None and field.name in stated and (valid != stated[field.name]).any():
            raise ValueError("A row has a value that is not declared, or lacks one.")
        kind = field.type.to_pandas_dtype()
        column = arrays.take(size, kind, limits.get(field.name), valid)
        for first, after in schema.closed if field.name == "time" else ():
            if ((column >= first) & (column < after)).any():
                raise ValueError("A row is in a period that is closed.")
        columns.append(pa.array(column, field.type, mask=None if valid is None else ~valid))
    arrays.check_end()
    return NamedRows(numbers, persons, columns)


def _fields(schema: Schema) -> list[pa.Field]:
    return list(declared_schema(schema))[HASH_COLUMNS:]


class _Arrays:
    """Arrays taken one after the other from bytes, each checked before anything else reads it."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(
        self,
        size: int,
        kind: Any,
        limits: tuple[float, float] | None = None,
        valid: NDArray[np.bool_] | None = None,
    ) -> NDArray[Any]:
        """Return the next `size` numbers. Raises ValueError if a valid one is outside `limits`."""
        # Copied, as Arrow needs numbers that are aligned in memory.
        array = np.frombuffer(self._content, kind, size, self._at).copy()
        self._at += array.nbytes
        checked = array if valid is None else array[valid]
        if limits and not ((checked >= limits[0]) & (checked <= limits[1])).all():
            raise ValueError("A number is outside the limits of the declaration.")
        return array

    def check_end(self) -> None:
        """Raise ValueError unless all bytes were taken."""
        if self._at != len(self._content):
            raise ValueError("The message has more bytes than its arrays.")


def _persons(ends: NDArray[np.int32], text: NDArray[np.uint8], codes: NDArray[np.int32]) -> Any:
    """Return the persons' names, an Arrow dictionary of bytes. Raises ValueError."""
    starts = np.append(np.int32(0), ends)
    sizes = np.diff(starts.astype(np.int64))
    if starts[-1] != len(text) or (sizes < 1).any() or (sizes > MAX_NAME_BYTES).any():
        raise ValueError("The names of persons have impossible lengths.")
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(text)]
    names = pa.Array.from_buffers(pa.binary(), len(ends), buffers)
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)  # refuses codes of no name


def _limits(schema: Schema) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the least and the greatest value of each column; keys of places have none."""
    west, south, east, north = schema.area.bounds
    x, y = to_mercator([west, east], [south, north])
    for name, ends in {"x": x, "y": y, "destination_x": x, "destination_y": y}.items():
        yield name, (ends[0] - 1, ends[1] + 1)  # a metre for rounding
    yield "time", (EARLIEST, LATEST)
    yield "attributes", (0, combinations(schema.attributes) - 1)
    for index, measure in enumerate(schema.measures):
        yield measure_column(index), (0, measure.steps)
    for index, category in enumerate(schema.categories):
        yield category_column(index), (0, len(category.values))
