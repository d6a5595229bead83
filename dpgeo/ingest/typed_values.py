"""Values of formats in which every value has a type of its own: JSON and SQLite.

A column's type is not asked of the other rows. GDAL does ask them: of `9007199254740993` it makes
the neighbouring `9007199254740992` as soon as any other feature holds a fraction there, which
makes two persons one, and text in a GeoPackage's INTEGER column becomes 0. That is why GDAL does
not read uploads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import MAX_FIELD_BYTES, Reason
from dpgeo.ingest.schema import Role

LARGEST_EXACT_FLOAT = 2**53


class Unusable(Exception):
    """A single value that cannot stand for anything, and the reason that is given."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Refusals:
    """Rows of a batch to be refused, by reason, noted one by one."""

    def __init__(self) -> None:
        self._rows: dict[Reason, list[int]] = {}

    def add(self, reason: Reason, row: int) -> None:
        """Note the row at this place in the batch."""
        self._rows.setdefault(reason, []).append(row)

    def tell(self, sieve: Sieve, values: Sequence[object]) -> None:
        """Refuse them; `values`, one a row, are for the examples."""
        for reason, rows in self._rows.items():
            failing = np.zeros(len(values), dtype=bool)
            failing[rows] = True
            sieve.refuse(failing, reason, values)


def texts(values: Sequence[object], role: str, sieve: Sieve) -> Any:
    """Values of one field, one a row, as a pyarrow binary array of their texts (perhaps not
    UTF-8, null where missing). Refuses rows whose value has no text.
    """
    found: list[bytes | None] = []
    refused = Refusals()
    for index, value in enumerate(values):
        try:
            found.append(as_text(value, role))
        except Unusable as unusable:
            found.append(None)
            refused.add(unusable.reason, index)
    refused.tell(sieve, values)
    return pa.array(found, pa.binary())


def as_text(value: object, role: str) -> bytes | None:
    """The text of one value, cut just beyond the length at which it is refused anyway.

    A float that is a person's must be whole and exact. Truth and falsehood have a text where they
    are a public attribute's, and what has none is missing there. Raises Unusable.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value[: MAX_FIELD_BYTES + 1].encode("utf-8", "surrogatepass")[: MAX_FIELD_BYTES + 1]
    if isinstance(value, bytes):
        return value[: MAX_FIELD_BYTES + 1]
    if isinstance(value, bool) or not isinstance(value, int | float):
        if isinstance(role, Role):
            raise Unusable(Reason.NOT_PLAIN)
        return str(value).lower().encode() if isinstance(value, bool) else None
    if role is Role.PERSON and isinstance(value, float):
        return _whole(value)
    return repr(value).encode()


def _whole(value: float) -> bytes | None:
    if math.isnan(value):
        return None
    if not value.is_integer() or abs(value) > LARGEST_EXACT_FLOAT:
        raise Unusable(Reason.PERSON_NOT_WHOLE)
    return str(int(value)).encode()
