"""Quantiles from noisy histograms, with intervals by inversion of a test.

The range of a measure, of length 1 here, is divided into B equally wide bins. A region has the
noisy counts c_1, ..., c_B with independent Laplace noise of scale b. Within a bin, values are taken
as evenly spread. For a candidate value v, which lies at the share w of a bin, let L(v) be the noisy
number of records below it and R(v) that above, to which this bin adds w and 1 - w of its count. If
v is the p-quantile of the counted records, the part p of them is below, so that
    T(v) = (1 - p) L(v) - p R(v)
has mean 0, however many records there are. Its noise is the sum of 1 - p times the noise of the
bins below, w - p times that of the bin itself, and -p times that of the bins above. Its
distribution is known, and does not depend on any data: its characteristic function is the product
of 1/(1 + (x b u)^2) over these weights x. Let t(v) be what |noise| exceeds with the chance 5 %. The
interval is the smallest that holds all v with |T(v)| <= t(v). Below and above are tested together:
no union bound over bins, and no division by a noisy number. t is computed at two points of each bin
and is linear in between, which is at most too much because t is convex there. Noise is discrete; a
sum of the discrete variables has a smaller spread than one of the continuous ones.

Within a bin, values need not be evenly spread. Whatever they are, the quantile and the v at which
the part p would be below if they were lie in the same bin. So the ends of the interval are moved
outwards to the edges of their bins, and it holds the quantile of the counted records in at least
95 % of releases, however they are spread.

Estimate. The p-quantile of exact counts minimises the sum of (1 - p)(v - x)+ + p (x - v)+ over the
records x, whose derivative is T(v). The estimate is the v that minimises the same sum of the noisy
counts. T is 0 there, so that it always lies in its interval, and a larger p never gives a smaller
estimate.

What is told. The noisy number of records is the sum of all counts. Quartiles are told only where it
reaches the threshold that at most one of the release's regions is expected to reach if all of them
are empty (one in FEWEST of fewer regions), and where the median's interval is no wider than WIDEST.
Of the other two quartiles, those with wider intervals are withheld.

Sums over several regions. For whole regions and shares of others, the noise of T(v) is a sum over
regions of such terms, each times its share s. As in `postprocess.fieller`, its 95 % quantile is at
most that of one region times the root of the sum of s^2, since tails become lighter with more
terms; the largest share of a region that was cut adds to it for the discreteness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.fieller import ERROR, FEWEST, WIDEST, ranks_between
from dpgeo.postprocess.noise_sums import margin_of_sum

Floats = NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)
"""The quantiles p that are told, in the order of the columns of `Quartiles`."""

MEDIAN = 1
"""Column of the median."""

PARTS = 2
"""Points of each bin at which the noise of T(v) is computed."""

LEAST_LOG, PANELS, NODES = 30.0, 64, 16
"""Where the characteristic function is below e^-LEAST_LOG it is treated as 0; panels of the
quadrature, and nodes in each.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quartiles:
    """The quartiles (n, 3) of n regions as shares of the range, with their 95 % intervals.

    What is withheld is NaN. `told` (n,) says where there is a median. `records` (n,) are the noisy
    numbers of records, and `records_margin` (n,) the half-widths of their 95 % intervals.
    """

    share: Floats
    low: Floats
    high: Floats
    records: Floats
    records_margin: Floats
    told: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HistogramNoise:
    """Noise of each count of a region's histogram of `bins` bins."""

    noise: DiscreteLaplace
    bins: int

    @property
    def scale(self) -> float:
        """The scale b of the noise, in records."""
        return 1 / float(self.noise.rate)

    @property
    def records_margin(self) -> float:
        """Half-width of the 95 % interval of one region's number of records."""
        return float(margin_of_sum({self.noise: self.bins}))

    def least_records(self, regions: int) -> float:
        """Return the noisy number of records from which quartiles are told, see the module."""
        return self.scale * _least(self.bins, regions)

    def half_width(self, records: float) -> float:
        """Return half the width of the median's interval in numbers of records, as a share."""
        return self.scale * float(_limits(self.bins, 0.5, ERROR)[self.bins]) / records

    def quartiles(self, counts: NDArray[Any], regions: int, error: float = ERROR) -> Quartiles:
        """Return the quartiles of single regions from their noisy counts (n, bins).

        `regions` is the number of regions of the release, and `error` the chance that an interval
        misses the true quantile.
        """
        ones = np.ones(len(counts))
        margin = np.full(len(counts), self.records_margin)
        return self._quartiles(counts, ones, 0 * ones, margin, regions, error)

    def quartiles_of_sums(
        self, counts: Floats, squares: Floats, largest: Floats, regions: int
    ) -> Quartiles:
        """Return the quartiles of sums of shares of regions, from the sums of counts (n, bins).

        `squares` (n,) is the sum of the squares of the shares, and `largest` (n,) the largest share
        of a region that was cut, 0 if there is none.
        """
        spread = np.sqrt(squares)
        margin = math.log(20) / math.sqrt(2) * self.scale * spread * math.sqrt(2 * self.bins)
        return self._quartiles(counts, spread, largest, margin + largest, regions, ERROR)

    def ranks(self, counts: NDArray[Any], regions: int) -> tuple[Floats, Floats]:
        """Return the best and the worst rank (n,) that each region's median may have.

        1 is the highest. They hold for all regions of the release together, 95 times in 100; NaN
        where a median is withheld. `postprocess.fieller` says how they follow from joint intervals.
        """
        told = self.quartiles(counts, regions).told
        joint = self.quartiles(counts, regions, ERROR / max(1, regions))
        # Bins do not hold their upper edges, so that intervals that share an edge are apart.
        low, high = joint.low[:, MEDIAN], joint.high[:, MEDIAN] - 1e-9
        return ranks_between(np.where(joint.told, low, 0.0), np.where(joint.told, high, 1.0), told)

    def covers(self, counts: NDArray[Any], p: float, share: Floats) -> NDArray[np.bool_]:
        """Return whether the test of a p-quantile at these shares (n,) of the range is passed."""
        nodes = np.linspace(0, 1, self.bins + 1)
        tested = _statistic(counts, p)
        found = np.array([np.interp(v, nodes, t) for v, t in zip(share, tested, strict=True)])
        ends = np.linspace(0, 1, PARTS * self.bins + 1)
        limit = self.scale * np.interp(share, ends, _limits(self.bins, p, ERROR))
        return np.asarray(np.abs(found) <= limit)

    def _quartiles(
        self,
        counts: NDArray[Any],
        spread: Floats,
        added: Floats,
        margin: Floats,
        regions: int,
        error: float,
    ) -> Quartiles:
        records = counts.sum(axis=1).astype(np.float64)
        share, low, high = (np.full((len(counts), len(QUARTILES)), np.nan) for _ in range(3))
        least = self.least_records(regions) * np.maximum(spread, added)
        enough = np.flatnonzero(records >= np.maximum(least, 1e-9))
        for column, p in enumerate(QUARTILES):
            tested = _refined(_statistic(counts[enough], p))
            limit = _limits(self.bins, p, error) * self.scale
            allowed = limit * spread[enough, None] + added[enough, None]
            share[enough, column] = _least_loss(tested)
            low[enough, column] = self._down(_first(tested + allowed))
            high[enough, column] = 1 - self._down(_first((allowed - tested)[:, ::-1]))
        with np.errstate(invalid="ignore"):
            narrow = high - low <= WIDEST
        shown = narrow & narrow[:, [MEDIAN]]
        for each in (share, low, high):
            each[~shown] = np.nan
        return Quartiles(
            share=share,
            low=low,
            high=high,
            records=records,
            records_margin=margin,
            told=shown[:, MEDIAN],
        )

    def _down(self, share: Floats) -> Floats:
        """Return the edges of bins (n,) at or below the shares (n,) of the range."""
        return np.asarray(np.floor(share * self.bins + 1e-9) / self.bins)


