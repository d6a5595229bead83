"""Outcome of a plan of tasks among workers whose positions are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.tasks.acceptance import Acceptance
from dpgeo.postprocess.tasks.geocast import Geocast, Partition
from dpgeo.postprocess.tasks.plan import Plan, Tasks
from dpgeo.spatial.projection import EARTH_RADIUS_METRES

Floats = NDArray[np.float64]

NOTICE_COST = 0.01
"""Cost of notifying one worker, in units of reward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures over the planned tasks (Zhu, Li, Zhou and Yu 2017, 13.2.2, 13.3.4).

    `success_rate` is ASR, the mean chance that a notified worker accepts, over all draws of who
    does; `redrawn_success` the same if as many workers as stand around the tasks stood there by
    chance anew, as a Poisson field does; `travel_metres` WTD, the mean distance of the nearest who
    accepts; `notified` ANW; `distance_error` DE, the mean of |2r/3 - mean distance of the
    notified|; `rejected` RejR, the share of tasks that no worker would travel to: without a radius,
    or with 2r/3 > MTD; `cost` EC, the rewards of the tasks that are done and NOTICE_COST for every
    notice, for each planned task.
    """

    planned: int
    success_rate: float
    redrawn_success: float
    travel_metres: float
    notified: float
    distance_error: float
    rejected: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CastOutcome:
    """The same figures for geocasts, over the tasks that they reach; `regions` is the number of
    regions.
    """

    planned: int
    success_rate: float
    notified: float
    regions: float


def outcome(
    plan: Plan, tasks: Tasks, acceptance: Acceptance, longitude: Floats, latitude: Floats
) -> Outcome:
    """Evaluate every planned task with workers (m,) at true positions in degrees.

    A worker at distance d within the radius accepts with probability theta(w, d), independently;
    expectations over these choices are exact, not simulated.
    """
    planned = np.flatnonzero(plan.planned)
    rows = []
    for task in planned.tolist():
        metres = _metres(tasks, task, longitude, latitude)
        near = np.sort(metres[metres <= plan.radius[task]])
        rows.append(
            _one(acceptance.chance(float(plan.reward[task]), near), near, plan.radius[task])
        )
    success, redrawn, travel, notified, error = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    beyond = 2 * plan.radius[planned] / 3 > acceptance.travel_metres
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


def cast_outcome(
    partition: Partition,
    casts: Mapping[int, Geocast],
    plan: Plan,
    tasks: Tasks,
    acceptance: Acceptance,
    longitude: Floats,
    latitude: Floats,
) -> CastOutcome:
    """Evaluate each task's geocast with the workers in its regions, as `outcome` does."""
    home = partition.regions_at(longitude, latitude)
    success, notified = [], []
    for task, cast in casts.items():
        asked = np.isin(home, cast.regions)
        metres = _metres(tasks, task, longitude[asked], latitude[asked])
        chance = acceptance.chance(float(plan.reward[task]), metres)
        success.append(1 - float(np.prod(1 - chance)))
        notified.append(int(asked.sum()))
    return CastOutcome(
        planned=len(casts),
        success_rate=float(np.mean(success)),
        notified=float(np.mean(notified)),
        regions=float(np.mean([len(cast.regions) for cast in casts.values()])),
    )


def _metres(tasks: Tasks, task: int, longitude: Floats, latitude: Floats) -> Floats:
    here_lon, here_lat = tasks.longitude[task], tasks.latitude[task]
    across = np.radians(longitude - here_lon) * math.cos(math.radians(here_lat))
    return np.asarray(np.hypot(across, np.radians(latitude - here_lat)) * EARTH_RADIUS_METRES)


def _one(chance: Floats, near: Floats, radius: float) -> tuple[float, float, float, float, float]:
    """Return success as workers stand and redrawn, distance travelled, workers, error of 2r/3.

    `chance` and `near` (k,) belong to those notified, the nearest first.
    """
    # Worker k travels when k accepts and nobody nearer does.
    nobody = np.cumprod(1 - chance)
    first = chance * np.concatenate([[1.0], nobody[:-1]])
    success = float(first.sum())
    travel = float((first * near).sum()) / success if success > 0 else math.nan
    error = abs(2 * radius / 3 - near.mean()) if near.size else math.nan
    return success, -math.expm1(-float(chance.sum())), travel, float(near.size), error
