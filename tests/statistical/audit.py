"""Lower bounds on epsilon from whole releases of two datasets.

Many releases of both datasets are drawn. Some of them train a classifier of the two datasets and
choose an event; the others give a lower confidence bound on the epsilon that this event proves.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import PhasedRelease, Released, SparseRelease
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.spatial.boxes import box_sums, summed_area
from tests.statistical.bounds import greatest_chance, least_chance

Floats = NDArray[np.float64]
Draw = Callable[[], Released]

MOST_PHASES = 8

FLATTENED = 6
"""Number of leading entries of every array that are used one by one."""


UNLISTED = -1000
"""Stands for the count of a cell that is not listed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two datasets, and everything else, which the attacker is assumed to
    know.
    """

    cells: NDArray[np.int64]
    """Indices of the cells in which the datasets differ, each once."""
    known: NDArray[np.int64]
    """Counts of every cell without the person, in the grid's shape."""


def proven_epsilon(without: Draw, with_person: Draw, difference: Difference, runs: int) -> float:
    """Return a lower confidence bound on epsilon from `runs` releases of each of two datasets.

    A fifth of the releases train the scores, a fifth choose the event, and the rest prove the
    bound. It exceeds the true epsilon with probability at most 2 exp(LOG_FALSE_ALARM).
    """
    seen = [[observe(draw(), difference) for _ in range(runs)] for draw in (without, with_person)]
    width = max(len(numbers) for side in seen for _, numbers in side)
    columns = [padded([numbers for _, numbers in side], width) for side in seen]
    teach, choose, prove = (
        slice(runs // 5),
        slice(runs // 5, 2 * runs // 5),
        slice(2 * runs // 5, None),
    )
    scores = [*linear_scores(columns, teach), *single_scores(columns)]
    scores.append(structure_scores([[structure for structure, _ in side] for side in seen], teach))
    events = [
        (*best_threshold(one[choose], other[choose], 3 * runs // 5), one[prove], other[prove])
        for first, second in scores
        for one, other in ((first, second), (second, first), (-first, -second), (-second, -first))
    ]
    _, threshold, one, other = max(events, key=lambda event: event[0])
    return bound(share(one, threshold), share(other, threshold), one.size)


def observe(released: Released, difference: Difference) -> tuple[int, list[float]]:
    """Return a fingerprint of a release's structure, and its values as many numbers.

    The fingerprint covers public facts, trace, and the shapes, types and order of the arrays.
    """
    numbers: list[float] = []
    structure: list[object] = [released.parameters, released.trace, released.guarantee]
    for field in dataclasses.fields(released.content):
        value = getattr(released.content, field.name)
        if not isinstance(value, np.ndarray):
            structure.append((field.name, value))
            continue
        structure.append((field.name, value.dtype.str, value.ndim))
        numbers += array_numbers(value)
        # A mechanism that lists only some cells lists other cells in each release.
        if value.size == difference.known.size and not isinstance(released.content, SparseRelease):
            left_over = value.reshape(-1) - difference.known.reshape(-1)
            numbers += left_over[difference.cells].tolist()
    if isinstance(released.content, PhasedRelease):
        numbers += phase_numbers(released.content, difference)
    for layer in box_layers(released):
        structure.append((layer.name, layer.title, layer.margin_label, sorted(layer.columns)))
        numbers += layer_numbers(layer, difference)
    return zlib.crc32(repr(structure).encode()), numbers


def array_numbers(array: NDArray[Any]) -> list[float]:
    """Return an array's length, extremes and leading entries, in order."""
    flat = array.reshape(-1)
    if not flat.size:
        return [0.0] * (FLATTENED + 6)
    lead = [*flat[:FLATTENED].tolist(), *[-1] * (FLATTENED - flat.size)]
    extremes = [flat.min(), flat.max(), flat.argmin(), flat.argmax(), flat.sum(), len(array)]
    return [*map(float, lead), *map(float, extremes)]


def phase_numbers(content: PhasedRelease, difference: Difference) -> list[float]:
    """Return, phase by phase, the residuals of all boxes that contain a cell of the difference."""
    marked = np.zeros(difference.known.size, dtype=np.int64)
    marked[difference.cells] = 1
    held = box_sums(summed_area(marked.reshape(difference.known.shape)), content.boxes) > 0
    left_over = content.counts - box_sums(summed_area(difference.known), content.boxes)
    sums = np.bincount(content.phase[held], weights=left_over[held], minlength=MOST_PHASES)
    return [float(value) for value in sums]


def layer_numbers(layer: BoxLayer, difference: Difference) -> list[float]:
    """Return residuals, sizes and number of the boxes that contain cells of the difference.

    A residual is a box's value less the known counts. A cell that is not listed scores below any
    value.
    """
    row, column = np.divmod(difference.cells, layer.grid.columns)
    boxes = np.concatenate([layer.boxes, [[0, 0, 0, 0]]])
    top, bottom, left, right = boxes.T
    hit = (top <= row[:, None]) & (row[:, None] < bottom)
    hit &= (left <= column[:, None]) & (column[:, None] < right)
    hit[:, -1] = ~hit.any(axis=1)
    box = hit.argmax(axis=1)
    known = box_sums(summed_area(difference.known), boxes[box])
    left_over = np.append(layer.value, UNLISTED)[box] - known
    sizes = np.append(layer.cells, 0)[box]
    distinct = float(np.unique(box).size)
    return [*left_over.tolist(), float(left_over.sum()), float(sizes.sum()), distinct]


def padded(rows: Sequence[Sequence[float]], width: int) -> Floats:
    """Return rows of this length, padded with zeros."""
    return np.array([[*row, *[0.0] * (width - len(row))] for row in rows])


def single_scores(columns: list[Floats]) -> list[tuple[Floats, Floats]]:
    """Score by each number alone."""
    return list(zip(columns[0].T, columns[1].T, strict=True))


def linear_scores(columns: list[Floats], teach: slice) -> list[tuple[Floats, Floats]]:
    """Score by weighted sums of the numbers, clipped between the medians of both datasets.

    There, shifted Laplace noise has its likelihood ratio. Weights are learned on the training
    releases in two ways: jointly, and each number by itself.
    """
    medians = [np.median(side[teach], axis=0) for side in columns]
    low = np.minimum(*medians)
    clipped = [np.clip(side, low, np.maximum(low + 1, np.maximum(*medians))) for side in columns]
    taught = [side[teach] for side in clipped]
    moved = taught[1].mean(axis=0) - taught[0].mean(axis=0)
    spread = taught[0].var(axis=0) + taught[1].var(axis=0)
    both = np.concatenate(taught)
    label = np.repeat([-0.5, 0.5], len(taught[0]))
    together = np.linalg.lstsq(both - both.mean(axis=0), label, rcond=1e-6)[0]
    alone = np.divide(moved, spread, out=np.zeros_like(moved), where=spread > 0)
    # Rounded, as equal sums that differ in their last bits would split events.
    return [
        (np.round(clipped[0] @ weights, 9), np.round(clipped[1] @ weights, 9))
        for weights in (together, alone)
    ]


def structure_scores(structures: list[list[int]], teach: slice) -> tuple[Floats, Floats]:
    """Score by how much likelier a fingerprint was with the person than without, in training."""
    odds: dict[int, float] = {}
    for sign, side in zip((-1, 1), structures, strict=True):
        for structure in side[teach]:
            odds[structure] = odds.get(structure, 0.0) + sign
    first, second = (np.array([odds.get(one, 0.0) for one in side]) for side in structures)
    return first, second


def best_threshold(one: Floats, other: Floats, trials: int) -> tuple[float, float]:
    """Return the best epsilon that `score >= threshold` seems to prove, and its threshold."""
    thresholds = np.unique(np.quantile(one, np.linspace(0.05, 0.95, 19)))
    promises = [bound(share(one, each), share(other, each), trials) for each in thresholds]
    best = int(np.argmax(promises))
    return promises[best], float(thresholds[best])


def share(scores: Floats, threshold: float) -> float:
    """Return the share of scores that reach a threshold."""
    return float(np.mean(scores >= threshold))


def bound(one: float, other: float, trials: int) -> float:
    """Return a lower confidence bound, at least 0, on log P(one)/P(other).

    It follows from the shares of the two events among so many trials.
    """
    least = least_chance(one, trials)
    if least <= 0:
        return 0.0
    return max(0.0, math.log(least / greatest_chance(other, trials)))
