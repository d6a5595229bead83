"""Blanks: invisible characters that are not part of a name when they surround it.

A name is the identifier of a person, the key of a place, the value of a category or a text that an
owner types. Programs surround it with more than spaces: spreadsheets and web pages with no-break
spaces, address books with the marks of text direction, editors with byte order marks. One person
must not become two by such a character, so every name is trimmed here, or by the same set of
characters in Arrow (`ingest.text`).
"""

from __future__ import annotations

from collections.abc import Iterator

RANGES = (
    (0x0000, 0x0020),  # controls, such as the zeros that fill a field, tab and line feed; space
    (0x007F, 0x00A0),  # delete, further controls, no-break space
    (0x00AD, 0x00AD),  # soft hyphen
    (0x061C, 0x061C),  # Arabic letter mark
    (0x1680, 0x1680),  # Ogham space mark
    (0x180E, 0x180E),  # Mongolian vowel separator
    (0x2000, 0x200F),  # spaces by width; zero-width space and joiners; marks of direction
    (0x2028, 0x202F),  # line and paragraph separator; embedded directions; narrow no-break space
    (0x205F, 0x206F),  # mathematical space; word joiner; invisible operators; isolated directions
    (0x3000, 0x3000),  # ideographic space
    (0xFEFF, 0xFEFF),  # byte order mark, which is also the zero-width no-break space
)
"""First and last code points of the blanks.

They are listed, and not asked of `unicodedata`, because a name must be the same in every version of
Python. All of Unicode's categories Cc, Zs, Zl and Zp and all of Python's `str.isspace` are among
them.
"""


def _characters() -> Iterator[str]:
    for first, last in RANGES:
        yield from map(chr, range(first, last + 1))


BLANKS = "".join(_characters())
"""The blanks as one text."""


def trim(text: str) -> str:
    """Return a text without the blanks around it."""
    return text.strip(BLANKS)
