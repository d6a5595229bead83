"""Errors of range counts compared with the truth without a contribution bound.

Errors are computed for the inferred counts as released, and for these counts scaled to noisy
totals, which cost a part of epsilon.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bounding import read, true_counts
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Counting
from dpgeo.core.released import PhasedRelease, Released
from dpgeo.core.totals import TotalsPlan
from dpgeo.mechanisms import auto
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.scaling import array_scaling
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy
from tests.views import ArrayView

BOUNDS = (1, 2, 5, 10, 20, 50)

BOXES = 2000

Floats = NDArray[np.float64]


def add_to(subcommands: Any) -> None:
    """Add the subcommand `totals` to the command line."""
    parser = subcommands.add_parser("totals", help=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="Parquet with columns user, lon and lat"
    )
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--epsilon", action="append", help="may be repeated; 0.1 and 1 by default")
    parser.add_argument("--counting", choices=list(Counting), default=Counting.PEOPLE.value)
    parser.add_argument("--bound", action="append", type=int, help="may be repeated")
    parser.add_argument("--percent", type=int, default=TotalsPlan().percent)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print the mean errors of range counts for every epsilon and contribution bound.

    `counted` is the mean absolute error of the counts as released, and `scaled` the mean absolute
    error of the counts scaled to noisy totals, both as shares of the true total. `held` is the
    share of trials in which the interval for the scaling factor contains the true one.
    `counted_error` and `scaled_error` are standard errors over the trials.
    """
    view = read(options.data, Counting(options.counting))
    grid = Grid.over(view.area, options.cells)
    truth = true_counts(view, grid).astype(np.float64)
    boxes = random_boxes(grid)
    params = auto.Params(cells=options.cells)
    for epsilon in options.epsilon or ["0.1", "1"]:
        for bound in options.bound or BOUNDS:
            errors: dict[str, list[float]] = {"counted": [], "scaled": [], "held": []}
            for number in range(options.trials):
                bounded = dataclasses.replace(view, bound=bound, salt=number + 1)
                plain = draw(bounded, params, epsilon, number, None)
                errors["counted"].append(error(surface(plain), truth, boxes))
                plan = TotalsPlan(
                    percent=options.percent,
                    sightings=max(bound, TotalsPlan().sightings),
                    visits=max(bound, TotalsPlan().visits),
                )
                bought = draw(bounded, params, epsilon, number, plan)
                scaling = array_scaling(bought, layers(bought))
                if scaling is None or not scaling.known:
                    continue
                errors["scaled"].append(error(scaling.factor * surface(bought), truth, boxes))
                whole = surface(bought).sum()
                errors["held"].append(float(scaling.low <= truth.sum() / whole <= scaling.high))
            line: dict[str, Any] = {"epsilon": epsilon, "bound": bound}
            for name, values in errors.items():
                line[name] = float(np.mean(values)) if values else None
            for name in ("counted", "scaled"):
                several = len(errors[name]) > 1
                spread = np.std(errors[name], ddof=1) / np.sqrt(len(errors[name])) if several else 0
                line[f"{name}_error"] = float(spread)
            report(line, options.json)


def draw(
    view: ArrayView, params: auto.Params, epsilon: str, number: int, plan: TotalsPlan | None
) -> Released:
    """Return one release of the mechanism `auto`, with totals if there is a `plan` for them.

    The epsilon of the whole release is the same in both cases.
    """
    entropy = SeededEntropy(number)
    return run(auto.MECHANISM, view, params, parse_epsilon(epsilon), entropy, {}, totals=plan)


def surface(released: Released) -> Floats:
    """Return the inferred counts (rows, columns) of the cells of a release."""
    assert isinstance(released.content, PhasedRelease)
    return released.content.surface


def random_boxes(grid: Grid) -> NDArray[np.int64]:
    """Return BOXES random boxes (n, 4) of cells, the same in every run."""
    random = np.random.default_rng(1)
    rows = np.sort(random.integers(0, grid.rows + 1, (BOXES, 2)), axis=1)
    columns = np.sort(random.integers(0, grid.columns + 1, (BOXES, 2)), axis=1)
    return np.concatenate([rows, columns], axis=1)


def error(found: Floats, truth: Floats, boxes: NDArray[np.int64]) -> float:
    """Return the mean absolute error of the boxes' sums, as a share of the true total."""
    table = np.pad(np.cumsum(np.cumsum(found - truth, axis=0), axis=1), ((1, 0), (1, 0)))
    top, bottom, left, right = boxes.T
    sums = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return float(np.mean(np.abs(sums)) / truth.sum())
