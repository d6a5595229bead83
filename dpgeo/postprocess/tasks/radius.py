"""How far around a task people must be asked, so that one of them accepts with a given chance.

Two models of the workers around a task, each solved exactly for all tasks at once.

`FieldReach` (the default): workers are a Poisson field of the released density. The number who
accept within r metres is Poisson with mean
    H(r) = integral over the circle of den(x) theta(w, |x|) dx
so the chance that anybody does is 1 - exp(-H(r)), and the radius solves H(r) = -ln(1 - E).

`CircleReach` (the source's, seed 003, equations 13.9 to 13.13): the density is the same all over
the circle, n = pi r^2 den workers all live at the mean distance 2r/3, and E = 1 - (1 - theta)^n.
Hence
    r^2 ln((exp(3 c w/r) + 1)/2) = -ln(1 - E)/(pi den)
whose left side rises with r; the factor r^2 is lost in the source's 13.14. n need not be whole: for
small n this model is sure of success where fewer than one worker is expected, which the field is
not. `taylor_radius` is the source's 13.16, for comparison only: it errs, and goes below 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.tasks.acceptance import Acceptance, Floats, accepting_area

PRECISION = 1e-12
"""Of a radius, relative."""

MOST_STEPS = 80

CURVE_POINTS = 1000
"""Radii between which `FieldReach.curves` interpolates."""


class Reach(Protocol):
    """What is expected around each of n tasks: all arrays are (n,), distances in metres."""

    def radius(self, reward: Floats) -> Floats:
        """The radius that reaches the target, inf where none within the travel limit does."""

    def stretch(self, reward: Floats) -> Floats:
        """`radius`, and a finite stand-in that ranks the tasks where it is inf."""

    def notified(self, radius: Floats) -> Floats:
        """Expected number of workers within a radius."""

    def success(self, radius: Floats, reward: Floats) -> Floats:
        """Chance that at least one of them accepts."""

    def best(self, reward: Floats) -> Floats:
        """Chance of success when everyone within the travel limit is asked."""

    def acceptance(self, radius: Floats, reward: Floats) -> Floats:
        """Mean chance that one worker within a radius accepts."""

    def curves(self, rewards: Floats) -> Floats:
        """Expected workers to notify (n, rewards) for the same rewards (g,) offered to every task.

        inf where the target is out of reach.
        """

    def part(self, chosen: NDArray[np.bool_]) -> Reach:
        """The same for some of the tasks."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldReach:
    """Workers as a Poisson field whose density is the same within each of k rings.

    `edges` (k + 1,) are the rings' radii from 0 to the travel limit, `density` (n, k) workers per
    square metre in each, and `needed` is -ln(1 - E).
    """

    acceptance_model: Acceptance
    needed: float
    edges: Floats
    density: Floats

    def radius(self, reward: Floats) -> Floats:
        pull = self.acceptance_model.willingness * reward
        before, ring, reached = self._crossing(pull)
        row = np.arange(len(pull))
        density = np.where(reached, self.density[row, ring], 1.0)
        start = accepting_area(self.edges[ring], pull)
        area = start + np.where(reached, self.needed - before, 0.0) / (2 * math.pi * density)
        found = increasing_root(
            lambda r: accepting_area(r, pull),
            lambda r: r * _tanh_ratio(pull, r),
            self.edges[ring],
            self.edges[ring + 1],
            area,
        )
        return np.asarray(np.where(reached, found, np.inf))

    def _crossing(self, pull: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
        """H at the inner edge of the ring in which it reaches what is needed, and that ring."""
        if pull.size and (pull == pull[0]).all():
            pull = pull[:1]  # an even reward: one row of areas serves all tasks
        steps = 2 * math.pi * self.density * np.diff(accepting_area(self.edges, pull[:, None]))
        total = np.cumsum(steps, axis=1)
        ring = np.minimum((total < self.needed).sum(axis=1), total.shape[1] - 1)
        row = np.arange(len(total))
        return total[row, ring] - steps[row, ring], ring, total[:, -1] >= self.needed

    def stretch(self, reward: Floats) -> Floats:
        return np.asarray(np.minimum(self.radius(reward), self.edges[-1]))

    def notified(self, radius: Floats) -> Floats:
        inner = np.minimum(radius[:, None], self.edges)
        return np.asarray((math.pi * self.density * np.diff(inner**2)).sum(axis=1))

    def accepting(self, radius: Floats, reward: Floats) -> Floats:
        """H(r), the expected number of workers who accept."""
        pull = self.acceptance_model.willingness * reward
        inner = np.minimum(radius[:, None], self.edges)
        areas = np.diff(accepting_area(inner, pull[:, None]))
        return np.asarray((2 * math.pi * self.density * areas).sum(axis=1))

    def success(self, radius: Floats, reward: Floats) -> Floats:
        return -np.expm1(-self.accepting(radius, reward))

    def best(self, reward: Floats) -> Floats:
        return self.success(np.full(len(reward), self.edges[-1]), reward)

    def acceptance(self, radius: Floats, reward: Floats) -> Floats:
        people, accepting = self.notified(radius), self.accepting(radius, reward)
        share = np.divide(accepting, people, out=np.zeros(len(people)), where=people > 0)
        return np.minimum(share, 1.0)

    def curves(self, rewards: Floats) -> Floats:
        inside = np.cumsum(math.pi * self.density * np.diff(self.edges**2), axis=1)
        row = np.arange(len(self.density))
        fine = np.linspace(0, self.edges[-1] ** 0.5, CURVE_POINTS) ** 2
        curves = np.empty((len(self.density), len(rewards)))
        for column, reward in enumerate(rewards):
            pull = self.acceptance_model.willingness * reward
            before, ring, reached = self._crossing(np.full(1, pull))
            density = np.where(reached, self.density[row, ring], 1.0)
            missing = np.where(reached, self.needed - before, 0.0) / (2 * math.pi * density)
            outer = accepting_area(self.edges, pull)[ring] + missing
            square = np.interp(outer, accepting_area(fine, pull), fine**2)
            added = math.pi * density * (square - self.edges[ring] ** 2)
            already = np.where(ring > 0, inside[row, ring - 1], 0.0)
            curves[:, column] = np.where(reached, already + added, np.inf)
        return curves

    def part(self, chosen: NDArray[np.bool_]) -> FieldReach:
        return dataclasses.replace(self, density=self.density[chosen])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CircleReach:
    """The source's circle: `density` (n,) workers per square metre, positive, at each task."""

    acceptance_model: Acceptance
    needed: float
    density: Floats

    def radius(self, reward: Floats) -> Floats:
        found = self.stretch(reward)
        return np.where(2 * found / 3 <= self.acceptance_model.travel_metres, found, np.inf)

    def stretch(self, reward: Floats) -> Floats:
        return circle_radius(self.needed, self.density, self.acceptance_model.willingness * reward)

    def notified(self, radius: Floats) -> Floats:
        return math.pi * radius**2 * self.density

    def success(self, radius: Floats, reward: Floats) -> Floats:
        pull = self.acceptance_model.willingness * reward
        return -np.expm1(-math.pi * self.density * _refusing(radius, pull))

    def best(self, reward: Floats) -> Floats:
        return self.success(np.full(len(reward), 1.5 * self.acceptance_model.travel_metres), reward)

    def acceptance(self, radius: Floats, reward: Floats) -> Floats:
        return _tanh_ratio(1.5 * self.acceptance_model.willingness * reward, radius)

    def curves(self, rewards: Floats) -> Floats:
        shape = (len(self.density), len(rewards))
        density = np.broadcast_to(self.density[:, None], shape)
        reward = np.broadcast_to(rewards, shape)
        pull = self.acceptance_model.willingness * reward
        found = circle_radius(self.needed, density.ravel(), pull.ravel()).reshape(shape)
        within = 2 * found / 3 <= self.acceptance_model.travel_metres
        return np.where(within, math.pi * found**2 * density, np.inf)

    def part(self, chosen: NDArray[np.bool_]) -> CircleReach:
        return dataclasses.replace(self, density=self.density[chosen])


def circle_radius(needed: float, density: Floats, pull: Floats) -> Floats:
    """The r (n,) at which r^2 ln((exp(3 a/r) + 1)/2) is needed/(pi den); a = c w in metres.

    ln((e^x + 1)/2) lies between x/2 and x, so the root lies between A/(3 a) and twice that, where
    A = needed/(pi den).
    """
    area = needed / (math.pi * density)
    low = area / (3 * pull)
    return increasing_root(
        lambda r: _refusing(r, pull), lambda r: _refusing_slope(r, pull), low, 2 * low, area
    )


def _refusing(radius: Floats, pull: Floats) -> Floats:
    """-r^2 ln(1 - theta) with theta = tanh(3 a/(2 r)): 0 where the radius is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = radius**2 * _log_refusal(3 * pull / radius)
    return np.where(radius > 0, found, 0.0)


def _refusing_slope(radius: Floats, pull: Floats) -> Floats:
    x = 3 * pull / radius
    return np.asarray(radius * (2 * _log_refusal(x) - x / (1 + np.exp(-x))))


def _log_refusal(x: Floats) -> Floats:
    """ln((exp(x) + 1)/2), exact near 0 too, and without overflow."""
    return np.where(x < 40, np.log1p(np.expm1(np.minimum(x, 40)) / 2), x - math.log(2))


def taylor_radius(needed: float, density: Floats, pull: Floats) -> Floats:
    """The source's 13.16, expanded about r = 1: for comparison, and not to be planned with.

    Lengths are in the unit in which r = 1 is meant. May be negative.
    """
    k = 3 * pull
    log = _log_refusal(k)
    bend = k / (1 + np.exp(-k))
    return np.asarray((needed / (math.pi * density) + log - bend) / (2 * log - bend))


def increasing_root(
    function: Callable[[Floats], Floats],
    slope: Callable[[Floats], Floats],
    low: Floats,
    high: Floats,
    target: Floats,
) -> Floats:
    """Where increasing functions of n unknowns, one each, reach their targets (n,).

    Newton's steps, and halving of the bracket [low, high] where a step would leave it. Both ends
    must hold the root between them.
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    x = (low + high) / 2
    for _ in range(MOST_STEPS):
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
    """tanh(a/r), 1 at radius 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(radius > 0, np.tanh(pull / radius), 1.0)
