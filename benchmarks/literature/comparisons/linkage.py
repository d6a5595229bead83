"""Blocks of a city, to find the same people in two lists of 10,000 positions.

Half of the people in each list are in both; their position in the second list is off by half a
cell (standard deviation, in each direction). `reduction` is the share of pairs that need not be
compared (the DPCube paper's equation 36), `padded` the same if parties hide their counts by
dummies, and `kept` the share of the people in both lists whose two positions are still compared.
If a file is given, people are spread as in its square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import chances_of, partitioned
from benchmarks.literature.linkage import linked
from benchmarks.literature.partitions import dpcube
from benchmarks.literature.trees import kd_tree_boxes
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 64
PEOPLE, PAIRS = 10_000, 5_000
OFF = 0.5
"""Standard deviation, in each direction, by which a person's second position is off, in cells."""

LEVELS = 8


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    random = np.random.default_rng(11)
    chances = chances_of(options.file, CELLS).ravel()
    cells = random.choice(chances.size, 2 * PEOPLE, p=chances)
    at = np.stack(np.divmod(cells, CELLS)) + random.random((2, cells.size))
    one, other = at[:, :PEOPLE], at[:, PEOPLE:]
    other[:, :PAIRS] = one[:, :PAIRS] + random.normal(0, OFF, (2, PAIRS))
    first, second = (_cell(each) for each in (one, other))
    whole = np.bincount(first, minlength=CELLS**2).reshape(CELLS, CELLS)
    counts, epsilon = whole.astype(np.float64), options.budget

    def errors(label: Ints, told: Floats, random: Generator) -> Mapping[str, float]:
        flat = label.ravel()
        theirs = np.bincount(flat[second], minlength=len(told)).astype(np.float64)
        answer = theirs + random.laplace(0, 1 / epsilon, len(told))
        return linked(flat, first, second, (told, answer), PAIRS)

    def grid(side: int, random: Generator) -> Mapping[str, float]:
        row, column = np.divmod(np.arange(CELLS**2), CELLS)
        label = row * side // CELLS * side + column * side // CELLS
        true = np.bincount(label, counts.ravel())
        return errors(label, true + random.laplace(0, 1 / epsilon, side**2), random)

    def tree(random: Generator) -> Mapping[str, float]:
        return errors(*kd_tree_boxes(counts, epsilon, random, levels=LEVELS), random)

    def cube(random: Generator) -> Mapping[str, float]:
        found = dpcube(counts, epsilon, random)
        return errors(found.label, found.counts, random)

    def own(key: str, random: Generator) -> Mapping[str, float]:
        return errors(*partitioned(key, whole, options.epsilon, random), random)

    for side in (8, 12, 18, 64):
        name = f"public grid of {side} x {side} blocks"
        yield line(name, "none", partial(grid, side), options)
    yield line("hierarchical kd-tree", "Inan et al. 2010", tree, options)
    yield line("DPCube, as in the source", "Xiao et al. 2014", cube, options)
    for key in ("dpcube", "auto"):
        yield line(f"dpgeo, {key}", "dpgeo", partial(own, key), options)


def _cell(at: Floats) -> Ints:
    row, column = np.clip(np.floor(at).astype(np.int64), 0, CELLS - 1)
    return np.asarray(row * CELLS + column)
