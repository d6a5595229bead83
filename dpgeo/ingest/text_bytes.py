"""Text files as UTF-8 bytes, whatever their encoding.

Each character is converted on its own, so a faulty character affects only the line that it is in. A
file in UTF-16 is a sequence of 16-bit units, and so is each of its lines. A file with an odd number
of bytes is therefore not UTF-16 and is refused as a whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.layout import ENCODINGS


class TextBytes:
    """A text file that is read as UTF-8 bytes.

    `tell` and `leap` count bytes of the file itself, whereas `rewind` counts bytes of UTF-8 text.
    """

    def __init__(self, file: IO[bytes], encoding: str, total: int) -> None:
        self.total = total
        self._file = file
        self._width = 2 if encoding.startswith("utf-16") else 1
        self._codec = ENCODINGS[encoding] if encoding else ""
        self._waiting = b""
        self._decoder = self._new_decoder()

    def _new_decoder(self) -> codecs.IncrementalDecoder | None:
        return codecs.getincrementaldecoder(self._codec)("replace") if self._codec else None

    def read(self, size: int) -> bytes:
        """Return about `size` bytes of UTF-8, or none at the end of the file."""
        if self._waiting:
            taken, self._waiting = self._waiting, b""
            return taken
        if self._decoder is None:
            return self._file.read(size)
        text = ""
        while not text:
            raw = self._file.read(size)
            text = self._decoder.decode(raw, final=not raw)
            if not raw:
                break
        return text.encode("utf-8", "replace")

    def tell(self) -> int:
        """Return the number of the file's bytes that have been read."""
        return self._file.tell()

    def rewind(self, position: int) -> None:
        """Move to `position`, counted in bytes of UTF-8 from the beginning of the text."""
        if self._decoder is None:
            self._file.seek(position)
            return
        self._file.seek(0)
        self._decoder, self._waiting = self._new_decoder(), b""
        while position and (text := self.read(max(position, 1 << 16))):
            self._waiting = text[position:]
            position = max(0, position - len(text))

    def leap(self, position: int) -> None:
        """Move to byte `position` of the file, or to the start of the character it is part of."""
        self._file.seek(position - position % self._width)
        self._decoder, self._waiting = self._new_decoder(), b""


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[TextBytes]:
    """Open a text file in a declared encoding (`layout`). Raises InvalidInput."""
    total = path.stat().st_size
    if encoding.startswith("utf-16") and total % 2:
        raise InvalidInput(
            "The file is declared as UTF-16 but has an odd number of bytes; export it again, as "
            "UTF-8.",
            field="file",
        )
    with path.open("rb") as file:
        yield TextBytes(file, encoding, total)
