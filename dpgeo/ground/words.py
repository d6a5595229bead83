"""Matching of words as people type them, with variant spellings and one error.

Case and accents are ignored.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator

LETTERS = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "\u0131": "i"}
)
"""Plain letters for those that Unicode does not decompose into a plain letter and a mark."""

UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"})
"""How people spell some letters on keyboards that lack them."""

SHORT = {"st": "saint", "ste": "sainte", "str": "strasse"}
"""Abbreviations for which the full word is searched as well."""

WORD = re.compile(r"[^\W_]+")

COMPARED = 7
"""Typing errors are found only within this many letters at the beginning of a word."""

MIN_FUZZY_LENGTH = 4
"""Length of the shortest word in which a typing error is forgiven."""


def fold(text: str) -> str:
    """Return a text in lower case without accents, with single spaces between words."""
    bare = text.casefold()
    if not bare.isascii():
        plain = unicodedata.normalize("NFKD", bare.translate(LETTERS))
        bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return " ".join(WORD.findall(bare))


def spellings(text: str) -> set[str]:
    """Return the ways in which people may type a name, each in the form that `fold` gives."""
    spelled = {fold(text)}
    if not text.isascii():
        spelled.add(fold(text.casefold().translate(UMLAUTS)))
    for each in [*spelled]:
        words = each.split()
        if not SHORT.keys().isdisjoint(words):
            spelled.add(" ".join(SHORT.get(word, word) for word in words))
    return spelled - {""}


def is_near(typed: str, word: str) -> bool:
    """Return whether `typed` is the word or a beginning of it, with at most one error.

    An error is one letter missing, added or replaced, or two neighbouring letters swapped.
    """
    length = len(typed)
    at = next((n for n in range(min(length, len(word))) if typed[n] != word[n]), None)
    if at is None:
        return length <= len(word) + 1
    return (
        typed[at + 1 :] == word[at + 1 : length]
        or typed[at + 1 :] == word[at : length - 1]
        or typed[at:] == word[at + 1 : length + 1]
        or (
            typed[at : at + 2] == word[at : at + 2][::-1]
            and typed[at + 2 :] == word[at + 2 : length]
        )
    )


def error_keys(word: str) -> set[int]:
    """Return the keys under which a word is indexed for searches that tolerate one typing error.

    Words that differ by one error have at least one key in common. The keys are checksums of the
    word's beginning, whole and with each letter left out (symmetric deletion, W. Garbe 2012).
    """
    return {zlib.crc32(each.encode()) for each in _shortened(word[:COMPARED])}


def _shortened(text: str) -> Iterator[str]:
    yield text
    for at in range(len(text)):
        yield text[:at] + text[at + 1 :]
