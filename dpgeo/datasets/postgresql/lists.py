"""NumPy arrays as parameters of PostgreSQL queries, without a Python object for each number."""

from __future__ import annotations

from typing import Any

import numpy as np
from psycopg.adapt import Dumper
from psycopg.pq import Format

ELEMENTS = {"f": (701, 1022, ">f8"), "i": (20, 1016, ">i8")}
"""For each kind of NumPy array: two types of PostgreSQL, and NumPy's dtype for sending.

The kinds are "f" (sent as float8) and "i" (as int8). PostgreSQL's types are those of a number and
of a list of numbers, given by their fixed ids (OIDs).
"""


class NumbersDumper(Dumper):
    """Writes an array (n,) of float64 or int64 as float8[] or bigint[], in binary form.

    The form is a header (dimensions, whether there are nulls, type of the elements, length, lower
    bound) and for each element its length in bytes and its value.
    """

    format = Format.BINARY

    def get_key(self, obj: Any, form: Any) -> Any:
        """Return the key by which psycopg finds a dumper; arrays with equal keys can share it."""
        return (self.cls, obj.dtype.kind)

    def upgrade(self, obj: Any, form: Any) -> NumbersDumper:
        """Return a dumper for arrays of the dtype of `obj`."""
        dumper = type(self)(self.cls)
        dumper.oid = ELEMENTS[obj.dtype.kind][1]
        return dumper

    def dump(self, obj: Any) -> bytes:
        """Return the array `obj` in PostgreSQL's binary form."""
        element, _, form = ELEMENTS[obj.dtype.kind]
        dimensions = [len(obj), 1] if len(obj) else []
        header = np.array([len(dimensions) // 2, 0, element, *dimensions], dtype=">i4")
        written = np.empty(len(obj), dtype=[("size", ">i4"), ("value", form)])
        written["size"], written["value"] = 8, obj
        return header.tobytes() + written.tobytes()
