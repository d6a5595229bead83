"""Private positions: opaque, streamed, with the number of reports one unit can have."""

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
    """Some reports: positions in degrees, float64 (n,), and seconds since 1970, int64 (n,).

    `time` is None where it was not asked for; a report without a time has NO_TIME. `attributes`,
    int32 (n,), numbers the values of public attributes (`core.attributes`) where they were.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    time: NDArray[np.int64] | None
    attributes: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `total` shards of a dataset, numbered from 0. Each privacy unit is in exactly one."""

    number: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.total:
            raise ValueError("Shards are numbered from 0 to total - 1.")


WHOLE = Shard(0, 1)


def round_times(time: NDArray[np.int64], step: int | None) -> NDArray[np.int64] | None:
    """Times (n,) rounded down to whole steps of so many seconds; None where none are wanted."""
    if step is None:
        return None
    return np.where(time == NO_TIME, NO_TIME, time // step * step)


class PrivatePositions(Opaque):
    """Reports of which one unit has at most `sensitivity`, to be perturbed by the Meter alone.

    Which reports of a unit are kept must not depend on where they are: moving one report then
    moves one report of what is perturbed, and nothing else. `lacking` says how many more there
    would be if every unit had that many.
    """

    __slots__ = ("__lacking", "__parts", "_sensitivity")

    __parts: Callable[[], Iterator[Reports]]
    __lacking: Callable[[], int]
    _sensitivity: int

    def __init__(
        self,
        parts: Callable[[], Iterator[Reports]],
        *,
        sensitivity: int,
        lacking: Callable[[], int],
    ) -> None:
        if operator.index(sensitivity) < 1:
            raise ValueError("One unit has at least one report.")
        object.__setattr__(self, "_PrivatePositions__parts", parts)
        object.__setattr__(self, "_PrivatePositions__lacking", lacking)
        object.__setattr__(self, "_sensitivity", operator.index(sensitivity))

    @property
    def sensitivity(self) -> int:
        """The most reports of one unit."""
        return self._sensitivity

    def _read_by_meter(self) -> Iterator[Reports]:
        """The reports part by part, for `Meter.perturb` alone."""
        return self.__parts()

    def _count_lacking(self) -> int:
        """How many reports units lack, for `Meter.perturb` alone."""
        return self.__lacking()

    def __repr__(self) -> str:
        return f"PrivatePositions(sensitivity={self._sensitivity})"
