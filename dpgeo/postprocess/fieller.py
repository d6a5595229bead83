"""Intervals of means from two noisy sums, by inversion of a test (Fieller 1954).

A record's value is counted in steps: k of the K equal steps from the lower to the upper limit of
the measure. Let U be the noisy sum of k over a region's records, D the noisy sum of K - k, and b
the scale of the Laplace noise of either sum, in steps. For a candidate mean m, as a fraction of the
range,
    T(m) = (1 - m) U - m D
has mean 0 if m is the true mean of the counted records, however many there are, and its noise is (1
- m) X - m Y with X and Y independent. With p = max(m, 1 - m) b and q = min(m, 1 - m) b,
    P(|noise| > t) = (p^2 e^(-t/p) - q^2 e^(-t/q)) / (p^2 - q^2),
and e^(-t/p) (1 + t/(2p)) where p = q. If the noise is Gaussian with the variance 2 b^2, the noise
of T(m) is Gaussian with the variance 2 b^2 ((1 - m)^2 + m^2). Let t(m) be the t at which this is 5
%. The interval is the set of all m with |T(m)| <= t(m): with continuous noise, it contains the true
mean in exactly 95 % of releases, without a union bound and without dividing by a noisy number. The
noise is discrete; its tails are within one step of those of continuous noise, so 1 is added to
t(m). t(m) does not depend on any data and is tabulated once for M values of m from 0 to 1, and
taken as linear between them. So the ends of an interval are where T(m) crosses t(m) or -t(m)
between two of these values, and an interval may be narrower than their distance.

Ranks. If each interval misses with a probability of 5 %/n, all n intervals hold together in 95 % of
releases (Bonferroni). Then a region is surely above another if its interval lies above the other's,
and its rank is at least 1 plus the number of regions surely above it, and at most n minus the
number of regions surely below it. Ranks are among the regions whose mean is shown.

What is shown. The noisy number of records is (U + D)/K, with the noise (X + Y)/K, of which P(X + Y
> t) = e^(-t/b) (1 + t/(2b)) / 2; Gaussian noise has the variance 4 b^2. A mean is shown only if
this number reaches a threshold that at most one of the release's regions would be expected to reach
if all of them were empty (one in MIN_REGIONS if there are fewer regions), and if the interval is
not empty, not too wide, and does not contain both ends of the range. Coverage is 95 % over all
regions, shown or not. It is lower among shown regions whose numbers barely reach the threshold,
since regions with an upward error in their number are shown more often.

Sums over several regions. For a query region that holds whole regions and shares w of others, the
noise of T(m) is a sum of terms w (1 - m) X and w m Y. As in `postprocess.noise_sums`, its 95 %
quantile is at most ln 20/sqrt 2 standard errors (1.96 for Gaussian noise), the quantile of a single
term, plus the largest weight for the discreteness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise, DiscreteLaplace

Floats = NDArray[np.float64]

SHARES = 2001
"""Number M of candidate means, evenly spaced fractions of the range from 0 to 1."""

MAX_WIDTH = 0.6
"""Means with wider intervals than this, as a fraction of the range, are withheld."""

MIN_REGIONS = 20
"""In a release of fewer regions than this, an empty region shows a mean with probability at most
1/MIN_REGIONS.
"""

ERROR = 0.05
"""Probability that an interval misses the true mean."""

CHUNK = 1000
"""Number of regions for which all candidate means are tested at a time, to bound memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Means:
    """Means (n,) as fractions of the range, with 95 % intervals and noisy numbers of records (n,).

    `share` holds the means. Where `told` is false, the mean is withheld, and `share`, `low` and
    `high` are NaN. `records_margin` (n,) is the half-width of the numbers' 95 % intervals.
    """

    share: Floats
    low: Floats
    high: Floats
    records: Floats
    records_margin: Floats
    told: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ShareNoise:
    """Noise of a region's two noisy sums, U and D of the module docstring.

    They add up how many steps each record's value is above the measure's lower limit, and how many
    below its upper one. `steps` is the number of steps between the limits, K.
    """

    noise: CountNoise
    steps: int

    @property
    def scale(self) -> float:
        """The scale of the noise in records: b/K of the module docstring, where K is `steps`."""
        return self.noise.scale / self.steps

    @property
    def records_margin(self) -> float:
        """Half-width of the 95 % interval of one region's number of records."""
        return self.scale * self._pair(ERROR) + 1 / self.steps

    def _pair(self, chance: float) -> float:
        """Return the t with P(|X + Y| > t) = `chance`, for noises X and Y of scale 1."""
        if isinstance(self.noise, DiscreteLaplace):
            return _solve_pair(chance)
        return 2 * self.noise.tail(chance / 2)

    def least_records(self, regions: int) -> float:
        """Return the smallest noisy number of records with which a mean is shown.

        The module docstring derives it. `regions` is the number of regions of the release.
        """
        chance = 2 / max(regions, MIN_REGIONS)
        return self.scale * self._pair(chance) + 1 / self.steps

    def half_width(self, records: float) -> float:
        """Return half the width of the interval of a mean of 1/2 over this number of records.

        The mean and the width are fractions of the range.
        """
        return self.scale / 2 * self._pair(ERROR) / records

    def means(
        self, above: NDArray[Any], below: NDArray[Any], regions: int, error: float = ERROR
    ) -> Means:
        """Return the means of single regions, (n,), from their noisy sums.

        `regions` is the number of regions of the release, and `error` the probability that a
        region's interval misses its true mean.
        """
        margin = np.full(len(above), self.records_margin)
        least = np.full(len(above), self.least_records(regions))
        scale = self.steps * self.scale
        limit = np.broadcast_to(self._limits(error) * scale + 1, (len(above), SHARES))
        return self._means(above, below, limit, margin, least)

    def limits(self, shares: Floats) -> Floats:
        """Return the limits t(m) on the test statistic T(m) of candidate means m (n,).

        The module docstring defines T and t. A region's interval contains m if |T(m)| is at most
        t(m).
        """
        return (
            np.interp(shares, np.linspace(0, 1, SHARES), self._limits(ERROR))
            * (self.steps * self.scale)
            + 1
        )

    def _limits(self, error: float) -> Floats:
        """Return t(m) (M,), which |noise of T(m)| exceeds with probability `error`.

        T(m) is the test statistic of the module docstring, for M candidate means m and sums with
        noise of scale 1.
        """
        if isinstance(self.noise, DiscreteLaplace):
            return _laplace_limits(error)
        m = np.linspace(0, 1, SHARES)
        return self.noise.tail(error / 2) * np.sqrt(2 * ((1 - m) ** 2 + m**2))

    def ranks(
        self, above: NDArray[Any], below: NDArray[Any], regions: int
    ) -> tuple[Floats, Floats]:
        """Return the best and the worst rank (n,) that each region's mean may have.

        Rank 1 is the highest. The ranks hold for all regions of the release together with
        probability 95 %; they are NaN for a withheld mean. `above` and `below` (n,) are the noisy
        sums U and D of the module docstring, which also derives the ranks.
        """
        told = self.means(above, below, regions).told
        joint = self.means(above, below, regions, ERROR / max(1, regions))
        low, high = np.where(joint.told, joint.low, 0.0), np.where(joint.told, joint.high, 1.0)
        return ranks_between(low, high, told)

    def means_of_sums(
        self, above: Floats, below: Floats, squares: Floats, largest: Floats, regions: int
    ) -> Means:
        """Return the means (n,) of query regions, each made of shares of several measured regions.

        `above` and `below` (n,) are the noisy sums U and D of the module docstring, added up over
        the measured regions, each times its share.
        `squares` (n,) is the sum of the squares of the shares, and `largest` (n,) the largest
        share.
        """
        m = np.linspace(0, 1, SHARES)
        single = self.noise.tail(0.025)
        # `spread`, like `scale` in records, is the scale of the noise in a query region: the noise
        # of either of its two sums, divided by the number of steps, has a standard deviation of
        # sqrt(2) times `spread`.
        spread = self.scale * np.sqrt(squares)
        deviation = self.steps * spread[:, None] * np.sqrt(2 * ((1 - m) ** 2 + m**2))
        limit = single * deviation + largest[:, None]
        margin = single * 2 * spread + largest / self.steps
        # Relative to their standard deviation, sums have no heavier tails than one variable, so
        # the tail of one variable is used.
        tail = self.noise.tail(1 / max(regions, MIN_REGIONS))
        least = np.maximum(tail * 2 * spread, spread) + largest / self.steps
        return self._means(above, below, limit, margin, least)

    def _means(
        self, above: NDArray[Any], below: NDArray[Any], limit: Floats, margin: Floats, least: Floats
    ) -> Means:
        up, down = above.astype(np.float64), below.astype(np.float64)
        total = up + down
        m = np.linspace(0, 1, SHARES)
        low, high = np.full(len(up), np.nan), np.full(len(up), np.nan)
        for start in range(0, len(up), CHUNK):
            part = slice(start, start + CHUNK)
            test = up[part, None] - m * total[part, None]
            low[part] = _first_crossing(test - limit[part])
            # The interval's upper end is found like its lower end, but from m = 1 downwards. T(m)
            # of the module docstring falls with m if the number of records is positive.
            high[part] = 1 - _first_crossing(-(test + limit[part])[:, ::-1])
        records = total / self.steps
        with np.errstate(invalid="ignore", divide="ignore"):
            high[low > high] = np.nan
            narrow = (high - low <= MAX_WIDTH) & ~((low == 0) & (high == 1))
            told = narrow & (records >= least)
            share = np.where(told, np.clip(up / total, 0, 1), np.nan)
        return Means(
            share=share,
            low=np.where(told, low, np.nan),
            high=np.where(told, high, np.nan),
            records=records,
            records_margin=margin,
            told=np.asarray(told),
        )


