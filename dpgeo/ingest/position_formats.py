"""Declared formats of coordinates, in which each value is read on its own."""

from __future__ import annotations

from math import isfinite

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.blanks import BLANKS
from dpgeo.ingest.declared_formats import LETTER_O
from dpgeo.ingest.text import mask, trimmed

GROUP = f"[{BLANKS}'\u2019]"
COMMA_GROUPED = rf"^[+-]?[0-9]{{1,3}}(?:(?:\.|{GROUP})[0-9]{{3}})+(?:,[0-9]*)?$"
POINT_GROUPED = rf"^[+-]?[0-9]{{1,3}}(?:(?:,|{GROUP})[0-9]{{3}})+(?:\.[0-9]*)?$"
PRIME = r"'`\x{b4}\x{2bc}\x{2018}\x{2019}\x{201b}\x{2032}\x{2035}"
DOUBLE_PRIME = r'"\x{2ba}\x{201c}\x{201d}\x{201f}\x{2033}\x{2036}'
"""Marks that people use for minutes and seconds, as parts of a class of characters."""

DEGREES = (
    r"^(?P<before>[NSEWOnsewo])? *(?P<sign>[+\x{2212}-])? *(?P<degrees>[0-9]{1,3}(?:[.,][0-9]+)?) *"
    rf"(?:(?:[\x{{b0}}\x{{ba}}\x{{2da}}d:]|deg)? *(?P<minutes>[0-9]{{1,2}}(?:[.,][0-9]+)?) *"
    rf"(?:[{PRIME}m:]? *(?P<seconds>[0-9]{{1,2}}(?:[.,][0-9]+)?) *)?)?"
    rf"""(?:[\x{{b0}}\x{{ba}}\x{{2da}}dms{PRIME}{DOUBLE_PRIME}]|deg|[{PRIME}]{{2}})?"""
    r" *"
    r"(?P<after>[NSEWOnsewo])?$"
)
"""Matches degrees with hemispheres.

The letter O means east in German and west in French, Spanish and Italian, so it is read only in the
formats that say which (`declared_formats.LETTER_O`).
"""

PACKED = (
    r"^(?P<before>)(?P<sign>[+\x{2212}-])?(?P<degrees>[0-9]{1,3})"
    r"(?P<minutes>[0-5][0-9](?:[.,][0-9]+)?)(?P<seconds>) *,? *(?P<after>[NSEWnsew])?$"
)
"""Matches degrees and minutes as receivers write them (NMEA 0183), with or without a letter."""

URI = r"^geo:([^;?]*).*$"
"""Matches a geo URI (RFC 5870), whose parameters are dropped."""

SPLITS = (
    r"^(?P<a>[^;|]+)[;|](?P<b>[^;|]+)$",
    r"^(?P<a>[^,]+),(?P<b>[^,]+)$",
    r"^(?P<a>[^,]+,[0-9]+), *(?P<b>[^,]+,[0-9]+)$",
    r"^(?P<a>[^NSns]*[0-9].*?[NSns]),? +(?P<b>.*[0-9].*[EWew])$",
    r"^(?P<a>[^ ]+) +(?P<b>[^ ]+)$",
)
"""Patterns for a pair of numbers; the first one that fits is used."""


def decimals(text: pa.Array, code: str, limit: float) -> pa.Array:
    """Rewrite texts as plain decimal numbers; texts that are not in the format stay as they are.

    `limit` is the largest degree of the axis, or infinite for projected coordinates. Degrees have
    no thousands, so a single comma or point in them always marks decimals.
    """
    if code in LETTER_O:
        return _degrees(text, limit, DEGREES, LETTER_O[code])
    if code in {"degrees", "packed"}:
        return _degrees(text, limit, PACKED if code == "packed" else DEGREES)
    in_degrees = isfinite(limit)
    if code == "comma":
        plain = pc.replace_substring(text, ",", ".")
        if in_degrees:
            return plain
        grouped = pc.match_substring_regex(text, COMMA_GROUPED)
        plain = pc.if_else(pc.match_substring(text, "."), text, plain)
        without = pc.replace_substring_regex(text, rf"\.|{GROUP}", "")
        return pc.if_else(grouped, pc.replace_substring(without, ",", "."), plain)
    grouped = pc.match_substring_regex(text, POINT_GROUPED)
    return pc.if_else(grouped, pc.replace_substring_regex(text, rf",|{GROUP}", ""), text)


def _degrees(text: pa.Array, limit: float, pattern: str, o_means: str = "o") -> pa.Array:
    """Convert degrees with minutes, seconds and hemispheres to decimal numbers as text."""
    parts = pc.extract_regex(text, pattern)
    degrees, minutes, seconds = (
        _number(parts.field(name)) for name in ("degrees", "minutes", "seconds")
    )
    before, after, sign = (
        pc.utf8_lower(parts.field(name)).fill_null("") for name in ("before", "after", "sign")
    )
    letter = pc.binary_join_element_wise(before, after, "")
    letter = pc.replace_substring(letter, "o", o_means)
    proper, negative = ("n", "s") if limit == 90 else ("e", "w")
    signed = mask(pc.not_equal(sign, ""))
    lettered = mask(pc.not_equal(letter, ""))
    fits = mask(pc.is_in(letter, pa.array(["", proper, negative]))) & (minutes < 60)
    fits &= (seconds < 60) & ~(signed & lettered) & mask(pc.is_valid(parts))
    whole = (minutes == 0) & (seconds == 0)
    fits &= whole | (degrees == np.floor(degrees))
    fits &= (seconds == 0) | (minutes == np.floor(minutes))
    below = mask(pc.equal(letter, negative)) | (signed & ~mask(pc.equal(sign, "+")))
    value = (degrees + minutes / 60 + seconds / 3600) * np.where(below, -1.0, 1.0)
    written = pa.array([repr(float(each)) for each in value], pa.string())
    return pc.if_else(pa.array(fits), written, text)


def _number(texts: pa.Array) -> NDArray[np.float64]:
    """Parse texts of digits with a point or comma; a missing or empty text gives 0."""
    pointed = pc.replace_substring(texts.fill_null("0"), ",", ".")
    numbers: NDArray[np.float64] = (
        pc.if_else(pc.equal(pointed, ""), "0", pointed).cast(pa.float64()).to_numpy()
    )
    return numbers


def split_pairs(text: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Split texts of two coordinates into the first and the second, with null where impossible."""
    bare = pc.replace_substring_regex(text, URI, r"\1")
    bare = pc.utf8_trim(bare, characters="()[]{}" + BLANKS)
    first = second = pa.nulls(len(text), pa.string())
    for pattern in SPLITS:
        parts = pc.extract_regex(bare, pattern)
        first = pc.coalesce(first, pc.struct_field(parts, "a"))
        second = pc.coalesce(second, pc.struct_field(parts, "b"))
    return trimmed(first), trimmed(second)
