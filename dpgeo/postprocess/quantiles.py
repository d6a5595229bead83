"""Quantiles from noisy histograms, with intervals by inversion of a test.

The range of a measure, taken to have length 1, is divided into B equally wide bins. A region has
the noisy counts c_1, ..., c_B with independent Laplace noise of scale b. Within a bin, values are
assumed to be evenly spread. A candidate value v divides its bin into shares w below and 1 - w
above. Let L(v) be the noisy number of records below v and R(v) the number above, where the bin of v
adds the shares w and 1 - w of its count. If v is the p-quantile of the counted records, the
fraction p of them is below v, so T(v) = (1 - p) L(v) - p R(v) has mean 0, however many records
there are. The noise of T(v) is a sum over bins of their noise, with the weight 1 - p for the bins
below, w - p for the bin of v, and -p for the bins above. Its distribution is known and does not
depend on any data: the characteristic function is the product of 1/(1 + (x b u)^2) over these
weights x. (Gaussian noise of the variance 2 b^2 gives a Gaussian sum.) Let t(v) be the value that
|noise| exceeds with probability 5 %. The interval is the smallest one that contains all v with
|T(v)| <= t(v). One test covers both sides, so there is no union bound over bins and no division by
a noisy number. t is computed at two points of each bin and interpolated linearly, which never gives
too small a value, because t is convex there. The noise is discrete; a sum of discrete Laplace
variables has a smaller spread than a sum of continuous ones.

Within a bin, values need not be evenly spread. However they are spread, the true quantile lies in
the same bin as the v at which the fraction p would be below if they were evenly spread. So the ends
of the interval are moved outwards to the edges of their bins. The interval then contains the
quantile of the counted records in at least 95 % of releases, however values are spread.

Estimate. The p-quantile of exact counts minimises the sum of (1 - p)(v - x)+ + p (x - v)+ over the
records x, whose derivative is T(v). The estimate is the v that minimises the same sum computed from
the noisy counts. T is 0 there, so the estimate always lies in its interval, and a larger p never
gives a smaller estimate.

Which quartiles are shown. The noisy number of records is the sum of all counts. Quartiles are shown
only if it reaches a threshold that at most one of the release's regions would be expected to reach
if all of them were empty (one in MIN_REGIONS if there are fewer regions), and if the median's
interval is no wider than MAX_WIDTH. The other two quartiles are withheld if their own intervals are
wider than that.

Sums over several regions. If regions are added up, each with a share s, the noise of T(v) is a sum
over regions of such terms, each times its s. As in `postprocess.fieller`, its 95 % quantile is at
most the quantile for one region times the root of the sum of s^2, since tails become lighter with
more terms. The largest share of a region that was cut is added to allow for the discreteness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise, DiscreteLaplace
from dpgeo.postprocess.fieller import ERROR, MAX_WIDTH, MIN_REGIONS, ranks_between
from dpgeo.postprocess.noise_sums import margin_of_sum

Floats = NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)
"""The quantiles p that are computed, in the order of the columns of `Quartiles`."""

MEDIAN = 1
"""Index of the median among QUARTILES."""

PARTS = 2
"""Number of parts of each bin at whose edges the noise of the test statistic is computed."""

MIN_LOG, PANELS, NODES = 30.0, 64, 16
"""Precision of the Fourier inversion.

