"""Errors of published mechanisms on a public array of counts, for comparison with the benchmark
`accuracy`.

The mechanisms are written here from their papers: Identity (Dwork, McSherry, Nissim and Smith
2006), UGrid and AGrid (Qardaji, Yang and Li 2013a), HB (Qardaji, Yang and Li 2013b) and HDMM
(McKenna, Miklau, Hay and Machanavajjhala 2018). Their noise is drawn in floating point from a seed,
so they must not be used outside benchmarks. UGrid and AGrid choose their grids by the number of
records, which their authors assume to be known. Here a twentieth of epsilon is spent on that
number, or nothing with --free-total.

DAWA (Li, Hay and Miklau 2014) is the code of its authors, and is measured where that is installed
(`benchmarks.dawa`) and `--peer DAWA` asks for it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks import accuracy, dawa
from benchmarks.evaluation.ranges import (
    mean_absolute_error,
    random_boxes,
    range_counts,
    scaled_l2_error,
)
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon

Floats = NDArray[np.float64]

TOTAL_SHARE = 0.05
"""Share of epsilon that is spent on a noisy number of records."""


DAWA = "DAWA"

STARTS, WORTH = 8, 0.95
"""HDMM's optimisation runs from up to STARTS random starting points.

It ends as soon as the error is less than WORTH times that of the identity strategy, which measures
each cell by itself. From some starting points, as from the first one with 64 cells, the
optimisation ends at the identity.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Counts (cells, cells), epsilon, and the number of records if that is assumed to be known."""

    counts: NDArray[np.int64]
    epsilon: float
    random: Generator
    known_total: float | None

    def total(self) -> tuple[float, float]:
        """Return the number of records, at least 1, and the epsilon that remains.

        The number is exact and free if it is assumed to be known. Otherwise it is noisy and costs
        TOTAL_SHARE of epsilon.
        """
        if self.known_total is not None:
            return max(self.known_total, 1.0), self.epsilon
        paid = TOTAL_SHARE * self.epsilon
        noisy = float(self.counts.sum()) + self.random.laplace(0, 1 / paid)
        return max(noisy, 1.0), self.epsilon - paid


def add_to(subcommands: Any) -> None:
    """Add the subcommand `peers` to the command line."""
    parser = subcommands.add_parser("peers", help=__doc__)
    accuracy.add_source(parser)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--free-total", action="store_true", help="take the total as known")
    parser.add_argument(
        "--peer", action="append", choices=[*PEERS, DAWA], help="only this one; repeatable"
    )
    parser.add_argument(
        "--stored", type=Path, help="JSON lines of the peers' own code, to print the ratio to"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line of errors for each published mechanism."""
    counts = accuracy.counts_of(options)
    boxes = random_boxes(len(counts))
    truth = range_counts(counts, boxes)
    total = int(counts.sum())
    stored = _stored(options)
    for name in options.peer or PEERS:
        random = np.random.default_rng(options.seed)
        task = Task(
            counts=counts,
            epsilon=float(parse_epsilon(options.epsilon)),
            random=random,
            known_total=float(total) if options.free_total else None,
        )
        peer = data_and_workload_aware if name == DAWA else PEERS[name]
        answers = [range_counts(peer(task), boxes) for _ in range(options.trials)]
        errors = np.array([mean_absolute_error(each, truth) for each in answers])
        line: dict[str, str | float] = {
            "peer": name,
            "mae": float(errors.mean()),
            "mae_standard_error": float(errors.std() / max(1, options.trials - 1) ** 0.5),
            "l2_scaled": float(np.mean([scaled_l2_error(each, truth, total) for each in answers])),
        }
        if name in stored:
            line["of_stored"] = float(errors.mean()) / stored[name]
        report(line, options.json)


def _stored(options: argparse.Namespace) -> Mapping[str, float]:
    """Return each mechanism's mean absolute error, as stored in the file --stored.

    It is for the options' array, cells a side, scale (number of records) and epsilon. A line is
    [array, cells, scale, epsilon, {peer: [scaled L2 error, mean absolute error, ...]}].
    """
    if not options.stored:
        return {}
    wanted = [options.cells, options.scale, float(parse_epsilon(options.epsilon))]
    for line in options.stored.read_text().splitlines():
        array, *others, peers = json.loads(line)
        if options.array.name.startswith(array) and others == wanted:
            return {name: figures[1] for name, figures in peers.items()}
    raise ValueError("--stored has no line for this array, size, scale and epsilon.")


