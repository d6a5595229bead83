"""Task plans of the literature, to compare with dpgeo's: other rewards, and workers in a circle.

`uniform` gives every task the same reward. `optimised` is the method of Zhu, Li, Zhou and Yu 2017,
section 13.3.3.2: each task gets the least reward w0, and the remainder of the total W is divided in
proportion to the radius that each task would need if all rewards were equal. `optimal` is dpgeo's
own (`dpgeo.postprocess.tasks.rewards`).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.literature.circle import circle_radius
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.plan import Plan, Tasks, plan_tasks
from dpgeo.postprocess.tasks.settings import Settings
from dpgeo.spatial.area import StudyArea

Floats = NDArray[np.float64]

ALLOCATIONS = ("uniform", "optimised", "optimal")

MODELS = {"field": ALLOCATIONS, "circle": ALLOCATIONS[:2]}
"""Models of the workers around a task, each with the allocations that are compared for it."""


def compared_plan(
    surface: DensitySurface,
    area: StudyArea,
    tasks: Tasks,
    settings: Settings,
    model: str,
    allocation: str,
) -> Plan:
    """Return the plan by one of MODELS and one of its allocations."""
    if allocation == "optimal":
        return plan_tasks(surface, area, tasks, settings)
    fewest = dataclasses.replace(tasks, reward=np.full(tasks.reward.size, settings.least_reward))
    plan = plan_tasks(surface, area, fewest, settings)
    feasible = plan.density > 0 if model == "circle" else np.isfinite(plan.reward)
    least, count = settings.least_reward, int(feasible.sum())

    def paid(rewards: Floats) -> Plan:
        given = dataclasses.replace(tasks, reward=np.where(feasible, rewards, least))
        found = plan_tasks(surface, area, given, settings)
        if model == "field":
            return found
        radius = _circle_radius(plan.density, given.reward, settings)
        met = feasible & (2 * radius / 3 <= settings.travel_metres)
        return dataclasses.replace(
            found, reward=given.reward, radius=np.where(met, radius, math.nan)
        )

    even = np.full(feasible.size, settings.total_reward / max(count, 1))
    plan_at_even = paid(even)
    if allocation == "uniform":
        return plan_at_even
    if model == "circle":
        radius = _circle_radius(plan.density, even, settings)
    else:
        radius = np.where(plan_at_even.planned, plan_at_even.radius, settings.travel_metres)
    share = radius / radius[feasible].sum()
    return paid(least + share * (settings.total_reward - least * count))


def _circle_radius(density: Floats, reward: Floats, settings: Settings) -> Floats:
    """Return the radius (n,) of the circle model, whatever the travel limit."""
    workers = np.where(density > 0, density, 1.0)
    return circle_radius(settings.needed, workers, settings.willingness * reward)
