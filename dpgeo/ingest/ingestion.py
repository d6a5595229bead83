"""From an uploaded file to its canonical file and private report. Light to import."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from dpgeo.ingest import sandbox
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.decompress import is_packed
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Schema
from dpgeo.ingest.sniff import Format, is_text, sniff

SECONDS_BETWEEN_REPORTS = 0.25


def ingest(
    source: Path,
    file_name: str,
    schema: Schema,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """Write the usable rows of `source` to `target` in canonical form; report on the rest.

    Compressed and binary files are read in a process of their own (`confined`). `key` (16 to 64
    bytes) is the dataset's secret for the persons' hashes, and `erased` has those hashes (16 bytes)
    of which no row is taken. `progress(done, total)` is called a
    few times a second and at the end, in bytes for text and rows for binary formats; what it
    raises stops the work. Memory does not grow with the file. `target` appears whole or not at
    all. A file with no usable row gives an empty canonical file.

    Raises InvalidInput for what no row-by-row rule can mend: not a table, no header, a declared
    column missing or of an impossible type.
    """
    if not 16 <= len(key) <= 64:
        raise ValueError("The key of the person hashes has 16 to 64 bytes.")
    if not is_packed(source) and is_text(sniff(source, file_name)):
        return ingest_here(source, file_name, schema, key, target, progress, erased)

    request = {
        "source": str(source.absolute()),
        "file_name": file_name,
        "schema": schema.to_json(),
        "key": key.hex(),
        "erased": [one.hex() for one in erased],
    }
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder:
        report = sandbox.run("ingest", request, Path(folder), progress)
        (Path(folder) / "canonical.parquet").replace(target)
    return Report.from_json(report)


def ingest_here(
    source: Path,
    file_name: str,
    schema: Schema,
    key: bytes,
    target: Path,
    progress: Callable[[int, int], None],
    erased: Collection[bytes] = (),
) -> Report:
    """`ingest` of an unpacked file, in this process."""
    from dpgeo.ingest.canonical import canonical_file, canonical_rows

    tally = Tally()
    batches = _batches(source, sniff(source, file_name), schema, tally)
    done, total, due = 0, 0, time.monotonic()
    with canonical_file(target) as writer:
        for batch in batches:
            writer.write(canonical_rows(batch, schema, key, tally, erased))
            done, total = batch.done, batch.total
            if time.monotonic() >= due:
                progress(done, total)
                due = time.monotonic() + SECONDS_BETWEEN_REPORTS
    progress(total, total)
    return tally.report()


def _batches(source: Path, form: Format, schema: Schema, tally: Tally) -> Iterator[Batch]:
    """The rows of the file by the reader of its format; a new format is one more line here."""
    wanted, crs = schema.wanted, schema.columns.crs
    match form:
        case Format.CSV:
            from dpgeo.ingest.csv_reader import read_csv

            return read_csv(source, wanted, tally)
        case Format.PARQUET:
            from dpgeo.ingest.parquet_reader import read_parquet

            return read_parquet(source, wanted, tally, crs=crs)
        case Format.GEOPACKAGE:
            from dpgeo.ingest.geopackage_reader import read_geopackage

            return read_geopackage(source, wanted, tally, crs=crs)
        case Format.GEOJSON:
            from dpgeo.ingest.geojson_reader import read_document

            return read_document(source, wanted, tally, crs=crs)
        case Format.GEOJSON_SEQUENCE:
            from dpgeo.ingest.geojson_reader import read_sequence

            return read_sequence(source, wanted, tally, crs=crs)
