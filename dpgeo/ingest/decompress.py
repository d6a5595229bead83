"""Decompression of uploads packed with gzip or in a zip archive.

The files in a zip archive must be of one kind. The output is bounded by an absolute size and by its
ratio to the input. Names in an archive are never used for writing, and nothing inside is unpacked
again.

A file beyond these limits, or with a checksum error at its end, is refused as a whole: it is one
text, and no part of it can be trusted alone (see `geojson_reader` for the argument).
"""

from __future__ import annotations

import errno
import gzip
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase, listed

CHUNK_BYTES = 1 << 20
MAX_BYTES = 64 << 30
MAX_RATIO = 250
FREE_BYTES = 64 << 20
"""Unpacked size in bytes up to which any ratio of unpacked to packed size is accepted."""

GZIP, ZIP, EMPTY_ZIP = b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06"
MAX_PARTS = 1_000
"""Largest number of files that one archive may hold."""

SHAPEFILE = {".shp", ".shx", ".dbf", ".prj", ".cpg"}
BESIDE = {".md", ".pdf", ".html", ".htm", ".png", ".jpg", ".jpeg"}
"""Suffixes of files that only accompany others in an archive."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file to be read, and its owner's name for it."""

    path: Path
    name: str


def is_packed(path: Path) -> bool:
    """Return whether a file begins like a gzip or zip file."""
    head = _head(path)
    return head.startswith(GZIP) or head in (ZIP, EMPTY_ZIP)


def find_packing(path: Path) -> str:
    """Return how a file is packed, as a suggestion: "gz", "zip" or "". Spreadsheets count as "".

    Raises InvalidInput (field "file") for an archive that cannot be opened.
    """
    head = _head(path)
    if head.startswith(GZIP):
        return "gz"
    if head not in (ZIP, EMPTY_ZIP):
        return ""
    with _readable(), zipfile.ZipFile(path) as archive:
        return "" if is_sheet(archive) else "zip"


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def unpack(
    path: Path,
    file_name: str,
    folder: Path,
    tick: Callable[[], None],
    *,
    packing: str | None = None,
    enough: int = MAX_BYTES,
    most: int = MAX_PARTS,
    largest: int = 64 << 30,
) -> list[Part]:
    """Return the files to read, unpacked if necessary; several if an archive holds several.

    `packing` is the declared one ("gz", "zip" or ""), or None to recognise it from the file. A
    packed file is unpacked into `folder`, up to about `enough` bytes of each of the first `most`
    files; `tick` is called after each chunk. More than `largest` unpacked bytes in all are refused.
    A spreadsheet is not unpacked, since its reader does that. Raises InvalidInput (field "file")
    for files that are not packed properly.
    """
    if packing is None:
        packing = find_packing(path)
    if packing == "gz":
        target = folder / "unpacked"
        with _readable(), path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as content:
            _copy(content, target, lambda: _limit(packed.tell(), largest), tick, enough, largest)
        return [Part(target, file_name.removesuffix(".gz"))]
    if not packing:
        return [Part(path, file_name)]
    with _readable(), zipfile.ZipFile(path) as archive:
        members = _members(archive)
        outlines = [each for each in members if _suffix(each) == ".shp"]
        chosen = members if outlines else members[:most]
        size = path.stat().st_size
        parts: list[Part] = []
        written = packed_bytes = 0
        for number, member in enumerate(chosen):
            packed_bytes = min(packed_bytes + member.compress_size, size)
            room = _limit(packed_bytes, largest) - written
            target = folder / _target(number if len(chosen) > 1 else None, member)
            with archive.open(member) as content:
                written += _copy(content, target, partial(int, room), tick, enough, largest)
            parts.append(Part(target, member.filename.rpartition("/")[2]))
    return [each for each in parts if each.path.suffix == ".shp"] if outlines else parts


def _target(number: int | None, member: zipfile.ZipInfo) -> str:
    """Return the name under which a file of an archive is unpacked, never the file's own name."""
    suffix = _suffix(member)
    if suffix in SHAPEFILE:
        return f"shape{suffix}"
    return "unpacked" if number is None else f"part-{number}"


def _limit(packed_bytes: int, largest: int) -> int:
    """Return how many bytes an archive of `packed_bytes` bytes may yield, `largest` at most."""
    return min(MAX_BYTES, largest, max(FREE_BYTES, MAX_RATIO * packed_bytes))


