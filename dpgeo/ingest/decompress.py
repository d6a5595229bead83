"""Decompression of uploads packed with gzip, or as the only file in a zip archive.

The output is bounded by an absolute size and by its ratio to the input. Names in an archive are
never used for writing, and nothing inside is unpacked again.

A file beyond these limits, or with a checksum error at its end, is refused as a whole: it is one
text, of which no part can be trusted alone (see `geojson_reader` for the argument).
"""

from __future__ import annotations

import gzip
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase

CHUNK_BYTES = 1 << 20
MAX_BYTES = 64 << 30
MAX_RATIO = 250
FREE_BYTES = 64 << 20
"""Unpacked size in bytes up to which any ratio of unpacked to packed size is accepted."""

GZIP, ZIP, EMPTY_ZIP = b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06"
SPREADSHEET = {"[Content_Types].xml", "mimetype"}


def is_packed(path: Path) -> bool:
    """Return whether a file begins as gzip or zip files do."""
    head = _head(path)
    return head.startswith(GZIP) or head in (ZIP, EMPTY_ZIP)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def unpacked(
    path: Path,
    file_name: str,
    folder: Path,
    tick: Callable[[], None],
    *,
    enough: int = MAX_BYTES,
) -> tuple[Path, str]:
    """Return the path and name of the file to read, unpacked if necessary.

    A packed file is unpacked into `folder`, up to about `enough` bytes; `tick` is called after each
    chunk. Raises InvalidInput (field "file") for files that are not packed properly.
    """
    head = _head(path)
    if head.startswith(GZIP):
        target = folder / "unpacked"
        with _readable(), path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as content:
            _copy(content, target, packed.tell, tick, enough)
        return target, file_name.removesuffix(".gz")
    if head not in (ZIP, EMPTY_ZIP):
        return path, file_name
    with _readable(), zipfile.ZipFile(path) as archive:
        member = _only_member(archive)
        target = folder / "unpacked"
        with archive.open(member) as content:
            packed_bytes = min(member.compress_size, path.stat().st_size)
            _copy(content, target, lambda: packed_bytes, tick, enough)
    return target, member.filename.rpartition("/")[2]


@contextmanager
def _readable() -> Iterator[None]:
    """Convert the libraries' errors for bad files to InvalidInput."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
        raise InvalidInput(
            "The compressed file is damaged or cut short; pack it and upload it again.",
            field="file",
        ) from error
    except (NotImplementedError, UnicodeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            "The archive is compressed in an unsupported way; use plain zip or gzip.",
            field="file",
        ) from error


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only file in an archive, ignoring metadata files that macOS adds."""
    infos = archive.infolist()
    if SPREADSHEET & {info.filename for info in infos}:
        raise InvalidInput(
            "This is a spreadsheet or document; save the sheet as CSV.", field="file"
        )
    for info in infos:
        _check_member(info)
    members = [
        info
        for info in infos
        if not info.is_dir()
        and not info.filename.startswith("__MACOSX/")
        and not info.filename.endswith(".DS_Store")
    ]
    if len(members) != 1:
        shapefile = any(info.filename.lower().endswith(".shp") for info in members)
        raise InvalidInput(
            "This is a zipped shapefile; export it as GeoPackage or GeoParquet."
            if shapefile
            else "The archive holds {count:,} files; pack exactly one.",
            count=len(members),
            field="file",
        )
    return members[0]


def _check_member(info: zipfile.ZipInfo) -> None:
    """Refuse unsafe names, links, encryption, and packing that needs much memory."""
    parts = info.filename.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or ":" in parts[0]:
        what = Phrase("a file whose name points outside it")
    elif stat.S_ISLNK(info.external_attr >> 16):
        what = Phrase("a link")
    elif info.flag_bits & 1:
        what = Phrase("an encrypted file")
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        what = Phrase("a file packed in an unusual way")
    else:
        return
    raise InvalidInput(
        "The archive holds {what}; pack the one plain file to be uploaded.", what=what, field="file"
    )


def _copy(
    content: IO[bytes] | gzip.GzipFile,
    target: Path,
    read: Callable[[], int],
    tick: Callable[[], None],
    enough: int,
) -> None:
    """Unpack into `target`, within the limits and until `enough` bytes are written.

    `read()` returns the number of packed bytes consumed so far, or a larger one.
    """
    written = 0
    with target.open("wb") as file:
        while written < enough and (chunk := content.read(CHUNK_BYTES)):
            written += len(chunk)
            if written > min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * read())):
                raise InvalidInput(
                    "The compressed file unpacks to more than {size} GiB or {most} times its "
                    "size; upload it unpacked, or as Parquet.",
                    size=MAX_BYTES >> 30,
                    most=MAX_RATIO,
                    field="file",
                )
            file.write(chunk)
            tick()
