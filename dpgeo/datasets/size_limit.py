"""Limit on the size of uploaded files, applied while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile

from dpgeo.core.errors import InvalidInput


def within_limit(file: Any, name: str) -> File:  # type: ignore[type-arg]
    """Return the file with a limit on the bytes read; a file on disk is returned as it is.

    The size of a file on disk is checked at once. Raises InvalidInput if it is too large.
    """
    if not isinstance(file, TemporaryUploadedFile):
        return _Limited(file, name=name)
    check_size(file.size or 0)
    return file


def check_size(size: int) -> None:
    """Raise InvalidInput if a file is larger than the largest upload."""
    limit = settings.DPGEO_MAX_UPLOAD_BYTES
    if size > limit:
        raise InvalidInput(
            "The file is larger than the {size:.3g} GiB allowed here; split it, or compress it as "
            "Parquet.",
            size=limit / 1024**3,
            field="file",
        )


class _Limited(File):  # type: ignore[type-arg]
    """A file that raises InvalidInput once more bytes are read than an upload may have."""

    def __init__(self, file: Any, name: str) -> None:
        super().__init__(file, name=name)
        self._file = file
        self._seen = 0

    def seekable(self) -> bool:
        """Return False: the file is read once, from its beginning."""
        return False

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`, or all remaining ones if `size` is -1.

        Storage in object stores calls this method, and other storage calls `chunks`. Raises
        InvalidInput if the bytes read so far exceed the limit.
        """
        chunk: bytes = self._file.read(size)
        self._seen += len(chunk)
        check_size(self._seen)
        return chunk

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """Yield the file's bytes in chunks. Raises InvalidInput if they exceed the limit."""
        while chunk := self.read(chunk_size or 1 << 20):
            yield chunk
