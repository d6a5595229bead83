"""Hostile names, texts and numbers that break careless parsers, and how many to try."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any

THOROUGH = bool(os.environ.get("DPGEO_AUDIT"))

MINUTES = float(os.environ.get("DPGEO_FUZZ_MINUTES", "0"))
"""Minutes for which each test goes on with fresh seeds."""

WORDS = (
    *("", " ", "\x00", "\x1f", "\x7f", "\u0085", "\u200e", "\u202e", "\ufeff", "\uffff"),
    *("\ud800", "\udfff\ud800", "a\ud800b", "\U0001f9d1\u200d\U0001f680", "e\u0301", "\u0661"),
    *("'", '"', "`", "\\", "\\ud800", "\n", "\r", "\r\n", "\t", ",", ";", "|", "{", "}", "{0}"),
    *("{name!r}", "%s", "%(a)s", "%00", "%", "&", "?", "#", "/", "..", "../../x", "a/b", "*"),
    *("<script>", "&amp;", "'; DROP TABLE x; --", "${x}", "__class__", "constructor", "rowid"),
    *("true", "null", "None", "nan", "NaN", "inf", "-inf", "Infinity", "-0", "0x10", "1_0"),
    *("1e9", "1e308", "1e309", "-1e400", "1e-400", "1e999999999", "9" * 30, "9" * 5000, "\u00b2"),
    *("0001-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "2026-02-30", "0000-00-00"),
    *("2026-01-01T24:00:00Z", "9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59"),
    *("../9999-12-31", "9999-12-31/..", "0,0,1,1", "-180,-90,180,90", "0,0,0,0", "180,90,180,90"),
    *("-180,-90,-180,-90", "179.9999999999,0,180,1", "nan,nan,nan,nan", "1e-300,0,1e-299,1"),
    *("0,0,1_0,1", "1,1,1,1,1,1", ",,,", "\u0661,0,2,1", "W10", "WyIiLCAiIl0", "W251bGwsbnVsbF0"),
    *("WyI5OTk5LTEyLTMxIiwgImEiXQ", "x" * 300, "\u00e9" * 3000, "[" * 3000, "lon", "geometry"),
)
"""Hostile texts for names, metadata and query parameters."""


def seeds(what: str, cases: int) -> Iterator[int]:
    """Yield the seeds of `cases` cases, the same in each run, and then fresh ones for MINUTES.

    If there were fresh ones, their number is written to standard error.
    """
    end, number = time.monotonic() + 60 * MINUTES, cases
    yield from range(cases)
    while time.monotonic() < end:
        number += 1
        yield secrets.randbits(64)
    if MINUTES:
        sys.stderr.write(f"{what}: {number:,} cases\n")


def word(random: Random) -> str:
    """Return a hostile text, sometimes several joined together."""
    return "".join(random.choices(WORDS, k=random.choice((1, 1, 1, 2, 3))))


def value(random: Random, depth: int = 3) -> Any:
    """Return a hostile value for `json_text`."""
    kind = random.randrange(9 if depth else 6)
    if kind < 3:
        return word(random)
    if kind < 6:
        return random.choice(
            (None, True, False, 0, -1, 0.5, 2**31, 2**63, -(2**64), 10**400, 1e308, -0.0)
        )
    if kind == 6:
        depth = random.choice((5, 60, 70, 300, 900, *range(940, 1000, 7), 50_000))
        return f"<deep {depth} {random.choice(('[]', '{}'))}>"
    if kind == 7:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    return {word(random): value(random, depth - 1) for _ in range(random.randrange(4))}


def json_text(document: Any) -> str:
    """Write JSON; a text such as "<deep 900 []>" becomes that many nested lists or objects."""
    return re.sub(r'"<deep (\d+) (..)>"', _nested, json.dumps(document))


def _nested(match: re.Match[str]) -> str:
    depth, brackets = int(match[1]), match[2]
    first = "[" if brackets == "[]" else '{"a":'
    return first * depth + "1" + brackets[1] * depth


def damaged(content: bytes, random: Random) -> bytes:
    """Return a damaged copy of the bytes: some are changed, repeated, inserted or cut off."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 2, 5, 20))):
        place = random.randrange(len(changed) or 1)
        way = random.randrange(5)
        if way < 2 and changed:
            changed[place] = random.randrange(256)
        elif way == 2:
            changed[place:place] = word(random).encode("utf-8", "surrogatepass")[:100]
        elif way == 3:
            changed[place:place] = changed[place : place + random.randrange(50)]
        elif random.random() < 0.2:
            del changed[place:]
    return bytes(changed)
