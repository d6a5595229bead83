"""Snapshots of registered folders and tables: which rows a version of the data has.

A snapshot is an upload with a `source`, which names the folder or table, lists what was in it and
keeps the declaration with which its rows are read. Reading it gives a canonical file, like any
upload. In a dataset that grows, a further reading takes the files, or the rows of a table, that no
earlier snapshot has, and an earlier file that was changed is refused.

Places that are not to be copied (`nocopy:` in DPGEO_SOURCES). The canonical file then exists only
in the work folder of the job that reads the rows, and every release's job reads them anew: the
recorded files, which must be as they were; the rows of a table up to the recorded value of a column
that only grows; without such a column, the rows that the table has then.

Privacy argument. `ingest` reads every row alone, as an upload's rows are read, with the key of the
dataset, which does not leave this process. Rows of erased persons are refused whenever a source is
read: those on the dataset's list now, and those that were on it when the snapshot was taken. A
readmitted person therefore returns with the next snapshot, as with the next upload.

Fresh rows are the same dataset: the same people, whose person column is fixed, with the same
ledger. Two histories of a source are neighbours if one person's rows, of all times, are missing
from one of them. Then at every reading, whatever earlier maps showed, that person's rows are the
only difference, so each release keeps its guarantee, and the guarantees of all add up in the
ledger, whichever rows each one read. A job that is killed and repeated may read other rows the
second time. Nobody saw the first draw, and what killed the job does not depend on its noise
(`releases.private_draw`), so one draw, which was paid for, is ever seen. The recorded sizes and
times are private, like the report.

Spark (`datasets.spark_folders`) counts the rows of a folder where they are, so a snapshot of such a
folder has no canonical file, and records the number of rows and the times in each file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.window import Window
from dpgeo.datasets.locations import find_location
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key, organisation_key
from dpgeo.datasets.postgresql.location import Span
from dpgeo.datasets.row_schema import confirmed_columns, schema_of
from dpgeo.datasets.selectors import canonical_path
from dpgeo.datasets.sources import Location, SourceFile, changed, unreadable, with_footer
from dpgeo.datasets.spark_folders import SparkLocation
from dpgeo.datasets.storage import work_folder
from dpgeo.datasets.versions import version_files
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.jobs.lease import JobLease
from dpgeo.phrases import Phrase

if TYPE_CHECKING:
    import pyarrow as pa

READING = Phrase("Reading rows")

GONE = "The prepared data of this upload are gone; upload the file again."


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a snapshot that are read with the same declared columns and closed periods.

    `closed` holds spans of time whose rows are refused, each as its first second and the second
    after its last.
    """

    files: tuple[SourceFile, ...]
    columns: Columns
    closed: tuple[tuple[int, int], ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Part:
        """Return a snapshot's part from JSON written by `to_json`."""
        return cls(
            tuple(SourceFile(**each) for each in document["files"]),
            Columns.from_json(document["columns"]),
            tuple((first, after) for first, after in document["closed"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return this part of a snapshot as plain JSON."""
        return {
            "files": [file.to_json() for file in self.files],
            "columns": self.columns.to_json(),
            "closed": [list(each) for each in self.closed],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Content of `Upload.source`: a registered folder, and in `parts` the files it had.

    `parts` is empty until the folder has been read; a table is recorded as a single file.

    `suppressed` are the hashes of the persons who had been erased when the snapshot was taken.
    `people` is the private number of privacy units in the rows if Spark counts them. `as_of` names
    the table's column whose values only ever grow from row to row, or is "" if none is declared.
    """

    location: str
    folder: str
    parts: tuple[Part, ...] = ()
    suppressed: tuple[bytes, ...] = ()
    people: int = 0
    as_of: str = ""

    @classmethod
    def of(cls, upload: Upload) -> Snapshot:
        """Return the snapshot stored with an upload from a registered folder or table."""
        facts = upload.source
        return cls(
            location=facts["location"],
            folder=facts["folder"],
            parts=tuple(map(Part.from_json, facts.get("parts", ()))),
            suppressed=tuple(map(bytes.fromhex, facts.get("suppressed", ()))),
            people=facts.get("people", 0),
            as_of=facts.get("as_of", ""),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the snapshot as plain JSON."""
        return {
            "location": self.location,
            "folder": self.folder,
            "parts": [part.to_json() for part in self.parts],
            "suppressed": [each.hex() for each in self.suppressed],
            "people": self.people,
            "as_of": self.as_of,
        }

    @property
    def span(self) -> Span | None:
        """The last span of a table's rows; None without a column that only grows."""
        spans = [Span.of(file) for file in self.files] if self.as_of else []
        return next((each for each in reversed(spans) if each), None)

    @property
    def until(self) -> str:
        """The greatest value in the snapshot of the column that only grows, as text, or ""."""
        return (self.span.until if self.span else None) or ""

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """All files of the snapshot."""
        return tuple(file for part in self.parts for file in part.files)


@contextmanager
def first_file(upload: Upload) -> Iterator[tuple[Path, dict[str, str | None]]]:
    """Yield a local path to a registered folder's first file, and the columns that its path states.

    For example, a folder named `year=2024` states a column and its value. Raises InvalidInput, or
    Conflict if the file changes meanwhile.
    """
    from dpgeo.ingest.source_rows import hive_columns

    snapshot = Snapshot.of(upload)
    location = _location(upload.dataset, snapshot)
    file = location.files(snapshot.folder)[0]
    with location.opened(snapshot.folder, file) as path:
        yield path, hive_columns(file.path)


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of reading a snapshot: its facts, its report, and whether its rows are kept.

    `checksum` is keyed, and depends on the files' footers, in any order; a table has none.
    """

    snapshot: Snapshot
    report: Report
    is_copied: bool
    checksum: bytes | None


def _taken(dataset: Dataset, location: Location, snapshot: Snapshot, report: Report) -> Taken:
    footers = sorted(file.footer for file in snapshot.files if file.footer)
    key = organisation_key(b"files", dataset.organisation_id)
    checksum = hashlib.blake2b("".join(footers).encode(), key=key, digest_size=16).digest()
    return Taken(snapshot, report, location.is_copied, checksum if footers else None)


def snapshot_take(
    upload: Upload, closed: Sequence[tuple[int, int]], lease: JobLease, target: Path
) -> Taken:
    """Read the rows of a folder or table that are not in the data yet, into a file at `target`.

    It is a canonical file or, if Spark counts the rows, a file of their persons. `closed` holds the
    closed periods of series (see `Part`), whose rows are refused. Raises Conflict if a file or the
    table cannot be used or changes meanwhile, or if a growing dataset's source has nothing new.
    """
    dataset = upload.dataset
    named = Snapshot.of(upload)
    location = _location(dataset, named)
    try:
        listed = location.files(named.folder)
    except InvalidInput as error:
        raise Conflict(error.phrase) from None
    if named.as_of:
        listed = [_next_span(dataset, named.as_of).recorded(file) for file in listed]
    elif dataset.grows:
        listed = _new_files(dataset, listed)
    part = Part(tuple(listed), confirmed_columns(upload), tuple(closed))
    suppressed = [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)]
    snapshot = replace(named, parts=(part,), suppressed=tuple(suppressed))
    return _read(dataset, snapshot, target, lease)


def snapshot_without(current: Upload, erased: Set[bytes]) -> Snapshot:
    """Return one snapshot of all that is in the newest version, `current`, without persons."""
    snapshots = [Snapshot.of(each) for each in version_files(current)]
    parts = tuple(part for each in snapshots for part in each.parts)
    suppressed = {*erased, *(one for each in snapshots for one in each.suppressed)}
    return replace(snapshots[-1], parts=parts, suppressed=tuple(sorted(suppressed)))


def snapshot_read(dataset: Dataset, snapshot: Snapshot, lease: JobLease, target: Path) -> Taken:
    """Read the rows of a snapshot that was taken before, into a file at `target`.

    Persons who were erased in the meantime are refused as well.
    """
    now = map(bytes, dataset.suppressions.values_list("person", flat=True))
    return _read(dataset, snapshot, target, lease, [*now])


@contextmanager
def version_paths(version: Upload, lease: JobLease) -> Iterator[Sequence[Path]]:
    """Yield local paths to the canonical files of a version, in the order of their numbers.

    Rows of which no canonical file is kept are read again, into a temporary file. Raises Conflict
    if the version was replaced, a file is missing, or a source cannot be read.
    """
    files = _files(version)
    with ExitStack() as opened:
        paths = []
        for each in files:
            if each.canonical_name or not each.source:
                paths.append(opened.enter_context(canonical_path(each)))
                continue
            path = opened.enter_context(work_folder()) / "canonical.parquet"
            snapshot_read(version.dataset, Snapshot.of(each), lease, path)
            paths.append(path)
        yield paths


@contextmanager
def people_paths(version: Upload, lease: JobLease) -> Iterator[Sequence[Path]]:
    """Yield local paths to files that hold every person of a version of the data.

    They are its canonical files or, if Spark counts its rows, one temporary file of persons. Raises
    the errors of `version_paths`.
    """
    if not is_in_place(version):
        with version_paths(version, lease) as paths:
            yield paths
        return
    from dpgeo.engine.people_file import write_people

    rows = rows_in_place(version)
    with work_folder() as folder:
        path = folder / "people.parquet"
        write_people(
            [rows.batches()],
            rows.schema,
            path,
            memory_bytes=settings.DPGEO_COUNT_MEMORY_MIB << 20,
        )
        yield [path]


def _files(version: Upload) -> list[Upload]:
    uploads = list(version_files(version))
    if version.state != UploadState.READY or version not in uploads:
        raise Conflict(GONE)
    return uploads


def _next_span(dataset: Dataset, column: str) -> Span:
    """Return the span of a table's rows to be read next; in a dataset that grows, of new rows.

    If an earlier span is in the data no more, because its columns were confirmed again, it is read
    first.
    """
    if not dataset.grows:
        return Span(column)
    ready = dataset.uploads.filter(state=UploadState.READY).exclude(source={})
    files = [file for each in ready.order_by("created_at") for file in Snapshot.of(each).files]
    spans = [span for span in map(Span.of, files) if span and span.until is not None]
    last = Span(column)
    while following := next((each for each in spans if each.after == last.until), None):
        spans.remove(following)
        last = following
    return Span(column, last.until, spans[0].after if spans else None, last.rows)


def _new_files(dataset: Dataset, listed: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files that no snapshot has yet. Raises Conflict if there is none.

    Also raises Conflict for an earlier file that was changed or removed.
    """
    there = {file.path: file for file in listed}
    ready = dataset.uploads.filter(state=UploadState.READY).exclude(source={})
    for upload in ready:
        for file in Snapshot.of(upload).files:
            found = there.pop(file.path, None)
            if found is None or (found.size, found.stamp) != (file.size, file.stamp):
                raise changed(file)
    if not there:
        raise Conflict("The folder has no new files.")
    return [there[path] for path in sorted(there)]


def _read(
    dataset: Dataset,
    snapshot: Snapshot,
    target: Path,
    lease: JobLease,
    erased: Collection[bytes] = (),
) -> Taken:
    """Read all rows once; in the result, `snapshot` states what identifies them."""
    from dpgeo.ingest.ingestion import ingest_batches

    if isinstance(_location(dataset, snapshot), SparkLocation):
        return _read_in_place(dataset, snapshot, target, lease, erased)
    readers = _readers(dataset, snapshot, erased)
    tally, found = Tally(), list[SourceFile]()
    report = ingest_batches(
        _batches(readers, tally, found),
        readers[0].schema,
        tally,
        readers[0].key,
        target,
        lambda done, total: lease.step(READING, done, total),
        readers[0].erased,
    )
    return _taken(dataset, readers[0].location, _with_files(snapshot, found), report)


def _batches(
    readers: Sequence[PartReader], tally: Tally, found: list[SourceFile]
) -> Iterator[tuple[Schema, Batch]]:
    """Yield all batches with their declarations, and add what identifies each file to `found`."""
    total = sum(file.size for reader in readers for file in reader.part.files)
    before = 0
    for reader in readers:
        for file in reader.part.files:
            with reader.location.reading(reader.folder, file, reader.schema, tally) as read:
                facts, batches = read
                found.append(facts)
                for batch in batches:
                    done = before + file.size * batch.done // max(batch.total, 1)
                    yield reader.schema, replace(batch, done=done, total=total)
            before += file.size


def _with_files(snapshot: Snapshot, found: Sequence[SourceFile]) -> Snapshot:
    """Return a snapshot with other facts about the same files, in the same order."""
    files = iter(found)
    parts = [replace(each, files=tuple(next(files) for _ in each.files)) for each in snapshot.parts]
    return replace(snapshot, parts=tuple(parts))


def _readers(dataset: Dataset, snapshot: Snapshot, erased: Collection[bytes]) -> list[PartReader]:
    location = _location(dataset, snapshot)
    key = hashing_key(dataset)
    return [
        PartReader(
            location,
            snapshot.folder,
            part,
            replace(schema_of(dataset, part.columns), closed=part.closed),
            key,
            {*snapshot.suppressed, *erased},
        )
        for part in snapshot.parts
    ]


def _location(dataset: Dataset, snapshot: Snapshot) -> Location:
    try:
        return find_location(dataset.organisation.slug, snapshot.location)
    except InvalidInput as error:
        raise Conflict(error.phrase) from None


def is_copied(version: Upload) -> bool:
    """Return whether canonical files of all rows of a version are kept.

    Raises Conflict if the version was replaced.
    """
    return all(each.canonical_name or not each.source for each in _files(version))


def is_in_place(version: Upload) -> bool:
    """Return whether Spark counts the rows of a version in their folder.

    Raises Conflict if the version was replaced, or its folder is no longer in the settings.
    """
    files = _files(version)
    if any(each.canonical_name or not each.source for each in files):
        return False
    places = (_location(version.dataset, Snapshot.of(each)) for each in files)
    return all(isinstance(place, SparkLocation) for place in places)


@dataclass
class SourceRows:
    """Rows of a version of the data that Spark counts (`engine.spark.Rows`)."""

    readers: Sequence[PartReader]
    people: int
    between: tuple[int, int] | None = None

    @property
    def number(self) -> int:
        """The private number of rows in the files."""
        return sum(file.rows for _, file in self.files)

    @property
    def files(self) -> list[tuple[PartReader, SourceFile]]:
        """The files that may have rows in the window, with what reads them."""
        return [
            (reader, file)
            for reader in self.readers
            for file in reader.part.files
            if file.may_hold(self.between)
        ]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the canonical rows, which is the same for all files."""
        from dpgeo.ingest.canonical import declared_schema

        return declared_schema(self.readers[0].schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, file by file."""
        for reader, file in self.files:
            yield from reader.rows(file, Tally(), self.between)


@dataclass
class PartReader:
    """Reads a snapshot's files that have the same declaration, which are one `Part`.

    `erased` holds the hashes of persons whose rows are refused.
    """

    location: Location
    folder: str
    part: Part
    schema: Schema
    key: bytes = field(repr=False)
    erased: Collection[bytes] = ()

    def rows(
        self,
        file: SourceFile,
        tally: Tally,
        between: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the canonical rows of a file.

        Raises Conflict if it was changed since it was recorded, or cannot be read.
        """
        with self.location.opened(self.folder, file) as path:
            yield from self.rows_at(path, file, tally, between)

    def rows_at(
        self,
        path: Path,
        file: SourceFile,
        tally: Tally,
        between: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the canonical rows of `file`, read from the local `path`."""
        from dpgeo.ingest.source_rows import hive_columns, source_rows

        try:
            yield from source_rows(
                path,
                hive_columns(file.path),
                self.schema,
                self.key,
                tally,
                erased=self.erased,
                between=between,
            )
        except InvalidInput as error:
            raise unreadable(file, error) from None


def rows_in_place(version: Upload, window: Window | None = None) -> SourceRows:
    """Return the rows of a version that Spark counts, or those of a window of days.

    Nothing is read yet. Raises Conflict if the version was replaced, or its folder is no longer in
    the settings.
    """
    dataset = version.dataset
    uploads = _files(version)
    now = [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)]
    between = window.seconds(dataset.time_zone) if window else None
    readers = [
        reader for each in uploads for reader in _readers(dataset, Snapshot.of(each), erased=now)
    ]
    people = sum(Snapshot.of(each).people for each in uploads)
    return SourceRows(readers, people, between)


def _read_in_place(
    dataset: Dataset,
    snapshot: Snapshot,
    target: Path,
    lease: JobLease,
    erased: Collection[bytes],
) -> Taken:
    """Read all rows once, and write their persons to `target`.

    In the result, `snapshot` states the rows and times of each file.
    """
    from dpgeo.engine.people_file import write_people
    from dpgeo.ingest.canonical import declared_schema

    tally, found = Tally(), list[SourceFile]()

    def rows_of(reader: PartReader, file: SourceFile) -> Iterator[pa.RecordBatch]:
        with reader.location.opened(reader.folder, file) as path:
            rows = _Counted(with_footer(file, path))
            for batch in reader.rows_at(path, file, tally):
                rows.add(batch)
                yield batch
        found.append(rows.file)

    readers = _readers(dataset, snapshot, erased)
    total = len(snapshot.files)
    number = write_people(
        (rows_of(reader, file) for reader in readers for file in reader.part.files),
        declared_schema(readers[0].schema),
        target,
        memory_bytes=settings.DPGEO_COUNT_MEMORY_MIB << 20,
        progress=lambda: lease.step(READING, len(found), total),
    )
    if dataset.unit == Unit.RECORD:
        number = sum(file.rows for file in found)
    taken = replace(_with_files(snapshot, found), people=number)
    return _taken(dataset, readers[0].location, taken, tally.report())


class _Counted:
    """Counts the rows of a file, and their least and largest times."""

    def __init__(self, file: SourceFile) -> None:
        self.file = replace(file, rows=0, first=None, last=None)

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch's rows, and update the least and the largest time."""
        import pyarrow.compute as pc

        ends = pc.min_max(batch["time"]).as_py()
        known = [self.file.first, self.file.last, *ends.values()]
        times = [each for each in known if each is not None]
        self.file = replace(
            self.file,
            rows=self.file.rows + batch.num_rows,
            first=min(times, default=None),
            last=max(times, default=None),
        )
