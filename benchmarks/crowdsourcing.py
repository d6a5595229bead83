"""Task plans on released maps, evaluated with workers at known positions."""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.charts import line_chart
from benchmarks.evaluation.tasks import acceptance_chance, ground_metres, outcome
from benchmarks.literature.allocations import ALLOCATIONS, MODELS, compared_plan
from benchmarks.literature.geocast import Geocast, Partition, released_partition
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.tasks.density import ring_edges
from dpgeo.postprocess.tasks.plan import Plan, Tasks, plan_tasks
from dpgeo.postprocess.tasks.reach import Reach
from dpgeo.postprocess.tasks.settings import Settings
from dpgeo.postprocess.tasks.surface import density_surface
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from tests.randomness import SeededEntropy
from tests.views import ArrayView

Floats = NDArray[np.float64]

TARGETS = (0.80, 0.85, 0.90)
EPSILONS = ("0.1", "0.2", "0.3", "0.5", "1")

Columns = Mapping[str, tuple[str, str]]
"""Titles of a table's columns, each with the key of its figures and their format, as ".3f"."""

TABLES: Mapping[str, tuple[Columns, Sequence[tuple[float, str]]]] = {
    "plans": (
        {
            "success even / optimised / optimal": ("success_rate", ".3f"),
            "redrawn": ("redrawn_success", ".3f"),
            "notified": ("notified", ".1f"),
            "RejR": ("rejected", ".3f"),
            "cost": ("cost", ".2f"),
        },
        [(0.8, "field"), (0.9, "field"), (0.9, "circle")],
    ),
    "rejected": (
        {
            "RejR even / optimised / optimal": ("source_rejected", ".3f"),
            "notified": ("notified", ".1f"),
        },
        [(0.9, "circle"), (0.9, "field")],
    ),
}
"""Tables of docs/crowdsourcing.md, by name: their columns, and each row's target and model.

The target is the task success probability that plans aim at.
"""

REWARD_A_TASK, MIN_REWARD = 4.0, 1.0
LOOP_TASKS = 200
"""Number of tasks solved one by one, for comparison. Their time is scaled up, because a loop over
ten thousand tasks would take minutes.
"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `crowdsourcing` to the command line."""
    parser = subcommands.add_parser("crowdsourcing", help=__doc__)
    parser.add_argument("--file", type=Path, help="Parquet with user, lat and lon")
    parser.add_argument("--records", action="store_true", help="every record is a worker")
    parser.add_argument("--mechanism", default="contours")
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--smoothing", default="inferred", help="of contours")
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--epsilon", action="append", help="only this one; may be repeated")
    parser.add_argument("--travel", type=float, default=3000.0, help="MTD in metres")
    parser.add_argument("--willingness", type=float, default=250.0, help="c in metres")
    parser.add_argument("--geocast", action="store_true", help="grow regions too, and compare")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figures", type=Path, help="write charts of errors here")
    parser.add_argument("--speed", action="store_true", help="time 10,000 tasks, read no file")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--markdown", choices=TABLES, help="a table, as in docs/crowdsourcing.md")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each epsilon, target (of task success), model and allocation of rewards."""
    if options.speed:
        for line in _speed():
            report(line, options.json)
        return
    if options.file is None:
        raise ValueError("Give --file, or --speed.")
    lines = []
    for line in _lines(options):
        if not options.markdown:
            report(line, options.json)
        lines.append(line)
    if options.markdown:
        print("\n".join(table(lines, options.markdown)))
    if options.figures:
        _draw(lines, options)


