"""Parsing of planning requests, and plans in the units and precision that users see."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.selectors import ground_of, regions_of
from dpgeo.postprocess.tasks.density import DensityRule
from dpgeo.postprocess.tasks.plan import (
    REASONS,
    Allocation,
    Model,
    Plan,
    Settings,
    Tasks,
    plan_tasks,
)
from dpgeo.releases.models import Release

MOST_TASKS = 3_000
"""Maximum number of tasks in a request; 5,000 with all three allocations took 0.6 s of CPU time."""

MOST_GEOCASTS = 100
"""Maximum number of tasks in a request that asks for the task regions, within which people are
notified. The limit is low because a task region may consist of hundreds of regions of the map.
"""

MOST_SEARCHED = 6_000
"""Maximum number of regions searched for all tasks of a request, which takes about 0.2 s of CPU
time.
"""

LONGEST_NAME = 200

SQUARE_KILOMETRE = 1e6

UNREADABLE_REWARD = -1.0
"""Value that replaces an unreadable reward. It is below any minimum, so the plan says that the
reward is too low.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A parsed planning request; `names` are the names of the `tasks`, in the same order."""

    names: Sequence[str]
    tasks: Tasks
    settings: Settings
    allocations: Sequence[Allocation]
    geocast: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """The plan of one task under one allocation; see `Plan` for the numbers.

    `reason` and `explanation` say why there is no radius; both are empty if there is one.
    """

    reward: float | None
    radius_metres: float | None
    notified: float | None
    notified_margin: float | None
    acceptance: float | None
    success: float | None
    reason: str
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTotals:
    """Totals under one allocation of rewards.

    `planned` and `not_planned` are numbers of tasks; all other totals are sums over the planned
    tasks, or their largest radius.
    """

    planned: int
    not_planned: int
    reward: float
    notified: float
    expected_done: float
    largest_radius_metres: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRegions:
    """The map regions notified of one task, with their outline as GeoJSON."""

    regions: int
    notified: float
    success: float
    reached: bool
    outline: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionTotals:
    """Numbers of tasks, and sums of the people notified, if tasks have task regions.

    `met_both_ways` is the number of tasks that reach the target probability of success both with a
    task region and with a circle; `notified` and `notified_in_circles` cover only these tasks.
    """

    allocation: str
    planned: int
    not_planned: int
    met_both_ways: int
    notified: float
    notified_in_circles: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task, with its plan for each allocation of rewards.

    `geocast` is the task region; it is None if none was requested or the task has no reward.
    """

    name: str
    longitude: float | None
    latitude: float | None
    density_per_km2: float | None
    plans: Mapping[str, PlannedTask]
    geocast: TaskRegions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlans:
    """Plans of all tasks under each allocation; `geocast` sums up task regions, if requested."""

    release: str
    lines_per_km2: Sequence[float]
    totals: Mapping[str, PlanTotals]
    tasks: Sequence[TaskRow]
    geocast: RegionTotals | None = None


def parse_plan_request(
    *,
    tasks: Sequence[Any],
    settings: Mapping[str, Any],
    allocations: Sequence[str],
    geocast: bool = False,
) -> PlanRequest:
    """Parse tasks and settings. Raises InvalidInput, which names the field at fault.

    An unreadable task is not an error: the plan states why that task is not planned. `allocations`
    are keys of `Allocation`, and `geocast` says whether task regions are wanted.
    """
    if len(tasks) > MOST_TASKS:
        raise InvalidInput(
            "At most {most:,} tasks are planned at once, and there are {count:,}; divide them.",
            most=MOST_TASKS,
            count=len(tasks),
            field="tasks",
        )
    if geocast and len(tasks) > MOST_GEOCASTS:
        raise InvalidInput(
            "Task regions are computed for at most {most} tasks at once; send fewer tasks, or "
            "leave this out.",
            most=MOST_GEOCASTS,
            field="geocast",
        )
    known = [each.value for each in Allocation]
    wrong = [each for each in allocations if each not in known]
    if wrong or not allocations or len(set(allocations)) < len(allocations):
        raise InvalidInput(
            "Choose from {known}, each once.", known=", ".join(known), field="allocations"
        )
    return PlanRequest(
        names=[_name(task, number) for number, task in enumerate(tasks, start=1)],
        tasks=_tasks(tasks),
        settings=parse_settings(settings),
        allocations=[Allocation(each) for each in allocations],
        geocast=geocast,
    )


def compute_plans(release: Release, request: PlanRequest) -> TaskPlans:
    """Plan the tasks of a request under every allocation of the reward."""
    surface, area = ground_of(release)
    plans = plan_tasks(surface, area, request.tasks, request.settings, request.allocations)
    casts = _geocasts(release, request, plans[0]) if request.geocast else []
    return TaskPlans(
        release=release.pk,
        lines_per_km2=[round(line * SQUARE_KILOMETRE, 3) for line in surface.lines.tolist()],
        totals={plan.allocation.value: _totals(plan) for plan in plans},
        tasks=_rows(request, plans, casts),
        geocast=_region_totals(plans[0], casts) if request.geocast else None,
    )


def parse_settings(values: Mapping[str, Any]) -> Settings:
    """Parse the settings of a planning request. Raises InvalidInput, which names the field."""
    numbers = {name: value for name, value in values.items() if name not in {"model", "density"}}
    for name, kind in (("model", Model), ("density", DensityRule)):
        if values[name] not in [each.value for each in kind]:
            choices = ", ".join(each.value for each in kind)
            raise InvalidInput(
                "Is not a choice; choose from {choices}.", choices=choices, field=name
            )
    return Settings(**numbers, model=Model(values["model"]), density=DensityRule(values["density"]))


