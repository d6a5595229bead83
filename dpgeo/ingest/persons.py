"""Keyed hashes that replace the identifiers of persons."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import Reason, Tally
from dpgeo.ingest.text import is_text, mask, readable_text

MISSING = ["", "null", "none", "nan", "nat", "na", "n/a", "<na>", r"\n", "undefined"]
"""Texts by which files mark missing values, in lower case.

If such a text were taken for a person, all rows without a person would be bounded together, and the
guarantee would hold for none of these rows.
"""

EXPONENT = r"^[+-]?[0-9]+(?:[.,][0-9]+)?[eE]\+[0-9]+$"
"""Matches long numbers in the shortened form that spreadsheets and data frames write.

A million different identifiers may all become 1.23457E+11. If their rows were bounded as one
person's, the guarantee would hold for none of these people.
"""

LONG_FLOAT = r"^-?[0-9]{16,}\.0+$"
"""Matches whole numbers, written with a fraction, of more digits than every float keeps.

1234567890123456.0 may be the float nearest to another identifier.
"""

MAX_FLOAT = 10**15 - 1
"""Largest whole number that names a person where it is stored as a float.

Spreadsheets keep 15 digits of a number, and store 1234567890123456 and ...459 as one.
"""

LAYERED_KEY_BYTES = 64
"""Length in bytes of a layered key.

Its first half is the organisation's key and its second half the dataset's.
"""


MAX_KNOWN_HASHES = 1 << 16
"""Number of persons whose hashes are kept from one batch to the next, at about 200 bytes each.

A larger table would not fit into the processor's caches, and finding a hash would take longer.
"""

SAMPLED = 256
"""Number of a batch's identifiers that are first looked up in the table of known hashes.

If the table is nearly full and has fewer than half of them, the batch is hashed without it.
"""

Known = dict[bytes, bytes]
"""Hashes by identifier. It holds identifiers, so it must not outlive the reading of a file."""

_HASHING = Lock()


def hash_persons(
    values: Any, key: bytes, sieve: Sieve, known: Known | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the two halves, uint64 (n,), of each person's 128-bit keyed BLAKE2b hash.

    The identifier's text is hashed in UTF-8 without surrounding blanks, with its case preserved, in
    Unicode's composed form (NFC), so that é is one name however a program writes it. Whole numbers
    are the same person however they are stored: 7, 7.0, "7" and "7.0" (but not "007", since leading
    zeros are part of a name), and also 0, -0.0, "-0" and "-0.0". The following rows are refused:
    other floats, floats too large to be exact, as numbers or as texts with a fraction, numbers
    shortened to an exponent (1.23457E+11), and rows without a person. The hashes of refused rows
    have no meaning. `known` holds hashes made with the same key in earlier batches of the file; it
    saves time and changes no hash.
    """
    persons = read_persons(values, sieve)
    halves = hash_names(persons.dictionary, key, {} if known is None else known)
    if not len(halves):
        return (np.zeros(len(values), dtype=np.uint64),) * 2
    which = pc.fill_null(persons.indices, 0).to_numpy(zero_copy_only=False)
    return halves[which, 0], halves[which, 1]


def read_persons(values: Any, sieve: Sieve) -> Any:
    """Return the texts that `hash_persons` hashes, as an Arrow dictionary; refuse the same rows."""
    persons = _identifiers(values, sieve)
    missing = pc.is_in(pc.ascii_lower(persons.dictionary), value_set=pa.array(MISSING, pa.string()))
    sieve.refuse(mask(pc.is_null(persons.indices)), Reason.PERSON_MISSING)
    if pc.any(missing).as_py():
        sieve.refuse(mask(missing.take(persons.indices)), Reason.PERSON_MISSING, persons)
    return persons


