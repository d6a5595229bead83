"""Files of registered folders, opened only if they are as a snapshot recorded them.

A file is recorded with its size, its time of change or the store's entity tag, and a checksum of
its footer, which describes every row group: position, size, number of rows and the least and
largest values. All three are compared whenever the file is read. Django is not needed, so a
process of Spark on another machine opens files in the same way.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpgeo.core.errors import InvalidInput

OBJECT_STORE = "s3://"

FOOTER_END = 8
"""Number of bytes at the end of a Parquet file for the footer's length and the letters PAR1."""

BLOCK = 1 << 20


class FileChanged(Exception):
    """Raised if a file is missing or is not the recorded one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFile:
    """A file at `root`/`path`, in a local folder or in a bucket of an object store.

    `root` is an absolute path or starts with `s3://`. `stamp` is the time of change in nanoseconds
    or the entity tag, and `footer` is "" if it was not read yet.
    """

    root: str
    path: str
    size: int
    stamp: str
    footer: str = ""
    endpoint: str = ""
    region: str = ""

    @contextmanager
    def opened(self, scratch: Path) -> Iterator[Path]:
        """Yield a local path to the file: the file itself, or a copy of an object in `scratch`.

        Raises FileChanged, also at the end of the block and instead of an error of the block, if
        the file was changed meanwhile.
        """
        if self.root.startswith(OBJECT_STORE):
            copy = scratch / "object.parquet"
            try:
                self._fetch(copy)
                self._check_footer(copy)
                yield copy
            finally:
                copy.unlink(missing_ok=True)
            return
        path = Path(self.root, self.path)
        before = self._identity(path)
        self._check_footer(path)
        try:
            yield path
        except Exception:
            if self._identity(path) == before:
                raise
        if self._identity(path) != before:
            raise FileChanged

    def _identity(self, path: Path) -> tuple[int, ...]:
        """Return facts that tell the file's present content from every other."""
        try:
            stat = path.stat()
            link = path.lstat()
        except OSError:
            raise FileChanged from None
        outside = not path.resolve().is_relative_to(Path(self.root).resolve())
        if outside or (stat.st_size, str(stat.st_mtime_ns)) != (self.size, self.stamp):
            raise FileChanged
        return (link.st_ino, stat.st_dev, stat.st_ino, stat.st_ctime_ns)

    def _check_footer(self, path: Path) -> None:
        if self.footer and footer_checksum(path) != self.footer:
            raise FileChanged

    def _fetch(self, target: Path) -> None:
        import boto3
        from botocore.exceptions import ClientError

        bucket, _, prefix = self.root.removeprefix(OBJECT_STORE).partition("/")
        key = "/".join(part for part in (prefix.strip("/"), self.path) if part)
        store = boto3.resource(
            "s3", endpoint_url=self.endpoint or None, region_name=self.region or None
        )
        try:
            body = store.Object(bucket, key).get(IfMatch=f'"{self.stamp}"')["Body"]
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in (404, 412):
                raise FileChanged from None
            raise
        with target.open("wb") as copy:
            for block in body.iter_chunks(BLOCK):
                copy.write(block)


def footer_checksum(path: Path) -> str:
    """Return the SHA-256 of a Parquet file's footer. Raises InvalidInput if it has none."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - FOOTER_END))
        length = int.from_bytes(file.read(4), "little") + FOOTER_END
        if length > size:
            raise InvalidInput("The Parquet file is damaged or cut short.", field="folder")
        file.seek(size - length)
        return hashlib.sha256(file.read()).hexdigest()
