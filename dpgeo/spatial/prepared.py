"""Prepared shapes, of which each thread has copies of its own.

A prepared shape answers many questions fast by indexes, which GEOS builds while it answers, without
a lock. Two threads that ask the same prepared shape at the same time crash the whole process. Study
areas, zones and places are shared by the threads of a web process, so they are never prepared
themselves: no other module calls `shapely.prepare`.
"""

from __future__ import annotations

import threading
from typing import Any

import shapely

CACHE_SIZE = 2
"""Largest number of prepared copies that a thread keeps; a country's outline takes megabytes."""


class _Kept(threading.local):
    """The shapes of which this thread has a prepared copy, and these copies, by the shape's id."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[Any, Any]] = {}


_kept = _Kept()


def prepared(shape: Any) -> Any:
    """Return this thread's prepared copy of a shape, which no other thread may be given."""
    copies = _kept.copies
    known = copies.get(id(shape))
    if known is None:
        while len(copies) >= CACHE_SIZE:
            del copies[next(iter(copies))]
        # The shape is kept as well, so that no other shape can get its id.
        known = copies[id(shape)] = shape, prepared_copies(shape)
    return known[1]


def prepared_copies(shapes: Any) -> Any:
    """Return a prepared copy of a shape, or of each shape in an array.

    The caller must not let two threads use the same copy.
    """
    copies = shapely.set_srid(shapes, shapely.get_srid(shapes))
    shapely.prepare(copies)
    return copies
