"""Opaque private sums of values on a lattice, for averages and shares of public regions.

A record in a region has a value k, a whole number from 0 to K (`core.measures`). For every region
two whole numbers are measured: U, the sum of k, and D, the sum of K - k, over its counted records.

Privacy argument. A privacy unit makes at most l contributions. Each adds the pair (k, K - k) to one
region, and |k| + |K - k| = K, whatever k is. So adding or removing one privacy unit changes all
entries of U and D together by at most l K: that is the L1 sensitivity of the whole array, exactly,
and one measurement of it with epsilon, discrete Laplace noise of rate epsilon/(l K) on each entry,
is epsilon-differentially private. Epsilon need not be divided between a sum and a count.

Both sums are made from one aggregate of the contributions, the number n and the sum U of each
region, as D = K n - U. If U and D were counted in two scans that keep different records of a
person, the sensitivity could be 2 l K.

Utility. (U + D)/K estimates the number of records, and U/(U + D) their average as a share of the
range. With s = l/epsilon, the variance of the latter is about 2 s^2 ((1 - m)^2 + m^2)/n^2 at the
share m: half that of a sum around the middle of the range and a count that get epsilon/2 each.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.counts import Opaque


class PrivateShares(Opaque):
    """Numbers n and sums U of whole values from 0 to `steps`, by region, in one shape.

    One privacy unit makes at most `bound` contributions over all regions together. Only the Meter
    can read the sums, see `Opaque`.
    """

    __slots__ = ("__pair", "_bound", "_steps")

    __pair: NDArray[np.int64]
    _bound: int
    _steps: int

    def __init__(
        self,
        numbers: NDArray[np.integer[Any]],
        sums: NDArray[np.integer[Any]],
        *,
        steps: int,
        bound: int,
    ) -> None:
        n, up = np.asarray(numbers), np.asarray(sums)
        if n.dtype.kind not in "iu" or up.dtype.kind not in "iu":
            # Truncating fractions would change the sensitivity.
            raise TypeError("Private shares are whole numbers.")
        if operator.index(steps) < 1 or operator.index(bound) < 1:
            raise ValueError("Private shares have at least one step and a bound of at least 1.")
        n, up = n.astype(np.int64), up.astype(np.int64)
        if n.shape != up.shape:
            raise ValueError("Private shares have one number and one sum for each region.")
        object.__setattr__(self, "_PrivateShares__pair", np.stack([up, steps * n - up]))
        object.__setattr__(self, "_steps", operator.index(steps))
        object.__setattr__(self, "_bound", operator.index(bound))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (2, ...) of U and D. It is public, since the regions are public."""
        return self.__pair.shape

    @property
    def sensitivity(self) -> int:
        """Largest L1 change of U and D together when one privacy unit is added or removed."""
        return self._bound * self._steps

    def _read_by_meter(self) -> NDArray[np.int64]:
        """Return U and D. Only `Meter.measure_shares` may call this."""
        return self.__pair

    def __repr__(self) -> str:
        return f"PrivateShares(shape={self.shape}, sensitivity={self.sensitivity})"
