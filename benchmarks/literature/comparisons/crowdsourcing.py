"""Radii within which workers are asked to do a task, so that 9 of 10 tasks are accepted.

All systems read the same released contours of 3,000 workers in a generated city of 16 km; 150 tasks
have equal rewards unless stated. `planned` is the share of tasks with a radius above 0 and within
the travel limit, `success` (ASR) the share of tasks that some worker accepts, with workers at their
true positions, and `asked` (ANW) the mean number of workers asked to do a task; all three are
computed over all tasks. `rejected` (RejR) is the share of tasks to which nobody would travel. Over
the planned tasks, `travel` (WTD) is the mean distance in metres of the nearest worker who accepts.
For a radius r, 2r/3 is the expected distance of those asked; `spread` is the distance between its
quartiles (the authors' boxplot), `distance_error` (DE) its mean difference from their true mean
distance, in metres, and `cost` (EC) the rewards paid and 0.01 for each worker asked, for each task.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.tasks import outcome
from benchmarks.generated import generated
from benchmarks.literature.allocations import compared_plan
from benchmarks.literature.circle import expanded_radius, printed_radius
from benchmarks.literature.comparisons.own import MAP_SEED
from benchmarks.literature.trials import Line, Options, line
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.tasks.plan import Plan, Tasks
from dpgeo.postprocess.tasks.settings import Settings
from dpgeo.postprocess.tasks.surface import density_surface
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from tests.randomness import SeededEntropy
from tests.views import ArrayView

Floats = NDArray[np.float64]

SIDE_DEGREES = 0.144
CELLS = 64
WORKERS, TASKS = 3_000, 150
METRES_IN_KILOMETRE = 1000.0
TARGET, REWARD = 0.9, 4.0
"""Task success probability that is planned for (E), and the mean reward of a task."""

SETTINGS = Settings(
    target=TARGET,
    total_reward=REWARD * TASKS,
    willingness=250.0,
    least_reward=1.0,
    travel_metres=5_000.0,
)


def compare(options: Options, target: float = TARGET, reward: float = REWARD) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    asked = SETTINGS.model_copy(update={"target": target, "total_reward": reward * TASKS})
    area = StudyArea.from_bounds(0.0, 0.0, SIDE_DEGREES, SIDE_DEGREES)
    lon, lat = _people(WORKERS, 1)
    longitude, latitude = _people(TASKS, 2)
    tasks = Tasks(longitude=longitude, latitude=latitude, reward=np.full(TASKS, np.nan))
    view = ArrayView(
        area=area,
        longitude=lon,
        latitude=lat,
        unit=Unit.RECORD,
        counting=Counting.VISITS,
        bound=1,
    )
    mechanism = find_mechanism("contours")
    params = parse_parameters(mechanism.params, {"cells": CELLS})

    def planned(model: str, random: Generator, allocation: str = "uniform") -> Plan:
        entropy = SeededEntropy(int(random.integers(1 << 32)))
        surface = density_surface(run(mechanism, view, params, options.epsilon, entropy, {}))
        return compared_plan(surface, area, tasks, asked, model, allocation)

    def judged(plan: Plan, radius: Floats) -> Mapping[str, float]:
        usable = (radius > 0) & (radius <= asked.travel_metres)
        chosen = dataclasses.replace(plan, radius=np.where(usable, radius, np.nan))
        if not usable.any():
            return {"planned": 0.0, "success": 0.0, "asked": 0.0, "rejected": 1.0}
        result = outcome(chosen, tasks, asked, lon, lat)
        figures = {
            "planned": float(usable.mean()),
            "success": result.success_rate * float(usable.mean()),
            "asked": result.notified * float(usable.mean()),
            "rejected": result.rejected,
            "travel": result.travel_metres,
            "spread": _spread(chosen.radius),
            "distance_error": result.distance_error,
            "cost": result.cost,
        }
        # Figures that are not finite are left out: if nobody is asked or nobody accepts, the mean
        # distance is NaN.
        return {name: value for name, value in figures.items() if np.isfinite(value)}

    def published(random: Generator, formula: str) -> Mapping[str, float]:
        plan = planned("circle", random)
        density = np.maximum(plan.density, 1e-12) * METRES_IN_KILOMETRE**2
        pull = np.full(TASKS, asked.willingness * reward / METRES_IN_KILOMETRE)
        solve = expanded_radius if formula == "13.16" else printed_radius
        return judged(plan, solve(target, density, pull) * METRES_IN_KILOMETRE)

    def own(random: Generator, model: str, allocation: str = "uniform") -> Mapping[str, float]:
        plan = planned(model, random, allocation)
        return judged(plan, np.nan_to_num(plan.radius, nan=np.inf))

    source = "Zhu et al. 2017"
    yield line("13.14 as printed", source, lambda r: published(r, "13.14"), options)
    yield line("13.16, in kilometres", source, lambda r: published(r, "13.16"), options)
    yield line("circle, solved exactly", source, lambda r: own(r, "circle"), options)
    yield line("Poisson field, equal rewards", "dpgeo", lambda r: own(r, "field"), options)
    for name, model, whose, allocation in (
        ("circle, rewards by radius", "circle", source, "optimised"),
        ("field, rewards by radius", "field", source, "optimised"),
        ("dpgeo, fewest people", "field", "dpgeo", "optimal"),
    ):
        yield line(name, whose, partial(own, model=model, allocation=allocation), options)


def _spread(radius: Floats) -> float:
    """Return the distance in metres between the quartiles of 2r/3.

    For a radius r, 2r/3 is the mean distance from a task to the people asked.
    """
    first, third = np.nanquantile(radius, [0.25, 0.75])
    return float(third - first) * 2 / 3


def _people(number: int, seed: int) -> tuple[Floats, Floats]:
    """Return longitudes and latitudes (n,) of people in a generated city."""
    random = np.random.default_rng([MAP_SEED, seed])
    chances = generated("city", CELLS, MAP_SEED).ravel()
    cells = random.choice(chances.size, number, p=chances)
    rows, columns = np.divmod(cells, CELLS)
    lon, lat = ((each + random.random(number)) * SIDE_DEGREES / CELLS for each in (columns, rows))
    return np.asarray(lon), np.asarray(lat)
