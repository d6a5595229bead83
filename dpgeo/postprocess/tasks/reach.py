"""Notification radius for a given task success probability E.

Workers around a task are a Poisson field of the released density den. theta(w, d) is the
probability that a worker at distance d accepts the reward w (`tasks.settings`). The number of
workers within r metres who accept is Poisson with mean
    H(r) = integral over the circle of den(x) theta(w, |x|) dx
so the probability that at least one accepts is 1 - exp(-H(r)), and the radius solves
H(r) = -ln(1 - E), for all tasks at once.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MIN_RATIO, MAX_RATIO = 0.02, 200.0
"""Range of u in which Phi(u) of `_phi` is tabulated; below it, tanh(1/u) is 1 in floating point."""

INTERVALS = 4096

PRECISION = 1e-12
"""Relative precision to which a radius is computed."""

MAX_STEPS = 80

CURVE_POINTS = 1000
"""Number of radii at which `Reach.curves` computes people; it interpolates in between."""

TOGETHER = 1024
"""Number of tasks computed at once, so that arrays stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expectation:
    """Expected outcomes (n,) of n tasks at given rewards.

    `radius` is in metres. It is inf for a task that cannot reach the target within the travel
    limit; the other values then assume that everyone within the limit is notified. `notified` is
    the expected number of workers within the radius or the limit, `acceptance` the probability that
    any one of them accepts, and `success` the probability that at least one of them accepts.
    """

    radius: Floats
    notified: Floats
    acceptance: Floats
    success: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """Workers as a Poisson field with a constant density in each of k rings around a task.

    `edges` (k + 1,) holds the radii that bound the rings, from 0 to the travel limit. `density` (n,
    k) is in workers per square metre, for n tasks. `needed` is -ln(1 - E), the expected number of
    acceptances at which at least one person accepts with probability E. `willingness` is c of the
    acceptance model, in metres per unit of reward.
    """

    willingness: float
    needed: float
    edges: Floats
    density: Floats

    def radius(self, reward: Floats) -> Floats:
        """Return the radius at which each task meets the target, or inf above the travel limit."""
        pull = self.willingness * reward
        radii = np.empty(len(pull))
        for chunk in _parts(len(pull)):
            radii[chunk] = self._radius(pull[chunk], self.density[chunk])
        return radii

    def _radius(self, pull: Floats, density: Floats) -> Floats:
        # If all tasks offer the same reward, `accepting_area` is the same for all and computed only
        # once.
        even = pull.size and (pull == pull[0]).all()
        areas = accepting_area(self.edges, pull[: 1 if even else None, None])
        before, ring, reached = self._crossing(areas, density)
        density_here = np.where(reached, density[np.arange(len(pull)), ring], 1.0)
        start = accepting_area(self.edges[ring], pull)
        area = start + np.where(reached, self.needed - before, 0.0) / (2 * math.pi * density_here)
        radius = increasing_root(
            lambda r: accepting_area(r, pull),
            lambda r: r * _tanh_ratio(pull, r),
            self.edges[ring],
            self.edges[ring + 1],
            area,
        )
        return np.asarray(np.where(reached, radius, np.inf))

    def _crossing(
        self, areas: Floats, density: Floats
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
        """Find the ring around each task in which H(r) reaches `needed`.

        H(r) is the expected number of workers within r metres who accept. Returns H at the ring's
        inner edge, the ring's index, and whether H reaches `needed` within the travel limit; all
        are (n,). `areas` (n or 1, k + 1) holds `accepting_area` at the edges.
        """
        steps = 2 * math.pi * density * np.diff(areas)
        total = np.cumsum(steps, axis=1)
        ring = np.minimum((total < self.needed).sum(axis=1), total.shape[1] - 1)
        row = np.arange(len(total))
        return total[row, ring] - steps[row, ring], ring, total[:, -1] >= self.needed

    def notified(self, radius: Floats) -> Floats:
        """Return the expected number of workers within each radius."""
        inner = np.minimum(radius[:, None], self.edges)
        return np.asarray((math.pi * self.density * np.diff(inner**2)).sum(axis=1))

    def accepting(self, radius: Floats, reward: Floats) -> Floats:
        """Compute H(r), the expected number of workers within each radius who accept."""
        pull = self.willingness * reward
        inner = np.minimum(radius[:, None], self.edges)
        areas = np.diff(accepting_area(inner, pull[:, None]))
        return np.asarray((2 * math.pi * self.density * areas).sum(axis=1))

    def expect(self, reward: Floats) -> Expectation:
        """Return the radius and the expected outcome of each task at the given reward (n,)."""
        radius = self.radius(reward)
        unmet = ~np.isfinite(radius)
        within = np.where(unmet, self.edges[-1], radius)
        people = self.notified(within)
        # The radius is defined as that within which `needed` people are expected to accept.
        accepting = np.full(len(reward), self.needed)
        accepting[unmet] = self.part(unmet).accepting(within[unmet], reward[unmet])
        share = np.divide(accepting, people, out=np.zeros(len(people)), where=people > 0)
        return Expectation(
            radius=radius,
            notified=people,
            acceptance=np.minimum(share, 1.0),
            success=-np.expm1(-accepting),
        )

    def curves(self, rewards: Floats) -> Floats:
        """Return the expected number of workers (n, g) to notify for each task at each of g
        rewards; inf if the target cannot be met within the travel limit.
        """
        pulls = self.willingness * rewards[:, None]
        fine = np.linspace(0, self.edges[-1] ** 0.5, CURVE_POINTS) ** 2
        at_edges, at_fine = accepting_area(self.edges, pulls), accepting_area(fine, pulls)
        curves = np.empty((len(self.density), len(rewards)))
        for chunk in _parts(len(curves)):
            density = self.density[chunk]
            inside = np.cumsum(math.pi * density * np.diff(self.edges**2), axis=1)
            row = np.arange(len(density))
            for column in range(len(rewards)):
                before, ring, reached = self._crossing(at_edges[column], density)
                density_here = np.where(reached, density[row, ring], 1.0)
                outstanding = np.where(reached, self.needed - before, 0.0) / (
                    2 * math.pi * density_here
                )
                outer = at_edges[column][ring] + outstanding
                square = np.interp(outer, at_fine[column], fine**2)
                added = math.pi * density_here * (square - self.edges[ring] ** 2)
                already = np.where(ring > 0, inside[row, ring - 1], 0.0)
                curves[chunk, column] = np.where(reached, already + added, np.inf)
        return curves

    def part(self, chosen: NDArray[np.bool_]) -> Reach:
        """Return the model restricted to the tasks marked in `chosen` (n,)."""
        return dataclasses.replace(self, density=self.density[chosen])


def increasing_root(
    function: Callable[[Floats], Floats],
    slope: Callable[[Floats], Floats],
    low: Floats,
    high: Floats,
    target: Floats,
) -> Floats:
    """Find the arguments (n,) at which n increasing functions equal their targets (n,).

    `function` and `slope` map n arguments to n values. Each bracket [low, high] must contain the
    root. Newton's method is used, but a step that would leave the bracket is replaced by bisection.
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    x = (low + high) / 2
    for _ in range(MAX_STEPS):
        error = function(x) - target
        low, high = np.where(error < 0, x, low), np.where(error > 0, x, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - error / slope(x)
        inside = (step >= low) & (step <= high)
        following = np.where(error == 0, x, np.where(inside, step, (low + high) / 2))
        if np.all(np.abs(following - x) <= PRECISION * np.abs(following)):
            return np.asarray(following)
        x = following
    return x


def _tanh_ratio(pull: Floats, radius: Floats) -> Floats:
    """Compute tanh(a/r), which is 1 at r = 0; `pull` is a = c w, and `radius` is r, in metres."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(radius > 0, np.tanh(pull / radius), 1.0)


def _parts(size: int) -> Iterator[slice]:
    """Yield slices that together cover `size` tasks, with at most TOGETHER tasks each."""
    return (slice(start, start + TOGETHER) for start in range(0, size, TOGETHER))


def accepting_area(radius: ArrayLike, pull: ArrayLike) -> Floats:
    """Compute F(r), the integral of s tanh(a/s) ds from 0 to r, in square metres.

    Here a = c w, in metres, is the `pull` of a reward. In a circle of `radius` r with den workers
    per square metre, 2 pi F(r) den workers are expected to accept. F(r) = a^2 Phi(r/a), where Phi
    is interpolated by cubics with exact slopes, with an error of about 1e-12. Shapes broadcast.
    """
    radius, pull = np.broadcast_arrays(
        np.asarray(radius, dtype=np.float64), np.asarray(pull, dtype=np.float64)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(pull > 0, radius / pull, 0.0)
    return np.where(pull > 0, pull**2 * _phi(ratio), 0.0)


def _phi(ratio: Floats) -> Floats:
    """Compute Phi(u), the integral of s tanh(1/s) ds from 0 to u."""
    table = _table()
    u = np.clip(ratio, MIN_RATIO, MAX_RATIO)
    left = np.minimum((np.log(u / MIN_RATIO) / table.step).astype(np.int64), INTERVALS - 1)
    width = table.width[left]
    t = (u - table.node[left]) / width
    start, slope = table.value[left], table.slope[left] * width
    rise = table.value[left + 1] - start
    next_slope = table.slope[left + 1] * width
    cubic = slope + next_slope - 2 * rise
    inner = start + t * (slope + t * (3 * rise - 2 * slope - next_slope + t * cubic))
    # For large s, use s tanh(1/s) = 1 - 1/(3 s^2) + 2/(15 s^4) - ...
    far = np.maximum(ratio, MAX_RATIO)
    outer = table.offset + far + 1 / (3 * far) - 2 / (45 * far**3)
    return np.where(ratio < MIN_RATIO, ratio**2 / 2, np.where(ratio > MAX_RATIO, outer, inner))


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    step: float
    node: Floats
    width: Floats
    value: Floats
    slope: Floats
    offset: float


@functools.cache
def _table() -> _Table:
    step = math.log(MAX_RATIO / MIN_RATIO) / INTERVALS
    node = MIN_RATIO * np.exp(step * np.arange(INTERVALS + 1))
    point, weight = np.polynomial.legendre.leggauss(8)
    half, middle = np.diff(node) / 2, (node[1:] + node[:-1]) / 2
    s = middle[:, None] + half[:, None] * point
    pieces = half * ((s * np.tanh(1 / s)) @ weight)
    value = np.concatenate([[MIN_RATIO**2 / 2], MIN_RATIO**2 / 2 + np.cumsum(pieces)])
    offset = value[-1] - (MAX_RATIO + 1 / (3 * MAX_RATIO) - 2 / (45 * MAX_RATIO**3))
    return _Table(
        step=step,
        node=node,
        width=np.diff(node),
        value=value,
        slope=node * np.tanh(1 / node),
        offset=float(offset),
    )
