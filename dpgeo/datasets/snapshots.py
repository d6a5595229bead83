"""Snapshots of registered folders: which rows a version of the data has, read in place.

A snapshot is an upload without a file of its own. Its `source` names the folder and lists the files
that it had, and the declaration with which their rows are read. So a release that is drawn again
reads the same rows, or fails with a Conflict that names the file that is different now. In a
dataset that grows, a snapshot has the files that no earlier one has, and an earlier file that was
changed is refused.

No row of a folder is ever copied to storage. A temporary file of the snapshot's distinct persons
exists only while a job compares them with other datasets (`same_people`).

Privacy argument. `ingest.source_rows` reads every row alone, as an upload's rows are read, with the
key of the dataset, which does not leave this process. Rows of erased persons are refused whenever
the folder is read: those on the dataset's list now, and those that were on it when the snapshot was
taken. A readmitted person therefore returns with the next snapshot, as with the next upload. A file
is left out of a window's count if the snapshot recorded that none of its rows are in the window,
which changes no count. The recorded sizes and times are private, like the report on a file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.window import Window
from dpgeo.datasets.locations import location_of
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key, organisation_key
from dpgeo.datasets.postgresql.counting import table_counter
from dpgeo.datasets.postgresql.location import TableLocation
from dpgeo.datasets.row_schema import confirmed_columns, schema_of
from dpgeo.datasets.sources import Location, SourceFile, changed, with_footer
from dpgeo.datasets.spark_folders import SparkCounter, SparkLocation, SparkPart
from dpgeo.datasets.storage import work_folder
from dpgeo.datasets.versions import canonical_paths, files_of
from dpgeo.engine.duckdb_view import HASHES
from dpgeo.engine.in_place import EVERYBODY, write_people
from dpgeo.engine.pushed_view import Counter
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.jobs.lease import JobLease
from dpgeo.phrases import Phrase

if TYPE_CHECKING:
    import pyarrow as pa

READING = Phrase("Reading rows")


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

    `suppressed` are the hashes of the persons who had been erased when the snapshot was taken, and
    `people` is the private number of privacy units in the rows. `as_of` names the table's column
    whose values only ever grow from row to row, or is "" if none is declared.
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
    def until(self) -> str:
        """The greatest value in the snapshot of the column that only grows, as text.

        It is "" if no such column is declared or the snapshot is not taken yet."""
        if not (self.as_of and self.files and self.files[0].stamp):
            return ""
        return str(json.loads(self.files[0].stamp)[1] or "")

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


@dataclass
class SourceRows:
    """Rows of a version of the data, read from the source itself (`engine.in_place.Rows`)."""

    readers: Sequence[PartReader]
    number: int
    people: int
    between: tuple[int, int] | None = None

    def counter(self) -> Counter | None:
        """Return an object by which Spark or the database counts the rows; None if neither can."""
        if all(isinstance(reader.location, SparkLocation) for reader in self.readers):
            return SparkCounter(self._spark_parts(), self.between)
        if len(self.readers) != 1 or len(self.readers[0].part.files) != 1:
            return None
        (reader,) = self.readers
        (file,) = reader.part.files
        return table_counter(
            reader.location,
            reader.folder,
            file,
            reader.schema,
            reader.key,
            reader.erased,
            self.between,
        )

    def _spark_parts(self) -> list[SparkPart]:
        return [
            SparkPart(
                reader.location,
                reader.folder,
                [file for file in reader.part.files if file.may_hold(self.between)],
                reader.schema,
                reader.key,
                frozenset(reader.erased),
            )
            for reader in self.readers
        ]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the canonical rows, which is the same for all files."""
        from dpgeo.ingest.canonical import declared_schema

        return declared_schema(self.readers[0].schema)

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of persons whose marks are from `first` to `last`, file by file.

        A mark is a number of 64 bits that `person_marks` computes from a person's identifier. Where
        records are the privacy unit, all rows of a file share a mark, given by the file's position.
        """
        people = None if (first, last) == EVERYBODY else (first, last)
        files = [(reader, file) for reader in self.readers for file in reader.part.files]
        for number, (reader, file) in enumerate(files):
            mark = number * HASHES // len(files)
            if reader.schema.unit is Unit.RECORD and not first <= mark <= last:
                continue
            if file.may_hold(self.between):
                yield from reader.rows(file, Tally(), people, self.between)


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
        people: tuple[int, int] | None = None,
        between: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the canonical rows of a file or of a table.

        Raises Conflict if it was changed since it was recorded, or cannot be read.
        """
        if isinstance(self.location, TableLocation):
            yield from self.location.rows(
                self.folder,
                file,
                self.schema,
                self.key,
                tally,
                erased=self.erased,
                people=people,
                between=between,
            )
            return
        with self.location.opened(self.folder, file) as path:
            yield from self.rows_at(path, file, tally, people, between)

    def rows_at(
        self,
        path: Path,
        file: SourceFile,
        tally: Tally,
        people: tuple[int, int] | None = None,
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
                people=people,
                between=between,
            )
        except InvalidInput as error:
            raise Conflict(
                "The file {file!r} of the registered folder cannot be read. {reason}",
                file=file.path,
                reason=error.phrase,
            ) from None


