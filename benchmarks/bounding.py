"""Errors for several contribution bounds, with random and with popular contribution bounding."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.charts import line_chart
from benchmarks.evaluation.distributions import divergence, precision_at
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.released import GridRelease
from dpgeo.mechanisms import uniform_grid
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy
from tests.views import ArrayView

BOUNDS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 200)

EVERYTHING = 10_000_000
"""A contribution bound so large that nothing is left out."""

TOP = 50

NAMES = {Bounding.RANDOM: "random (SRA)", Bounding.POPULAR: "popular (HPA)"}

MEASURES: Mapping[str, str] = {
    "rmse": "root mean square error of a cell",
    "kl": "divergence from the true distribution, nats",
    "precision": f"share of the true {TOP} busiest cells found",
}


def add_to(subcommands: Any) -> None:
    """Add the subcommand `bounding` to the command line."""
    parser = subcommands.add_parser("bounding", help=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="Parquet with columns user, lon and lat"
    )
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--epsilon", action="append", help="may be repeated; 0.1 and 1 by default")
    parser.add_argument("--counting", choices=list(Counting), default=Counting.VISITS.value)
    parser.add_argument("--bound", action="append", type=int, help="may be repeated")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--charts", type=Path, help="a folder for SVG charts")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each combination of epsilon, bounding method and contribution bound."""
    view = read(options.data, Counting(options.counting))
    grid = Grid.over(view.area, options.cells)
    truth = true_counts(view, grid)
    for epsilon in options.epsilon or ["0.1", "1"]:
        found: dict[Bounding, dict[int, Mapping[str, float]]] = {each: {} for each in Bounding}
        for bounding in Bounding:
            for bound in options.bound or BOUNDS:
                errors = [
                    trial(view, truth, options.cells, epsilon, bounding, bound, number)
                    for number in range(options.trials)
                ]
                means = {name: float(np.mean([each[name] for each in errors])) for name in MEASURES}
                found[bounding][bound] = means
                line = {"epsilon": epsilon, "bounding": bounding.value, "bound": bound}
                report({**line, **means}, options.json)
        if options.charts:
            draw(options.charts, epsilon, found)


def read(path: Path, counting: Counting) -> ArrayView:
    """Return the people in a file for a mechanism to read, with their bounding box as study area.

    Deriving the study area from the data reveals something about the data, so only a benchmark may.
    """
    import pandas as pd

    frame = pd.read_parquet(path, columns=["user", "lon", "lat"])
    west, south = frame[["lon", "lat"]].min()
    east, north = frame[["lon", "lat"]].max()
    return ArrayView(
        area=StudyArea.from_bounds(float(west), float(south), float(east), float(north)),
        longitude=frame["lon"].to_numpy(),
        latitude=frame["lat"].to_numpy(),
        persons=frame["user"].to_numpy().astype(np.int64),
        counting=counting,
        bound=EVERYTHING,
    )


def true_counts(view: ArrayView, grid: Grid) -> NDArray[np.int64]:
    """Return the true counts (rows, columns), without contribution bounding or noise."""
    return view.histogram(grid)._read_by_meter()


def trial(
    view: ArrayView,
    truth: NDArray[np.int64],
    cells: int,
    epsilon: str,
    bounding: Bounding,
    bound: int,
    number: int,
) -> dict[str, float]:
    """Return the errors of one release, compared with the counts without a contribution bound."""
    import dataclasses

    released = run(
        uniform_grid.MECHANISM,
        dataclasses.replace(view, bound=bound, salt=number + 1),
        uniform_grid.Params(cells=cells),
        parse_epsilon(epsilon),
        SeededEntropy(number),
        {},
        bounding,
    )
    assert isinstance(released.content, GridRelease)
    noisy = released.content.counts
    return {
        "rmse": float(np.sqrt(np.mean(np.square(noisy - truth, dtype=np.float64)))),
        "kl": divergence(truth, noisy),
        "precision": precision_at(truth, noisy, TOP),
    }


def draw(
    folder: Path, epsilon: str, found: Mapping[Bounding, Mapping[int, Mapping[str, float]]]
) -> None:
    """Write a chart for each measure of error."""
    folder.mkdir(parents=True, exist_ok=True)
    for measured, words in MEASURES.items():
        curves: dict[str, Sequence[tuple[float, float]]] = {
            NAMES[bounding]: [(bound, errors[measured]) for bound, errors in each.items()]
            for bounding, each in found.items()
        }
        chart = line_chart(f"{words}, epsilon {epsilon}", "bound l", curves)
        (folder / f"{measured}-{epsilon}.svg").write_text(chart)
