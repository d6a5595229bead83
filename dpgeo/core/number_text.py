"""Numbers as people write them, which is less than Python's own parsers accept."""

from __future__ import annotations


def number_text(value: object) -> str:
    """Return a number's text without surrounding blanks, for parsing.

    Raises ValueError for text that int, float or Decimal would accept but people do not write:
    "1_0" for 10, and digits of other scripts.
    """
    text = str(value).strip()
    if "_" in text or not text.isascii():
        raise ValueError("Only the digits 0 to 9 make a number.")
    return text
