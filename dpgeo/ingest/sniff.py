"""Detection of a file's format by its first bytes, to suggest it to the owner.

It is only ever a suggestion: the first bytes may be a row, and no row may decide how others are
read (see `forms`).
"""

from __future__ import annotations

from pathlib import Path

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.csv_layout import marked_encoding
from dpgeo.ingest.decompress import is_packed
from dpgeo.ingest.formats import FORMATS, InputFormat, Start
from dpgeo.ingest.forms import Form, find_form
from dpgeo.phrases import translatable

HEAD_BYTES = 4_096


FOREIGN = [
    (b"PARE", translatable("This is an encrypted Parquet file; write it without encryption.")),
    (b"\x1f\x8b", translatable("This is compressed twice; compress it once.")),
    (b"PK\x03\x04", translatable("This is an archive within an archive; pack the plain file.")),
    (b"7z\xbc\xaf\x27\x1c", translatable("This is a 7-zip archive; unpack it first.")),
    (b"\xfd7zXZ\x00", translatable("This is compressed with xz; unpack it first.")),
    (b"BZh", translatable("This is compressed with bzip2; unpack it first.")),
    (b"\x28\xb5\x2f\xfd", translatable("This is compressed with zstd; unpack it first.")),
    (b"ARROW1", translatable("This is an Arrow or Feather file; write it as Parquet.")),
    (b"ORC", translatable("This is an ORC file; write it as Parquet.")),
    (b"\xff\xfe\x00\x00", translatable("This is text in UTF-32; save it as UTF-8.")),
    (b"%PDF", translatable("This is a PDF document; export the table behind it as CSV.")),
]


def sniff(path: Path, file_name: str) -> InputFormat:
    """Return the format of a decompressed file; `file_name` is the name given by its owner.

    Raises InvalidInput (field "file") for an empty file or a file that cannot be a table.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise InvalidInput(
            "The file is empty (0 bytes); check that it was exported whole.", field="file"
        )
    start = Start(head, path, file_name)
    recognised = next(form for form in FORMATS if form.matches(start))
    if start.suffix in FORMATS[-1].suffixes and recognised.like_rows:
        # The name says that the file is CSV, so what looks like another format is its first row.
        recognised = FORMATS[-1]
    if recognised is FORMATS[-1]:
        _check_text(head, start.text, file_name)
    return recognised


def form_read_here(source: Path, file_name: str, file_format: str) -> Form | None:
    """Return the form in which a file is read in this process, or None if a sandbox reads it.

    It is the declared form, or else the recognised one. The caller reads the file in this form and
    does not recognise it again: if the file were exchanged meanwhile, a C library could otherwise
    read it outside the sandbox.
    """
    if file_format:
        form = find_form(file_format)
    elif is_packed(source):
        return None
    else:
        form = Form(sniff(source, file_name))
    return None if form.sandboxed else form


def _check_text(head: bytes, start: bytes, file_name: str) -> None:
    """Refuse text that no format recognises and that cannot be CSV."""
    for magic, problem in FOREIGN:
        if head.startswith(magic):
            raise InvalidInput(problem, field="file")
    if marked_encoding(head):
        return
    if Path(file_name).suffix.lower() in {".parquet", ".geoparquet", ".pq"}:
        raise InvalidInput(
            "The name says Parquet, but the file is not one (it does not begin with PAR1); "
            "write it again, or give a CSV file a name that ends in .csv.",
            field="file",
        )
    if start.startswith(b"["):
        raise InvalidInput(
            "This looks like a JSON list; export it as GeoJSON, one FeatureCollection or one "
            "feature a line, or as CSV.",
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
            "The first line contains zero bytes: this is not text; export the table as CSV in "
            "UTF-8.",
            field="file",
        )
