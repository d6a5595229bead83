"""Plans of tasks in the units and precision that users see."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def compute_plan(release: Release, request: PlanRequest) -> dict[str, Any]:
    """Plan the tasks of a request, and return the plan as the API's document.

    Raises Conflict if the release has no counts of cells.
    """
    surface, area = ground_of(release)
    tasks = _read_tasks(request.tasks)
    plan = plan_tasks(surface, area, tasks, request)
    columns = _columns(request.tasks, tasks, plan)
    rows = zip(*columns.values(), strict=True)
    return {
        "release": release.pk,
        "totals": _totals(plan),
        "tasks": [dict(zip(columns, row, strict=True)) for row in rows],
    }


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


def _columns(given: Sequence[Any], tasks: Tasks, plan: Plan) -> dict[str, Sequence[Any]]:
    """Return the fields of the tasks in an answer, a column each.

    Values are rounded a column at a time, since rounding them one by one would be slow for many
    tasks.
    """
    return {
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


def _totals(plan: Plan) -> dict[str, float]:
    """Return numbers of tasks, and sums over the planned tasks, or their largest radius."""
    planned = plan.planned
    return {
        "planned": int(planned.sum()),
        "not_planned": int((~planned).sum()),
        "reward": round(float(plan.reward[planned].sum()), 4),
        "notified": round(float(plan.notified[planned].sum()), 3),
        "expected_done": round(float(plan.success[planned].sum()), 3),
        "largest_radius_metres": round(float(plan.radius[planned].max(initial=0.0)), 2),
    }


def rounded(values: NDArray[np.float64], decimals: int) -> list[Any]:
    """Round numbers (n,) for JSON; values that are not finite become None.

    Numbers beyond 10^15 are not rounded, because that may overflow; they have no decimals.
    """
    with np.errstate(over="ignore"):
        rounded = np.where(np.abs(values) < 1e15, np.round(values, decimals), values).astype(object)
    rounded[~np.isfinite(values)] = None
    return list(rounded.tolist())
