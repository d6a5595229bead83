"""Numbers that stand for the keys of places in canonical files.

A number is the first 64 bits of a key's SHA-256. It depends on the key alone, so rows keep their
place whichever list of places is declared later. Among a million keys, the probability that any two
share a number is below 10^-7.
"""

from __future__ import annotations

import hashlib
import unicodedata

from dpgeo.blanks import trim


def number_of_key(key: str) -> int:
    """Return the number that stands for a key.

    Keys have the same number if they are equal in Unicode's composed form (NFC), without blanks
    around them.
    """
    text = unicodedata.normalize("NFC", trim(key))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
