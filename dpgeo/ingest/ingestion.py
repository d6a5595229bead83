"""Ingestion of an uploaded file into its canonical file and private report."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpgeo.ingest import sandbox
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.cores import in_order
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.forms import form_of
from dpgeo.ingest.parts import reader_of
from dpgeo.ingest.persons import Known
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Schema
from dpgeo.ingest.sniff import form_read_here

if TYPE_CHECKING:
    import pyarrow as pa

SECONDS_BETWEEN_REPORTS = 0.25
LONGEST_WAIT = 12 * 3600
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
    and binary files are read in a separate process (`sandbox`). `key` (16 to 64 bytes) is the
    dataset's secret for the persons' hashes, and `erased` holds the hashes (16 bytes) of persons
    whose rows are refused. `progress(done, total)` is called a few times a second and at the end,
    with bytes for text formats and rows for binary ones; if `progress` raises an exception, the
    work stops. Memory does not grow with the file. `target` appears complete or not at all. A file
    without any usable row gives an empty canonical file.

    Raises InvalidInput for problems that do not concern single rows: the file is not a table or has
    no header, or a declared column is missing or of an impossible type.
    """
    if not 16 <= len(key) <= 64:
        raise ValueError("The key of the person hashes has 16 to 64 bytes.")
    if form := form_read_here(source, file_name, schema.columns.file_format):
        schema = replace(schema, columns=replace(schema.columns, file_format=form.code))
        return ingest_here(source, file_name, schema, key, target, progress, erased)

    from dpgeo.ingest.canonical import check_canonical

    request = {
        "source": str(source.absolute()),
        "file_name": file_name,
        "schema": schema.to_json(),
        "key": key.hex(),
        "erased": [one.hex() for one in erased],
    }
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder:
        report = sandbox.run(
            "ingest", request, Path(folder), progress, Report.from_json, limit=LONGEST_WAIT
        )
        written = Path(folder) / "canonical.parquet"
        sandbox.understand(lambda path: check_canonical(path, schema, report, erased), written)
        written.replace(target)
    return report


def ingest_here(
    source: Path,
    file_name: str,
    schema: Schema,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """Ingest an unpacked file in this process; the arguments are those of `ingest`."""
    return ingest_parts([Part(source, file_name)], schema, key, target, progress, erased)


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
    declared = schema.columns.file_format
    reader = reader_of(parts, form_of(declared).format if declared else None)
    batches = reader.rows(parts[0].path, schema.wanted, tally, schema.columns)
    return ingest_batches(
        ((schema, batch) for batch in batches), schema, tally, key, target, progress, erased
    )


def ingest_batches(
    batches: Iterable[tuple[Schema, Batch]],
    schema: Schema,
    tally: Tally,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """Ingest batches, whatever they were read from; the other arguments are those of `ingest`.

    Each batch comes with the declaration by which its rows are read. These may differ in the names
    of columns, but not in what a row has; `schema` is one of them. Whoever reads the rows counts
    them in `tally`, in this thread.
    """
    from dpgeo.ingest.canonical import canonical_file, declared_schema

    known: Known = {}
    done = total = 0
    due = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            progress(done, total)
            due = time.monotonic() + SECONDS_BETWEEN_REPORTS

    with canonical_file(target, declared_schema(schema)) as writer:
        tasks = (partial(_rows_of, batch, each, key, erased, known) for each, batch in batches)
        for rows, counted, done, total in in_order(tasks):
            tally.add(counted)
            writer.write(rows)
            tell(done, total)
        writer.flush(lambda: tell(done, total))
    progress(total, total)
    return tally.report()


def _rows_of(
    batch: Batch, schema: Schema, key: bytes, erased: Collection[bytes], known: Known
) -> tuple[pa.RecordBatch, Tally, int, int]:
    """Return a batch's canonical rows, a tally of this batch alone, and the reader's progress.

    The progress is given by how much has been read, and by how much there is in all.
    """
    from dpgeo.ingest.canonical import canonical_rows

    tally = Tally()
    rows = canonical_rows(batch, schema, key, tally, erased, known)
    return rows, tally, batch.done, batch.total
