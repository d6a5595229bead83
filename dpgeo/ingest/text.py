"""Text fields of a batch: decoded, trimmed and limited in length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.blanks import BLANKS
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import MAX_FIELD_BYTES, Reason


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text or bytes, possibly encoded as a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def is_words(kind: Any) -> bool:
    """Return whether an Arrow type is text but not bytes, possibly encoded as a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return is_text(kind) and not binary


def mask(condition: Any) -> NDArray[np.bool_]:
    """Convert a boolean Arrow array to a NumPy mask; null counts as false."""
    values: NDArray[np.bool_] = pc.fill_null(condition, False).to_numpy(zero_copy_only=False)
    return values


def readable_text(values: Any, sieve: Sieve) -> Any:
    """Convert text or bytes, or a dictionary of them, to trimmed pyarrow strings.

    Refuses rows with a value that is too long or not UTF-8; they come back as null.
    """
    words, codes, too_long = bounded(values)
    text, undecodable = _decode(words)
    sieve.refuse(too_long, Reason.FIELD_TOO_LONG)
    sieve.refuse(_spread(undecodable, codes), Reason.UNDECODABLE)
    text = trimmed(text)
    return text if codes is None else text.take(codes)


def lenient_text(values: Any) -> Any:
    """Convert text or bytes to trimmed pyarrow strings, null if unreadable; refuse no row."""
    words, codes, _ = bounded(values)
    text = trimmed(_decode(words)[0])
    return text if codes is None else text.take(codes)


def is_ascii(text: Any) -> bool:
    """Return whether pyarrow strings consist of ASCII characters alone."""
    characters, _ = text_bytes(text)
    return not len(characters) or int(characters.max()) < 128


def trimmed(text: Any) -> Any:
    """Return Arrow strings without the blanks around them (`dpgeo.blanks`)."""
    return pc.utf8_trim(text, characters=BLANKS)


def bounded(values: Any) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Replace values longer than `MAX_FIELD_BYTES` in an Arrow column by null.

    Returns the values as large_binary, null where one was too long; each row's index in them, or
    None if they are the rows' values in order; and a mask of the rows whose value was too long. Of
    a dictionary column, the dictionary's values are returned, so that a value is stored once for
    all of its rows. A dictionary with more values than rows is expanded.
    """
    codes = values.indices if pa.types.is_dictionary(values.type) else None
    words = (values.dictionary if codes is not None else values).cast(pa.large_binary())
    too_long = mask(pc.greater(pc.binary_length(words), MAX_FIELD_BYTES))
    if too_long.any():
        words = pc.if_else(pa.array(too_long), pa.scalar(None, words.type), words)
    of_rows = _spread(too_long, codes)
    if codes is not None and len(words) > len(codes):
        words, codes = words.take(codes), None
    return words, codes, of_rows


def _decode(words: Any) -> tuple[Any, NDArray[np.bool_]]:
    try:
        return words.cast(pa.string()), np.zeros(len(words), dtype=bool)
    except pa.ArrowInvalid:
        decoded = [None if word is None else _utf8(word) for word in words.to_pylist()]
        text = pa.array(decoded, type=pa.string())
        return text, mask(pc.and_(pc.is_valid(words), pc.is_null(text)))


def _utf8(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None


def text_bytes(text: Any) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the UTF-8 bytes of pyarrow strings, and where in them each begins, int32 (n + 1,).

    The entry of a null has no meaning.
    """
    if not len(text):
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int32)
    _, starts, characters = text.buffers()
    offsets = np.frombuffer(starts, dtype=np.int32)[text.offset : text.offset + len(text) + 1]
    if characters is None:
        return np.zeros(0, dtype=np.uint8), offsets
    first, last = int(offsets[0]), int(offsets[-1])
    return np.frombuffer(characters, dtype=np.uint8)[first:last], offsets - np.int32(first)


def cut_text(characters: Any, start: NDArray[Any], end: NDArray[Any]) -> Any:
    """Return pieces of UTF-8 bytes, from `start` to `end` (n,) in ascending order, as strings.

    To avoid a copy, one Arrow array is laid over the bytes. Its elements alternate between a piece
    and the gap after it, so every second element is a piece.
    """
    if not len(start):
        return pa.array([], pa.string())
    offsets: NDArray[np.int32] = np.empty(2 * len(start), dtype=np.int32)
    offsets[::2], offsets[1::2] = start, end
    tiles = pa.StringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(characters)
    )
    return tiles.take(pa.array(np.arange(0, len(offsets), 2, dtype=np.int32)))


def _spread(of_words: NDArray[np.bool_], codes: Any) -> NDArray[np.bool_]:
    """Convert a mask over a dictionary's values to a mask over the rows.

    `codes` are the rows' indices in the dictionary, or None if the values are those of the rows.
    """
    if codes is None:
        return of_words
    if not of_words.any():
        return np.zeros(len(codes), dtype=bool)
    return mask(pa.array(of_words).take(codes))
