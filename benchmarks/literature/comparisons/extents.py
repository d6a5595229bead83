"""Errors by the size of a box: squares of 1 to 32 cells a side, on the same map as in `boxes`.

Each column is the mean absolute error of 400 squares of one size. If a file is given, people are
spread as in its square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.ranges import mean_absolute_error, range_counts
from benchmarks.literature.comparisons.own import counts_of, heatmap
from benchmarks.literature.partitions import dpcube
from benchmarks.literature.trials import Line, Options, line
from benchmarks.peers import PEERS, Task

Floats = NDArray[np.float64]

CELLS = 64
PEOPLE = 10_000
SIDES = (1, 4, 16, 32)
SQUARES = 400


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    whole = counts_of(options.file, CELLS, PEOPLE)
    random = np.random.default_rng(7)
    squares = {}
    for side in SIDES:
        top, left = random.integers(0, CELLS - side + 1, (2, SQUARES))
        squares[side] = np.column_stack([top, top + side, left, left + side])
    truth = {side: range_counts(whole, boxes) for side, boxes in squares.items()}

    def errors(estimate: Floats) -> Mapping[str, float]:
        return {
            f"side_{side}": mean_absolute_error(range_counts(estimate, boxes), truth[side])
            for side, boxes in squares.items()
        }

    def peer(name: str, random: Generator) -> Mapping[str, float]:
        task = Task(counts=whole, epsilon=options.budget, random=random, known_total=None)
        return errors(PEERS[name](task))

    def source(random: Generator) -> Mapping[str, float]:
        return errors(dpcube(whole.astype(np.float64), options.budget, random).uniform())

    def own(key: str, random: Generator) -> Mapping[str, float]:
        return errors(heatmap(key, whole, options.epsilon, random))

    yield line("Identity", "Dwork et al. 2006", partial(peer, "Identity"), options)
    yield line("HB", "Qardaji et al. 2013b", partial(peer, "HB"), options)
    yield line("DPCube, as in the source", "Xiao et al. 2014", source, options)
    for key in ("dpcube", "auto"):
        yield line(f"dpgeo, {key}", "dpgeo", partial(own, key), options)