def _lines(options: argparse.Namespace) -> Iterator[dict[str, str | float]]:
    longitude, latitude, tasks = _workers(options)
    area = _area(longitude, latitude)
    view = _view(area, longitude, latitude)
    pairs = [(model, each) for model, allocations in MODELS.items() for each in allocations]
    for epsilon in options.epsilon or EPSILONS:
        found: dict[tuple[float, str, str], list[dict[str, float]]] = {}
        entropy = SeededEntropy(options.seed)
        for _ in range(options.trials):
            released = _release(view, options, parse_epsilon(epsilon), entropy)
            partition = released_partition(released) if options.geocast else None
            surface = density_surface(released)
            for settings in map(partial(_settings, options), TARGETS):
                for model, allocation in pairs:
                    plan = compared_plan(surface, area, tasks, settings, model, allocation)
                    if allocation == "uniform":
                        limit = _source_limit(plan)
                    if plan.planned.any():
                        judged = outcome(plan, tasks, settings, longitude, latitude)
                        figures = dataclasses.asdict(judged)
                        figures["source_rejected"] = float(np.mean(~(plan.radius <= limit)))
                        if partition is not None and model == "field":
                            figures |= _casts(partition, plan, tasks, settings, longitude, latitude)
                        key = (settings.target, model, allocation)
                        found.setdefault(key, []).append(figures)
        for (target, of_model, allocation), outcomes in sorted(found.items()):
            yield {
                "data": options.file.stem + (" records" if options.records else ""),
                "workers": float(len(longitude)),
                "mechanism": options.mechanism,
                "epsilon": epsilon,
                "target": target,
                "model": of_model,
                "allocation": allocation,
                **_means(outcomes),
            }


def table(lines: Sequence[Mapping[str, str | float]], name: str) -> list[str]:
    """Return one of TABLES in Markdown, a row for each epsilon, target and model.

    Its cells have the figures of the model's ways to allocate rewards, in the order of ALLOCATIONS.
    Rows in which one of these ways has no plan at all are left out.
    """
    columns, wanted = TABLES[name]
    cells: dict[tuple[str, float, str], dict[str, Mapping[str, str | float]]] = {}
    for line in lines:
        key = str(line["epsilon"]), float(line["target"]), str(line["model"])
        if key[1:] in wanted:
            cells.setdefault(key, {})[str(line["allocation"])] = line
    head = ["ε", "target", "model", *columns]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for (epsilon, target, model), found in sorted(
        cells.items(), key=lambda each: (float(each[0][0]), wanted.index(each[0][1:]))
    ):
        if len(found) < len(MODELS[model]):
            continue
        figures = [
            " / ".join(format(found[each][field], form) for each in ALLOCATIONS if each in found)
            for field, form in columns.values()
        ]
        rows.append("| " + " | ".join([epsilon, f"{target:g}", model, *figures]) + " |")
    return rows