def is_sheet(archive: zipfile.ZipFile) -> bool:
    """Return whether an archive is itself a spreadsheet."""
    names = set(archive.namelist())
    if any(name.startswith("xl/workbook.") for name in names):
        return True
    return {"mimetype", "content.xml"} <= names


def _damaged() -> InvalidInput:
    return InvalidInput(
        "The compressed file is damaged or cut short; pack it and upload it again.", field="file"
    )


@contextmanager
def _readable() -> Iterator[None]:
    """Convert the libraries' errors for bad files to InvalidInput."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EINVAL and not isinstance(error, gzip.BadGzipFile):
            raise
        raise _damaged() from error  # EINVAL: the archive refers to a negative file position
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise _damaged() from error
    except (NotImplementedError, UnicodeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            "The archive is compressed in an unsupported way; use plain zip or gzip.",
            field="file",
        ) from error


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the data files of an archive: one, several of one kind, or those of one shapefile.

    Files that only accompany others are ignored, such as metadata added by macOS and texts about
    the data.
    """
    infos = archive.infolist()
    for info in infos:
        _check_member(info)
    members = [
        info
        for info in infos
        if not info.is_dir()
        and not info.filename.startswith("__MACOSX/")
        and not info.filename.rpartition("/")[2].startswith(".")
    ]
    if len(members) > 1:
        data = [info for info in members if _suffix(info) not in BESIDE and not _is_note(info)]
        members = data or members
        members = [info for info in members if _suffix(info) == ".kml"] or members
    outlines = [info for info in members if _suffix(info) == ".shp"]
    if outlines:
        return _shapefile(members, outlines)
    if len(members) > MAX_PARTS or not members:
        raise InvalidInput(
            "The archive holds {count:,} files; pack from 1 to {most:,} files of one kind.",
            count=len(members),
            most=MAX_PARTS,
            field="file",
        )
    kinds = sorted({_suffix(info) for info in members})
    if len(kinds) > 1:
        raise InvalidInput(
            "The archive holds files of several kinds ({kinds}); pack files of one kind.",
            kinds=listed(kind or "?" for kind in kinds[:5]),
            field="file",
        )
    return sorted(members, key=lambda info: info.filename)


def _shapefile(
    members: list[zipfile.ZipInfo], outlines: list[zipfile.ZipInfo]
) -> list[zipfile.ZipInfo]:
    """Return the files that make up the shapefile in an archive. `outlines` are the .shp files.

    Raises InvalidInput if there are several shapefiles.
    """
    if len(outlines) > 1:
        raise InvalidInput(
            "The archive holds {count:,} shapefiles; pack exactly one.",
            count=len(outlines),
            field="file",
        )
    stem = outlines[0].filename[:-4].lower()
    parts = [each for each in members if each.filename[:-4].lower() == stem]
    return [each for each in parts if _suffix(each) in SHAPEFILE]


def _suffix(info: zipfile.ZipInfo) -> str:
    return Path(info.filename.rpartition("/")[2]).suffix.lower()


def _is_note(info: zipfile.ZipInfo) -> bool:
    name = info.filename.rpartition("/")[2].lower()
    return name.startswith(("readme", "license", "licence", "liesmich"))


def _check_member(info: zipfile.ZipInfo) -> None:
    """Refuse an archived file if it is a link, encrypted, unusually packed or unsafely named."""
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
    raise InvalidInput("The archive holds {what}; pack plain files only.", what=what, field="file")


def _copy(
    content: IO[bytes] | gzip.GzipFile,
    target: Path,
    limit: Callable[[], int],
    tick: Callable[[], None],
    enough: int,
    largest: int,
) -> int:
    """Unpack into `target` until `enough` bytes are written; return how many bytes were written.

    `limit()` returns how many bytes are allowed so far. Raises InvalidInput beyond it.
    """
    written = 0
    with target.open("wb") as file:
        while written < enough and (chunk := content.read(CHUNK_BYTES)):
            written += len(chunk)
            if written > limit():
                raise InvalidInput(
                    "The compressed file unpacks to more than {size} GiB or {most} times its "
                    "size; upload it unpacked, or as Parquet.",
                    size=min(MAX_BYTES, largest) >> 30,
                    most=MAX_RATIO,
                    field="file",
                )
            file.write(chunk)
            tick()
    return written