def rows_in_place(version: Upload, window: Window | None = None) -> SourceRows:
    """Return the rows of a version that consists of snapshots, or those of a window of days.

    Nothing is read yet. Raises Conflict if the version was replaced, or its folder is no longer in
    the settings.
    """
    dataset = version.dataset
    uploads = list(files_of(version))
    if version.state != UploadState.READY or version not in uploads:
        raise Conflict("The prepared data of this upload are gone; upload the file again.")
    now = [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)]
    between = window.seconds(dataset.time_zone) if window else None
    readers = [
        reader for each in uploads for reader in _readers(dataset, Snapshot.of(each), erased=now)
    ]
    files = [file for reader in readers for file in reader.part.files if file.may_hold(between)]
    return SourceRows(
        readers,
        number=sum(file.rows for file in files),
        people=sum(Snapshot.of(each).people for each in uploads),
        between=between,
    )


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
        return location_of(dataset.organisation.slug, snapshot.location)
    except InvalidInput as error:
        raise Conflict(error.phrase) from None


@dataclass
class Taken:
    """The result of reading a snapshot once: its facts, its report, and a file of its persons."""

    snapshot: Snapshot
    report: Report
    people: Path

    def checksum(self, dataset: Dataset) -> bytes:
        """Return a keyed checksum of the footers of all files, independent of the files' order."""
        key = organisation_key(b"files", dataset.organisation_id)
        digest = hashlib.blake2b(key=key, digest_size=16)
        for footer in sorted(file.footer for file in self.snapshot.files):
            digest.update(footer.encode())
        return digest.digest()


def snapshot_take(
    upload: Upload, closed: Sequence[tuple[int, int]], lease: JobLease, folder: Path
) -> Taken:
    """List a registered folder's files and read each once, to report on its rows.

    `closed` holds the closed periods of series (see `Part`), whose rows are refused, and `folder`
    is a temporary folder. Raises Conflict if a file cannot be used or changes meanwhile, or if a
    growing dataset's folder has no new file.
    """
    dataset = upload.dataset
    named = Snapshot.of(upload)
    location = _location(dataset, named)
    try:
        listed = location.files(named.folder)
    except InvalidInput as error:
        raise Conflict(error.phrase) from None
    if dataset.grows:
        listed = _new_files(dataset, listed)
    part = Part(tuple(listed), confirmed_columns(upload), tuple(closed))
    suppressed = [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)]
    snapshot = replace(named, parts=(part,), suppressed=tuple(suppressed))
    return _read_once(dataset, snapshot, lease, folder)


def snapshot_without(
    current: Upload, erased: Sequence[bytes], lease: JobLease, folder: Path
) -> Taken:
    """Read the files of the newest version, `current`, again, without the persons in `erased`."""
    dataset = current.dataset
    snapshots = [Snapshot.of(each) for each in files_of(current)]
    parts = tuple(part for each in snapshots for part in each.parts)
    suppressed = {*erased, *(one for each in snapshots for one in each.suppressed)}
    whole = replace(snapshots[-1], parts=parts, suppressed=tuple(sorted(suppressed)))
    return _read_once(dataset, whole, lease, folder)


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


def _read_once(dataset: Dataset, snapshot: Snapshot, lease: JobLease, folder: Path) -> Taken:
    """Read all files once; in the result, `snapshot` states the rows and times of each file."""
    from dpgeo.ingest.canonical import declared_schema

    tally, found = Tally(), []

    def rows_of(reader: PartReader, file: SourceFile) -> Iterator[pa.RecordBatch]:
        if isinstance(reader.location, TableLocation):
            facts = reader.location.recorded(reader.folder, file, snapshot.as_of, reader.schema)
            rows = _Counted(facts)
            for batch in reader.rows(facts, tally):
                rows.add(batch)
                yield batch
            found.append(rows.file)
            return
        with reader.location.opened(reader.folder, file) as path:
            rows = _Counted(with_footer(file, path))
            for batch in reader.rows_at(path, file, tally):
                rows.add(batch)
                yield batch
        found.append(rows.file)

    readers = _readers(dataset, snapshot, ())
    total = len(snapshot.files)
    each = (rows_of(reader, file) for reader in readers for file in reader.part.files)
    target = folder / "people.parquet"
    number = write_people(
        each,
        declared_schema(readers[0].schema),
        target,
        memory_bytes=settings.DPGEO_COUNT_MEMORY_MIB << 20,
        progress=lambda: lease.step(READING, len(found), total),
    )
    if dataset.unit == Unit.RECORD:
        number = sum(file.rows for file in found)
    files = iter(found)
    parts = tuple(
        replace(part, files=tuple(next(files) for _ in part.files)) for part in snapshot.parts
    )
    return Taken(replace(snapshot, parts=parts, people=number), tally.report(), target)


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


@contextmanager
def people_paths(version: Upload) -> Iterator[Sequence[Path]]:
    """Yield local paths to files that hold every person of a version of the data.

    They are its canonical files or, if it consists of snapshots, one temporary file. Raises
    Conflict if a file is missing, or the version was replaced.
    """
    if not version.source:
        with canonical_paths(version) as paths:
            yield paths
        return
    rows = rows_in_place(version)
    with work_folder() as folder:
        path = folder / "people.parquet"
        write_people(
            [rows.batches(*EVERYBODY)],
            rows.schema,
            path,
            memory_bytes=settings.DPGEO_COUNT_MEMORY_MIB << 20,
        )
        yield [path]
