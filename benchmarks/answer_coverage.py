"""Share of range answers whose interval holds the true count, by size of the box, over many maps.

One release is made for each mechanism, map, number of records and epsilon. Maps are arrays, or one
generated map of each kind. The boxes are the 2,000 of `benchmarks.evaluation.ranges`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import HEATMAPS, loaded
from benchmarks.evaluation.answers import answer_errors
from benchmarks.evaluation.arrays import CountsView, coarsened, drawn
from benchmarks.evaluation.ranges import random_boxes, range_counts
from benchmarks.generated import KINDS, generated
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy

COVERED = "answer_covered_"


def add_to(subcommands: Any) -> None:
    """Add the subcommand `answer-coverage` to the command line."""
    parser = subcommands.add_parser("answer-coverage", help=__doc__)
    parser.add_argument("--array", action="append", type=Path, help=".npy; generated maps if none")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these generated maps")
    parser.add_argument("--map-seed", type=int, default=42, help="of the generated maps")
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--scale", action="append", type=float, help="1e4, 1e5 and 1e6 by default")
    parser.add_argument("--epsilon", action="append", help="0.1 and 1 by default")
    parser.add_argument("--mechanism", action="append", help="only this one; may be repeated")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each release, and for each mechanism the means over its releases.

    "least" is the lowest coverage of any size class of boxes in any single release.
    """
    given = dict(pair.split("=", 1) for pair in options.param)
    for key in options.mechanism or HEATMAPS:
        mechanism = find_mechanism(key)
        params = parse_parameters(mechanism.params, {"cells": options.cells} | given)
        found: list[dict[str, float]] = []
        for name, counts in _maps(options):
            boxes = random_boxes(len(counts))
            truth = range_counts(counts, boxes)
            for epsilon in options.epsilon or ["0.1", "1"]:
                released = run(
                    mechanism,
                    CountsView(counts=counts),
                    params,
                    parse_epsilon(epsilon),
                    SeededEntropy(options.seed),
                    {},
                )
                measures = answer_errors(released, counts, boxes, truth)
                about: dict[str, str | float] = {
                    "mechanism": key,
                    "map": name,
                    "records": int(counts.sum()),
                    "epsilon": epsilon,
                }
                report({**about, **measures}, options.json)
                found.append(
                    {name: rate for name, rate in measures.items() if name.startswith(COVERED)}
                )
        means = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
        least = min(rate for each in found for rate in each.values())
        report({"mechanism": key, "releases": len(found), **means, "least": least}, options.json)


def _maps(options: argparse.Namespace) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield names and counts (cells, cells) of every map with every number of records."""
    for scale in options.scale or [1e4, 1e5, 1e6]:
        for path in options.array or []:
            yield path.stem, drawn(coarsened(loaded(path), options.cells), int(scale))
        for kind in () if options.array else options.kind or KINDS:
            yield kind, drawn(generated(kind, options.cells, options.map_seed), int(scale))
