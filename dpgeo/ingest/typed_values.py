"""Values of formats in which every value has its own type: JSON and SQLite.

Here the type of a value does not depend on other rows, whereas in GDAL it does: as soon as any
feature has a fraction in a column, GDAL turns `9007199254740993` in that column into the
neighbouring `9007199254740992`, so that two persons become one. It also turns text in a
GeoPackage's INTEGER column into 0. That is why GDAL does not read uploads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.persons import MAX_FLOAT
from dpgeo.ingest.report import MAX_FIELD_BYTES, Reason
from dpgeo.ingest.schema import DESTINATION, Role


class Unusable(Exception):
    """Raised for a single value that cannot be used, with the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Refusals:
    """Refused rows of a batch, collected one by one."""

    def __init__(self) -> None:
        self._rows: dict[Reason, list[int]] = {}

    def add(self, reason: Reason, row: int) -> None:
        """Add a refused row, given by its index in the batch, and the reason."""
        self._rows.setdefault(reason, []).append(row)

    def tell(self, sieve: Sieve, values: Sequence[object]) -> None:
        """Mark all rows that were passed to `add` as refused in `sieve`.

        `values` holds the value of every row of the batch; some are reported as examples.
        """
        for reason, rows in self._rows.items():
            failing = np.zeros(len(values), dtype=bool)
            failing[rows] = True
            sieve.refuse(failing, reason, values)


def texts(values: Sequence[object], role: str, sieve: Sieve) -> Any:
    """Convert the values of one field, one for each row, to a pyarrow binary array.

    The bytes of a text need not be UTF-8, which a later step checks. Missing values become null.
    Refuses rows with a value that cannot become text.
    """
    converted: list[bytes | None] = []
    refused = Refusals()
    for index, value in enumerate(values):
        try:
            converted.append(as_text(value, role))
        except Unusable as unusable:
            converted.append(None)
            refused.add(unusable.reason, index)
    refused.tell(sieve, values)
    return pa.array(converted, pa.binary())


def as_text(value: object, role: str) -> bytes | None:
    """Convert one value to text, cut just beyond the greatest accepted length.

    A float that identifies a person must be whole and exact. In public attributes, measures,
    categories and destinations, a boolean becomes "true" or "false", and an object or a list counts
    as missing. In all other roles, both raise Unusable.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value[: MAX_FIELD_BYTES + 1].encode("utf-8", "surrogatepass")[: MAX_FIELD_BYTES + 1]
    if isinstance(value, bytes):
        return value[: MAX_FIELD_BYTES + 1]
    if isinstance(value, bool) or not isinstance(value, int | float):
        if isinstance(role, Role) and role not in DESTINATION:
            raise Unusable(Reason.NOT_PLAIN)
        return str(value).lower().encode() if isinstance(value, bool) else None
    if role is Role.PERSON and isinstance(value, float):
        return _whole(value)
    return repr(value).encode()


def _whole(value: float) -> bytes | None:
    if math.isnan(value):
        return None
    if not value.is_integer() or abs(value) > MAX_FLOAT:
        raise Unusable(Reason.PERSON_NOT_WHOLE)
    return str(int(value)).encode()
