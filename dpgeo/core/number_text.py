"""Strict check of numbers given as text, since Python's own parsers accept too much."""

from __future__ import annotations


def number_text(value: object) -> str:
    """Return the text of a number without surrounding spaces, ready for parsing.

    Raises ValueError for text that int, float or Decimal would accept but people do not write, such
    as "1_0" for 10, or digits of other scripts.
    """
    text = str(value).strip()
    if "_" in text or not text.isascii():
        raise ValueError("Only the digits 0 to 9 make a number.")
    return text
