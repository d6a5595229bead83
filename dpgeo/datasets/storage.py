"""Files in Django's storages, by local path where there is one."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages

WORK_FOLDER = "work"
"""Beside the storages, for files that a process is still writing."""


class LocalFile(File):  # type: ignore[type-arg]
    """A file of this machine that a storage on the same disk may move instead of copying."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("rb"), name=path.name)
        self._path = path

    def temporary_file_path(self) -> str:
        """Where the file lies; a local storage moves it from there."""
        return str(self._path)


def private_storage() -> Storage:
    """Where raw uploads, canonical files, blobs and drafts lie. Nothing in it is ever public."""
    return storages["private"]


def public_storage() -> Storage:
    """Where the files of published releases lie, and nothing else."""
    return storages["releases"]


def store(storage: Storage, name: str, path: Path) -> str:
    """Put a local file into a storage, by moving it where that can be. Returns its name there."""
    with LocalFile(path) as content:
        return storage.save(name, content)


def remove(storage: Storage, name: str) -> None:
    """Delete a stored file if it is there."""
    if name:
        storage.delete(name)


def open_span(storage: Storage, name: str, first: int, last: int) -> IO[bytes]:
    """A stored file from the byte `first` on; an object store sends no more than up to `last`.

    Its own file objects would fetch the whole object first. Raises FileNotFoundError.
    """
    file: Any = storage.open(name, "rb")
    remote = getattr(file, "obj", None)
    if remote is None:
        file.seek(first)
        return cast(IO[bytes], file)
    body: IO[bytes] = remote.get(Range=f"bytes={first}-{last}")["Body"]
    return body


def open_parts(storage: Storage, name: str) -> IO[bytes]:
    """A stored file of which some parts will be read; an object store sends those alone.

    Raises FileNotFoundError.
    """
    file: Any = storage.open(name, "rb")
    remote = getattr(file, "obj", None)
    return cast(IO[bytes], file if remote is None else io.BufferedReader(_Remote(remote)))


class _Remote(io.RawIOBase):
    """An object in a store as a file: what is read of it is asked for, and nothing else."""

    def __init__(self, remote: Any) -> None:
        self._remote = remote
        self._size = int(remote.content_length)
        self._at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go somewhere. Nothing is sent."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """The next bytes, as many as there are and the buffer holds."""
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        span = f"bytes={self._at}-{self._at + wanted - 1}"
        with closing(self._remote.get(Range=span)["Body"]) as body:
            data = body.read()
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder for this process alone, beside the storages, gone afterwards."""
    base = Path(settings.VAR_DIR) / WORK_FOLDER
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        yield Path(folder)


@contextmanager
def local_path(storage: Storage, name: str) -> Iterator[Path]:
    """A stored file as a local path: itself where the storage is local, else a copy."""
    try:
        path = Path(storage.path(name))
    except NotImplementedError:
        with work_folder() as folder:
            path = folder / "copy"
            with storage.open(name, "rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            yield path
    else:
        yield path
