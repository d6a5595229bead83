"""Numbers as people write them, which is less than Python's own parsers accept."""

from __future__ import annotations


def number_text(value: object) -> str:
    """Return a number's text without surrounding blanks, for int, float or Decimal.

    These would read "1_0" as 10 and other scripts' digits as well. Raises ValueError.
    """
    text = str(value).strip()
    if "_" in text or not text.isascii():
        raise ValueError("Only the digits 0 to 9 make a number.")
    return text
