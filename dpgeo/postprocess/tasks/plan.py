"""Plans for a campaign of paid tasks on a released map: task regions and rewards.

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

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import shown_by_scripts
from dpgeo.postprocess.tasks import rewards
from dpgeo.postprocess.tasks.acceptance import Acceptance
from dpgeo.postprocess.tasks.density import DensityRule, DensitySurface, ring_edges
from dpgeo.postprocess.tasks.radius import CircleReach, FieldReach, Reach
from dpgeo.spatial.area import StudyArea

Floats = NDArray[np.float64]

MOST_TRAVEL_METRES = 200_000.0

LARGEST = 1e12
"""Upper limit on rewards and on metres per unit of reward, far above any plausible value."""


class Model(StrEnum):
    """Model of the workers around a task: a Poisson field, or a circle of uniform density.

    `dpgeo.postprocess.tasks.radius` defines both models.
    """

    FIELD = "field"
    CIRCLE = "circle"


class Allocation(StrEnum):
    """Method of allocating the total reward; see `dpgeo.postprocess.tasks.rewards`."""

    UNIFORM = "uniform"
    OPTIMISED = "optimised"
    OPTIMAL = "optimal"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a campaign of paid tasks. Raises InvalidInput for an invalid value.

    `target` is the task success probability E, above 0 and at most 1. `total_reward` is divided
    among all tasks. `willingness` (c, in metres per unit of reward), `least_reward` (w0, below
    which nobody accepts) and `travel_metres` (MTD, the travel limit) are explained in
    `dpgeo.postprocess.tasks.acceptance`. `worker_share`, above 0 and at most 1, is the share of the
    people on the map who are workers.
    """

    target: float
    total_reward: float
    willingness: float
    least_reward: float
    travel_metres: float
    worker_share: float = 1.0
    model: Model = Model.FIELD
    density: DensityRule = DensityRule.BILINEAR

    def __post_init__(self) -> None:
        check_number(self.target, "target", 0.0, 1.0, above=True)
        check_number(self.total_reward, "total_reward", 0.0, LARGEST)
        check_number(self.willingness, "willingness", 0.0, LARGEST, above=True)
        check_number(self.least_reward, "least_reward", 0.0, LARGEST)
        check_number(self.travel_metres, "travel_metres", 0.0, MOST_TRAVEL_METRES)
        check_number(self.worker_share, "worker_share", 0.0, 1.0, above=True)

    @property
    def acceptance(self) -> Acceptance:
        """The model of the probability that a worker accepts a task."""
        return Acceptance(
            willingness=self.willingness,
            least_reward=self.least_reward,
            travel_metres=self.travel_metres,
        )

    @property
    def needed(self) -> float:
        """Required expected number of acceptances, -ln(1 - target), which is inf for a target
        of 1.
        """
        return -math.log1p(-self.target) if self.target < 1 else math.inf


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
    """Plans of n tasks under one allocation, as arrays (n,) with NaN for unknown values.

    `radius`, in metres, is NaN if a task has none. `notified` is the expected number of workers
    within the radius or, if there is none, within the travel limit. `margin` is the half-width of
    the 95 % interval of `notified`; it is nominal and covers only noise. `acceptance` is the
    probability that any one of these workers accepts, and `success` the probability that at least
    one of them accepts; if there is a radius, `success` is the target. `density` is the number of
    workers per square metre at the task.
    """

    allocation: Allocation
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


def plan_tasks(
    surface: DensitySurface,
    area: StudyArea,
    tasks: Tasks,
    settings: Settings,
    allocations: Sequence[Allocation],
) -> list[Plan]:
    """Compute one plan for each method of allocating the total reward."""
    reason = _misplaced(tasks, area, settings)
    density = np.full(len(tasks.longitude), np.nan)
    inside = np.flatnonzero(reason == Reason.PLANNED)
    reach, density_at, reasons_near = _reach(surface, tasks, inside, settings)
    density[inside] = density_at
    reason[inside] = reasons_near
    feasible = reasons_near == Reason.PLANNED
    feasible_tasks = inside[feasible]
    return [
        _planned(
            surface, tasks, settings, allocation, reach, feasible_tasks, density, reason.copy()
        )
        for allocation in allocations
    ]