def identity(task: Task) -> Floats:
    """Return Identity's estimate: every cell with independent noise."""
    return task.counts + task.random.laplace(0, 1 / task.epsilon, task.counts.shape)


def uniform_grid(task: Task) -> Floats:
    """Return UGrid's estimate: counts of squares, about sqrt(N epsilon/10) along each side."""
    total, epsilon = task.total()
    cells = len(task.counts)
    side = min(max(math.ceil(math.sqrt(total * epsilon / 10)), 1), cells)
    edges = _edges(cells, side)
    noisy = _sums(task.counts, edges, edges)
    noisy = noisy + task.random.laplace(0, 1 / epsilon, noisy.shape)
    return _spread(noisy, edges, edges)


def adaptive_grid(task: Task) -> Floats:
    """Return AGrid's estimate.

    A coarse grid uses half of epsilon, and grids within its cells use the other half.
    """
    total, epsilon = task.total()
    cells = len(task.counts)
    side = min(max(10, math.ceil(math.sqrt(total * epsilon / 10) / 4)), cells)
    edges = _edges(cells, side)
    half = epsilon / 2
    coarse = _sums(task.counts, edges, edges)
    coarse = coarse + task.random.laplace(0, 1 / half, coarse.shape)
    estimate = np.zeros(task.counts.shape)
    for row in range(len(coarse)):
        for column in range(len(coarse)):
            part = np.s_[edges[row] : edges[row + 1], edges[column] : edges[column + 1]]
            estimate[part] = _second_level(task, task.counts[part], coarse[row, column], half)
    return estimate


def _second_level(task: Task, counts: NDArray[np.int64], coarse: float, epsilon: float) -> Floats:
    """Return the estimates (rows, columns) of the cells within one coarse cell of AGrid.

    The coarse cell's noisy count decides how finely it is divided. Both levels are reconciled by
    least squares.
    """
    side = math.ceil(math.sqrt(max(coarse, 0.0) * epsilon / 5))
    rows, columns = (_edges(length, min(max(side, 1), length)) for length in counts.shape)
    noisy = _sums(counts, rows, columns)
    noisy = noisy + task.random.laplace(0, 1 / epsilon, noisy.shape)
    # Least-squares combination of one count with n counts of its parts, all with the same noise.
    number = noisy.size
    reconciled = noisy + (coarse - noisy.sum()) / (number + 1)
    return _spread(reconciled, rows, columns)


def hierarchy(task: Task) -> Floats:
    """Return HB's estimate: least squares from a tree of counts with the best branching factor.

    All levels have equal shares of epsilon.
    """
    cells = len(task.counts)
    branching = _best_branching(cells)
    sides = [cells]
    while sides[-1] > branching:
        sides.append(math.ceil(sides[-1] / branching))
    sides.reverse()  # from here on, the coarsest level comes first; the root is not measured
    epsilon = task.epsilon / len(sides)
    variance = 2 / epsilon**2
    edges = [_nested_edges(cells, branching, len(sides) - 1 - level) for level in range(len(sides))]
    noisy = [_sums(task.counts, each, each) for each in edges]
    noisy = [level + task.random.laplace(0, 1 / epsilon, level.shape) for level in noisy]
    # Upwards: combine each node's own count and the sum of its children, weighted by inverse
    # variances.
    above = [np.full(level.shape, variance) for level in noisy]
    combined = list(noisy)
    for level in range(len(noisy) - 2, -1, -1):
        inner = np.searchsorted(edges[level + 1], edges[level])
        below = _sums(combined[level + 1], inner, inner)
        below_variance = _sums(above[level + 1], inner, inner)
        weight = below_variance / (below_variance + variance)
        combined[level] = weight * noisy[level] + (1 - weight) * below
        above[level] = weight * variance
    # Downwards: divide the difference between a node and the sum of its children among the children
    # in proportion to their variances.
    for level in range(len(noisy) - 1):
        inner = np.searchsorted(edges[level + 1], edges[level])
        parent = np.searchsorted(edges[level], edges[level + 1][:-1], side="right") - 1
        rest = combined[level] - _sums(combined[level + 1], inner, inner)
        share = above[level + 1] / _sums(above[level + 1], inner, inner)[np.ix_(parent, parent)]
        combined[level + 1] = combined[level + 1] + share * rest[np.ix_(parent, parent)]
    return combined[-1]


