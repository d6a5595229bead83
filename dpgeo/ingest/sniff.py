"""Which format a file is in, by its first bytes; its name only words the errors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from dpgeo.core.errors import InvalidInput

HEAD_BYTES = 4_096


class Format(StrEnum):
    """The formats that can be read."""

    CSV = "CSV"
    PARQUET = "Parquet"


FOREIGN = [
    (b"PARE", "an encrypted Parquet file; write it without encryption"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet; unpack it, or save the sheet as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-zip archive; unpack it first"),
    (b"\xfd7zXZ\x00", "compressed with xz; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
    (b"\xd0\xcf\x11\xe0", "an old Office document; save the sheet as CSV"),
    (b"SQLite format 3", "a GeoPackage or SQLite database; export the layer as GeoParquet or CSV"),
    (b"ARROW1", "an Arrow or Feather file; write it as Parquet"),
    (b"ORC", "an ORC file; write it as Parquet"),
    (b"\x00\x00\x27\x0a", "a shapefile; export the layer as GeoParquet or CSV"),
    (b"%PDF", "a PDF document; export the table behind it as CSV"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
]


def sniff(path: Path, file_name: str) -> Format:
    """The format of the file at `path`; `file_name` is what its owner calls it.

    Raises InvalidInput (field "file") for an empty file and what cannot be a table.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise InvalidInput(
            "The file is empty (0 bytes); check that it was exported whole.", field="file"
        )
    if head.startswith(b"PAR1"):
        return Format.PARQUET
    for magic, what in FOREIGN:
        if head.startswith(magic):
            raise InvalidInput(f"This is {what}.", field="file")
    _check_text(head, file_name)
    return Format.CSV


def _check_text(head: bytes, file_name: str) -> None:
    if Path(file_name).suffix.lower() in {".parquet", ".geoparquet", ".pq"}:
        raise InvalidInput(
            "The name says Parquet, but the file is not one (it does not begin with PAR1); "
            "write it again, or give a CSV file a name that ends in .csv.",
            field="file",
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        raise InvalidInput(
            "This looks like JSON or GeoJSON, which is not read; export it as CSV or GeoParquet.",
            field="file",
        )
    if start.startswith(b"<"):
        raise InvalidInput(
            "This looks like a web page or XML; download the table itself, as CSV or Parquet.",
            field="file",
        )
    first_line = start.splitlines()[0] if start else b""
    if b"\x00" in first_line:
        raise InvalidInput(
            "The first line contains zero bytes: this is not text, or it is UTF-16; "
            "save it as CSV in UTF-8.",
            field="file",
        )
