"""Range counts in two dimensions: 64 x 64 cells, 2,000 random boxes.

`box_error` is the mean absolute error of a box. If a file is given, people are spread as in its
square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.ranges import mean_absolute_error, random_boxes, range_counts
from benchmarks.literature.comparisons.own import counts_of, heatmap
from benchmarks.literature.trees import kd_tree
from benchmarks.literature.trials import Line, Options, line
from benchmarks.literature.wavelets import privelet
from benchmarks.literature.weights import mwem
from benchmarks.peers import PEERS, Task

Floats = NDArray[np.float64]

CELLS = 64
PEOPLE = 10_000
LEVELS = 8
"""Number of the kd-tree's levels below the root."""

ROUNDS = 10
"""Number of MWEM's rounds."""

SEEN = 500
"""Number of the boxes that MWEM measures and learns from."""

OWN = ("dpcube", "auto")


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    whole = counts_of(options.file, CELLS, PEOPLE)
    counts, epsilon = whole.astype(np.float64), options.budget
    boxes = random_boxes(CELLS)
    truth = range_counts(counts, boxes)
    queries = np.array([_inside(box).ravel() for box in boxes[:SEEN]])

    def errors(estimate: Floats) -> Mapping[str, float]:
        return {"box_error": mean_absolute_error(range_counts(estimate, boxes), truth)}

    def weighted(random: Generator) -> Mapping[str, float]:
        flat = mwem(counts.ravel(), queries, epsilon, random, rounds=ROUNDS)
        return errors(flat.reshape(counts.shape))

    def peer(name: str, random: Generator) -> Mapping[str, float]:
        task = Task(counts=whole, epsilon=epsilon, random=random, known_total=None)
        return errors(PEERS[name](task))

    def own(key: str, random: Generator) -> Mapping[str, float]:
        return errors(heatmap(key, whole, options.epsilon, random))

    for name, source in (
        ("Identity", "Dwork et al. 2006"),
        ("AGrid", "Qardaji et al. 2013a"),
        ("HB", "Qardaji et al. 2013b"),
        ("HDMM", "McKenna et al. 2018"),
    ):
        yield line(name, source, partial(peer, name), options)
    yield line(
        "Privelet", "Xiao et al. 2010", lambda r: errors(privelet(counts, epsilon, r)), options
    )
    yield line("MWEM", "Hardt et al. 2012", weighted, options)
    yield line(
        "hierarchical kd-tree",
        "Inan et al. 2010; Cormode et al. 2012",
        lambda r: errors(kd_tree(counts, epsilon, r, levels=LEVELS)),
        options,
    )
    for key in OWN:
        yield line(f"dpgeo, {key}", "dpgeo", partial(own, key), options)


def _inside(box: NDArray[np.int64]) -> Floats:
    image = np.zeros((CELLS, CELLS))
    image[box[0] : box[1], box[2] : box[3]] = 1
    return image
