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
    plan = _plan(surface, area, tasks, settings, np.zeros_like(tasks.reward), model)
    feasible = plan.density > 0 if model == "circle" else np.isfinite(plan.reward)
    even = np.where(feasible, settings.total_reward / max(feasible.sum(), 1), 0.0)
    plan = _plan(surface, area, tasks, settings, even, model)
    if allocation == "uniform":
        return plan
    radius = np.where(np.isfinite(plan.radius), plan.radius, settings.travel_metres)
    share = radius / radius[feasible].sum()
    spare = settings.total_reward - settings.least_reward * feasible.sum()
    rewards = np.where(feasible, settings.least_reward + share * spare, 0.0)
    return _plan(surface, area, tasks, settings, rewards, model)


def _plan(
    surface: DensitySurface,
    area: StudyArea,
    tasks: Tasks,
    settings: Settings,
    rewards: Floats,
    model: str,
) -> Plan:
    fixed = dataclasses.replace(tasks, reward=np.maximum(rewards, settings.least_reward))
    plan = plan_tasks(surface, area, fixed, settings)
    if model == "field":
        return plan
    with np.errstate(divide="ignore"):
        pull = settings.willingness * fixed.reward
        radius = circle_radius(settings.needed, np.maximum(plan.density, 1e-300), pull)
    met = (plan.density > 0) & (2 * radius / 3 <= settings.travel_metres)
    return dataclasses.replace(plan, reward=fixed.reward, radius=np.where(met, radius, math.nan))