A characteristic function below e^-MIN_LOG is treated as 0. PANELS is the number of panels of the
quadrature, and NODES the number of nodes in each panel.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quartiles:
    """Quartiles (n, 3) of n regions, as fractions of the range, with their 95 % intervals.

    Withheld values are NaN. `told` (n,) marks the regions whose median is shown. `records` (n,)
    holds the noisy numbers of records, and `records_margin` (n,) the half-widths of their 95 %
    intervals.
    """

    share: Floats
    low: Floats
    high: Floats
    records: Floats
    records_margin: Floats
    told: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HistogramNoise:
    """Noise of a measure's histogram in a region: `bins` counts, each with the noise `noise`."""

    noise: CountNoise
    bins: int

    @property
    def scale(self) -> float:
        """The scale b of the noise of each count, in records."""
        return self.noise.scale

    @property
    def records_margin(self) -> float:
        """Half-width of the 95 % interval of one region's number of records."""
        return float(margin_of_sum({self.noise: self.bins}))

    def least_records(self, regions: int) -> float:
        """Return the smallest noisy number of records with which quartiles are shown.

        The module docstring derives it. `regions` is the number of regions of the release.
        """
        if isinstance(self.noise, DiscreteLaplace):
            return self.scale * _least(self.bins, regions)
        tail = self.noise.tail(1 / max(regions, MIN_REGIONS))
        return self.scale * tail * math.sqrt(2 * self.bins)

    def _limits(self, p: float, error: float) -> Floats:
        """Return the limits t(v) on the test statistic T(v) of candidate p-quantiles v.

        The module docstring defines T and t. The v are PARTS points of each bin, and the last bin's
        end.
        """
        if isinstance(self.noise, DiscreteLaplace):
            return self.scale * _limits(self.bins, p, error)
        weights, numbers = _terms(self.bins, p)
        deviation = np.sqrt(2 * (numbers * weights**2).sum(axis=1))
        return np.asarray(self.scale * self.noise.tail(error / 2) * deviation)

    def half_width(self, records: float) -> float:
        """Return half the width of the interval of the median's rank, as a share of the records.

        `records` is the number of records in the region.
        """
        return float(self._limits(0.5, ERROR)[self.bins]) / records

    def quartiles(self, counts: NDArray[Any], regions: int, error: float = ERROR) -> Quartiles:
        """Return the quartiles of single regions from their noisy counts (n, bins).

        `regions` is the number of regions of the release, and `error` the probability that an
        interval misses the true quantile.
        """
        ones = np.ones(len(counts))
        margin = np.full(len(counts), self.records_margin)
        return self._quartiles(counts, ones, 0 * ones, margin, regions, error)

    def quartiles_of_sums(
        self, counts: Floats, squares: Floats, largest: Floats, regions: int
    ) -> Quartiles:
        """Return the quartiles of query regions, each made of shares of several measured regions.

        `counts` (n, bins) are the sums of the regions' noisy counts, each times its share.
        `squares` (n,) is the sum of the squares of the shares, and `largest` (n,) the largest share
        of a region that was cut, 0 if there is none.
        """
        spread = np.sqrt(squares)
        margin = self.noise.tail(0.025) * self.scale * spread * math.sqrt(2 * self.bins)
        return self._quartiles(counts, spread, largest, margin + largest, regions, ERROR)

    def ranks(self, counts: NDArray[Any], regions: int) -> tuple[Floats, Floats]:
        """Return the best and the worst rank (n,) that each region's median may have.

        1 is the highest. The ranks hold for all regions of the release together with probability 95
        %; they are NaN for a withheld median. `postprocess.fieller` derives them from joint
        intervals.
        """
        told = self.quartiles(counts, regions).told
        joint = self.quartiles(counts, regions, ERROR / max(1, regions))
        # Ends of intervals are edges of bins, and a bin does not contain its upper edge. So two
        # intervals that share only an edge are disjoint.
        low, high = joint.low[:, MEDIAN], joint.high[:, MEDIAN] - 1e-9
        return ranks_between(np.where(joint.told, low, 0.0), np.where(joint.told, high, 1.0), told)

    def covers(self, counts: NDArray[Any], p: float, share: Floats) -> NDArray[np.bool_]:
        """Return whether the interval of each region's p-quantile contains the position `share`
        (n,).

        `counts` (n, bins) are noisy, and `share` is a fraction of the range.
        """
        nodes = np.linspace(0, 1, self.bins + 1)
        tested = _statistic(counts, p)
        found = np.array([np.interp(v, nodes, t) for v, t in zip(share, tested, strict=True)])
        ends = np.linspace(0, 1, PARTS * self.bins + 1)
        limit = np.interp(share, ends, self._limits(p, ERROR))
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
            limit = self._limits(p, error)
            allowed = limit * spread[enough, None] + added[enough, None]
            share[enough, column] = _least_loss(tested)
            low[enough, column] = self._down(_first(tested + allowed))
            high[enough, column] = 1 - self._down(_first((allowed - tested)[:, ::-1]))
        with np.errstate(invalid="ignore"):
            narrow = high - low <= MAX_WIDTH
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
        """Round shares (n,) of the range down to the edges of bins."""
        return np.asarray(np.floor(share * self.bins + 1e-9) / self.bins)


