"""Error of every heatmap mechanism on a public array of counts, as in DPBench."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.answers import answer_errors
from benchmarks.evaluation.arrays import CountsView, coarsened, drawn
from benchmarks.evaluation.distributions import divergence, earth_movers, weighted_variance
from benchmarks.evaluation.ranges import (
    mean_absolute_error,
    random_boxes,
    range_counts,
    scaled_l2_error,
    spread,
)
from benchmarks.generated import KINDS, generated
from benchmarks.report import report
from dpgeo.artefacts.codec import encode
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.kinds import HEATMAP
from dpgeo.core.parameters import parameters, parse_parameters
from dpgeo.core.released import Released
from dpgeo.mechanisms.registry import MECHANISMS, find_mechanism
from dpgeo.postprocess.layers import BoxLayer, box_layers, layers
from dpgeo.postprocess.synthetic_points import (
    counted_layers,
    non_negative_counts,
    synthetic_points,
)
from dpgeo.privacy.mechanism import Mechanism, run
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.projection import to_mercator
from tests.randomness import SeededEntropy

HEATMAPS = [
    key
    for key, mechanism in MECHANISMS.items()
    if mechanism.kind is HEATMAP
    and not mechanism.by_time
    and any(each.name == "cells" for each in parameters(mechanism.params))
]
"""The mechanisms measured by default: those with cells that can answer range queries."""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `accuracy` to the command line."""
    parser = subcommands.add_parser("accuracy", help=__doc__)
    add_source(parser)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--mechanism", action="append", help="only this one; may be repeated")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--points", action="store_true", help="also measure the files of made-up points"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add command-line options for the counts that `counts_of` returns."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--array", type=Path, help=".npy file of square counts")
    source.add_argument("--generated", choices=KINDS, help="a generated map of this kind")
    parser.add_argument("--map-seed", type=int, default=0, help="of a generated map")
    parser.add_argument("--cells", type=int, default=128, help="sum the array to so many a side")
    parser.add_argument("--scale", type=float, default=1e4, help="records drawn from the array")


def measure(options: argparse.Namespace) -> None:
    """Print a line of errors for each requested mechanism, by default for every heatmap."""
    counts = counts_of(options)
    given = dict(pair.split("=", 1) for pair in options.param)
    for key in options.mechanism or HEATMAPS:
        mechanism = find_mechanism(key)
        takes_cells = any(param.name == "cells" for param in parameters(mechanism.params))
        chosen = {"cells": options.cells} | given if takes_cells else given
        params = parse_parameters(mechanism.params, chosen)
        trials = list(_trials(mechanism, params, counts, options))
        means = {name: float(np.mean([trial[name] for trial in trials])) for name in trials[0]}
        errors = np.array([trial["mae"] for trial in trials])
        spread_of_mean = float(errors.std() / max(1, options.trials - 1) ** 0.5)
        line = {"mechanism": key, "mae": means.pop("mae"), "mae_standard_error": spread_of_mean}
        report({**line, **means}, options.json)


def _partitions(layer: BoxLayer) -> NDArray[np.int32]:
    """Return, for each cell (rows, columns), the index of the measured box that contains it.

    All cells outside the boxes share one further index.
    """
    image = box_image(layer.boxes, layer.grid.shape)
    return np.where(image < 0, np.int32(len(layer)), image)


def counts_of(options: argparse.Namespace) -> NDArray[np.int64]:
    """Return counts of the requested number of records, drawn from an array or a generated map."""
    scale = _whole(options.scale)
    if options.array:
        return drawn(coarsened(loaded(options.array), options.cells), scale)
    return drawn(generated(options.generated, options.cells, options.map_seed), scale)


def loaded(path: Path) -> NDArray[np.int64]:
    """Return the array of counts in an .npy file."""
    return np.asarray(np.load(path, allow_pickle=False), dtype=np.int64)


def _whole(scale: float) -> int:
    if not scale.is_integer() or scale < 1:
        raise ValueError("--scale is a number of records, such as 1e4.")
    return int(scale)


def _trials(
    mechanism: Mechanism, params: Any, counts: NDArray[np.int64], options: argparse.Namespace
) -> Iterator[dict[str, float]]:
    """Return the measures of each trial, by name.

    "mae" and "l2_scaled" are errors of range counts. "kl" is the divergence from the true
    distribution in nats, and "earth_movers" the earth mover's distance to it in cells.
    "weighted_variance" is the unevenness of true counts within the boxes. The time of the trial in
    seconds is included. Measures whose names begin with "answer" concern the API's range answers,
    see `answer_errors`.
    """
    epsilon = parse_epsilon(options.epsilon)
    boxes = random_boxes(len(counts))
    truth = range_counts(counts, boxes)
    entropy = SeededEntropy(options.seed)
    for _ in range(options.trials):
        started = time.perf_counter()
        released = run(mechanism, CountsView(counts=counts), params, epsilon, entropy, {})
        shown = box_layers(released)
        estimate = spread(shown[-1])
        if estimate.shape != counts.shape:
            rows, columns = estimate.shape
            raise SystemExit(
                f"{mechanism.key} has {columns} x {rows} cells: give it as many as --cells by "
                "--param, or choose that many --cells."
            )
        seconds = time.perf_counter() - started
        answers = range_counts(estimate, boxes)
        # The earth mover's distance needs some mass, so an estimate without people counts as an
        # even distribution.
        somebody = estimate if estimate.max() > 0 else np.ones_like(estimate)
        yield {
            "mae": mean_absolute_error(answers, truth),
            "l2_scaled": scaled_l2_error(answers, truth, int(counts.sum())),
            "kl": divergence(counts, estimate),
            "earth_movers": earth_movers(counts, somebody),
            "weighted_variance": weighted_variance(counts, _partitions(shown[0])),
            "seconds": seconds,
            **answer_errors(released, counts, boxes, truth),
        } | (_points_errors(released, boxes, truth) if options.points else {})


def _points_errors(
    released: Released, boxes: NDArray[np.int64], truth: NDArray[np.float64]
) -> dict[str, float]:
    """Return errors of range counts from synthetic points, and from the counts they are made of."""
    counted = counted_layers(released, layers(released))
    [layer] = [layer for layer in counted if isinstance(layer, BoxLayer)]
    points = synthetic_points(counted, released.area, hashlib.sha256(encode(released)).digest())
    cells = layer.grid.locate(*to_mercator(points.longitude, points.latitude))
    placed = np.bincount(cells, weights=points.weight, minlength=layer.grid.size)
    followed = spread(dataclasses.replace(layer, value=non_negative_counts(layer)))
    return {
        "mae_followed": mean_absolute_error(range_counts(followed, boxes), truth),
        "mae_points": mean_absolute_error(
            range_counts(placed.reshape(layer.grid.shape), boxes), truth
        ),
    }
