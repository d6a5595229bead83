"""What the Python processes of Spark's executors do: read rows, and count those of some persons.

Spark calls `Task.located` for each file, brings all rows of a person together in one partition, and
calls `Task.counted` for each partition. The first is the code that reads an upload (`ingest`); the
second runs the query by which DuckDB counts a canonical file (`engine.counting_sql`). So both
engines keep the same rows of each person and return the same counts.

No secret is here. A task is sent to other machines, and what it holds is public or in the folder
already: persons are hashed with a key that follows from the public draw, and the same draw takes
the place of the salt. Errors leave a task as `SparkError` with a word for their kind, because
messages of libraries may quote values, and Spark logs them.

Only `core`, `engine`, `ingest`, `spatial` and pure modules may be imported: no more is sent.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpgeo.core.guarantees import Unit
from dpgeo.engine.canonical_file import CanonicalFile, Parameters
from dpgeo.engine.zoned import SPREAD, zoned_batches
from dpgeo.ingest.recorded_files import FileChanged, RecordedFile
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema
from dpgeo.ingest.source_rows import names_in, source_rows
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.zones import Zones

if TYPE_CHECKING:
    import duckdb

STREAM = "streamed_rows"
"""Table name under which queries read the rows of a partition."""

NO_SPACE = "No space left on device"

RECORD_BITS = np.uint64(40)
"""Number of bits for a record's index in its file, so that files have fewer than 2^40 rows."""