def _first_crossing(values: Floats) -> Floats:
    """Return the first fraction from 0 to 1 (n,) at which falling values (n, SHARES) are 0 or less.

    The values are those at evenly spaced fractions, and linear in between. The result is NaN where
    all values are positive.
    """
    rows, at = np.arange(len(values)), (values <= 0).argmax(axis=1)
    here, before = values[rows, at], values[rows, np.maximum(at - 1, 0)]
    with np.errstate(invalid="ignore", divide="ignore"):
        back = np.where(at > 0, here / (here - before), 0.0)
    return np.where(here <= 0, (at - back) / (values.shape[1] - 1), np.nan)


def ranks_between(low: Floats, high: Floats, told: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the best and the worst rank (n,) of each region with a mean; 1 is the highest.

    `low` and `high` (n,) are the ends of intervals that hold for all regions together.
    """
    best, worst = np.full(len(told), np.nan), np.full(len(told), np.nan)
    count = np.count_nonzero(told)
    surely_above = count - np.searchsorted(np.sort(low[told]), high[told], side="right")
    surely_below = np.searchsorted(np.sort(high[told]), low[told], side="left")
    best[told], worst[told] = 1 + surely_above, count - surely_below
    return best, worst


@lru_cache(maxsize=16)
def _laplace_limits(error: float) -> Floats:
    """Return t(m) (M,), which |noise of T(m)| exceeds with probability `error`.

    T(m) is the test statistic of the module docstring, for M candidate means m and sums with
    Laplace noise of scale 1.
    """
    m = np.linspace(0, 1, SHARES)
    p, q = np.maximum(m, 1 - m), np.minimum(m, 1 - m)
    low, high = np.zeros(SHARES), np.full(SHARES, 60.0)
    for _ in range(80):
        middle = (low + high) / 2
        more = _tail(middle, p, q) > error
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return high


def _tail(t: Floats, p: Floats, q: Floats) -> Floats:
    """Return P(|p X - q Y| > t) for X and Y Laplace of scale 1."""
    near = p - q < 1e-4
    apart = np.where(near, 1.0, p * p - q * q)
    with np.errstate(divide="ignore", over="ignore"):
        other = np.where(q > 0, np.exp(-t / np.where(q > 0, q, 1.0)), 0.0)
    far = (p * p * np.exp(-t / p) - q * q * other) / apart
    return np.where(near, np.exp(-t / p) * (1 + t / (2 * p)), far)


def _solve_pair(chance: float) -> float:
    """Return the t with P(|X + Y| > t) = e^-t (1 + t/2) = chance; X, Y: Laplace of scale 1."""
    low, high = 0.0, 200.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if math.exp(-middle) * (1 + middle / 2) > chance else (low, middle)
        )
    return high