def hash_names(names: Any, key: bytes, known: Known) -> NDArray[np.uint64]:
    """Return the two halves, uint64 (n, 2), of the hash of each name, an Arrow text or bytes."""
    digests = _digests_of(names.cast(pa.binary()).to_pylist(), key, known)
    return np.frombuffer(digests, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def person_names(values: Any) -> Any:
    """Return the distinct texts that `hash_persons` hashes, and perhaps some that it refuses."""
    names = _identifiers(values, Sieve(np.arange(len(values)), Tally())).dictionary
    return names.unique().drop_null()


def rehashed(
    names: Sequence[str], key: bytes, hashes: Collection[bytes], other: bytes
) -> dict[bytes, bytes]:
    """Return a mapping from hashes made with `key` to the same persons' hashes made with `other`.

    It contains those persons in `names` whose hash with `key` is in `hashes`. `names` are texts
    that `person_names` returned.
    """
    texts = [name.encode() for name in names]
    pairs = zip(_each(_digests(texts, key)), _each(_digests(texts, other)), strict=True)
    return {one: two for one, two in pairs if one in hashes}


def _each(digests: bytes) -> list[bytes]:
    return [digests[place : place + 16] for place in range(0, len(digests), 16)]


def _digests_of(names: Sequence[bytes], key: bytes, known: Known) -> bytes:
    """Return the names' hashes, concatenated.

    If `known` has room for all new names of the batch, their hashes are added. If not, all names
    are hashed anew, which takes half as long as looking them up in a larger table would. Threads
    that share `known` take turns: the interpreter would not let them hash at the same time anyway.
    """
    with _HASHING:
        if len(known) + len(names) > MAX_KNOWN_HASHES and not _often_known(names, known):
            return _digests(names, key)
        fresh = [name for name in names if name not in known]
        if len(known) + len(fresh) > MAX_KNOWN_HASHES:
            return _digests(names, key)
        known.update(zip(fresh, _each(_digests(fresh, key)), strict=True))
        return b"".join(map(known.__getitem__, names))


def _often_known(names: Sequence[bytes], known: Known) -> bool:
    """Return whether `known` has at least half of the first SAMPLED of a batch's identifiers."""
    first = names[:SAMPLED]
    return 2 * sum(name in known for name in first) >= len(first)


def _digests(names: Sequence[bytes], key: bytes) -> bytes:
    """Return the names' hashes, concatenated.

    With a layered key, each name is hashed with the half that is the organisation's key, and the
    hash is encrypted, as one AES block, with the half that is the dataset's. Equal persons then
    have equal hashes, as they must, but only within one dataset.
    """
    inner, outer = key, b""
    if len(key) == LAYERED_KEY_BYTES:
        inner, outer = key[:32], key[32:]
    # Copying the keyed state saves hashing the key again for each name.
    keyed = hashlib.blake2b(key=inner, digest_size=16)
    pieces = []
    for name in names:
        state = keyed.copy()
        state.update(name)
        pieces.append(state.digest())
    digests = b"".join(pieces)
    return _cipher(outer).encryptor().update(digests) if outer else digests


def organisation_hashes(halves: NDArray[np.uint64], key: bytes) -> NDArray[np.uint64]:
    """Return the first 64 bits, uint64 (n,), of the organisation's hash of each person.

    `halves`, uint64 (n, 2), are hashes of persons made with the layered key `key`. They are
    decrypted with the dataset's half.
    """
    decrypted = _cipher(key[32:]).decryptor().update(halves.astype(">u8").tobytes())
    return np.frombuffer(decrypted, dtype=">u8")[::2].astype(np.uint64)


def _cipher(key: bytes) -> Cipher[modes.ECB]:
    """Return an AES cipher for single blocks, which permutes hashes under a key."""
    return Cipher(algorithms.AES256(key), modes.ECB())  # noqa: S305 - blocks are hashes


def erased_among(
    high: NDArray[np.uint64], low: NDArray[np.uint64], erased: Collection[bytes]
) -> NDArray[np.bool_]:
    """Return a mask (n,) of the persons whose hashes are among the 16-byte hashes in `erased`."""
    halves = {(int.from_bytes(one[:8]), int.from_bytes(one[8:])) for one in erased}
    erased_rows = np.isin(high, np.array([first for first, _ in halves], dtype=np.uint64))
    for index in np.flatnonzero(erased_rows):
        erased_rows[index] = (int(high[index]), int(low[index])) in halves
    return erased_rows


def _identifiers(values: Any, sieve: Sieve) -> Any:
    """Return the identifiers as a dictionary of texts, with null for missing or refused ones.

    The texts are distinct unless two spellings are one name in Unicode's composed form or as a
    number; each spelling then has an entry.
    """
    names = _names(values, sieve)
    return names if pa.types.is_dictionary(names.type) else names.dictionary_encode()


def _names(values: Any, sieve: Sieve) -> Any:
    """Return the identifiers as an Arrow array of texts, null for missing or refused ones.

    If the column holds text, the array is dictionary-encoded.
    """
    kind = values.type
    if is_text(kind):
        encoded = readable_text(values, sieve).dictionary_encode()
        names = pc.utf8_normalize(encoded.dictionary, form="NFC")
        # Searching for a letter first takes a tenth of the time of matching the pattern.
        for letter, pattern in ((b"+", EXPONENT), (b".", LONG_FLOAT)):
            if not _has(names, letter):
                continue
            cut = pc.match_substring_regex(names, pattern)
            if pc.any(cut).as_py():
                sieve.refuse(mask(cut.take(encoded.indices)), Reason.PERSON_NOT_WHOLE, encoded)
        if _has(names, b"."):
            names = pc.replace_substring_regex(names, r"^(-?[0-9]{1,15})\.0+$", r"\1")
        if _has(names, b"-"):
            names = pc.if_else(pc.equal(names, "-0"), "0", names)
        return pa.DictionaryArray.from_arrays(encoded.indices, names)
    if pa.types.is_floating(kind):
        numbers = values.cast(pa.float64())
        floats = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        with np.errstate(invalid="ignore"):
            whole = (floats == np.floor(floats)) & (np.abs(floats) <= _largest_float(kind))
        missing = np.isnan(floats)
        sieve.refuse(missing, Reason.PERSON_MISSING)
        sieve.refuse(~whole & ~missing, Reason.PERSON_NOT_WHOLE, values)
        values = pc.if_else(pa.array(whole), numbers, None).cast(pa.int64())
    return values.cast(pa.string())


def _largest_float(kind: Any) -> int:
    """Return the largest whole number that names a person in a column of this type of floats."""
    exact: int = 2 ** (np.finfo(kind.to_pandas_dtype()).nmant + 1) - 1
    return min(exact, MAX_FLOAT)


def _has(texts: Any, letter: bytes) -> bool:
    """Return False only if no text has the letter; True may be wrong.

    Searching the whole buffer is quick, but it may also hold bytes of other texts.
    """
    letters = texts.buffers()[2]
    return letters is not None and letter in letters.to_pybytes()
