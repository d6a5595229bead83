"""Plans of tasks in the units and precision that users see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.crowdsourcing.requests import PlanRequest
from dpgeo.crowdsourcing.selectors import ground_of
from dpgeo.postprocess.tasks.plan import REASONS, Plan, Tasks, plan_tasks
from dpgeo.releases.models import Release

MAX_NAME_LENGTH = 200

SQUARE_KILOMETRE = 1e6

UNREADABLE_REWARD = -1.0
"""Value that replaces an unreadable reward. It is below any minimum, so the plan says that the
reward is too low.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """One task with its plan; see `Plan` for the numbers.

    `reason` and `explanation` say why there is no radius; both are empty if there is one.
    """

    name: str
    longitude: float | None
    latitude: float | None
    density_per_km2: float | None
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
    """Totals of a plan.

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
class TaskPlan:
    """Plans of all tasks of a request."""

    release: str
    totals: PlanTotals
    tasks: Sequence[PlannedTask]


def compute_plan(release: Release, request: PlanRequest) -> TaskPlan:
    """Plan the tasks of a request. Raises Conflict if the release has no counts of cells."""
    surface, area = ground_of(release)
    tasks = _read_tasks(request.tasks)
    plan = plan_tasks(surface, area, tasks, request)
    return TaskPlan(
        release=release.pk, totals=_totals(plan), tasks=_planned_tasks(request.tasks, tasks, plan)
    )


def _read_tasks(given: Sequence[Any]) -> Tasks:
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
    return str(name)[:MAX_NAME_LENGTH].encode(errors="replace").decode()


def _planned_tasks(given: Sequence[Any], tasks: Tasks, plan: Plan) -> list[PlannedTask]:
    """Return each task with its plan.

    Values are rounded a column at a time, since rounding them one by one would be slow for many
    tasks.
    """
    columns: dict[str, Sequence[Any]] = {
        "name": [_name(task, number) for number, task in enumerate(given, start=1)],
        "longitude": rounded(tasks.longitude, 7),
        "latitude": rounded(tasks.latitude, 7),
        "density_per_km2": rounded(plan.density * SQUARE_KILOMETRE, 3),
        "reward": rounded(plan.reward, 4),
        "radius_metres": rounded(plan.radius, 2),
        "notified": rounded(plan.notified, 3),
        "notified_margin": rounded(plan.margin, 3),
        "acceptance": rounded(plan.acceptance, 6),
        "success": rounded(plan.success, 6),
        "reason": [str(reason) for reason in plan.reasons],
        "explanation": [REASONS[reason] for reason in plan.reasons],
    }
    return [
        PlannedTask(**dict(zip(columns, row, strict=True)))
        for row in zip(*columns.values(), strict=True)
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