class SparkError(Exception):
    """Raised if Spark cannot count. `kind` says why, in a word without values.

    It is "changed" for a file, whose index is `file`, that is not as it was recorded; "disk" for a
    full disk; "session" if no session could be started; "executors" if no executor is left; or the
    type of another error.
    """

    def __init__(self, kind: str, file: int | None = None) -> None:
        super().__init__(f"dpgeo[{kind}:{'' if file is None else file}]")
        self.kind, self.file = kind, file


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFile:
    """A Parquet file, how its rows are read, and the hashes of persons who are left out.

    `named` are the columns that its folders' names state.
    """

    recorded: RecordedFile
    named: Mapping[str, str | None]
    schema: Schema
    erased: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What one measurement needs from each partition of the people.

    `query`, with `parameters`, reads rows from `STREAM`, in the columns of `schema`, and returns
    whole numbers in the columns `names`. Rows are first assigned to `zones`, if these are given.
    `places` and `ranks`, uint64 (n,), are the popularity of places, which was measured with noise.
    """

    query: str
    parameters: Parameters
    schema: pa.Schema
    names: Sequence[str]
    partitions: int
    unit: Unit
    zones: Zones | NearPlaces | None = None
    places: NDArray[np.uint64] | None = None
    ranks: NDArray[np.uint64] | None = None

    @property
    def by_person(self) -> bool:
        """Whether all rows of a privacy unit have to be in one partition."""
        return self.unit is Unit.PERSON or "$bound" in self.query


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """The work of all executors for one question, about `files`, by a public `key`."""

    files: Sequence[SparkFile]
    question: Question
    key: bytes
    between: tuple[int, int] | None
    memory_bytes: int

    def located(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files with these indices that the question's query reads."""
        names = self.question.schema.names
        for number in _numbers(numbers):
            file = self.files[number]
            with self._opened(number) as path:
                rows = source_rows(
                    path,
                    file.named,
                    file.schema,
                    self.key,
                    Tally(),
                    erased=file.erased,
                    between=self.between,
                )
                for batch in self._zoned(rows, number):
                    yield _signed(batch.select(names))

    def _zoned(self, rows: Iterator[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of file `number`, in each of their zones if there are zones.

        If records are the privacy unit, the rows of each get a number of their own among all files.
        """
        zones, unit = self.question.zones, self.question.unit
        if zones is None:
            yield from rows
            return
        for batch in zoned_batches(rows, zones, unit):
            if unit is Unit.RECORD:
                file = np.uint64(number) << RECORD_BITS
                record = batch["person_low"].to_numpy() | file
                columns = [pa.array(record * SPREAD), pa.array(record), *batch.columns[2:]]
                yield pa.record_batch(columns, schema=batch.schema)
            else:
                yield batch

    def counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the result of the question's query on the rows of one partition."""
        question = self.question
        with without_values(), scratch_folder() as scratch:
            file = CanonicalFile(
                path=Path(),
                salt=bytes(16),  # not used: the query's parameters have the public draw
                folder=scratch,
                memory_bytes=self.memory_bytes,
                threads=1,
            )
            rows = (_unsigned(batch, question.schema) for batch in batches)
            with file.connected(scratch) as connection:
                if question.ranks is not None:
                    table = pa.table({"place": question.places, "rank": question.ranks})
                    connection.register("ranks", table)
                found = run_streamed(
                    connection, question.query, question.parameters, question.schema, rows
                )
            yield pa.record_batch({name: pa.array(found[name]) for name in question.names})

    def names(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the identifiers of the persons in the files, in a column "name"."""
        for number in _numbers(numbers):
            file = self.files[number]
            with self._opened(number) as path:
                for names in names_in(path, file.named, file.schema):
                    yield pa.record_batch([names.cast(pa.string())], names=["name"])

    @contextmanager
    def _opened(self, number: int) -> Iterator[Path]:
        recorded = self.files[number].recorded
        with (
            without_values(number),
            scratch_folder() as scratch,
            recorded.opened(scratch) as path,
        ):
            yield path


def run_streamed(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Parameters,
    schema: pa.Schema,
    rows: Iterable[pa.RecordBatch],
) -> dict[str, NDArray[np.int64]]:
    """Return the columns of a query's result; its table `STREAM` has these rows."""
    errors: list[BaseException] = []
    reader = pa.RecordBatchReader.from_batches(schema, _remembering(rows, errors.append))
    connection.register(STREAM, reader)
    try:
        found = connection.execute(query, parameters).fetchnumpy()
    except Exception:
        # DuckDB wraps an error of the source in one of its own; the original says more.
        if errors:
            raise errors[0] from None
        raise
    finally:
        connection.unregister(STREAM)
    return {name: np.asarray(column).astype(np.int64) for name, column in found.items()}


def signed_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with a signed type for each unsigned one, which Spark does not have."""
    return pa.schema([pa.field(field.name, _signed_type(field.type)) for field in schema])


def _signed_type(kind: pa.DataType) -> pa.DataType:
    if kind == pa.uint64():
        return pa.int64()
    # Every value of a shorter type is also one of the next longer signed type.
    return {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}.get(
        kind, kind
    )


def _signed(batch: pa.RecordBatch) -> pa.RecordBatch:
    schema = signed_schema(batch.schema)
    pairs = zip(batch.columns, schema.types, strict=True)
    columns = [
        column.view(kind) if column.type == pa.uint64() else column.cast(kind)
        for column, kind in pairs
    ]
    return pa.record_batch(columns, schema=schema)


def _unsigned(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        batch[field.name].view(field.type)
        if field.type == pa.uint64()
        else batch[field.name].cast(field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch["id"].to_pylist()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder in an executor's own folder, which Spark deletes with it."""
    parent = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    with tempfile.TemporaryDirectory(prefix="dpgeo-", dir=parent) as name:
        yield Path(name)


@contextmanager
def without_values(file: int | None = None) -> Iterator[None]:
    """Within the block, replace errors by a SparkError, which Spark may log."""
    try:
        yield
    except SparkError:
        raise
    except FileChanged:
        raise SparkError("changed", file) from None
    except Exception as error:
        full = NO_SPACE in str(error) or getattr(error, "errno", None) == errno.ENOSPC
        raise SparkError("disk" if full else type(error).__name__) from None


def _remembering(
    batches: Iterable[pa.RecordBatch], remember: Callable[[BaseException], Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches, and pass an error on to `remember` before it is raised."""
    try:
        yield from batches
    except BaseException as error:
        remember(error)
        raise
