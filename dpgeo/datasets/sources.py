"""Folders of Parquet files that may be registered, and the files in them.

Only the setting DPGEO_SOURCES names folders (see `datasets.locations`), each for one organisation:
`city-transport/trips=/srv/trips` or `city-transport/trips=s3://lake/trips`. A form or a command
chooses one of these names and a folder below it, never another path, host or bucket. Symbolic links
that lead out of a local folder are not followed. Buckets are those of the site's own object store
(DPGEO_S3_ENDPOINT), read with the credentials in the environment; the database holds names alone.

Whenever a recorded file is read again, it must be as it was (`ingest.recorded_files`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.storage import work_folder
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.recorded_files import (
    OBJECT_STORE,
    FileChanged,
    RecordedFile,
    footer_checksum,
)
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema

MAX_FILES = 10_000
"""Largest number of files in a registered folder."""

MAX_FOLDER_LENGTH = 200

FILE_NAME = "*.parquet"
"""Pattern that pages show after a folder's name, to say which of its files are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file of a registered folder.

    `path` is relative to the folder, with forward slashes. `stamp` is the time of change in
    nanoseconds, or the entity tag. `footer` is the SHA-256 of the Parquet footer, or "" if it was
    not read yet. A table is recorded as one file (`postgresql.location`).

    If Spark counts the rows, `rows` is the private number of accepted ones, and `first` and `last`
    are the least and largest of their times, in seconds, or None if they have none.
    """

    path: str
    size: int
    stamp: str
    footer: str = ""
    rows: int = 0
    first: int | None = None
    last: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the facts about the file as plain JSON."""
        return asdict(self)

    def may_hold(self, between: tuple[int, int] | None) -> bool:
        """Return whether the file can have rows with times in a window."""
        if between is None:
            return True
        if self.first is None or self.last is None:
            return False
        return self.first < between[1] and self.last >= between[0]


