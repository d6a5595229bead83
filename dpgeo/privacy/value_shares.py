"""Opaque private sums of a measure's values by region, for averages.

A record in a region has a value k, an integer from 0 to K (`core.measures`). Two integers are
measured for every region: U, the sum of k over its counted records, and D, the sum of K - k.

Privacy argument. A privacy unit makes at most l contributions. Each adds the pair (k, K - k) to one
region, and |k| + |K - k| = K, whatever k is. So adding or removing one privacy unit changes all
entries of U and D together by at most l K. This is the exact L1 sensitivity of the whole array.
Measuring the array with epsilon, with discrete Laplace noise of rate epsilon/(l K) on each entry,
is therefore epsilon-differentially private. Epsilon need not be divided between a sum and a count.

Both sums come from one query that returns the number n of records and the sum U for each region; D
= K n - U. If U and D came from two queries that keep different records of a person, the sensitivity
could be 2 l K.

The squared L2 sensitivity is l K^2 if a privacy unit's contributions go to different regions, as
they do if a person has one value in each region: k^2 + (K - k)^2 is at most (k + (K - k))^2 = K^2.
Otherwise all l contributions may add K to one entry, and the squared L2 sensitivity is l^2 K^2.

Utility. (U + D)/K estimates the number of records. U/(U + D) estimates the mean of their values, as
a fraction m of the range between the limits. With s = l/epsilon, the variance of U/(U + D) is about
2 s^2 ((1 - m)^2 + m^2)/n^2. Near the middle of the range, this is half the variance of the ratio of
a sum and a count that are measured with epsilon/2 each.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.counts import Opaque, squared_sensitivity


class PrivateShares(Opaque):
    """The number n of records in each region, and the sum U of their values.

    A value is an integer from 0 to `steps`. The arrays n and U have the same shape. One privacy
    unit makes at most `bound` contributions over all regions together, and at most one to each
    region if `distinct` is true. Only the Meter can read the sums; see `Opaque`.
    """

    __slots__ = ("__pair", "_bound", "_distinct", "_steps")

    __pair: NDArray[np.int64]
    _bound: int
    _distinct: bool
    _steps: int

    def __init__(
        self,
        numbers: NDArray[np.integer[Any]],
        sums: NDArray[np.integer[Any]],
        *,
        steps: int,
        bound: int,
        distinct: bool = False,
    ) -> None:
        n, up = np.asarray(numbers), np.asarray(sums)
        if n.dtype.kind not in "iu" or up.dtype.kind not in "iu":
            # Fractions are refused, because truncating them would change the sensitivity.
            raise TypeError("Private shares are whole numbers.")
        if operator.index(steps) < 1 or operator.index(bound) < 1:
            raise ValueError("Private shares have at least one step and a bound of at least 1.")
        n, up = n.astype(np.int64), up.astype(np.int64)
        if n.shape != up.shape:
            raise ValueError("Private shares have one number and one sum for each region.")
        object.__setattr__(self, "_PrivateShares__pair", np.stack([up, steps * n - up]))
        object.__setattr__(self, "_steps", operator.index(steps))
        object.__setattr__(self, "_bound", operator.index(bound))
        object.__setattr__(self, "_distinct", bool(distinct))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the sums U and D: 2, then the shape of the regions, which is public."""
        return self.__pair.shape

    @property
    def sensitivity(self) -> int:
        """Largest L1 change of all sums together when one privacy unit is added or removed.

        The sums are U and D of the module docstring.
        """
        return self._bound * self._steps

    @property
    def squared_sensitivity(self) -> int:
        """Upper bound on the sums' squared L2 change if one privacy unit is added or removed."""
        return squared_sensitivity(self._bound, self._distinct) * self._steps**2

    def _read_by_meter(self) -> NDArray[np.int64]:
        """Return the sums U and D (module docstring), (2, ...). Only meters may call this."""
        return self.__pair

    def __repr__(self) -> str:
        return f"PrivateShares(shape={self.shape}, sensitivity={self.sensitivity})"