def _statistic(counts: NDArray[Any], p: float) -> Floats:
    """Return the test statistic T (n, bins + 1) of the module docstring at the edges of the bins.

    `counts` (n, bins) are the noisy counts, and p is the quantile to find.
    """
    below = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(counts, axis=1, out=below[:, 1:])
    return np.asarray(below - p * below[:, -1:])


def _refined(values: Floats) -> Floats:
    """Interpolate values (n, m) between the edges of bins, at PARTS - 1 points each."""
    edges = values.shape[1]
    at = np.arange(PARTS * (edges - 1) + 1) / PARTS
    before = np.minimum(at.astype(np.int64), edges - 2)
    return np.asarray(
        values[:, before] + (at - before) * (values[:, before + 1] - values[:, before])
    )


def _least_loss(tested: Floats) -> Floats:
    """Return where the integral of T is smallest, as a share (n,) of the range from its lower end.

    T, the test statistic of the module docstring, is given by `tested` (n, m) at evenly spaced
    points; between them it is linear.
    """
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
    """Return the first share (n,) of the range at which values (n, m) are 0 or more.

    The values are given at evenly spaced points, and linear between them.
    """
    reached = values >= 0
    at = reached.argmax(axis=1)
    row = np.arange(len(values))
    end, start = values[row, at], values[row, np.maximum(at - 1, 0)]
    back = np.where(at > 0, end / np.where(at > 0, end - start, 1.0), 0.0)
    place = np.where(reached.any(axis=1), at - back, values.shape[1] - 1)
    return np.asarray(place / (values.shape[1] - 1))


@lru_cache(maxsize=64)
def _limits(bins: int, p: float, error: float) -> Floats:
    """Return t(v), which the noise of T(v) exceeds in absolute value with probability `error`.

    T(v) is the test statistic of the module docstring, for counts with noise of scale 1. t(v) is
    computed at PARTS candidate values v in each bin, and at the end of the last bin.
    """
    return _solve(*_terms(bins, p), error)


def _terms(bins: int, p: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return the weights of bins in the noise of T(v), and how many bins have each, both (m, 3).

    T is the test statistic of the module docstring; the three weights are those of bins below v,
    of the bin of v, and of bins above v. The m rows are for PARTS points v of each bin, and for the
    last bin's end.
    """
    whole, rest = np.divmod(np.arange(PARTS * bins + 1), PARTS)
    own = rest > 0
    weights = np.column_stack(
        [np.full(len(whole), 1 - p), rest / PARTS - p, np.full(len(whole), p)]
    )
    return weights, np.column_stack([whole, own, bins - whole - own])


@lru_cache(maxsize=64)
def _least(bins: int, regions: int) -> float:
    """Return the t that a sum of `bins` Laplace variables of scale 1 rarely exceeds.

    The probability is 1/`regions`, or 1/MIN_REGIONS if there are fewer regions.
    """
    return float(_solve(np.ones((1, 1)), np.array([[bins]]), 2 / max(regions, MIN_REGIONS))[0])


def _solve(weights: Floats, numbers: NDArray[np.integer[Any]], chance: float) -> Floats:
    """Return the t (m,) with P(|sum| > t) = chance for m sums of Laplace variables of scale 1.

    Each sum has `numbers` (m, k) variables of each of the `weights` (m, k). With phi the product of
    their characteristic functions, by Fourier inversion P(|sum| <= t) = 2/pi int_0^inf phi(u) sin(t
    u)/u du.
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
    """Return, for each characteristic function, the argument u (m,) from which it is below
    e^-MIN_LOG.
    """
    low, high = np.zeros(len(squares)), np.full(len(squares), 1e6)
    for _ in range(60):
        middle = (low + high) / 2
        below = _minus_log(squares, numbers, middle[:, None])[:, 0] > MIN_LOG
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return high


def _minus_log(squares: Floats, numbers: NDArray[np.integer[Any]], u: Floats) -> Floats:
    """Return -ln of the noise's characteristic functions, (m, n): each of m at its n points `u`.

    The noise is a sum of Laplace variables; `squares` holds their squared scales, and `numbers` how
    many variables have each scale.
    """
    total = np.zeros_like(u)
    for square, number in zip(squares.T[..., None], numbers.T[..., None], strict=True):
        total += number * np.log1p(square * u * u)
    return total


@lru_cache(maxsize=1)
def _rule() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)
