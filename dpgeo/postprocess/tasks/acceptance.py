"""Acceptance probability of a paid task, by reward and distance.

The source is Zhu, Li, Zhou and Yu 2017, section 13.3.3. A worker at a distance of d metres accepts
a task with reward w with probability
    theta(w, d) = tanh(c w/d)    if w >= w0 and d <= MTD, else 0    (13.7)
where c is the willingness to travel in metres per unit of reward, w0 the lowest reward that anybody
accepts, and MTD the maximum travel distance. theta increases with w and decreases with d; the
source's equation 13.8, its derivative with respect to d, has the wrong sign.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEAST, GREATEST = 0.02, 200.0
"""Range of u in which Phi(u) of `_phi` is tabulated; below it, tanh(1/u) is 1 in floating point."""

INTERVALS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Acceptance model with the parameters c, w0 and MTD of the module docstring.

    `willingness` is c: 76 % of workers accept a reward of w at a distance of c w metres.
    `least_reward` is w0, below which nobody accepts, and `travel_metres` is MTD, beyond which
    nobody travels.
    """

    willingness: float
    least_reward: float
    travel_metres: float

    def chance(self, reward: ArrayLike, metres: ArrayLike) -> Floats:
        """Return the acceptance probability theta(w, d), which is 1 at distance 0; shapes
        broadcast.
        """
        reward, metres = np.asarray(reward, dtype=np.float64), np.asarray(metres, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(metres > 0, np.tanh(self.willingness * reward / metres), 1.0)
        willing = (reward >= self.least_reward) & (metres <= self.travel_metres)
        return np.where(willing, chance, 0.0)


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
    u = np.clip(ratio, LEAST, GREATEST)
    left = np.minimum((np.log(u / LEAST) / table.step).astype(np.int64), INTERVALS - 1)
    width = table.width[left]
    t = (u - table.node[left]) / width
    start, slope = table.value[left], table.slope[left] * width
    rise = table.value[left + 1] - start
    next_slope = table.slope[left + 1] * width
    cubic = slope + next_slope - 2 * rise
    inner = start + t * (slope + t * (3 * rise - 2 * slope - next_slope + t * cubic))
    # For large s, use s tanh(1/s) = 1 - 1/(3 s^2) + 2/(15 s^4) - ...
    far = np.maximum(ratio, GREATEST)
    outer = table.offset + far + 1 / (3 * far) - 2 / (45 * far**3)
    return np.where(ratio < LEAST, ratio**2 / 2, np.where(ratio > GREATEST, outer, inner))


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
    step = math.log(GREATEST / LEAST) / INTERVALS
    node = LEAST * np.exp(step * np.arange(INTERVALS + 1))
    point, weight = np.polynomial.legendre.leggauss(8)
    half, middle = np.diff(node) / 2, (node[1:] + node[:-1]) / 2
    s = middle[:, None] + half[:, None] * point
    pieces = half * ((s * np.tanh(1 / s)) @ weight)
    value = np.concatenate([[LEAST**2 / 2], LEAST**2 / 2 + np.cumsum(pieces)])
    offset = value[-1] - (GREATEST + 1 / (3 * GREATEST) - 2 / (45 * GREATEST**3))
    return _Table(
        step=step,
        node=node,
        width=np.diff(node),
        value=value,
        slope=node * np.tanh(1 / node),
        offset=float(offset),
    )