def _statistic(counts: NDArray[Any], p: float) -> Floats:
    """Return T (n, bins + 1) at the edges of the bins of counts (n, bins)."""
    below = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(counts, axis=1, out=below[:, 1:])
    return np.asarray(below - p * below[:, -1:])


def _refined(values: Floats) -> Floats:
    """Return values (n, m) at the edges of bins and at PARTS - 1 points between each two."""
    edges = values.shape[1]
    at = np.arange(PARTS * (edges - 1) + 1) / PARTS
    before = np.minimum(at.astype(np.int64), edges - 2)
    return np.asarray(
        values[:, before] + (at - before) * (values[:, before + 1] - values[:, before])
    )


def _least_loss(tested: Floats) -> Floats:
    """Return where the integral of T (n, m), linear between equally far points, is the least."""
    start, end = tested[:, :-1], tested[:, 1:]
    before = np.zeros_like(start)
    np.cumsum((start + end)[:, :-1] / 2, axis=1, out=before[:, 1:])
    rising = (start < 0) & (end >= 0)
    slope = np.where(rising, end - start, 1.0)
    loss = np.where(rising, before - start**2 / (2 * slope), np.inf)
    best = loss.argmin(axis=1)
    row = np.arange(len(tested))
    within = -start[row, best] / slope[row, best]
    return np.asarray((best + np.clip(within, 0, 1)) / start.shape[1])


