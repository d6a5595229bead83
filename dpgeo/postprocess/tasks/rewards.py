"""Allocation of a total reward among tasks.

The total number of people notified for all tasks is minimised:

    minimise sum N_i(w_i)   subject to  sum w_i <= W,  w_i >= w0

W is the total, and w0 the least reward. N_i(w) is the number of people to notify for task i at
reward w; it decreases with w. Every N_i is evaluated at the same rewards and replaced by its lower
convex hull, which makes the problem convex and piecewise linear. The solution buys the steepest
edges of all hulls first until W is spent; the last edge may be bought in part. The result is exact
for the hulls, without iteration. If an N_i is not convex, the result is inexact for at most one
task, the one whose edge is bought in part (Shapley and Folkman). If a task cannot meet its target
below some reward, the task's first reward is that one. If W does not suffice for all tasks, those
with the lowest starting rewards are served. `benchmarks/crowdsourcing.py` compares this allocation
with equal rewards and with that of Zhu, Li, Zhou and Yu 2017, section 13.3.3.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.tasks.reach import Reach

Floats = NDArray[np.float64]

REWARDS = 40
"""Number of rewards at which the number of people to notify for a task is computed."""

TOGETHER = 512
"""Number of tasks whose hulls are computed at once, so that arrays stay in the processor's cache.
"""

SATISFIED = 4.0
"""Largest useful reward: the one with c w equal to this many travel limits.

c is the willingness to travel and w the reward. Nearly everyone within the limit then accepts.
"""


def allocate(reach: Reach, tasks: int, total: float, least: float, pull_limit: float) -> Floats:
    """Compute the rewards (tasks,) for which the fewest people have to be notified.

    `pull_limit` is the largest useful reward (SATISFIED). A task gets the `least` reward if the
    total cannot pay for the one at which it reaches the required success probability.
    """
    most = max(min(total - least * (tasks - 1), pull_limit), least)
    if most <= least * (1 + 1e-9):
        return np.full(tasks, least)
    rewards = np.geomspace(least, most, REWARDS) if least > 0 else _from_nothing(most)
    people = reach.curves(rewards)
    hull = np.concatenate(
        [_hull(rewards, people[start : start + TOGETHER]) for start in range(0, tasks, TOGETHER)]
    )
    first = np.where(np.isfinite(people).any(axis=1), np.isfinite(people).argmax(axis=1), 0)
    first = _affordable(rewards, first, total - least * tasks, least)
    return _spend(rewards, people, hull, first, total)


def _from_nothing(most: float) -> Floats:
    return np.concatenate([[0.0], np.geomspace(most / 1e4, most, REWARDS - 1)])


def _affordable(
    rewards: Floats, first: NDArray[np.intp], spare: float, least: float
) -> NDArray[np.intp]:
    """Return the index in `rewards` of each task's starting reward.

    It is that in `first`, the lowest reward that meets the task's target, for as many tasks as the
    total can pay for, those with the lowest rewards first; it is 0 for the others. `spare` is what
    remains of the total after every task has received the reward `least`.
    """
    dearness = rewards[first] - least
    order = np.argsort(dearness, kind="stable")
    met = np.zeros(len(first), dtype=np.bool_)
    met[order] = np.cumsum(dearness[order]) <= spare * (1 + 1e-12)
    return np.where(met, first, 0)


def _hull(rewards: Floats, people: Floats) -> NDArray[np.bool_]:
    """Return a mask (n, g) of the vertices of the lower convex hulls of n tasks' curves.

    A task's curve has g points: the people to notify at each of g rewards. This is Andrew's
    monotone chain for all tasks at once: points on or above the line between their neighbours on
    the hull are removed until no such point is left.
    """
    corner = np.isfinite(people)
    row = np.arange(len(people))
    for _ in range(len(rewards)):
        hull, value = corner[row], people[row]
        above = _above(rewards, value, hull)
        bent = above.any(axis=1)
        if not bent.any():
            break
        row, hull, above = row[bent], hull[bent], above[bent]
        # Two neighbouring vertices are never removed in one step, since each helps to decide
        # whether the other one is a vertex.
        odd = above & (np.cumsum(hull, axis=1) % 2 == 1)
        corner[row] = hull & ~np.where(odd.any(axis=1)[:, None], odd, above)
    return corner


def _above(rewards: Floats, people: Floats, corner: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask (n, g) of the vertices on or above the line between their neighbours."""
    before, after = _neighbours(corner)
    inner = corner & (before >= 0) & (after < len(rewards))
    left, right = np.maximum(before, 0), np.minimum(after, len(rewards) - 1)
    low = np.take_along_axis(people, left, axis=1)
    high = np.take_along_axis(people, right, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (rewards - rewards[left]) / (rewards[right] - rewards[left])
        return np.asarray(inner & (people >= low + share * (high - low)))


def _neighbours(corner: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices (n, g) of the nearest vertices of the hull before and after each point.

    `corner` (n, g) marks the points that are vertices, for each of n tasks and g rewards. The
    index is -1 if there is no vertex before the point, and g if there is none after it.
    """
    size = corner.shape[1]
    index = np.arange(size)
    upto = np.maximum.accumulate(np.where(corner, index, -1), axis=1)
    before = np.concatenate([np.full((len(corner), 1), -1), upto[:, :-1]], axis=1)
    backwards = np.where(corner, index, size)[:, ::-1]
    down = np.minimum.accumulate(backwards, axis=1)[:, ::-1]
    after = np.concatenate([down[:, 1:], np.full((len(corner), 1), size)], axis=1)
    return before, after


def _spend(
    rewards: Floats,
    people: Floats,
    hull: NDArray[np.bool_],
    first: NDArray[np.intp],
    total: float,
) -> Floats:
    """Pay each task its first reward, and spend the rest on the steepest edges of the hulls.

    The hulls are of curves of the people to notify against the reward, one for each task, so the
    steepest edges save the most people for the money.
    """
    met = np.isfinite(people[np.arange(len(people)), first])
    task, corner = np.nonzero(hull & met[:, None])
    same = np.flatnonzero(task[1:] == task[:-1])
    task, start, end = task[same], corner[same], corner[same + 1]
    price = rewards[end] - rewards[start]
    saved = people[task, start] - people[task, end]
    steep = np.argsort(-saved / price, kind="stable")
    steep = steep[saved[steep] > 0]
    allocated = rewards[first]
    spare = max(total - allocated.sum(), 0.0)
    after = np.cumsum(price[steep])
    share = np.clip((spare - (after - price[steep])) / price[steep], 0.0, 1.0)
    np.add.at(allocated, task[steep], price[steep] * share)
    return allocated
