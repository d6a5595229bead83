"""Share of true counts within the margin of error, on generated maps or arrays of counts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import HEATMAPS, loaded
from benchmarks.evaluation.arrays import CountsView, coarsened, drawn
from benchmarks.evaluation.ranges import range_counts
from benchmarks.generated import KINDS, generated
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy

NOBODY = "nobody"

FEW = 60
"""Smallest group of boxes with similar values for which coverage is computed."""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `coverage` to the command line."""
    parser = subcommands.add_parser("coverage", help=__doc__)
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--scale", type=float, default=1e4, help="records on each map")
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the first map and its noise")
    parser.add_argument("--map", action="append", choices=[NOBODY, *KINDS], help="may be repeated")
    parser.add_argument("--array", action="append", type=Path, help="counts as .npy; repeatable")
    parser.add_argument("--mechanism", action="append", help="only this one; may be repeated")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for every mechanism, map and layer.

    "covered" is the share of boxes with a true count within the margin, and "margin" the mean
    margin. "least" is the lowest "covered" of any group of boxes with similar values.
    "worst_of_shown" and "worst_of_true" are the lowest "covered" of any tenth of the boxes, ordered
    by value and by true count. "busiest" is "covered" for the 1 % of boxes with the highest true
    counts, and "held" is "covered" for all boxes with at least one record.
    """
    for key in options.mechanism or HEATMAPS:
        maps = options.map or (() if options.array else (NOBODY, "even", "clusters"))
        for kind in (*maps, *(options.array or ())):
            for name, rates in _covered(key, kind, options).items():
                named = kind.stem if isinstance(kind, Path) else kind
                line: dict[str, str | float] = {"mechanism": key, "map": named, "layer": name}
                report({**line, **rates}, options.json)


def _counts(kind: str | Path, options: argparse.Namespace, seed: int) -> NDArray[np.int64]:
    """Return counts (cells, cells) of `scale` records, drawn from a kind of map or an array."""
    if kind == NOBODY:
        return np.zeros((options.cells, options.cells), dtype=np.int64)
    if isinstance(kind, Path):
        return drawn(coarsened(loaded(kind), options.cells), int(options.scale))
    return drawn(generated(kind, options.cells, seed), int(options.scale))


def _covered(
    key: str, kind: str | Path, options: argparse.Namespace
) -> dict[str, dict[str, str | float]]:
    """Return, by layer name, how well margins covered true counts in all trials on one map."""
    mechanism = find_mechanism(key)
    given = dict(pair.split("=", 1) for pair in options.param)
    params = parse_parameters(mechanism.params, {"cells": options.cells} | given)
    seen: dict[str, list[_Drawn]] = {}
    for seed in range(options.seed, options.seed + options.trials):
        counts = _counts(kind, options, seed)
        released = run(
            mechanism,
            CountsView(counts=counts),
            params,
            parse_epsilon(options.epsilon),
            SeededEntropy(seed),
            {},
        )
        for layer in box_layers(released):
            true = range_counts(counts, layer.boxes.astype(np.int64))
            # 1e-9 allows for floating-point errors where a count is spread evenly over cells.
            covered = np.abs(layer.value - true) <= layer.margin + 1e-9
            seen.setdefault(layer.name, []).append(_Drawn(layer, true, covered))
    return {name: _summary(layers) for name, layers in seen.items()}


class _Drawn(NamedTuple):
    """A layer of one release, its boxes' true counts (n,), and which of them are within the
    margin.
    """

    layer: BoxLayer
    true: NDArray[np.float64]
    covered: NDArray[np.bool_]


def _tenths(covered: NDArray[np.bool_], by: NDArray[Any]) -> float:
    """Return the lowest share of covered boxes in any tenth of the boxes, sorted by `by`."""
    order = np.argsort(by, kind="stable")
    return min(float(covered[each].mean()) for each in np.array_split(order, 10) if each.size)


def _summary(draws: list[_Drawn]) -> dict[str, str | float]:
    covered = np.concatenate([each.covered for each in draws])
    true = np.concatenate([each.true for each in draws])
    value = np.concatenate([np.asarray(each.layer.value, dtype=np.float64) for each in draws])
    margin = np.concatenate([each.layer.margin for each in draws])
    label = draws[0].layer.margin_label
    if not covered.size:
        return {"label": label, "boxes": 0}
    # Boxes are grouped by value, so that values in one group differ by at most a factor of
    # four; all values below the median margin count as equal to it.
    size = np.maximum(np.abs(value) / max(float(np.median(margin)), 1e-9), 1.0)
    alike = np.rint(np.log2(size) / 2).astype(np.int64)
    of_each = np.bincount(alike)
    rates = np.bincount(alike, weights=covered)[of_each >= FEW] / of_each[of_each >= FEW]
    return {
        "label": label,
        "boxes": covered.size,
        "covered": float(covered.mean()),
        "worst_of_shown": _tenths(covered, value),
        "worst_of_true": _tenths(covered, true),
        "busiest": float(
            covered[np.argsort(true, kind="stable")[-max(1, true.size // 100) :]].mean()
        ),
        "held": float(covered[true > 0].mean()) if (true > 0).any() else 1.0,
        "least": float(rates.min(initial=1.0)),
        "margin": float(margin.mean()),
    }