@dataclass(frozen=True, slots=True)
class Location:
    """A folder that DPGEO_SOURCES names for an organisation.

    If `is_copied` is false, no canonical file of its rows is kept.
    """

    organisation: str
    name: str
    root: str = field(repr=False)
    is_copied: bool = True

    def called(self, folder: str) -> str:
        """Return the name under which pages show the registered folder."""
        return "/".join(part for part in (self.name, folder, FILE_NAME) if part)

    @property
    def is_remote(self) -> bool:
        """Whether the folder is in an object store."""
        return self.root.startswith(OBJECT_STORE)

    def files(self, folder: str) -> list[SourceFile]:
        """Return the Parquet files below `folder`, ordered by path, without their footers.

        Folders and files whose names begin with a dot or an underscore are left out, as in Hive and
        Spark. Raises InvalidInput if there are no files, or too many, or no such folder.
        """
        base = clean_folder(folder)
        found = self._remote_files(base) if self.is_remote else self._local_files(base)
        files = sorted(found, key=lambda file: file.path)
        if not files:
            raise InvalidInput("The folder has no Parquet files.", field="folder")
        if len(files) > MAX_FILES:
            raise InvalidInput(
                "The folder has {count:,} files; at most {most:,} are read. Register a folder "
                "with fewer, larger files.",
                count=len(files),
                most=MAX_FILES,
                field="folder",
            )
        return files

    @contextmanager
    def opened(self, folder: str, file: SourceFile) -> Iterator[Path]:
        """Yield a local path to a file: the file itself, or a temporary copy of an object.

        Raises Conflict if the file is missing or not the recorded one, also at the end of the
        block, since somebody may have changed it while it was read.
        """
        try:
            with work_folder() as scratch, self.recorded(folder, file).opened(scratch) as path:
                yield path
        except FileChanged:
            raise changed(file) from None

    def recorded(self, folder: str, file: SourceFile) -> RecordedFile:
        """Return what is needed to open a file, in this process or on another machine."""
        return RecordedFile(
            root=self.root,
            path="/".join(part for part in (clean_folder(folder), file.path) if part),
            size=file.size,
            stamp=file.stamp,
            footer=file.footer,
            endpoint=settings.DPGEO_S3_ENDPOINT,
            region=settings.DPGEO_S3_REGION,
        )

    @contextmanager
    def reading(
        self, folder: str, file: SourceFile, schema: Schema, tally: Tally
    ) -> Iterator[tuple[SourceFile, Iterator[Batch]]]:
        """Yield what identifies a file's rows, and its rows, which are counted in `tally`.

        Raises Conflict if it is not the recorded file, or cannot be read.
        """
        from dpgeo.ingest.source_rows import hive_columns, source_batches

        with self.opened(folder, file) as path:
            try:
                named, crs = hive_columns(file.path), schema.columns.crs
                yield (
                    with_footer(file, path),
                    source_batches(path, named, schema.wanted, tally, crs),
                )
            except InvalidInput as error:
                raise unreadable(file, error) from None

    def _local_files(self, base: str) -> Iterator[SourceFile]:
        top = self._inside(base, "")
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if is_shown(name))
            for name in names:
                path = Path(folder) / name
                relative = path.relative_to(top).as_posix()
                # Take only real files: reading a pipe might never end, and a link may lead nowhere.
                if is_parquet(name) and path.is_file() and self._is_inside(path):
                    stat = path.stat()
                    yield SourceFile(path=relative, size=stat.st_size, stamp=str(stat.st_mtime_ns))

    def _inside(self, base: str, path: str) -> Path:
        """Return the local path of the file or folder `path` in the folder `base`.

        Raises InvalidInput if it does not exist or, once symbolic links are followed, is not below
        `root`, the folder that the setting names.
        """
        found = Path(self.root, base, path)
        if not found.exists() or not self._is_inside(found):
            raise InvalidInput("There is no such folder.", field="folder")
        return found

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(Path(self.root).resolve())

    def _bucket(self) -> tuple[Any, str]:
        """Return the bucket of the object store and the prefix of the folder in it."""
        import boto3

        name, _, prefix = self.root.removeprefix(OBJECT_STORE).partition("/")
        resource = boto3.resource(
            "s3",
            endpoint_url=settings.DPGEO_S3_ENDPOINT or None,
            region_name=settings.DPGEO_S3_REGION or None,
        )
        return resource.Bucket(name), prefix.strip("/")

    def _remote_files(self, base: str) -> Iterator[SourceFile]:
        bucket, prefix = self._bucket()
        whole = "/".join(part for part in (prefix, base) if part)
        start = f"{whole}/" if whole else ""
        for each in bucket.objects.filter(Prefix=start):
            relative = each.key.removeprefix(start)
            parts = PurePosixPath(relative).parts
            if parts and is_parquet(parts[-1]) and all(map(is_shown, parts)):
                yield SourceFile(path=relative, size=each.size, stamp=each.e_tag.strip('"'))


def clean_folder(folder: object) -> str:
    """Return a folder's relative path, without slashes at its ends. Raises InvalidInput.

    An empty path stands for the whole folder or bucket in DPGEO_SOURCES.
    """
    text = str(folder or "").strip().strip("/")
    parts = text.split("/") if text else []
    if (
        len(text) > MAX_FOLDER_LENGTH
        or "\\" in text
        or not text.isprintable()
        or not all(part and is_shown(part) for part in parts)
    ):
        raise InvalidInput("Write a folder's name, such as 2026/trips.", field="folder")
    return text


def is_shown(name: str) -> bool:
    """Return whether a file or folder is read: its name begins with neither "." nor "_"."""
    return not name.startswith((".", "_"))


def is_parquet(name: str) -> bool:
    """Return whether a file's name ends in .parquet and does not begin with "." or "_"."""
    return is_shown(name) and name.lower().endswith(".parquet")


def with_footer(file: SourceFile, path: Path) -> SourceFile:
    """Return the facts of a file together with the checksum of its footer."""
    return replace(file, footer=footer_checksum(path))


def changed(file: SourceFile) -> Conflict:
    """Return the error for a file that is missing or is not the recorded one."""
    return Conflict(
        "The file {file!r} of the registered folder was changed or removed after it was recorded. "
        "Bring it back as it was, or register the folder again.",
        file=file.path,
    )


def unreadable(file: SourceFile, error: InvalidInput) -> Conflict:
    """Return the error for a file whose rows cannot be read as declared."""
    return Conflict(
        "The file {file!r} of the registered folder cannot be read. {reason}",
        file=file.path,
        reason=error.phrase,
    )
