"""Private counts that only a Meter can read, with the sensitivity from which noise follows."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


class Opaque:
    """Base class for objects whose values cannot be compared, iterated, converted, copied or
    changed.
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("Private counts are read through the Meter only, and never changed.")

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __iter__ = __getitem__ = __contains__ = __len__ = __bool__ = __eq__ = __ne__ = _refuse
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse
    __setattr__ = __delattr__ = __setstate__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class PrivateCounts(Opaque):
    """Integer counts of public regions, with a known L1 and L2 sensitivity.

    Adding or removing one privacy unit changes all counts together by at most `sensitivity`. If
    `distinct` is true, it changes each single count by at most 1, as where distinct people are
    counted in each region. The values can be regrouped, and they can be measured through the Meter.
    They cannot be read in any other way: comparing, iterating, copying, pickling or changing them,
    or converting them to an array, raises TypeError, and printing shows no values. This guards
    against mistakes, not against malicious code.
    """

    __slots__ = ("__values", "_distinct", "_sensitivity")

    __values: NDArray[np.int64]
    _distinct: bool
    _sensitivity: int

    def __init__(
        self, values: NDArray[np.integer[Any]], *, sensitivity: int, distinct: bool = False
    ) -> None:
        if np.asarray(values).dtype.kind not in "iu":
            # Fractions are refused, because truncating them would change the sensitivity.
            raise TypeError("Private counts are whole numbers.")
        if operator.index(sensitivity) < 1:
            raise ValueError("The sensitivity of counts is at least 1.")
        object.__setattr__(self, "_PrivateCounts__values", np.asarray(values, dtype=np.int64))
        object.__setattr__(self, "_sensitivity", operator.index(sensitivity))
        object.__setattr__(self, "_distinct", bool(distinct))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of counts, which is public because the regions are public."""
        return self.__values.shape

    @property
    def sensitivity(self) -> int:
        """Largest L1 change of the counts when one privacy unit is added or removed."""
        return self._sensitivity

    @property
    def squared_sensitivity(self) -> int:
        """Upper bound on the counts' squared L2 change if one privacy unit is added or removed.

        Let c be the changes of the counts. They are integers, and the sum of |c_i| is at most the
        L1 sensitivity l. If every |c_i| is at most 1, then c_i^2 = |c_i| and the squares add up to
        at most l. Otherwise one count may take all of l, and they add up to at most l^2.
        """
        return squared_sensitivity(self._sensitivity, self._distinct)

    def flat(self) -> PrivateCounts:
        """Return the same counts as a one-dimensional array, row by row."""
        return PrivateCounts(
            self.__values.ravel(), sensitivity=self._sensitivity, distinct=self._distinct
        )

    def selected(self, kept: NDArray[np.bool_]) -> PrivateCounts:
        """Return the counts where the public mask `kept` is true, (n,), row by row.

        Dropping counts increases neither the L1 nor the L2 sensitivity. Raises ValueError for a
        mask of another shape.
        """
        if kept.dtype != np.bool_ or kept.shape != self.shape:
            raise ValueError("A mask of the counts' shape selects counts.")
        return PrivateCounts(
            self.__values[kept], sensitivity=self._sensitivity, distinct=self._distinct
        )

    def regroup(self, region: NDArray[np.integer[Any]], regions: int) -> PrivateCounts:
        """Return the sum of the counts in each region, in an array of shape (regions,).

        `region` has the shape of the counts and holds the index of each count's region. A count
        with a negative index is dropped. Every count goes to at most one region, so the L1
        sensitivity does not grow. The L2 sensitivity may: the counts to which one privacy unit adds
        1 each may all be in one region, so the sums are no longer `distinct`. Raises ValueError if
        `region` has another shape or contains an index of `regions` or more; the error reveals
        nothing, since `region` is public.
        """
        labels = np.asarray(region)
        if labels.dtype.kind not in "iu" or labels.shape != self.shape:
            raise ValueError("Regions must label every count with a whole number.")
        if labels.size and int(labels.max()) >= regions:
            raise ValueError("Regions must label every count with a number below `regions`.")
        labelled = labels >= 0
        totals = np.zeros(regions, dtype=np.int64)
        np.add.at(totals, labels[labelled], self.__values[labelled])
        return PrivateCounts(totals, sensitivity=self._sensitivity)

    def _read_by_meter(self) -> NDArray[np.int64]:
        """Return the counts as an array. Only a meter may call this."""
        return self.__values

    def __repr__(self) -> str:
        return f"PrivateCounts(shape={self.shape}, sensitivity={self._sensitivity})"


def squared_sensitivity(sensitivity: int, distinct: bool) -> int:
    """Return an upper bound on the sum of the squared changes of integer counts.

    The changes add up to at most `sensitivity`, and each is at most 1 if `distinct`.
    """
    return sensitivity if distinct else sensitivity**2


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTotals:
    """The three private totals of people, sightings and visits, each of shape (1,).

    Their sensitivities are 1, B_p (sightings per person) and B_v (visits per person); see
    `privacy.totals`.
    """

    people: PrivateCounts
    sightings: PrivateCounts
    visits: PrivateCounts
