"""Ingestion of an uploaded file into its canonical file and private report."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpgeo.ingest import sandbox
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.cores import in_order
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.forms import find_form
from dpgeo.ingest.parts import find_reader
from dpgeo.ingest.persons import Known
from dpgeo.ingest.report import Reason, Report, Tally
from dpgeo.ingest.schema import Schema
from dpgeo.ingest.sniff import form_read_here

if TYPE_CHECKING:
    import pyarrow as pa

    from dpgeo.ingest.canonical import NamedRows
    from dpgeo.ingest.canonical_writer import CanonicalWriter

T = TypeVar("T")

SECONDS_BETWEEN_REPORTS = 0.25
MAX_WAIT = 12 * 3600
"""Seconds after which a file's process is stopped: a job is not held for longer either."""


def ingest(
    source: Path,
    file_name: str,
    schema: Schema,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """Write the usable rows of `source` to `target`, and report on the rows that are refused.

    The file is read in the format that `schema.columns` declares, whatever the file begins with. If
    the declaration dates from before formats were declared, the format is recognised. Compressed
    and binary files are read in a separate process (`sandbox`), which passes the rows on with the
    persons' names. `key` (16 to 64 bytes) is the dataset's secret for the persons' hashes, and
    `erased` holds the hashes (16 bytes) of persons whose rows are refused; neither leaves this
    process. `progress(done, total)` is called a few times a second and at the end, with bytes for
    text formats and rows for binary ones; if `progress` raises an exception, the work stops. Memory
    does not grow with the file. `target` appears complete or not at all. A file without any usable
    row gives an empty canonical file.

    Raises InvalidInput for problems that do not concern single rows: the file is not a table or has
    no header, or a declared column is missing or of an impossible type.
    """
    if form := form_read_here(source, file_name, schema.columns.file_format):
        schema = replace(schema, columns=replace(schema.columns, file_format=form.code))
        return ingest_parts([Part(source, file_name)], schema, key, target, progress, erased)
    with _store(schema, key, target, progress, erased) as store:
        return store.finish(_read_in_sandbox(source, file_name, schema, store, target.parent))


def ingest_parts(
    parts: Sequence[Part],
    schema: Schema,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """Ingest unpacked files in this process; the other arguments are those of `ingest`."""
    tally = Tally()
    batches = batches_of(parts, schema, tally)
    return ingest_batches(batches, schema, tally, key, target, progress, erased)


def ingest_batches(
    batches: Iterable[tuple[Schema, Batch]],
    schema: Schema,
    tally: Tally,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """Ingest batches, each with its declaration; the other arguments are those of `ingest`.

    The declarations may differ in the names of columns, but not in what a row has; `schema` is one
    of them. Whoever reads the rows counts them in `tally`, in this thread.
    """
    with _store(schema, key, target, progress, erased) as store:
        for (rows, refused), done, total in read_batches(batches, tally, store.hashed):
            store.write(rows, refused)
            store.tell(done, total)
        return store.finish(tally.report())


def batches_of(
    parts: Sequence[Part], schema: Schema, tally: Tally
) -> Iterator[tuple[Schema, Batch]]:
    """Yield the batches of unpacked files, each with the declaration."""
    declared = schema.columns.file_format
    reader = find_reader(parts, find_form(declared).format if declared else None)
    for batch in reader.rows(parts[0].path, schema.wanted, tally, schema.columns):
        yield schema, batch


def read_batches(
    batches: Iterable[tuple[Schema, Batch]], tally: Tally, finish: Callable[[NamedRows], T]
) -> Iterator[tuple[T, int, int]]:
    """Yield what `finish` makes of each batch's accepted rows, and the reader's progress.

    The progress is how much has been read, and how much there is in all. Refused rows are counted
    in `tally`.
    """
    tasks = (partial(_read, batch, schema, finish) for schema, batch in batches)
    for finished, counted, done, total in in_order(tasks):
        tally.add(counted)
        yield finished, done, total


def _read(
    batch: Batch, schema: Schema, finish: Callable[[NamedRows], T]
) -> tuple[T, Tally, int, int]:
    from dpgeo.ingest.canonical import named_rows

    tally = Tally()
    return finish(named_rows(batch, schema, tally)), tally, batch.done, batch.total


def _read_in_sandbox(
    source: Path, file_name: str, schema: Schema, store: _Store, folder: Path
) -> Report:
    from dpgeo.ingest.row_messages import unpacked

    def take(message: dict[str, Any], content: bytes) -> None:
        rows = sandbox.understand(lambda said: unpacked(said, content, schema), message)
        store.write(*store.hashed(rows))

    def read(answer: Any) -> Report:
        report = Report.from_json(answer)
        if report.accepted != store.rows or JUDGED_HERE & report.refused.keys():
            raise ValueError("The report is not one of the rows that were passed.")
        return report

    request = {
        "source": str(source.absolute()),
        "file_name": file_name,
        "schema": schema.to_json(),
    }
    with tempfile.TemporaryDirectory(dir=folder, prefix=".reading-") as own:
        return sandbox.run(
            "ingest", request, Path(own), store.tell, read, take=take, limit=MAX_WAIT
        )


JUDGED_HERE = {Reason.PERSON_ERASED, Reason.REGION_TWICE}
"""Reasons that only this process can find, since only it knows the persons' hashes."""


class _Store:
    """Hashes the persons of rows, and writes the rows.

    If somebody was erased, the report shows no examples: a row that could not be read may be that
    person's.
    """

    def __init__(
        self,
        schema: Schema,
        key: bytes,
        writer: CanonicalWriter,
        progress: Callable[[int, int], None],
        erased: Collection[bytes],
    ) -> None:
        self._schema, self._key, self._erased = schema, key, erased
        self._known: Known = {}
        self._writer, self._progress = writer, progress
        self._refused = Tally()
        self._told = (0, 0)
        self._due = time.monotonic()
        self.rows = 0
        """Number of rows passed to `write`, with those of erased persons."""

    def hashed(self, rows: NamedRows) -> tuple[pa.RecordBatch, Tally]:
        """Return canonical rows, and a tally of the rows of erased persons, which are left out."""
        from dpgeo.ingest.canonical import hashed_rows

        refused = Tally()
        return hashed_rows(
            rows, self._schema, self._key, refused, self._erased, self._known
        ), refused

    def write(self, rows: pa.RecordBatch, refused: Tally) -> None:
        """Write rows that `hashed` returned."""
        self._writer.write(rows)
        self._refused.add(refused)
        self.rows += rows.num_rows + refused.refused.total()

    def tell(self, done: int, total: int) -> None:
        """Report progress, but only a few times a second."""
        self._told = done, total
        if time.monotonic() >= self._due:
            self._progress(done, total)
            self._due = time.monotonic() + SECONDS_BETWEEN_REPORTS

    def finish(self, report: Report) -> Report:
        """Write what waits; return the report of reading, with the rows of erased persons."""
        self._writer.flush(lambda: self.tell(*self._told))
        self._refused.refused[Reason.REGION_TWICE] += self._writer.repeated
        self._progress(self._told[1], self._told[1])
        report = report.with_refused(self._refused)
        return report.without_examples() if self._erased else report


@contextmanager
def _store(
    schema: Schema,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes],
) -> Iterator[_Store]:
    from dpgeo.ingest.canonical import canonical_file, columns_once, declared_schema

    if not 16 <= len(key) <= 64:
        raise ValueError("The key of the person hashes has 16 to 64 bytes.")
    with canonical_file(target, declared_schema(schema), columns_once(schema)) as writer:
        yield _Store(schema, key, writer, progress, erased)
