"""Notification radius for a given task success probability E.

There are two models of the workers around a task, each solved exactly for all tasks at once. den is
the density of workers, and theta(w, d) the probability that a worker at distance d accepts the
reward w.

`FieldReach` (the default): workers are a Poisson field of the released density. The number of
workers within r metres who accept is Poisson with mean
    H(r) = integral over the circle of den(x) theta(w, |x|) dx
so the probability that at least one accepts is 1 - exp(-H(r)), and the radius solves
H(r) = -ln(1 - E).

`CircleReach` (the model of Zhu, Li, Zhou and Yu 2017, equations 13.9 to 13.13): the density is
uniform in the circle, all n = pi r^2 den workers live at the mean distance 2r/3, and
E = 1 - (1 - theta)^n. Hence
    r^2 ln((exp(3 c w/r) + 1)/2) = -ln(1 - E)/(pi den)
with c of `tasks.acceptance`. The left-hand side increases with r; the factor r^2 is missing in
their equation 13.14. n need not be an integer: even if fewer than one worker is expected, this
model can predict certain success, which the field model cannot. Their equation 13.16 is not used,
since it is inaccurate and can be negative.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.tasks.acceptance import Acceptance, Floats, accepting_area

PRECISION = 1e-12
"""Relative precision to which a radius is computed."""

MOST_STEPS = 80

CURVE_POINTS = 1000
"""Number of radii at which `FieldReach.curves` computes people; it interpolates in between."""

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


class Reach(Protocol):
    """Model of the workers around each of n tasks; arrays are (n,), and distances are in metres."""

    def radius(self, reward: Floats) -> Floats:
        """Return the radius at which each task meets the target, or inf above the travel limit."""

    def stretch(self, reward: Floats) -> Floats:
        """Return, for each task, the radius in proportion to which rewards are divided.

        It is `radius`, but finite even where the target cannot be met within the travel limit.
        """

    def notified(self, radius: Floats) -> Floats:
        """Return the expected number of workers within each radius."""

    def expect(self, reward: Floats) -> Expectation:
        """Return the radius and the expected outcome of each task at the given reward (n,)."""

    def curves(self, rewards: Floats) -> Floats:
        """Return the expected number of workers (n, g) to notify for each task at each of g
        rewards.

        The number is inf if the target cannot be met within the travel limit.
        """

    def part(self, chosen: NDArray[np.bool_]) -> Reach:
        """Return the model restricted to the tasks marked in `chosen` (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldReach:
    """Workers as a Poisson field with a constant density in each of k rings around a task.

    `edges` (k + 1,) holds the radii that bound the rings, from 0 to the travel limit. `density` (n,
    k) is in workers per square metre, for n tasks. `needed` is -ln(1 - E), the expected number of
    acceptances at which at least one person accepts with probability E.
    """

    acceptance_model: Acceptance
    needed: float
    edges: Floats
    density: Floats

    def radius(self, reward: Floats) -> Floats:
        pull = self.acceptance_model.willingness * reward
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

    def stretch(self, reward: Floats) -> Floats:
        return np.asarray(np.minimum(self.radius(reward), self.edges[-1]))

    def notified(self, radius: Floats) -> Floats:
        inner = np.minimum(radius[:, None], self.edges)
        return np.asarray((math.pi * self.density * np.diff(inner**2)).sum(axis=1))

    def accepting(self, radius: Floats, reward: Floats) -> Floats:
        """Compute H(r), the expected number of workers within each radius who accept."""
        pull = self.acceptance_model.willingness * reward
        inner = np.minimum(radius[:, None], self.edges)
        areas = np.diff(accepting_area(inner, pull[:, None]))
        return np.asarray((2 * math.pi * self.density * areas).sum(axis=1))

    def expect(self, reward: Floats) -> Expectation:
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
        pulls = self.acceptance_model.willingness * rewards[:, None]
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

    def part(self, chosen: NDArray[np.bool_]) -> FieldReach:
        return dataclasses.replace(self, density=self.density[chosen])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CircleReach:
    """Workers at a uniform `density` (n,), per square metre, around each of n tasks."""

    acceptance_model: Acceptance
    needed: float
    density: Floats

    def radius(self, reward: Floats) -> Floats:
        radius = self.stretch(reward)
        return np.where(2 * radius / 3 <= self.acceptance_model.travel_metres, radius, np.inf)

    def stretch(self, reward: Floats) -> Floats:
        return circle_radius(self.needed, self.density, self.acceptance_model.willingness * reward)

    def notified(self, radius: Floats) -> Floats:
        return math.pi * radius**2 * self.density

    def success(self, radius: Floats, reward: Floats) -> Floats:
        """Return the probability (n,) that at least one worker within each radius accepts."""
        pull = self.acceptance_model.willingness * reward
        with np.errstate(divide="ignore", invalid="ignore"):
            refusing = radius**2 * _log_refusal(3 * pull / radius)
        return -np.expm1(-math.pi * self.density * np.where(radius > 0, refusing, 0.0))

    def expect(self, reward: Floats) -> Expectation:
        radius = self.radius(reward)
        # The model places all workers at two thirds of the radius, which must be within the travel
        # limit.
        within = np.minimum(radius, 1.5 * self.acceptance_model.travel_metres)
        return Expectation(
            radius=radius,
            notified=self.notified(within),
            acceptance=_tanh_ratio(1.5 * self.acceptance_model.willingness * reward, within),
            success=self.success(within, reward),
        )

    def curves(self, rewards: Floats) -> Floats:
        shape = (len(self.density), len(rewards))
        density = np.broadcast_to(self.density[:, None], shape)
        reward = np.broadcast_to(rewards, shape)
        pull = self.acceptance_model.willingness * reward
        radius = circle_radius(self.needed, density.ravel(), pull.ravel()).reshape(shape)
        within = 2 * radius / 3 <= self.acceptance_model.travel_metres
        return np.where(within, math.pi * radius**2 * density, np.inf)

    def part(self, chosen: NDArray[np.bool_]) -> CircleReach:
        return dataclasses.replace(self, density=self.density[chosen])


def circle_radius(needed: float, density: Floats, pull: Floats) -> Floats:
    """Solve r^2 ln((exp(3 a/r) + 1)/2) = needed/(pi den) for r, with a = c w.

    This is the equation of the module docstring: `needed` is -ln(1 - E), `density` (n,) holds den,
    and `pull` (n,) holds a. With u = r/a, the equation is g(u) = K, where g(u) = u^2 ln((exp(3/u) +
    1)/2) and K = needed/(pi den a^2). Since ln((e^x + 1)/2) is at most x and at most x/2 + x^2/8,
    the root is at least K/3 and at least (2 K - 9/4)/3. Newton's method starts from the larger of
    these bounds. Since g is increasing and concave, its steps approach the root from below.
    """
    size = needed / (math.pi * density * pull**2)
    ratio = np.empty_like(size)
    for chunk in _parts(len(size)):
        ratio[chunk] = _circle_ratio(size[chunk])
    return np.asarray(ratio * pull)


def _circle_ratio(size: Floats) -> Floats:
    """Solve g(u) = `size` for u by Newton's method; g is defined in `circle_radius`.

    `size` and the result have shape (n,).
    """
    u = np.maximum(size / 3, (2 * size - 2.25) / 3)
    for _ in range(MOST_STEPS):
        x = 3 / u
        fall = np.expm1(-x)
        log = x + np.log1p(fall / 2)
        step = (size - u * u * log) / (2 * u * log - 3 / (2 + fall))
        u += step
        if np.all(np.abs(step) <= PRECISION * u):
            break
    return u


def _log_refusal(x: Floats) -> Floats:
    """Compute ln((exp(x) + 1)/2) without overflow.

    It equals -ln(1 - tanh(x/2)), the negative logarithm of a worker's probability to refuse.
    """
    return np.asarray(x + np.log1p(np.expm1(-x) / 2))


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
    """Compute tanh(a/r), which is 1 at r = 0; `pull` is a = c w, and `radius` is r, in metres."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(radius > 0, np.tanh(pull / radius), 1.0)


def _parts(size: int) -> Iterator[slice]:
    """Yield slices that together cover `size` tasks, with at most TOGETHER tasks each."""
    return (slice(start, start + TOGETHER) for start in range(0, size, TOGETHER))
