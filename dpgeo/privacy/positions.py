"""Opaque private positions, streamed in chunks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import NO_TIME
from dpgeo.privacy.counts import Opaque


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """A chunk of reports: positions in degrees, float64 (n,), with times and attributes.

    `time`, int64 (n,), is in seconds since 1970, or NO_TIME for a report without a time.
    `attributes`, int32 (n,), holds indices of combinations of public attributes
    (`core.attributes`). `time` and `attributes` are None unless they were requested.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    time: NDArray[np.int64] | None
    attributes: NDArray[np.int32] | None = None


def round_times(time: NDArray[np.int64], step: int | None) -> NDArray[np.int64] | None:
    """Round times (n,) down to multiples of `step` seconds; return None if `step` is None."""
    if step is None:
        return None
    return np.where(time == NO_TIME, NO_TIME, time // step * step)


class PrivatePositions(Opaque):
    """Reports that only the Meter can read, at most `sensitivity` per privacy unit.

    The choice of which reports to keep for a privacy unit must not depend on their positions. Then
    moving one report changes at most one of the reports to be perturbed. `missing()` returns how
    many padding reports are needed so that every privacy unit has `sensitivity` reports.
    """

    __slots__ = ("__chunks", "__missing", "_sensitivity")

    __chunks: Callable[[], Iterator[Reports]]
    __missing: Callable[[], int]
    _sensitivity: int

    def __init__(
        self,
        chunks: Callable[[], Iterator[Reports]],
        *,
        sensitivity: int,
        missing: Callable[[], int],
    ) -> None:
        if operator.index(sensitivity) < 1:
            raise ValueError("One unit has at least one report.")
        object.__setattr__(self, "_PrivatePositions__chunks", chunks)
        object.__setattr__(self, "_PrivatePositions__missing", missing)
        object.__setattr__(self, "_sensitivity", operator.index(sensitivity))

    @property
    def sensitivity(self) -> int:
        """Largest number of reports per privacy unit."""
        return self._sensitivity

    def _read_by_meter(self) -> Iterator[Reports]:
        """Yield the reports in chunks. Only `Meter.perturb` may call this."""
        return self.__chunks()

    def _count_missing(self) -> int:
        """Return how many reports padding must add. Only `Meter.perturb` may call this.

        The number comes from the function `missing` that was passed to the constructor.
        """
        return self.__missing()

    def __repr__(self) -> str:
        return f"PrivatePositions(sensitivity={self._sensitivity})"
