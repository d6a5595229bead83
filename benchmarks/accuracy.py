"""Error of every heatmap mechanism on a public array of counts, as DPBench measures it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import KINDS, generated
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.kinds import Kind
from dpgeo.core.parameters import parameters, parse_parameters
from dpgeo.evaluation.arrays import CountsView, coarsened, drawn
from dpgeo.evaluation.ranges import (
    mean_absolute_error,
    random_boxes,
    range_counts,
    scaled_l2_error,
    spread,
)
from dpgeo.mechanisms.registry import MECHANISMS, find_mechanism
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import Mechanism, run
from tests.randomness import SeededEntropy

HEATMAPS = [key for key, mechanism in MECHANISMS.items() if mechanism.kind is Kind.HEATMAP]
"""What has cells to answer ranges with, by default."""


def add_to(subcommands: Any) -> None:
    """Describe `accuracy` to the command line."""
    parser = subcommands.add_parser("accuracy", help=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--array", type=Path, help=".npy file of square counts")
    source.add_argument("--generated", choices=KINDS, help="a generated map of this kind")
    parser.add_argument("--map-seed", type=int, default=0, help="of a generated map")
    parser.add_argument("--cells", type=int, default=128, help="sum the array to so many a side")
    parser.add_argument("--scale", type=float, default=1e4, help="records drawn from the array")
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--mechanism", action="append", help="only this one; may be repeated")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line of errors for every mechanism asked for; by default, for every heatmap."""
    counts = _counts(options)
    given = dict(pair.split("=", 1) for pair in options.param)
    for key in options.mechanism or HEATMAPS:
        mechanism = find_mechanism(key)
        takes_cells = any(param.name == "cells" for param in parameters(mechanism.params))
        chosen = {"cells": options.cells} | given if takes_cells else given
        params = parse_parameters(mechanism.params, chosen)
        trials = np.array(list(_trials(mechanism, params, counts, options)))
        error = trials[:, 0].std() / max(1, options.trials - 1) ** 0.5
        report(
            {
                "mechanism": key,
                "mae": float(trials[:, 0].mean()),
                "mae_standard_error": float(error),
                "l2_scaled": float(trials[:, 1].mean()),
                "seconds": float(trials[:, 2].mean()),
            },
            options.json,
        )


def _counts(options: argparse.Namespace) -> NDArray[np.int64]:
    """As many records as asked for, spread like an array or a generated map."""
    scale = _whole(options.scale)
    if options.array:
        return drawn(coarsened(_load(options.array), options.cells), scale)
    return drawn(generated(options.generated, options.cells, options.map_seed), scale)


def _load(path: Path) -> NDArray[np.int64]:
    return np.asarray(np.load(path, allow_pickle=False), dtype=np.int64)


def _whole(scale: float) -> int:
    if not scale.is_integer() or scale < 1:
        raise ValueError("--scale is a number of records, such as 1e4.")
    return int(scale)


def _trials(
    mechanism: Mechanism, params: Any, counts: NDArray[np.int64], options: argparse.Namespace
) -> Iterator[tuple[float, float, float]]:
    """Mean absolute error, scaled L2 error and seconds of each trial."""
    epsilon = parse_epsilon(options.epsilon)
    boxes = random_boxes(len(counts))
    truth = range_counts(counts, boxes)
    entropy = SeededEntropy(options.seed)
    for _ in range(options.trials):
        started = time.perf_counter()
        released = run(mechanism, CountsView(counts=counts), params, epsilon, entropy, {})
        estimate = spread(box_layers(released)[-1])
        seconds = time.perf_counter() - started
        answers = range_counts(estimate, boxes)
        yield (
            mean_absolute_error(answers, truth),
            scaled_l2_error(answers, truth, int(counts.sum())),
            seconds,
        )