def _tasks(given: Sequence[Any]) -> Tasks:
    rows = [each if isinstance(each, dict) else {} for each in given]
    return Tasks(
        longitude=np.array([_number(row.get("longitude")) for row in rows], dtype=np.float64),
        latitude=np.array([_number(row.get("latitude")) for row in rows], dtype=np.float64),
        reward=np.array([_reward(row.get("reward")) for row in rows], dtype=np.float64),
    )


def _number(value: Any) -> float:
    """Return `value` if it is a finite number, or NaN otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _reward(value: Any) -> float:
    if value is None or value == "":
        return math.nan
    number = _number(value)
    return UNREADABLE_REWARD if math.isnan(number) else min(number, 1e12)


def _name(task: Any, number: int) -> str:
    """Return a task's name, or its number. Characters that UTF-8 cannot encode become "?"."""
    name = task.get("name") if isinstance(task, dict) else None
    if not isinstance(name, (str, int)) or name == "":
        return str(number)
    return str(name)[:LONGEST_NAME].encode(errors="replace").decode()


def _rows(
    request: PlanRequest, plans: Sequence[Plan], casts: Sequence[TaskRegions | None]
) -> list[TaskRow]:
    """Return a row for each task, with its plan under each allocation.

    Values are rounded a column at a time, since rounding them one by one would be slow for many
    tasks.
    """
    ways = {plan.allocation.value: _planned(plan) for plan in plans}
    columns = zip(
        request.names,
        rounded(request.tasks.longitude, 7),
        rounded(request.tasks.latitude, 7),
        rounded(plans[0].density * SQUARE_KILOMETRE, 3),
        casts or [None] * len(request.names),
        *ways.values(),
        strict=True,
    )
    return [
        TaskRow(
            name=name,
            longitude=longitude,
            latitude=latitude,
            density_per_km2=density,
            plans=dict(zip(ways, planned, strict=True)),
            geocast=cast,
        )
        for name, longitude, latitude, density, cast, *planned in columns
    ]


def _planned(plan: Plan) -> list[PlannedTask]:
    columns = zip(
        rounded(plan.reward, 4),
        rounded(plan.radius, 2),
        rounded(plan.notified, 3),
        rounded(plan.margin, 3),
        rounded(plan.acceptance, 6),
        rounded(plan.success, 6),
        plan.reasons,
        strict=True,
    )
    return [
        PlannedTask(
            reward=reward,
            radius_metres=radius,
            notified=notified,
            notified_margin=margin,
            acceptance=acceptance,
            success=success,
            reason=str(reason),
            explanation=REASONS[reason],
        )
        for reward, radius, notified, margin, acceptance, success, reason in columns
    ]


def _totals(plan: Plan) -> PlanTotals:
    planned = plan.planned
    return PlanTotals(
        planned=int(planned.sum()),
        not_planned=int((~planned).sum()),
        reward=round(float(plan.reward[planned].sum()), 4),
        notified=round(float(plan.notified[planned].sum()), 3),
        expected_done=round(float(plan.success[planned].sum()), 3),
        largest_radius_metres=round(float(plan.radius[planned].max(initial=0.0)), 2),
    )


def rounded(values: NDArray[np.float64], decimals: int) -> list[Any]:
    """Round numbers (n,) for JSON; values that are not finite become None.

    Numbers beyond 10^15 are not rounded, because that may overflow; they have no decimals.
    """
    with np.errstate(over="ignore"):
        rounded = np.where(np.abs(values) < 1e15, np.round(values, decimals), values).astype(object)
    rounded[~np.isfinite(values)] = None
    return list(rounded.tolist())


def _region_totals(plan: Plan, casts: Sequence[TaskRegions | None]) -> RegionTotals:
    """Count the tasks whose task regions reach the target, and add up the workers notified.

    `casts` holds each task's region, or None for a task without a reward. `plan` says which tasks
    reach the target with a circle, and how many workers are in it. Workers are added up, in regions
    and in circles, only for tasks that reach the target with both.
    """
    reached = [cast is not None and cast.reached for cast in casts]
    both = [number for number, met in enumerate(reached) if met and plan.planned[number]]
    return RegionTotals(
        allocation=plan.allocation.value,
        planned=sum(reached),
        not_planned=len(reached) - sum(reached),
        met_both_ways=len(both),
        notified=round(sum(cast.notified for number in both if (cast := casts[number])), 3),
        notified_in_circles=round(float(plan.notified[both].sum()), 3),
    )


def _geocasts(release: Release, request: PlanRequest, plan: Plan) -> list[TaskRegions | None]:
    """Return each task's geocast: the map regions that are notified of it.

    Geocasts use the rewards of `plan`; a task without a reward has None instead of a geocast.
    Raises InvalidInput if the search would take too long.
    """
    partition = regions_of(release)
    geocasts: list[TaskRegions | None] = []
    searched = 0
    for number, reward in enumerate(plan.reward.tolist()):
        if not math.isfinite(reward):
            geocasts.append(None)
            continue
        cast = partition.geocast(
            float(request.tasks.longitude[number]),
            float(request.tasks.latitude[number]),
            reward=reward,
            acceptance=request.settings.acceptance,
            target=request.settings.target,
            share=request.settings.worker_share,
        )
        searched += cast.searched
        if searched > MOST_SEARCHED:
            raise InvalidInput(
                "The regions of these tasks would take too long to search; send fewer tasks, a "
                "lower target or a shorter travel limit.",
                field="geocast",
            )
        outline = shapely.transform(partition.outline(cast.regions), lambda each: each.round(6))
        geocasts.append(
            TaskRegions(
                regions=len(cast.regions),
                notified=round(cast.notified, 3),
                success=round(cast.success, 6),
                reached=bool(cast.reached),
                outline=json.loads(shapely.to_geojson(outline)),
            )
        )
    return geocasts
