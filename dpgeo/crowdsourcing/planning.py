"""From what an operator sends to a plan, and from a plan to what is sent back."""

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

MOST_TASKS = 10_000

MOST_GEOCASTS = 100
"""Tasks for which regions are grown in one request: each may take hundreds of regions."""

LONGEST_NAME = 200

SQUARE_KILOMETRE = 1e6

UNREADABLE_REWARD = -1.0
"""Below any least reward, so that the task is answered with that reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an operator asks for, read: names and tasks in the order in which they were sent."""

    names: Sequence[str]
    tasks: Tasks
    settings: Settings
    allocations: Sequence[Allocation]
    geocast: bool = False


def read_asked(
    *,
    tasks: Sequence[Any],
    settings: Mapping[str, Any],
    allocations: Sequence[str],
    geocast: bool = False,
) -> Asked:
    """Read tasks and settings. Raises InvalidInput that names the field.

    A task that is no task is no error: the plan answers it with its reason.
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
            "Regions are grown for at most {most} tasks at once; send fewer, or leave it out.",
            most=MOST_GEOCASTS,
            field="geocast",
        )
    known = [each.value for each in Allocation]
    wrong = [each for each in allocations if each not in known]
    if wrong or not allocations or len(set(allocations)) < len(allocations):
        raise InvalidInput(
            "Choose from {known}, each once.", known=", ".join(known), field="allocations"
        )
    return Asked(
        names=[_name(task, number) for number, task in enumerate(tasks, start=1)],
        tasks=_tasks(tasks),
        settings=_settings(settings),
        allocations=[Allocation(each) for each in allocations],
        geocast=geocast,
    )


def plan_document(release: Release, asked: Asked) -> dict[str, Any]:
    """The plan of every allocation as a JSON document."""

    surface, area = ground_of(release)
    plans = plan_tasks(surface, area, asked.tasks, asked.settings, asked.allocations)
    document = {
        "release": release.pk,
        "lines_per_km2": [round(line * SQUARE_KILOMETRE, 3) for line in surface.lines.tolist()],
        "totals": {plan.allocation.value: _totals(plan) for plan in plans},
        "tasks": _rows(asked, plans),
    }
    if asked.geocast:
        _add_geocasts(release, asked, plans[0], document)
    return document


def _settings(values: Mapping[str, Any]) -> Settings:

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
    """A finite number, NaN for anything else."""
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
    name = task.get("name") if isinstance(task, dict) else None
    return str(name)[:LONGEST_NAME] if isinstance(name, (str, int)) and name != "" else str(number)


def _rows(asked: Asked, plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """What is answered to each task, built column by column: they may be ten thousand."""
    ways = {plan.allocation.value: _planned(plan) for plan in plans}
    columns = zip(
        asked.names,
        _kept(asked.tasks.longitude, 7),
        _kept(asked.tasks.latitude, 7),
        _kept(plans[0].density * SQUARE_KILOMETRE, 3),
        *ways.values(),
        strict=True,
    )
    return [
        {
            "name": name,
            "longitude": longitude,
            "latitude": latitude,
            "density_per_km2": density,
            "plans": dict(zip(ways, planned, strict=True)),
        }
        for name, longitude, latitude, density, *planned in columns
    ]


def _planned(plan: Plan) -> list[dict[str, Any]]:

    words = {reason: (str(reason), explanation) for reason, explanation in REASONS.items()}
    columns = {
        "reward": _kept(plan.reward, 4),
        "radius_metres": _kept(plan.radius, 2),
        "notified": _kept(plan.notified, 3),
        "notified_margin": _kept(plan.margin, 3),
        "acceptance": _kept(plan.acceptance, 6),
        "success": _kept(plan.success, 6),
        "reason": [words[reason][0] for reason in plan.reasons],
        "explanation": [words[reason][1] for reason in plan.reasons],
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _totals(plan: Plan) -> dict[str, Any]:
    """Sums over the tasks that have a radius."""
    planned = plan.planned
    return {
        "planned": int(planned.sum()),
        "not_planned": int((~planned).sum()),
        "reward": round(float(plan.reward[planned].sum()), 4),
        "notified": round(float(plan.notified[planned].sum()), 3),
        "expected_done": round(float(plan.success[planned].sum()), 3),
        "largest_radius_metres": round(float(plan.radius[planned].max(initial=0.0)), 2),
    }


def _kept(values: NDArray[np.float64], decimals: int) -> list[Any]:
    """Numbers (n,) for JSON: rounded, None where there is none."""

    kept = np.round(values, decimals).astype(object)
    kept[~np.isfinite(values)] = None
    return list(kept.tolist())


def _add_geocasts(release: Release, asked: Asked, plan: Plan, document: dict[str, Any]) -> None:
    """Grow regions for every task that the first allocation offers a reward, and sum them up."""
    casts = _geocasts(release, asked, plan)
    for row, cast in zip(document["tasks"], casts, strict=True):
        row["geocast"] = cast
    reached = [cast is not None and bool(cast["reached"]) for cast in casts]
    both = [number for number, here in enumerate(reached) if here and plan.planned[number]]
    document["geocast"] = {
        "allocation": plan.allocation.value,
        "planned": sum(reached),
        "not_planned": len(reached) - sum(reached),
        "met_both_ways": len(both),
        "notified": round(sum(casts[number]["notified"] for number in both), 3),
        "notified_in_circles": round(float(plan.notified[both].sum()), 3),
    }


def _geocasts(release: Release, asked: Asked, plan: Plan) -> list[Any]:
    """The regions of each task as JSON, None where there is no reward to offer."""

    partition = regions_of(release)
    found: list[Any] = []
    for number, reward in enumerate(plan.reward.tolist()):
        if not math.isfinite(reward):
            found.append(None)
            continue
        cast = partition.geocast(
            float(asked.tasks.longitude[number]),
            float(asked.tasks.latitude[number]),
            reward=reward,
            acceptance=asked.settings.acceptance,
            target=asked.settings.target,
            share=asked.settings.worker_share,
        )
        outline = shapely.transform(partition.outline(cast.regions), lambda each: each.round(6))
        found.append(
            {
                "regions": len(cast.regions),
                "notified": round(cast.notified, 3),
                "success": round(cast.success, 6),
                "reached": cast.reached,
                "outline": json.loads(shapely.to_geojson(outline)),
            }
        )
    return found
