"""Share of true counts within the margin of error, on empty, even and clustered maps."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import HEATMAPS
from benchmarks.evaluation.arrays import CountsView, drawn
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
    parser.add_argument("--mechanism", action="append", help="only this one; may be repeated")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for every mechanism, map and layer.

    "covered" is the share of boxes with a true count within the margin, "least" the lowest such
    share among boxes of similar value, and "margin" the mean margin.
    """
    for key in options.mechanism or HEATMAPS:
        for kind in options.map or (NOBODY, "even", "clusters"):
            for name, rates in _covered(key, kind, options).items():
                line: dict[str, str | float] = {"mechanism": key, "map": kind, "layer": name}
                report({**line, **rates}, options.json)


def _covered(key: str, kind: str, options: argparse.Namespace) -> dict[str, dict[str, str | float]]:
    """Return the figures for each layer of a mechanism, over all trials on one kind of map."""
    mechanism = find_mechanism(key)
    given = dict(pair.split("=", 1) for pair in options.param)
    params = parse_parameters(mechanism.params, {"cells": options.cells} | given)
    seen: dict[str, list[tuple[BoxLayer, NDArray[np.bool_]]]] = {}
    for seed in range(options.seed, options.seed + options.trials):
        counts = np.zeros((options.cells, options.cells), dtype=np.int64)
        if kind != NOBODY:
            counts = drawn(generated(kind, options.cells, seed), int(options.scale))
        released = run(
            mechanism,
            CountsView(counts=counts),
            params,
            parse_epsilon(options.epsilon),
            SeededEntropy(seed),
            {},
        )
        for layer in box_layers(released):
            error = np.abs(layer.value - range_counts(counts, layer.boxes.astype(np.int64)))
            # The tolerance allows for rounding errors in counts that are spread evenly.
            seen.setdefault(layer.name, []).append((layer, error <= layer.margin + 1e-9))
    return {name: _summary(layers) for name, layers in seen.items()}


def _summary(layers: list[tuple[BoxLayer, NDArray[np.bool_]]]) -> dict[str, str | float]:
    covered = np.concatenate([hits for _, hits in layers])
    value = np.concatenate([np.asarray(layer.value, dtype=np.float64) for layer, _ in layers])
    margin = np.concatenate([layer.margin for layer, _ in layers])
    if not covered.size:
        return {"label": layers[0][0].margin_label, "boxes": 0}
    # Similar values differ by at most a factor of four. The unit is the median margin; all values
    # below one unit form one group.
    size = np.maximum(np.abs(value) / max(float(np.median(margin)), 1e-9), 1.0)
    alike = np.rint(np.log2(size) / 2).astype(np.int64)
    of_each = np.bincount(alike)
    rates = np.bincount(alike, weights=covered)[of_each >= FEW] / of_each[of_each >= FEW]
    return {
        "label": layers[0][0].margin_label,
        "boxes": covered.size,
        "covered": float(covered.mean()),
        "least": float(rates.min(initial=1.0)),
        "margin": float(margin.mean()),
    }