def _means(outcomes: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean over the trials of each figure that is present in every trial."""
    names = [name for name in outcomes[0] if all(name in each for each in outcomes)]
    return {name: float(np.mean([each[name] for each in outcomes])) for name in names}


def _settings(options: argparse.Namespace, target: float) -> Settings:
    return Settings(
        target=target,
        total_reward=REWARD_A_TASK * options.tasks,
        willingness=options.willingness,
        least_reward=MIN_REWARD,
        travel_metres=options.travel,
    )


def _source_limit(even: Plan) -> float:
    """Return the notification radius that nine in ten tasks do not exceed if rewards are equal.

    `even` is the plan with equal rewards. Zhu, Li, Zhou and Yu (2017, figure 13.9a) choose their
    travel limit from such radii, which they compute without any limit. To measure the share of
    rejected tasks (RejR) as they do, set a large --travel.
    """
    radius = np.sort(np.where(even.planned, even.radius, math.inf))
    return float(radius[math.ceil(0.9 * len(radius)) - 1])


def _casts(
    partition: Partition,
    plan: Plan,
    tasks: Tasks,
    settings: Settings,
    longitude: Floats,
    latitude: Floats,
) -> dict[str, float]:
    """Return figures of task regions that are boxes of the map (geocasts) and that are circles.

    Both are for the same tasks at the same rewards.
    """
    casts = {}
    for task in np.flatnonzero(plan.planned).tolist():
        cast = partition.geocast(
            float(tasks.longitude[task]),
            float(tasks.latitude[task]),
            reward=float(plan.reward[task]),
            conditions=settings,
        )
        if cast.reached:
            casts[task] = cast
    if not casts:
        return {"cast_planned": 0.0}
    both = np.isin(np.arange(len(plan.radius)), list(casts))
    circles = dataclasses.replace(plan, radius=np.where(both, plan.radius, math.nan))
    beside = outcome(circles, tasks, settings, longitude, latitude)
    return {
        **_cast_outcome(partition, casts, plan, tasks, settings, longitude, latitude),
        "beside_cast_success_rate": beside.success_rate,
        "beside_cast_notified": beside.notified,
    }


def _cast_outcome(
    partition: Partition,
    casts: Mapping[int, Geocast],
    plan: Plan,
    tasks: Tasks,
    settings: Settings,
    longitude: Floats,
    latitude: Floats,
) -> dict[str, float]:
    """Return the figures of geocasts, in which all workers in a task's regions are notified."""
    home = partition.regions_at(longitude, latitude)
    success, notified = [], []
    for task, cast in casts.items():
        asked = np.isin(home, cast.regions)
        metres = ground_metres(tasks, task, longitude[asked], latitude[asked])
        chance = acceptance_chance(settings, float(plan.reward[task]), metres)
        success.append(1 - float(np.prod(1 - chance)))
        notified.append(int(asked.sum()))
    return {
        "cast_planned": float(len(casts)),
        "cast_success_rate": float(np.mean(success)),
        "cast_notified": float(np.mean(notified)),
        "cast_regions": float(np.mean([len(cast.regions) for cast in casts.values()])),
    }


def _workers(options: argparse.Namespace) -> tuple[Floats, Floats, Tasks]:
    """Return the workers' longitudes and latitudes, and tasks near other records of the file.

    Each worker has one random position, or one for each record with `--records`. Tasks lie near
    records that are set aside for them, with a random displacement.
    """
    import pandas as pd

    table = pd.read_parquet(options.file, columns=["user", "lat", "lon"])
    inside = table["lat"].between(*table["lat"].quantile([0.01, 0.99])) & table["lon"].between(
        *table["lon"].quantile([0.01, 0.99])
    )
    table = table[inside].sample(frac=1, random_state=options.seed)
    places = table.iloc[: options.tasks]
    rest = table.iloc[options.tasks :]
    workers = rest if options.records else rest.drop_duplicates("user")
    jitter = np.random.default_rng(options.seed).normal(0, 2e-3, (2, options.tasks))
    west, east = table["lon"].min(), table["lon"].max()
    south, north = table["lat"].min(), table["lat"].max()
    tasks = Tasks(
        longitude=np.clip(places["lon"].to_numpy(np.float64) + jitter[0], west, east),
        latitude=np.clip(places["lat"].to_numpy(np.float64) + jitter[1], south, north),
        reward=np.full(options.tasks, math.nan),
    )
    return (
        workers["lon"].to_numpy(np.float64),
        workers["lat"].to_numpy(np.float64),
        tasks,
    )


def _area(longitude: Floats, latitude: Floats) -> StudyArea:
    """Return the bounding box of the positions, rounded outwards to a twentieth of a degree."""
    step = 20
    return StudyArea.from_bounds(
        math.floor(longitude.min() * step) / step,
        math.floor(latitude.min() * step) / step,
        math.ceil(longitude.max() * step) / step,
        math.ceil(latitude.max() * step) / step,
    )


def _view(area: StudyArea, longitude: Floats, latitude: Floats) -> ArrayView:
    """Return the workers for a mechanism to read, with one record each as the privacy unit."""
    return ArrayView(
        area=area,
        longitude=longitude,
        latitude=latitude,
        unit=Unit.RECORD,
        counting=Counting.VISITS,
        bound=1,
    )


def _release(
    view: ArrayView, options: argparse.Namespace, epsilon: Fraction, entropy: SeededEntropy
) -> Released:
    mechanism = find_mechanism(options.mechanism)
    given: dict[str, object] = {"cells": options.cells}
    if mechanism.key == "contours":
        given["smoothing"] = options.smoothing
    params = parse_parameters(mechanism.params, given)
    return run(mechanism, view, params, epsilon, entropy, {})


def _speed() -> Iterator[dict[str, str | float]]:
    """Yield the times of planning ten thousand tasks, vectorised and in a loop over tasks.

    The loop uses the same rings of distance around each task, and finds the same radii with scipy's
    brentq. The times are processor times, so other work on the machine does not count.
    """
    from scipy.optimize import brentq

    area = StudyArea.from_bounds(17.9, 59.2, 18.3, 59.4)
    generator = np.random.default_rng(0)
    people = generator.normal((18.1, 59.3), (0.05, 0.025), (200_000, 2))
    view = _view(area, people[:, 0], people[:, 1])
    params = parse_parameters(find_mechanism("contours").params, {"cells": 256})
    surface = density_surface(
        run(find_mechanism("contours"), view, params, Fraction(1), SeededEntropy(0), {})
    )
    size = 10_000
    tasks = Tasks(
        longitude=generator.uniform(18.0, 18.2, size),
        latitude=generator.uniform(59.25, 59.35, size),
        reward=np.full(size, math.nan),
    )
    settings = Settings(
        target=0.9,
        total_reward=REWARD_A_TASK * size,
        willingness=60.0,
        least_reward=MIN_REWARD,
        travel_metres=3000.0,
        worker_share=0.05,
    )
    even = dataclasses.replace(tasks, reward=np.full(size, REWARD_A_TASK))
    for what, given in (("the reward divided", tasks), ("equal rewards", even)):
        started = time.process_time()
        plan = plan_tasks(surface, area, given, settings)
        seconds = time.process_time() - started
        yield {
            "what": f"plan of 10,000 tasks, {what}",
            "seconds": seconds,
            "planned": float(plan.planned.sum()),
        }
    whole = _seconds(lambda: plan_tasks(surface, area, even, settings))
    chosen = np.flatnonzero(plan.planned)[:LOOP_TASKS]

    def loop() -> Floats:
        found = np.empty(len(chosen))
        edges = ring_edges(settings.travel_metres)
        for place, task in enumerate(chosen):
            part = slice(task, task + 1)
            rings = surface.rings(tasks.longitude[part], tasks.latitude[part], edges)
            reach = Reach(
                willingness=settings.willingness,
                needed=settings.needed,
                edges=edges,
                density=rings * settings.worker_share,
            )
            found[place] = brentq(
                lambda r, reach=reach, part=part: float(
                    reach.accepting(np.full(1, r), plan.reward[part])[0] - settings.needed
                ),
                1e-6,
                settings.travel_metres,
            )
        return found

    started = time.process_time()
    radii = loop()
    each = (time.process_time() - started) / len(chosen)
    assert np.allclose(radii, plan.radius[chosen], rtol=1e-6)
    yield {
        "what": "radii by the field model",
        "seconds": whole,
        "loop_seconds": each * size,
        "ratio": each * size / whole,
    }


def _seconds(work: Any) -> float:
    """Call a function three times, and return the shortest processor time in seconds."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _draw(lines: list[dict[str, str | float]], options: argparse.Namespace) -> None:
    """Write charts of success, notified workers and cost against epsilon.

    They are for the highest of TARGETS, the task success probabilities aimed at.
    """
    options.figures.mkdir(parents=True, exist_ok=True)
    name = f"{options.file.stem}{'-records' if options.records else ''}-{options.mechanism}"
    wanted = [line for line in lines if line["target"] == TARGETS[-1]]
    for what, title in (
        ("success_rate", f"Tasks done of those planned, target {TARGETS[-1]:g}"),
        ("notified", "Workers notified for each task"),
        ("cost", "Cost of each task: reward paid and notices sent"),
    ):
        curves: dict[str, list[tuple[float, float]]] = {}
        for line in wanted:
            key = f"{line['model']}, {line['allocation']}"
            curves.setdefault(key, []).append((float(line["epsilon"]), float(line[what])))
        level = TARGETS[-1] if what == "success_rate" else None
        path = options.figures / f"crowdsourcing-{name}-{what.replace('_', '-')}.svg"
        path.write_text(line_chart(title, "epsilon", curves, level=level))