def _best_branching(cells: int) -> int:
    """Return how many children along an axis minimise the mean variance of sums over intervals.

    With b children and h levels, the variance is proportional to (b - 1) h^3 - 2 (b + 1) h^2/3
    (the paper on HB).
    """

    def cost(branching: int) -> float:
        height = math.ceil(math.log(cells, branching) - 1e-9)
        return (branching - 1) * height**3 - 2 * (branching + 1) * height**2 / 3

    return min(range(2, cells), key=cost)


def matrix(task: Task) -> Floats:
    """Return HDMM's estimate, from a product of two strategies that are optimised for intervals.

    There is one weighted strategy for each axis; together they measure all boxes.
    """
    strategy = box_strategy(len(task.counts))
    measured = strategy @ task.counts @ strategy.T
    noisy = measured + task.random.laplace(0, 1 / task.epsilon, measured.shape)
    inverse = np.linalg.pinv(strategy)
    return np.asarray(inverse @ noisy @ inverse.T)


@cache
def box_strategy(cells: int) -> Floats:
    """Return a strategy (m, cells) for all intervals, with columns of L1 norm 1.

    It consists of the identity and further rows, all weighted (HDMM's p-Identity). L-BFGS minimises
    the expected squared error of all intervals, tr(X^-1 S V S). Here X = I + T'T, T are the further
    rows, V is the Gram matrix of the intervals, and S is the diagonal matrix of the column norms
    before normalisation.
    """
    from scipy.optimize import minimize

    rows = max(cells // 16, 1)
    place = np.arange(cells)
    gram = (np.minimum.outer(place, place) + 1.0) * (cells - np.maximum.outer(place, place))

    def loss(flat: Floats) -> tuple[float, Floats]:
        further = flat.reshape(rows, cells)
        norms = 1 + further.sum(axis=0)
        inverse = np.linalg.inv(np.eye(cells) + further.T @ further)
        scaled = gram * np.outer(norms, norms)
        both = inverse @ scaled @ inverse
        slope = -2 * further @ both
        slope += 2 * np.diag((gram * norms) @ inverse)
        return float((inverse * scaled).sum()), slope.ravel()

    best = np.zeros(rows * cells)
    for seed in range(STARTS):
        start = np.random.default_rng(seed).random(rows * cells)
        solution = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * start.size
        )
        best = solution.x if solution.fun < loss(best)[0] else best
        if solution.fun < WORTH * loss(np.zeros(rows * cells))[0]:
            break
    further = best.reshape(rows, cells)
    weighted: Floats = np.vstack([np.eye(cells), further]) / (1 + further.sum(axis=0))
    return weighted


def _edges(cells: int, parts: int) -> NDArray[np.intp]:
    """Return the edges that divide a side of `cells` cells into equal parts.

    The last part may be smaller, as in the authors' own code.
    """
    return np.append(np.arange(0, cells, cells // parts), cells).astype(np.intp)


def _nested_edges(cells: int, branching: int, height: int) -> NDArray[np.intp]:
    """Return the edges along an axis, in cells, of tree nodes `height` levels above the leaves."""
    step = branching**height
    return np.append(np.arange(0, cells, step), cells).astype(np.intp)


def _sums(counts: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return the sums of the counts in each box between row edges and column edges."""
    by_row = np.add.reduceat(counts, rows[:-1], axis=0)
    return np.asarray(np.add.reduceat(by_row, columns[:-1], axis=1), dtype=np.float64)


def _spread(sums: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return cells (rows, columns) with each box's sum spread evenly over the cells of the box."""
    even = sums / np.outer(np.diff(rows), np.diff(columns))
    return np.repeat(np.repeat(even, np.diff(rows), axis=0), np.diff(columns), axis=1)


def data_and_workload_aware(task: Task) -> Floats:
    """Return DAWA's estimate for the workload that is measured, by its authors' code."""
    boxes, seed = random_boxes(len(task.counts)), int(task.random.integers(2**31))
    return dawa.estimated(dawa.authors_dawa(), task.counts, boxes, task.epsilon, seed)


PEERS: Mapping[str, Callable[[Task], Floats]] = {
    "Identity": identity,
    "HB": hierarchy,
    "UGrid": uniform_grid,
    "AGrid": adaptive_grid,
    "HDMM": matrix,
}
