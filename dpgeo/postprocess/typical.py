"""Means and quartiles of a measure in query regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.areas import Areas, Cover, Shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartile:
    """A quartile's estimate and the ends of its 95 % interval; NaN if there are too few records."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """Mean of a measure in a query region, with the ends of its 95 % interval, in `unit`.

    All three are NaN if the query region holds too few records for a mean.
    """

    title: str
    unit: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionQuartiles:
    """Quartiles of a measure in a query region, in `unit`."""

    title: str
    unit: str
    lower: Quartile
    median: Quartile
    upper: Quartile


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """The mean or quartiles of a measure in a query region, and the number of records."""

    records: float
    margin: float
    told: bool
    average: Average | None = None
    quartiles: RegionQuartiles | None = None


class ValuedAreas:
    """Base class for the measured regions of a release of averages or quartiles."""

    areas: Areas

    def typical(self, regions: Shapes) -> Iterator[tuple[Cover, Typical]]:
        """Yield each query region's cover by measured regions, and its mean or quartiles.

        The query regions lie in the study area. Raises InvalidInput if the work would take too
        long.
        """
        raise NotImplementedError


def squared_shares(covers: list[Cover]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the number (n,) of whole regions in each cover, and the sum (n,) of squared shares.

    A share is the part of a measured region that the query covers: 1 for whole regions, which are
    included in the sum.
    """
    wholes = np.array([sum(each.whole.values()) for each in covers], dtype=np.float64)
    return wholes, wholes + [float(np.sum(np.square(each.shares))) for each in covers]


def largest_shares(covers: list[Cover]) -> NDArray[np.float64]:
    """Return, for each query region (n,), the largest share of a measured region that it cuts.

    The share is of the measured region's ground; it is 0 if no measured region is cut.
    """
    return np.array([float(each.shares.max(initial=0.0)) for each in covers])
