"""Private counts: opaque, and of a sensitivity that is computed, never typed."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


class PrivateCounts:
    """Integer counts over disjoint public regions, of which one unit changes at most
    `sensitivity` in total (L1).

    The values can be regrouped and measured through the Meter, and in no other way read:
    printing, iterating, pickling and conversion to an array are refused.
    """

    __slots__ = ("__values", "_sensitivity")

    def __init__(self, values: NDArray[np.int64], *, sensitivity: int) -> None:
        if sensitivity < 1:
            raise ValueError("The sensitivity of counts is at least 1.")
        self.__values = np.asarray(values, dtype=np.int64)
        self._sensitivity = sensitivity

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the vector of counts; public, for the regions are."""
        return self.__values.shape

    @property
    def sensitivity(self) -> int:
        """Largest change of the sum of absolute differences when one unit is added or removed."""
        return self._sensitivity

    def regroup(self, region: NDArray[np.integer[Any]], regions: int) -> PrivateCounts:
        """Add the counts up by region: `region` has the counts' shape and holds 0..regions-1.

        A count whose region is negative is left out. Every count goes to at most one region, so
        the L1 sensitivity does not grow.
        """
        labels = np.asarray(region)
        if labels.shape != self.shape or (labels.size and int(labels.max()) >= regions):
            raise ValueError("Regions must label every count with a number below `regions`.")
        kept = labels >= 0
        totals = np.zeros(regions, dtype=np.int64)
        np.add.at(totals, labels[kept], self.__values[kept])
        return PrivateCounts(totals, sensitivity=self._sensitivity)

    def _read_by_meter(self) -> NDArray[np.int64]:
        """The values, for `Meter.measure` alone."""
        return self.__values

    def __repr__(self) -> str:
        return f"PrivateCounts(shape={self.shape}, sensitivity={self._sensitivity})"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("Private counts are read through Meter.measure only.")

    __array__ = __iter__ = __getitem__ = __len__ = __eq__ = __reduce_ex__ = _refuse
    __hash__ = None  # type: ignore[assignment]