def check_number(value: float, name: str, low: float, high: float, *, above: bool = False) -> None:
    """Raise InvalidInput for the field `name` unless a number is finite and within its limits.

    `high` is allowed, and so is `low` unless `above` is true.
    """
    if not math.isfinite(value) or value < low or value > high or (above and value == low):
        raise InvalidInput(
            "Must be a number above {low:g} and at most {high:g}."
            if above
            else "Must be a number at least {low:g} and at most {high:g}.",
            low=low,
            high=high,
            field=name,
        )


def _misplaced(tasks: Tasks, area: StudyArea, settings: Settings) -> NDArray[np.object_]:
    """Return the reason (n,) why each task cannot be planned, or PLANNED if it can.

    Only reasons that do not depend on the map's density are checked.
    """
    place = (np.abs(tasks.longitude) <= 180) & (np.abs(tasks.latitude) <= 90)
    inside = area.covers(
        np.where(place, tasks.longitude, np.nan), np.where(place, tasks.latitude, np.nan)
    )
    too_low = tasks.reward < settings.least_reward
    reason = np.full(len(place), Reason.PLANNED, dtype=object)
    reason[too_low] = Reason.REWARD_TOO_LOW
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
    density = surface.at(lon, lat, settings.density) * settings.worker_share
    reasons = np.full(len(chosen), Reason.PLANNED, dtype=object)
    model, needed = settings.acceptance, settings.needed
    if settings.model is Model.CIRCLE:
        reasons[density <= 0] = Reason.NOBODY_NEAR
        feasible = reasons == Reason.PLANNED
        return (
            CircleReach(acceptance_model=model, needed=needed, density=density[feasible]),
            density,
            reasons,
        )
    edges = ring_edges(settings.travel_metres)
    rings = surface.rings(lon, lat, edges, settings.density) * settings.worker_share
    people = (math.pi * rings * np.diff(edges**2)).sum(axis=1)
    # Even if everyone within the travel limit accepts, too few people do.
    reasons[people <= needed] = Reason.TOO_FEW_NEAR
    reasons[people <= 0] = Reason.NOBODY_NEAR
    feasible = reasons == Reason.PLANNED
    reach = FieldReach(acceptance_model=model, needed=needed, edges=edges, density=rings[feasible])
    return reach, density, reasons


def _planned(
    surface: DensitySurface,
    tasks: Tasks,
    settings: Settings,
    allocation: Allocation,
    reach: Reach,
    feasible: NDArray[np.intp],
    density: Floats,
    reason: NDArray[np.object_],
) -> Plan:
    size = len(reason)
    columns = {name: np.full(size, np.nan) for name in ("reward", "radius", "notified", "margin")}
    columns |= {name: np.full(size, np.nan) for name in ("acceptance", "success")}
    offered = _rewards(reach, tasks.reward[feasible], settings, allocation)
    if offered is None:
        reason[feasible] = Reason.TOTAL_TOO_LOW
    elif len(feasible):
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
        # A margin of ln 20 / sqrt 2 standard errors covers 95 % of Laplace noise, and more than
        # that of a sum of several Laplace variables. For Gaussian noise, the surface's variances
        # were computed from margins with the same factor, so the factor cancels out and the margins
        # of sums are exact.
        columns["margin"][feasible] = deviation * math.log(20) / math.sqrt(2)
    return Plan(allocation=allocation, density=density, reasons=list(reason), **columns)


def _rewards(
    reach: Reach, fixed: Floats, settings: Settings, allocation: Allocation
) -> Floats | None:
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
    free_reach = reach.part(free)
    if allocation is Allocation.UNIFORM:
        offered[free] = rewards.uniform(tasks, total)
    elif allocation is Allocation.OPTIMISED:
        offered[free] = rewards.optimised(free_reach, tasks, total, least)
    else:
        limit = rewards.SATISFIED * settings.travel_metres / settings.willingness
        offered[free] = rewards.optimal(free_reach, tasks, total, least, limit)
    return offered
