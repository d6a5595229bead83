"""Scanner for the elements of one long JSON array in a document of any length.

The document is never held in memory or parsed as a whole. Instead, whole blocks of bytes are
searched with NumPy for the commas between elements, that is, outside strings and deeper brackets.
Each element is returned as its text. Where an element ends depends on the text before it, so this
is only sound for a document that is JSON throughout. `geojson_reader` checks each element and
refuses the document otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase

BLOCK_BYTES = 1 << 21
MAX_ELEMENT_BYTES = 4 << 20
MAX_DEPTH = 64
MAX_REST_BYTES = 1 << 20

QUOTE, BACKSLASH, COMMA, CLOSE = b'"\\,]'
OPENING = (ord("["), ord("{"))
CLOSING = (ord("]"), ord("}"))


@dataclass(frozen=True, slots=True)
class Elements:
    """Texts of a JSON array's next elements, without blank ones, and the bytes read so far."""

    texts: list[bytes]
    done: int


class _Scanner:
    """Finds where a JSON array's elements end, and keeps its state between blocks of the file."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = False
        self.escapes = 0
        self.ended_at: int | None = None

    def ends(self, block: bytes) -> NDArray[np.int64]:
        """Return where elements end in the block: at commas, and at the array's own end."""
        data = np.frombuffer(block, dtype=np.uint8)
        quotes = self._quotes(block, data)
        opens = (data == OPENING[0]) | (data == OPENING[1])
        closes = (data == CLOSING[0]) | (data == CLOSING[1])
        marks = np.flatnonzero(opens | closes | (data == COMMA))
        inside = (np.searchsorted(quotes, marks) + self.in_string) % 2 == 1
        marks = marks[~inside]
        steps = opens[marks].astype(np.int64) - closes[marks]
        depth = self.depth + np.cumsum(steps)
        over = np.flatnonzero(depth < 0)
        if len(over):
            self.ended_at = int(marks[over[0]])
            marks, depth, steps = (each[: over[0] + 1] for each in (marks, depth, steps))
        if len(depth):
            if depth.max() > MAX_DEPTH:
                raise InvalidInput(
                    "The JSON is nested deeper than {most} levels; export plain features with "
                    "simple properties.",
                    most=MAX_DEPTH,
                    field="file",
                )
            self.depth = int(depth[-1])
        self.in_string = bool((len(quotes) + self.in_string) % 2)
        ends: NDArray[np.int64] = marks[((depth == 0) & (steps == 0)) | (depth < 0)]
        return ends

    def _quotes(self, block: bytes, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the positions of quotation marks that are not escaped by a backslash.

        A quotation mark after an even number of backslashes is not escaped.
        """
        quotes: NDArray[np.int64] = np.flatnonzero(data == QUOTE)
        if not self.escapes and b"\\" not in block:
            return quotes
        place = np.arange(len(data), dtype=np.int64)
        last_other = np.maximum.accumulate(np.where(data != BACKSLASH, place, -1))
        before = np.concatenate([[-1], last_other])
        runs = place - 1 - before[:-1] + np.where(before[:-1] < 0, self.escapes, 0)
        self.escapes = int(len(data) - 1 - before[-1] + (self.escapes if before[-1] < 0 else 0))
        quotes = quotes[runs[quotes] % 2 == 0]
        return quotes


def read_elements(file: IO[bytes], block_bytes: int = BLOCK_BYTES) -> Iterator[Elements]:
    """Yield the elements of the array whose opening bracket was just read from `file`.

    Leaves `file` after the closing bracket. Raises InvalidInput (field "file") if the document ends
    before that, or if an element is longer than `MAX_ELEMENT_BYTES` or nested deeper than
    `MAX_DEPTH`.
    """
    scanner, pending = _Scanner(), bytearray()
    while scanner.ended_at is None:
        at = file.tell()
        block = file.read(block_bytes)
        if not block:
            raise not_json(Phrase("ends before its list of features does"), at)
        texts, start = [], 0
        for end in scanner.ends(block).tolist():
            pending += block[start:end]
            if text := bytes(pending).strip():
                texts.append(text)
            pending.clear()
            start = end + 1
        if scanner.ended_at is None:
            pending += block[start:]
        elif block[scanner.ended_at] != CLOSE:
            raise not_json(Phrase("has brackets that do not match"), at + scanner.ended_at)
        else:
            file.seek(at + scanner.ended_at + 1)
        if len(pending) > MAX_ELEMENT_BYTES:
            raise InvalidInput(
                "A feature before byte {byte:,} is longer than {most:,} bytes, or a bracket or "
                "quotation mark is never closed. Export points only.",
                byte=file.tell(),
                most=MAX_ELEMENT_BYTES,
                field="file",
            )
        yield Elements(texts, file.tell())


def read_rest(file: IO[bytes], before: bytes = b'{"":0') -> dict[str, Any]:
    """Return the document's members after the array. Raises InvalidInput.

    `before` replaces all that was read up to the array's end. It opens the brackets that the rest
    closes, so that both are valid JSON together.
    """
    trailing = file.read(MAX_REST_BYTES + 1)
    try:
        members = json.loads(before + trailing)
    except (ValueError, RecursionError):
        members = None
    if len(trailing) > MAX_REST_BYTES or not isinstance(members, dict):
        raise not_json(Phrase("goes wrong after its list of features"), file.tell() - len(trailing))
    return members


def not_json(what: Phrase, byte: int) -> InvalidInput:
    """Return the error for a file that breaks off or stops being valid JSON.

    `what` completes the sentence "it ..." in the message, and the fault is near the byte `byte`.
    """
    return InvalidInput(
        "The document is not well-formed JSON: it {what} (near byte {byte:,}). Nothing of it "
        "was stored. Export it again, or as newline-delimited GeoJSON, where only the broken "
        "line is refused.",
        what=what,
        byte=byte,
        field="file",
    )