def _first(values: Floats) -> Floats:
    """Return where values (n, m), linear between equally far points, are 0 or more first."""
    reached = values >= 0
    at = reached.argmax(axis=1)
    row = np.arange(len(values))
    end, start = values[row, at], values[row, np.maximum(at - 1, 0)]
    back = np.where(at > 0, end / np.where(at > 0, end - start, 1.0), 0.0)
    place = np.where(reached.any(axis=1), at - back, values.shape[1] - 1)
    return np.asarray(place / (values.shape[1] - 1))


@lru_cache(maxsize=64)
def _limits(bins: int, p: float, error: float) -> Floats:
    """Return t(v) for noise of scale 1 at PARTS points of each bin and at the last edge."""
    whole, rest = np.divmod(np.arange(PARTS * bins + 1), PARTS)
    own = rest > 0
    weights = np.column_stack(
        [np.full(len(whole), 1 - p), rest / PARTS - p, np.full(len(whole), p)]
    )
    return _solve(weights, np.column_stack([whole, own, bins - whole - own]), error)


@lru_cache(maxsize=64)
def _least(bins: int, regions: int) -> float:
    """Return what the sum of `bins` variables exceeds with the chance 1 in `regions`."""
    return float(_solve(np.ones((1, 1)), np.array([[bins]]), 2 / max(regions, FEWEST))[0])


def _solve(weights: Floats, numbers: NDArray[np.integer[Any]], chance: float) -> Floats:
    """Return the t (m,) with P(|sum| > t) = chance for m sums of Laplace variables of scale 1.

    Each sum has `numbers` (m, k) variables of each of the `weights` (m, k). By Fourier inversion
    P(|sum| <= t) = 2/pi int_0^inf phi(u) sin(t u)/u du.
    """
    squares = weights**2
    last = _last_node(squares, numbers)
    edges = np.linspace(0, 1, PANELS + 1) ** 2
    x, w = _rule()
    half = np.diff(edges)[:, None] / 2
    node = last[:, None] * (edges[:-1, None] + half * (1 + x)).ravel()
    weight = last[:, None] * (half * w).ravel() * 2 / (math.pi * node)
    weight *= np.exp(-_minus_log(squares, numbers, node))
    low, high = np.zeros(len(last)), 12 * np.sqrt(2 * (numbers * squares).sum(axis=1))
    for _ in range(40):
        middle = (low + high) / 2
        more = 1 - (weight * np.sin(middle[:, None] * node)).sum(axis=1) > chance
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.asarray(high)


def _last_node(squares: Floats, numbers: NDArray[np.integer[Any]]) -> Floats:
    """Return the u (m,) at which each characteristic function falls below e^-LEAST_LOG."""
    low, high = np.zeros(len(squares)), np.full(len(squares), 1e6)
    for _ in range(60):
        middle = (low + high) / 2
        below = _minus_log(squares, numbers, middle[:, None])[:, 0] > LEAST_LOG
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return high


def _minus_log(squares: Floats, numbers: NDArray[np.integer[Any]], u: Floats) -> Floats:
    """Return -ln of the characteristic functions, (m, n), at u (m, n)."""
    total = np.zeros_like(u)
    for square, number in zip(squares.T[..., None], numbers.T[..., None], strict=True):
        total += number * np.log1p(square * u * u)
    return total


@lru_cache(maxsize=1)
def _rule() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)
