"""DPCube's two parameters, the threshold and the share of epsilon for the cells, on a city.

The city is generated, with 64 x 64 cells and 10,000 people; if a file is given, people are spread
as in its square .npy array of counts. `boxes` is the number of partitions. `by_people` and
`by_cells` are sums, in thousands, of the variances of true counts within partitions, weighted by
people (the authors' measure) or by cells (that of a v-optimal histogram; see `unevenness`).
`uniform` and `least_squares` are the mean absolute errors of 2,000 random boxes, for two methods of
estimating cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.ranges import mean_absolute_error, random_boxes, range_counts
from benchmarks.literature.comparisons.own import counts_of, partitioned
from benchmarks.literature.partitions import dpcube, unevenness
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 64
PEOPLE = 10_000
THRESHOLDS = (0.0, 0.25, 0.5, 1.0, 1.5)
SHARES = (0.25, 0.75)


def compare(options: Options) -> Iterator[Line]:
    """Yield mean errors (`trials.line`) for each threshold and share of epsilon for the cells."""
    whole = counts_of(options.file, CELLS, PEOPLE)
    counts, epsilon, boxes = whole.astype(np.float64), options.budget, random_boxes(CELLS)
    truth = range_counts(counts, boxes)

    def error(estimate: Floats) -> float:
        return mean_absolute_error(range_counts(estimate, boxes), truth)

    def uneven(label: Ints) -> Mapping[str, float]:
        by_people, by_cells = unevenness(counts, label)
        return {"by_people": by_people / 1000, "by_cells": by_cells / 1000}

    def source(share: float, threshold: float, random: Generator) -> Mapping[str, float]:
        found = dpcube(counts, epsilon, random, cell_share=share, threshold=threshold)
        return {
            "boxes": float(len(found.counts)),
            **uneven(found.label),
            "uniform": error(found.uniform()),
            "least_squares": error(found.least_squares()),
        }

    def own(key: str, random: Generator) -> Mapping[str, float]:
        label, told = partitioned(key, whole, options.epsilon, random)
        return {
            "boxes": float(len(told)),
            **uneven(label),
            "uniform": error((told / np.bincount(label.ravel()))[label]),
        }

    chosen = [(0.5, each) for each in THRESHOLDS] + [(each, 0.5) for each in SHARES]
    for share, threshold in chosen:
        name = f"threshold {threshold:g}, {share:.0%} for cells"
        yield line(name, "Xiao et al. 2014", partial(source, share, threshold), options)
    for key in ("dpcube", "auto"):
        yield line(f"dpgeo, {key}", "dpgeo", partial(own, key), options)
