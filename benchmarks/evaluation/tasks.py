"""Outcome of a task plan for workers at known positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgeo.postprocess.tasks.plan import Plan, Tasks
from dpgeo.postprocess.tasks.settings import Conditions
from dpgeo.spatial.projection import EARTH_RADIUS_METRES

Floats = NDArray[np.float64]

NOTICE_COST = 0.01
"""Cost of notifying one worker, in units of reward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures of the planned tasks (Zhu, Li, Zhou and Yu 2017, 13.2.2 and 13.3.4).

    `success_rate` (ASR) is the mean probability that at least one notified worker accepts.
    `redrawn_success` is the same mean if the number of workers around each task is redrawn from a
    Poisson distribution. `travel_metres` (WTD) is the mean distance of the nearest worker who
    accepts, and `notified` (ANW) the mean number of notified workers. `distance_error` (DE) is the
    mean of |2r/3 - mean distance of the notified workers|. `rejected` (RejR) is the share of tasks
    to which no worker would travel: those without a radius, or with 2r/3 greater than the maximum
    travel distance (MTD). `cost` (EC) is the mean cost of a planned task: the rewards of tasks that
    are done, and NOTICE_COST for each notified worker.
    """

    planned: int
    success_rate: float
    redrawn_success: float
    travel_metres: float
    notified: float
    distance_error: float
    rejected: float
    cost: float


def acceptance_chance(conditions: Conditions, reward: ArrayLike, metres: ArrayLike) -> Floats:
    """Return the acceptance probability theta(w, d) of `tasks.settings`; shapes broadcast.

    It is 1 at distance 0.
    """
    reward, metres = np.asarray(reward, dtype=np.float64), np.asarray(metres, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(metres > 0, np.tanh(conditions.willingness * reward / metres), 1.0)
    willing = (reward >= conditions.least_reward) & (metres <= conditions.travel_metres)
    return np.where(willing, chance, 0.0)


def outcome(
    plan: Plan, tasks: Tasks, conditions: Conditions, longitude: Floats, latitude: Floats
) -> Outcome:
    """Return the figures of all planned tasks, with workers (m,) at true positions in degrees.

    A worker within the radius accepts with the probability `acceptance_chance`, independently of
    others; expectations over these choices are exact, not simulated.
    """
    planned = np.flatnonzero(plan.planned)
    rows = []
    for task in planned.tolist():
        metres = ground_metres(tasks, task, longitude, latitude)
        near = np.sort(metres[metres <= plan.radius[task]])
        chance = acceptance_chance(conditions, float(plan.reward[task]), near)
        rows.append(_one(chance, near, plan.radius[task]))
    success, redrawn, travel, notified, error = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    beyond = 2 * plan.radius[planned] / 3 > conditions.travel_metres
    rejected = len(plan.radius) - len(planned) + int(np.count_nonzero(beyond))
    paid = float((plan.reward[planned] * success).sum())
    return Outcome(
        planned=len(planned),
        success_rate=float(success.mean()),
        redrawn_success=float(redrawn.mean()),
        travel_metres=float(np.nanmean(travel)),
        notified=float(notified.mean()),
        distance_error=float(np.nanmean(error)),
        rejected=rejected / len(plan.radius),
        cost=(paid + NOTICE_COST * float(notified.sum())) / len(planned),
    )


def ground_metres(tasks: Tasks, task: int, longitude: Floats, latitude: Floats) -> Floats:
    """Return the distances (m,) of positions in degrees from a task, in metres on the ground."""
    here_lon, here_lat = tasks.longitude[task], tasks.latitude[task]
    across = np.radians(longitude - here_lon) * math.cos(math.radians(here_lat))
    return np.asarray(np.hypot(across, np.radians(latitude - here_lat)) * EARTH_RADIUS_METRES)


def _one(chance: Floats, near: Floats, radius: float) -> tuple[float, float, float, float, float]:
    """Return one task's figures, in this order: the probability of success, that with a redrawn
    number of workers, travel distance, number of workers, and distance error.

    `Outcome` explains them. `chance` and `near` (k,) are the acceptance probabilities and the
    distances in metres of the notified workers, nearest first.
    """
    # Worker k travels if worker k accepts and no nearer worker accepts.
    nobody = np.cumprod(1 - chance)
    first = chance * np.concatenate([[1.0], nobody[:-1]])
    success = float(first.sum())
    travel = float((first * near).sum()) / success if success > 0 else math.nan
    error = abs(2 * radius / 3 - near.mean()) if near.size else math.nan
    return success, -math.expm1(-float(chance.sum())), travel, float(near.size), error
