"""Access to files in Django's storages, by local path where possible."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages
from django.http import Http404

from dpgeo.core.errors import Conflict, DpgeoError
from dpgeo.datasets.missing_files import missing_file_record

WORK_FOLDER = "work"
"""Folder beside the storages for files that are still being written."""

LOCK = "lock"
"""Name of the file that a process keeps locked in its work folder."""

LOCKING_SECONDS = 30.0
"""Time in seconds within which a new work folder is certain to be locked."""


MISSING = (
    "A stored file that this needs is missing. The operator of this site has been told; try again "
    "later."
)


class StoredFileMissing(DpgeoError, Http404, FileNotFoundError):
    """Raised for a file that a row names but that its storage does not have.

    It is an Http404, so that every page answers 404 to it, as the API does, and a
    FileNotFoundError for callers that continue without the file.
    """

    def __init__(self) -> None:
        super().__init__(MISSING)


class LocalFile(File):  # type: ignore[type-arg]
    """A local file that a storage on the same disk may move instead of copying."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("rb"), name=path.name)
        self._path = path

    def temporary_file_path(self) -> str:
        """Return the path from which a local storage may move the file."""
        return str(self._path)


def private_storage() -> Storage:
    """Return the private storage of uploads, canonical files, blobs and drafts."""
    return storages["private"]


def public_storage() -> Storage:
    """Return the storage for the files of published releases, and for nothing else."""
    return storages["releases"]


def store(storage: Storage, name: str, path: Path) -> str:
    """Move or copy a local file into a storage; return its name there."""
    with LocalFile(path) as content:
        return storage.save(name, content)


def remove(storage: Storage, name: str) -> None:
    """Delete a stored file if it exists."""
    if name:
        storage.delete(name)


def is_missing(error: BaseException) -> bool:
    """Return whether an error says that a stored file does not exist.

    If the file was deleted after it was opened, an object store raises an error of its own.
    """
    answer = getattr(error, "response", {})
    codes = {"NoSuchKey", "404"}
    return isinstance(error, FileNotFoundError) or (
        isinstance(answer, dict) and answer.get("Error", {}).get("Code") in codes
    )


@contextmanager
def reported_if_missing(storage: Storage, name: str) -> Iterator[None]:
    """Tell the operator if the body finds that a stored file is missing.

    Raises StoredFileMissing.
    """
    try:
        yield
    except Exception as error:
        if not is_missing(error):
            raise
        missing_file_record(name, public=storage is public_storage())
        raise StoredFileMissing from error


def open_stored(storage: Storage, name: str) -> IO[bytes]:
    """Open a stored file for reading all of it. Raises StoredFileMissing."""
    with reported_if_missing(storage, name):
        file: Any = storage.open(name, "rb")
        # Object stores fetch the content only now; afterwards a deletion cannot disturb the reader.
        file.seek(0)
        return cast(IO[bytes], file)


def open_span(storage: Storage, name: str, first: int, last: int) -> IO[bytes]:
    """Open a stored file for reading from byte `first` to byte `last`.

    An object store is asked for this range only, whereas Django's file object would fetch the whole
    object. Raises StoredFileMissing.
    """
    with reported_if_missing(storage, name):
        file: Any = storage.open(name, "rb")
        remote = getattr(file, "obj", None)
        if remote is None:
            file.seek(first)
            return cast(IO[bytes], file)
        body: IO[bytes] = remote.get(Range=f"bytes={first}-{last}")["Body"]
        return body


def open_parts(storage: Storage, name: str) -> IO[bytes]:
    """Open a stored file for random access; an object store sends only the parts read.

    Raises StoredFileMissing.
    """
    with reported_if_missing(storage, name):
        file: Any = storage.open(name, "rb")
    remote = getattr(file, "obj", None)
    return cast(IO[bytes], file if remote is None else io.BufferedReader(_Remote(remote)))


class _Remote(io.RawIOBase):
    """Seekable view of an object in an object store; only the bytes read are fetched."""

    def __init__(self, remote: Any) -> None:
        self._remote = remote
        self._size = int(remote.content_length)
        self._at = 0

    def readable(self) -> bool:
        """Return True, since the object can be read."""
        return True

    def seekable(self) -> bool:
        """Return True, since reading can begin at any position."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position at which reading goes on, and return it; nothing is read yet."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into `buffer`, up to its length or the end of the object."""
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
def work_folder(base: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder for this process, by default beside the storages.

    The process holds a lock in the folder for as long as it lives. The periodic cleanup
    (`orphan_files`) deletes folders whose lock is not held, so that files left by a killed process
    are gone within minutes.
    """
    base = base or Path(settings.VAR_DIR) / WORK_FOLDER
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (
        tempfile.TemporaryDirectory(dir=base) as outer,
        (Path(outer) / LOCK).open("wb") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = Path(outer) / "files"
        folder.mkdir(mode=0o700)
        yield folder


def is_abandoned(folder: Path) -> bool:
    """Return whether the process that made a work folder has ended.

    Returns False for a folder without a lock file, or with a lock file made a moment ago, since the
    process may be about to lock it. Always returns False if the file system cannot lock files.
    """
    try:
        with (folder / LOCK).open("r+b") as lock:
            made_at = os.fstat(lock.fileno()).st_mtime
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return time.time() - made_at > LOCKING_SECONDS


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Make sure that the body reads one and the same file, however often it opens the path.

    Raises Conflict, also instead of an error of the body, if the file was exchanged, altered or
    deleted meanwhile. A name that is exchanged and exchanged back is noticed by the change time,
    which nobody can set.
    """
    before = _identity(path)
    try:
        yield
    except (DpgeoError, OSError, RuntimeError, ValueError):
        if _identity(path) == before:
            raise
    if _identity(path) != before:
        raise Conflict("The file was changed or removed while it was read; look at it again.")


def _identity(path: Path) -> tuple[int, ...]:
    """Return facts that tell a file's present content from every other; () if there is no file.

    They are those of the path itself, which may be a link, and of the file.
    """
    try:
        stats = [path.stat(follow_symlinks=False), path.stat()]
    except FileNotFoundError:
        return ()
    return tuple(
        fact
        for stat in stats
        for fact in (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    )


@contextmanager
def local_path(storage: Storage, name: str) -> Iterator[Path]:
    """Yield a local path to a stored file: the file itself, or a temporary copy.

    Raises StoredFileMissing.
    """
    try:
        path = Path(storage.path(name))
    except NotImplementedError:
        with work_folder() as folder:
            path = folder / "copy"
            with open_stored(storage, name) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            yield path
    else:
        with reported_if_missing(storage, name):
            path.stat()
        yield path
