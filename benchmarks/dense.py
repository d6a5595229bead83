"""Errors of `auto` and of the best published mechanism on generated maps with few empty cells.

The maps are DENSE_TUNING and DENSE_TEST of `benchmarks.generated`. The published mechanisms are
those of `benchmarks.peers`; AGrid and UGrid pay for the number of records. Three errors are
compared, each with that of the published mechanism for which it is smallest: of all random boxes,
of boxes with sides of a quarter to three quarters of the map's, and of single cells.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.arrays import CountsView, drawn
from benchmarks.evaluation.ranges import random_boxes, range_counts, spread
from benchmarks.generated import DENSE_TEST, DENSE_TUNING, DenseMap, generated
from benchmarks.peers import PEERS, Task
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms import auto
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy

HALVES: dict[str, list[DenseMap]] = {"tuning": DENSE_TUNING, "test": DENSE_TEST}

MIDDLE = (1 / 4, 3 / 4)
"""Sides of boxes of medium size, as shares of the map's side: more than the first share, up to the
second.
"""

Floats = NDArray[np.float64]


def add_to(subcommands: Any) -> None:
    """Add the subcommand `dense` to the command line."""
    parser = subcommands.add_parser("dense", help=__doc__)
    parser.add_argument("--half", choices=HALVES, default="tuning")
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line of error ratios for each map, and one of their geometric means and maxima.

    "ratio" is the error of `auto` divided by that of the best published mechanism, over random
    boxes of all sizes; "middle" and "cell" are the same for boxes of medium size and for cells.
    Each comes with its standard error.
    """
    rows = []
    for each in HALVES[options.half]:
        counts = drawn(generated(each.kind, options.cells, each.seed), each.records)
        line: dict[str, str | float] = {
            "map": each.kind,
            "map_seed": each.seed,
            "records": each.records,
        }
        ratios = _ratios(counts, options)
        rows.append({name: value for name, value in ratios.items() if name in ERRORS})
        report({**line, **ratios}, options.json)
    summary: dict[str, str | float] = {}
    for name in ERRORS:
        found = np.array([float(row[name]) for row in rows])
        summary[name] = float(np.exp(np.log(found).mean()))
        summary[f"{name}_largest"] = float(found.max())
    report({"half": options.half, "maps": len(rows), **summary}, options.json)


def _ratios(counts: NDArray[np.int64], options: argparse.Namespace) -> dict[str, str | float]:
    """Return `auto`'s errors on one map, each divided by that of the best published mechanism.

    Each ratio comes with its standard error, `auto`'s own error and that mechanism's name.
    """
    own = np.array([_errors(_auto(counts, options, trial), counts) for trial in _seeds(options)])
    peers = {
        name: np.array(
            [_errors(_peer(name, counts, options, trial), counts) for trial in _seeds(options)]
        )
        for name in PEERS
    }
    line: dict[str, str | float] = {}
    for column, name in enumerate(ERRORS):
        best = min(peers, key=lambda peer: float(peers[peer][:, column].mean()))
        mine, others = own[:, column], peers[best][:, column]
        ratio = float(mine.mean() / others.mean())
        line[name] = ratio
        line[f"{name}_standard_error"] = ratio * float(
            np.hypot(_relative_error(mine), _relative_error(others))
        )
        line[f"{name}_auto"] = float(mine.mean())
        line[f"{name}_peer"] = best
    return line


ERRORS = ("ratio", "middle", "cell")


def _seeds(options: argparse.Namespace) -> range:
    return range(options.seed, options.seed + options.trials)


def _relative_error(errors: Floats) -> float:
    """Return the standard error of the errors' mean, as a share of that mean."""
    return float(errors.std() / max(1, len(errors) - 1) ** 0.5 / errors.mean())


def _auto(counts: NDArray[np.int64], options: argparse.Namespace, seed: int) -> Floats:
    params = parse_parameters(auto.Params, {"cells": options.cells})
    epsilon = parse_epsilon(options.epsilon)
    view = CountsView(counts=counts)
    released = run(auto.MECHANISM, view, params, epsilon, SeededEntropy(seed), {})
    return spread(box_layers(released)[-1])


def _peer(name: str, counts: NDArray[np.int64], options: argparse.Namespace, seed: int) -> Floats:
    task = Task(
        counts=counts,
        epsilon=float(parse_epsilon(options.epsilon)),
        random=np.random.default_rng(seed),
        known_total=None,
    )
    return PEERS[name](task)


def _errors(estimate: Floats, counts: NDArray[np.int64]) -> list[float]:
    """Return the mean absolute errors of all boxes, of boxes of medium size, and of cells."""
    boxes = random_boxes(len(counts))
    error = np.abs(range_counts(estimate, boxes) - range_counts(counts, boxes))
    return [
        float(error.mean()),
        float(error[middle(boxes, len(counts))].mean()),
        float(np.abs(estimate - counts).mean()),
    ]


def middle(boxes: NDArray[np.int64], cells: int) -> NDArray[np.bool_]:
    """Return the mask (n,) of boxes (n, 4) of medium size, on a map of `cells` a side."""
    sides = np.stack([boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]]) / cells
    return np.asarray(((sides > MIDDLE[0]) & (sides <= MIDDLE[1])).all(axis=0))
