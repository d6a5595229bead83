"""Plans for a campaign of paid tasks on a released map: whom to notify, and what to offer.

Everything is computed from a public surface and the operator's own tasks. No private data are read
and no budget is spent. A task that cannot be planned gets a reason and does not affect the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpgeo.phrases import shown_by_scripts
from dpgeo.postprocess.tasks import rewards
from dpgeo.postprocess.tasks.density import DensitySurface, ring_edges
from dpgeo.postprocess.tasks.reach import Reach
from dpgeo.postprocess.tasks.settings import Settings
from dpgeo.spatial.area import StudyArea

Floats = NDArray[np.float64]


class Reason(StrEnum):
    """Reason why a task has no radius; PLANNED if it has one."""

    PLANNED = ""
    NOT_A_PLACE = "not_a_place"
    OUTSIDE_AREA = "outside_area"
    TARGET_CERTAIN = "target_certain"
    NO_TRAVEL = "no_travel"
    NOBODY_NEAR = "nobody_near"
    TOO_FEW_NEAR = "too_few_near"
    REWARD_TOO_LOW = "reward_too_low"
    TOTAL_TOO_LOW = "total_too_low"
    OUT_OF_REACH = "out_of_reach"


REASONS = {
    Reason.PLANNED: "",
    Reason.NOT_A_PLACE: shown_by_scripts(
        "Its coordinates are not a longitude and latitude in degrees; correct them."
    ),
    Reason.OUTSIDE_AREA: shown_by_scripts(
        "It lies outside the study area, where the map says nothing; move it."
    ),
    Reason.TARGET_CERTAIN: shown_by_scripts(
        "A target of 100 % is never reached: nobody is sure to accept. Lower the target."
    ),
    Reason.NO_TRAVEL: shown_by_scripts("Nobody travels 0 metres; raise the travel limit."),
    Reason.NOBODY_NEAR: shown_by_scripts(
        "The map shows nobody within the travel limit; move it or raise the limit."
    ),
    Reason.TOO_FEW_NEAR: shown_by_scripts(
        "Too few people live within the travel limit, whatever is paid; lower the "
        "target, raise the limit or move it."
    ),
    Reason.REWARD_TOO_LOW: shown_by_scripts(
        "Its reward is below the least that anybody accepts; raise it."
    ),
    Reason.TOTAL_TOO_LOW: shown_by_scripts(
        "The total reward does not give every task the least that anybody "
        "accepts; raise it or plan fewer tasks."
    ),
    Reason.OUT_OF_REACH: shown_by_scripts(
        "At this reward the target would take people from beyond the travel "
        "limit; raise the reward or lower the target."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tasks:
    """Positions (n,) of tasks in degrees, and their fixed rewards (n,).

    The reward is NaN for tasks that get a share of the total reward instead.
    """

    longitude: Floats
    latitude: Floats
    reward: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """Plans of n tasks, as arrays (n,) with NaN for unknown values.

    `radius`, in metres, is NaN if a task has none. `notified` is the expected number of workers
    within the radius or, if there is none, within the travel limit. `margin` is the half-width of
    the 95 % interval of `notified`; it is nominal and covers only noise. `acceptance` is the
    probability that any one of these workers accepts, and `success` the probability that at least
    one of them accepts; if there is a radius, `success` is the target. `density` is the number of
    workers per square metre at the task.
    """

    reward: Floats
    radius: Floats
    notified: Floats
    margin: Floats
    acceptance: Floats
    success: Floats
    density: Floats
    reasons: Sequence[Reason]

    @property
    def planned(self) -> NDArray[np.bool_]:
        """Mask (n,) of the tasks that have a radius."""
        return np.isfinite(self.radius)


def plan_tasks(surface: DensitySurface, area: StudyArea, tasks: Tasks, settings: Settings) -> Plan:
    """Divide the total reward among the tasks without a fixed one, and compute each radius."""
    reason = _misplaced(tasks, area, settings)
    names = ("reward", "radius", "notified", "margin", "acceptance", "success", "density")
    columns = {name: np.full(len(reason), np.nan) for name in names}
    inside = np.flatnonzero(reason == Reason.PLANNED)
    reach, columns["density"][inside], reason[inside] = _reach(surface, tasks, inside, settings)
    feasible = np.flatnonzero(reason == Reason.PLANNED)
    offered = _rewards(reach, tasks.reward[feasible], settings)
    if offered is None:
        reason[feasible] = Reason.TOTAL_TOO_LOW
        return Plan(reasons=list(reason), **columns)
    expected = reach.expect(offered)
    reached = np.isfinite(expected.radius)
    reason[feasible[~reached]] = Reason.OUT_OF_REACH
    within = np.where(reached, expected.radius, settings.travel_metres)
    columns["reward"][feasible] = offered
    columns["radius"][feasible] = np.where(reached, expected.radius, np.nan)
    columns["success"][feasible] = np.where(reached, settings.target, expected.success)
    columns["notified"][feasible] = expected.notified
    columns["acceptance"][feasible] = expected.acceptance
    noise = surface.noise_at(tasks.longitude[feasible], tasks.latitude[feasible])
    deviation = np.sqrt(math.pi * within**2 * noise) * settings.worker_share
    # A margin of ln 20 / sqrt 2 standard errors covers 95 % of Laplace noise, and more than that of
    # a sum of several Laplace variables. For Gaussian noise, the surface's variances were computed
    # from margins with the same factor, so the factor cancels out and the margins of sums are
    # exact.
    columns["margin"][feasible] = deviation * math.log(20) / math.sqrt(2)
    return Plan(reasons=list(reason), **columns)


def _misplaced(tasks: Tasks, area: StudyArea, settings: Settings) -> NDArray[np.object_]:
    """Return the reason (n,) why each task cannot be planned, or PLANNED if it can.

    Only reasons that do not depend on the map's density are checked.
    """
    place = (np.abs(tasks.longitude) <= 180) & (np.abs(tasks.latitude) <= 90)
    inside = area.covers(
        np.where(place, tasks.longitude, np.nan), np.where(place, tasks.latitude, np.nan)
    )
    reason = np.full(len(place), Reason.PLANNED, dtype=object)
    reason[tasks.reward < settings.least_reward] = Reason.REWARD_TOO_LOW
    if settings.travel_metres == 0:
        reason[:] = Reason.NO_TRAVEL
    if settings.target == 1:
        reason[:] = Reason.TARGET_CERTAIN
    reason[~inside] = Reason.OUTSIDE_AREA
    reason[~place] = Reason.NOT_A_PLACE
    return reason


def _reach(
    surface: DensitySurface, tasks: Tasks, chosen: NDArray[np.intp], settings: Settings
) -> tuple[Reach, Floats, NDArray[np.object_]]:
    """Return a model of the workers around those chosen tasks that can meet the target.

    `chosen` (n,) holds the indices of the chosen tasks. The second result (n,) is the density at
    each chosen task. The third (n,) is the reason why the task cannot meet the target, or PLANNED
    if it can.
    """
    lon, lat = tasks.longitude[chosen], tasks.latitude[chosen]
    edges = ring_edges(settings.travel_metres)
    rings = surface.rings(lon, lat, edges) * settings.worker_share
    people = (math.pi * rings * np.diff(edges**2)).sum(axis=1)
    reasons = np.full(len(chosen), Reason.PLANNED, dtype=object)
    # Even if everyone within the travel limit accepts, too few people do.
    reasons[people <= settings.needed] = Reason.TOO_FEW_NEAR
    reasons[people <= 0] = Reason.NOBODY_NEAR
    reach = Reach(
        willingness=settings.willingness,
        needed=settings.needed,
        edges=edges,
        density=rings[reasons == Reason.PLANNED],
    )
    return reach, surface.at(lon, lat) * settings.worker_share, reasons


def _rewards(reach: Reach, fixed: Floats, settings: Settings) -> Floats | None:
    """Return the rewards (n,) for the tasks in `reach`.

    Returns None if the total reward does not pay for the fixed rewards and the least reward for all
    other tasks. `fixed` (n,) holds the rewards set by the operator, NaN for tasks without one.
    """
    free = np.isnan(fixed)
    tasks = int(np.count_nonzero(free))
    if tasks == 0:
        return fixed
    total = settings.total_reward - float(fixed[~free].sum())
    least = settings.least_reward
    if total < least * tasks or total <= 0:
        return None
    offered = fixed.copy()
    limit = rewards.SATISFIED * settings.travel_metres / settings.willingness
    offered[free] = rewards.allocate(reach.part(free), tasks, total, least, limit)
    return offered
