"""Opaque private sums of vectors over public groups, for the means of clusters.

Privacy argument. Every counted contribution adds an integer vector v with |v_j| <= reach_j to the
row of one group, and a privacy unit makes at most l contributions. So for every column j the
absolute changes of all rows add up to at most l reach_j. With m columns and independent discrete
Laplace noise of rate epsilon/(m l reach_j) in column j, the log-ratio of the probabilities of any
outcome on neighbouring datasets is at most
    sum over j of (epsilon/(m l reach_j)) (l reach_j) = epsilon.
In units of its reach, every column has sensitivity l, and all columns have the joint sensitivity
m l: 3 l for a count and two coordinates.

Under zCDP. A column's squared changes add up to at most the square of the sum of their absolute
values, which is (l reach_j)^2, reached if all contributions are in one row. With independent
discrete Gaussian noise of the parameter s_j = reach_j^2 m l^2/(2 rho) in column j, the sum over
columns of squared change / s_j is at most m l^2/(m l^2/(2 rho)) = 2 rho, so the measurement is
rho-zCDP (Canonne, Kamath and Steinke 2020, theorem 14). In units of its reach, the whole array has
the squared sensitivity m l^2.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.counts import Opaque


class PrivateSums(Opaque):
    """Sums (n, m) of integer vectors with m entries, over n groups.

    One privacy unit changes column j by at most l * reach[j] in total over all rows, where l is the
    `sensitivity` passed to the constructor. Only the Meter can read the values, see `Opaque`.
    """

    __slots__ = ("__values", "_reach", "_sensitivity")

    __values: NDArray[np.int64]
    _reach: tuple[int, ...]
    _sensitivity: int

    def __init__(
        self, values: NDArray[np.integer[Any]], *, reach: Sequence[int], sensitivity: int
    ) -> None:
        array = np.asarray(values)
        if array.dtype.kind not in "iu":
            # Fractions are refused, because truncating them would change the sensitivity.
            raise TypeError("Private sums are whole numbers.")
        if array.ndim != 2 or array.shape[1] != len(reach) or min(reach, default=0) < 1:
            raise ValueError("Every column of private sums has a reach of at least 1.")
        if operator.index(sensitivity) < 1:
            raise ValueError("The sensitivity of sums is at least 1.")
        object.__setattr__(self, "_PrivateSums__values", array.astype(np.int64))
        object.__setattr__(self, "_reach", tuple(map(operator.index, reach)))
        object.__setattr__(self, "_sensitivity", operator.index(sensitivity))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (n, m) of the sums. It is public, since the groups are public."""
        return self.__values.shape

    @property
    def reach(self) -> tuple[int, ...]:
        """Largest absolute value that one contribution can add to each column."""
        return self._reach

    @property
    def sensitivity(self) -> int:
        """Joint L1 sensitivity of all columns, each divided by its `reach`.

        It is the number of columns times the contribution bound, since one contribution adds at
        most 1 to each of the divided columns.
        """
        return len(self._reach) * self._sensitivity

    @property
    def squared_sensitivity(self) -> int:
        """Joint squared L2 sensitivity of all m columns, each divided by its `reach`.

        It is m l^2 for a contribution bound l.
        """
        return len(self._reach) * self._sensitivity**2

    def _read_by_meter(self) -> NDArray[np.int64]:
        """Return the sums (n, m). Only `measure_sums` of a meter may call this."""
        return self.__values

    def __repr__(self) -> str:
        return f"PrivateSums(shape={self.shape}, sensitivity={self.sensitivity})"
