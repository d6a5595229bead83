"""Lower bounds on epsilon from many releases of two neighbouring datasets.

A classifier is trained on some of the releases to tell the datasets apart. An event, such as a
score above a threshold, is chosen. The event's frequencies among the other releases of each dataset
give a lower confidence bound on epsilon.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.promise import least_log_ratio
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import (
    Content,
    FlowsRelease,
    PhasedRelease,
    PhasedSlicesRelease,
    QuartilesRelease,
    Released,
    SparseRelease,
    TripsRelease,
)
from dpgeo.core.slices import SlicedZones
from dpgeo.core.trip_paths import UNITS
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.privacy.bounding import Popularity
from dpgeo.spatial.boxes import box_sums, summed_area
from dpgeo.spatial.zones import Zones
from tests.statistical.bounds import LOG_FALSE_ALARM

Floats = NDArray[np.float64]
Draw = Callable[[], Released]
Scoring = Callable[[list[Floats], slice], dict[str, tuple[Floats, Floats]]]
"""Function that computes scores of releases, which should differ between the two datasets.

Its arguments are the numbers of the releases of either dataset, and the slice of the releases on
which it may be trained. It returns, by the score's name, the scores of all releases of the first
and of the second dataset.
"""

MAX_PHASES = 8

FLATTENED = 6
"""Number of entries at the beginning of every array that an attacker looks at one by one."""


UNLISTED = -1000
"""Value that stands for the count of a cell that a release does not list."""


@dataclass
class Counted:
    """A mechanism's view of private data that counts once, for thousands of releases of a dataset.

    This changes no result, because with a fixed salt the engine's counts depend only on the file.
    """

    view: Any
    answers: dict[object, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.view, name)
        if not callable(attribute) or name in ("preferring", "positions", "with_bound"):
            return attribute

        def once(regions: Any, *measure: Any, **limits: int) -> Any:
            # Zones are not hashable. Each dataset has only one layer of zones, so None stands for
            # it in the key.
            hashable = None if isinstance(regions, Zones) else regions
            if isinstance(regions, SlicedZones):
                hashable = regions.slices
            key = name, hashable, *measure, *limits.items()
            if key not in self.answers:
                self.answers[key] = attribute(regions, *measure, **limits)
            return self.answers[key]

        return once

    def preferring(self, popularity: Popularity) -> Any:
        """Return the engine's view that keeps, of each person's regions, the most popular ones."""
        return self.view.preferring(popularity)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two datasets differ, and all the counts that the attacker is assumed to know."""

    cells: NDArray[np.int64]
    """Indices of the cells in which the datasets differ, without duplicates."""
    known: NDArray[np.int64]
    """Counts (rows, columns) of all cells in the dataset without the person."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What releases of one dataset show: each one's numbers, and a fingerprint of its structure."""

    numbers: list[list[float]]
    structures: list[int]


@dataclass(frozen=True, slots=True)
class Proof:
    """How often an event occurred in releases of two datasets; it was chosen from other releases.

    Of `trials` releases of each dataset, the event occurred in `more` releases of one dataset and
    `less` of the other. `score` and `threshold` define the event.
    """

    score: str
    threshold: float
    more: int
    less: int
    trials: int

    def epsilon(self, chance: float = math.exp(LOG_FALSE_ALARM)) -> float:
        """Return a lower confidence bound on epsilon, at least 0.

        The bound is too large with probability at most `chance`.
        """
        return max(0.0, float(least_log_ratio(*self._counts(), self.trials, chance)[0]))

    def _counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.array([self.more]), np.array([self.less])


def proven_epsilon(without: Draw, with_person: Draw, difference: Difference, runs: int) -> float:
    """Return a lower confidence bound on epsilon from `runs` releases of each of two datasets.

    The bound exceeds the true epsilon with probability at most exp(LOG_FALSE_ALARM).
    """
    sides = [watch(draw, difference, runs) for draw in (without, with_person)]
    return prove(sides, EVERY_SCORE).epsilon()


def watch(draw: Draw, difference: Difference, runs: int) -> Seen:
    """Draw `runs` releases and return what they show."""
    seen = [observe(draw(), difference) for _ in range(runs)]
    return Seen([numbers for _, numbers in seen], [structure for structure, _ in seen])


def prove(sides: Sequence[Seen], scoring: Sequence[Scoring]) -> Proof:
    """Choose an event that tells two neighbouring datasets apart, and count how often it happens.

    A fifth of the releases trains scores, which are higher for one of the datasets. Another fifth
    serves to choose a score and its limit, which are the event. It is counted on the rest.
    """
    runs = len(sides[0].numbers)
    width = max(len(numbers) for side in sides for numbers in side.numbers)
    columns = [padded(side.numbers, width) for side in sides]
    teach, choose, rest = (
        slice(runs // 5),
        slice(runs // 5, 2 * runs // 5),
        slice(2 * runs // 5, None),
    )
    scores = {
        **{name: pair for score in scoring for name, pair in score(columns, teach).items()},
        "structure": structure_scores([side.structures for side in sides], teach),
    }
    trials = runs - 2 * (runs // 5)
    best: tuple[float, Proof | None] = (-1.0, None)
    for name, (first, second) in scores.items():
        for one, other in ((first, second), (second, first), (-first, -second), (-second, -first)):
            promise, threshold = best_threshold(one[choose], other[choose], trials)
            if promise > best[0]:
                more, less = (int(np.sum(each[rest] >= threshold)) for each in (one, other))
                best = promise, Proof(name, threshold, more, less, trials)
    assert best[1] is not None
    return best[1]


def observe(released: Released, difference: Difference) -> tuple[int, list[float]]:
    """Return a fingerprint of a release's structure, and its values as a list of numbers.

    `difference` says which cells' values an attacker looks at one by one.

    The fingerprint covers the parameters, the trace (what was spent) and the guarantee, the values
    of fields that are not arrays, the type and number of dimensions of each array, and the names
    and labels of the layers.
    """
    numbers: list[float] = []
    structure: list[object] = [released.parameters, released.trace, released.guarantee]
    for part in dataclasses.fields(released.content):
        value = getattr(released.content, part.name)
        if not isinstance(value, np.ndarray):
            structure.append((part.name, value))
            continue
        structure.append((part.name, value.dtype.str, value.ndim))
        numbers += array_numbers(value)
        # Sparse releases are left out: the listed cells differ from release to release, so the
        # index of an entry does not say which cell it is.
        if value.size == difference.known.size and not isinstance(released.content, SparseRelease):
            left_over = value.reshape(-1) - difference.known.reshape(-1)
            numbers += left_over[difference.cells].tolist()
        if value.size == difference.known.size**2:  # counts of flows between all pairs of cells
            pairs = value.reshape(difference.known.size, -1)
            numbers += pairs[np.ix_(difference.cells, difference.cells)].ravel().tolist()
    numbers += own_numbers(released.content, difference)
    if released.totals:
        numbers += [float(total.count) for total in released.totals.each().values()]
    # Flows and trips have layers of lines and zones, not of boxes, and these take long to make.
    shapes = isinstance(released.content, FlowsRelease | TripsRelease)
    for layer in () if shapes else box_layers(released):
        structure.append((layer.name, layer.title, layer.margin_label, sorted(layer.columns)))
        numbers += layer_numbers(layer, difference)
    return zlib.crc32(repr(structure).encode()), numbers


def own_numbers(content: Content, difference: Difference) -> list[float]:
    """Return further numbers for types of content that need some, such as flows; else []."""
    if isinstance(content, FlowsRelease):
        return flow_numbers(content, difference)
    if isinstance(content, TripsRelease):
        return trip_numbers(content, difference)
    if isinstance(content, QuartilesRelease):
        return bin_numbers(content, difference)
    if isinstance(content, PhasedRelease | PhasedSlicesRelease):
        return phase_numbers(content, difference)
    return []


def array_numbers(array: NDArray[Any]) -> list[float]:
    """Return the first entries of an array, followed by six summary numbers.

    These are the minimum, the maximum, the positions of both, the sum and the length.
    """
    flat = array.reshape(-1)
    if not flat.size:
        return [0.0] * (FLATTENED + 6)
    lead = [*flat[:FLATTENED].tolist(), *[-1] * (FLATTENED - flat.size)]
    extremes = [flat.min(), flat.max(), flat.argmin(), flat.argmax(), flat.sum(), len(array)]
    return [*map(float, lead), *map(float, extremes)]


def flow_numbers(content: FlowsRelease, difference: Difference) -> list[float]:
    """Return residuals (noisy minus known counts) of the counts that the person's trips change.

    These are counts of pairs of cells, of departures and of arrivals.

    Every record is a trip to the next cell, so the known count of a cell is also that of the pair
    of this cell and the next. If `content` derives trips from consecutive rows instead, the
    person's trips stay within a cell, for which the known count of trips is 0. The last number
    combines the counts of pairs, departures and arrivals. With Laplace noise, it adds up their
    residuals, each clipped to the most that the person can add. With Gaussian noise, residuals are
    weighted by the inverse of their variances, so that the likelihood ratio follows from the
    number.
    """
    n = len(content.zones)
    if content.gap_hours:
        following, known = difference.cells, np.zeros_like(difference.cells)
    else:
        following = (difference.cells + 1) % n
        known = difference.known.reshape(-1)[difference.cells]
    pairs = content.pairs.reshape(-1, n, n)[0, difference.cells, following] - known
    leaving = content.leaving[0, difference.cells] - known
    arriving = content.arriving[0, following] - known
    sums = np.array([pairs.sum(), leaving.sum(), arriving.sum()], dtype=np.float64)
    if isinstance(content.noise, DiscreteLaplace):
        all_three = np.clip(sums, 0, content.noise.sensitivity).sum()
    else:
        weights = content.noise.variance / content.sum_noise.variance
        all_three = sums[0] + weights * sums[1:].sum()
    return [*pairs.tolist(), *arriving.tolist(), *sums.tolist(), float(all_three)]


def trip_numbers(content: TripsRelease, difference: Difference) -> list[float]:
    """Return residuals (noisy minus known counts) of table entries that the person's trips change.

    Such entries are in the tables of starts and ends, of moves between cells, and of numbers of
    moves (lengths). Every record is a trip to the next
    cell: a single move to the east, or several back to the start of the next row. The last number
    adds up the residuals of all tables, in units of one trip, each clipped to the most that the
    person can add.
    """
    n = content.grid.size
    following = (difference.cells + 1) % n
    known = difference.known.reshape(-1)[difference.cells]
    ends = content.ends[difference.cells, following] - known
    moves = content.moves[difference.cells, 2] / UNITS - known
    lengths = content.lengths[:4].astype(np.float64)
    most = content.noise.sensitivity
    sums = [ends.sum(), moves.sum(), lengths.sum() - difference.known.sum()]
    together = float(np.clip(sums, 0, most).sum())
    return [*ends.tolist(), *moves.tolist(), *lengths.tolist(), *map(float, sums), together]


def bin_numbers(content: QuartilesRelease, difference: Difference) -> list[float]:
    """Return each histogram bin's sum of counts over the cells in which the two datasets differ.

    The added person's values are in the last bin, in which nobody else has any.
    """
    bins = content.counts.reshape(difference.known.size, -1)[difference.cells]
    return [float(value) for value in bins.sum(axis=0)]


def phase_numbers(
    content: PhasedRelease | PhasedSlicesRelease, difference: Difference
) -> list[float]:
    """Return each phase's sum of residuals over boxes with a cell in which the datasets differ.

    In a release by time, residuals are also added up over all slices.
    """
    marked = np.zeros(difference.known.size, dtype=np.int64)
    marked[difference.cells] = 1
    inside = box_sums(summed_area(marked.reshape(difference.known.shape)), content.boxes) > 0
    left_over = content.counts - box_sums(summed_area(difference.known), content.boxes)
    sums = np.bincount(content.phase[inside], weights=left_over[inside], minlength=MAX_PHASES)
    return [float(value) for value in sums]


def layer_numbers(layer: BoxLayer, difference: Difference) -> list[float]:
    """Return numbers about the boxes that contain the cells in which the two datasets differ.

    They are one residual per cell, the sum of the residuals, the sum of the box sizes over these
    cells, and the number of distinct boxes. A residual is the value of the cell's box minus the
    known counts in that box. If no box contains a cell, UNLISTED is used as the value.
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
    """Return rows of different lengths as one array, each padded with zeros to `width` numbers."""
    return np.array([[*row, *[0.0] * (width - len(row))] for row in rows])


def single_scores(columns: list[Floats], _teach: slice) -> dict[str, tuple[Floats, Floats]]:
    """Return each of a release's numbers as a score of its own, named by its place."""
    return {
        f"number {place}": (one, other)
        for place, (one, other) in enumerate(zip(columns[0].T, columns[1].T, strict=True))
    }


def linear_scores(columns: list[Floats], teach: slice) -> dict[str, tuple[Floats, Floats]]:
    """Return weighted sums of the numbers, each clipped to the range between both datasets'
    medians, as scores.

    Between the medians, this is the likelihood ratio of shifted Laplace noise. The weights are
    learned on the training releases in two ways: jointly, and separately for each number.
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
    # Round the sums, so that equal ones that differ only in their last bits count as one event.
    return {
        name: (np.round(clipped[0] @ weights, 9), np.round(clipped[1] @ weights, 9))
        for name, weights in (("joint weights", together), ("separate weights", alone))
    }


EVERY_SCORE: tuple[Scoring, ...] = (linear_scores, single_scores)


def structure_scores(structures: list[list[int]], teach: slice) -> tuple[Floats, Floats]:
    """Return scores of releases: how typical a release's structure is of the second dataset.

    A structure is given by its checksum. Its score is how many more training releases of the second
    dataset than of the first have the same checksum. `teach` is the slice of training releases.
    """
    odds: dict[int, float] = {}
    for sign, side in zip((-1, 1), structures, strict=True):
        for structure in side[teach]:
            odds[structure] = odds.get(structure, 0.0) + sign
    first, second = (np.array([odds.get(one, 0.0) for one in side]) for side in structures)
    return first, second


def best_threshold(one: Floats, other: Floats, trials: int) -> tuple[float, float]:
    """Return the best bound on epsilon that a threshold for scores promises, and this threshold.

    The event is `score >= threshold`. The bound is what `trials` releases would prove if the event
    were as frequent as among the scores `one` and `other`. A bound below 0 proves nothing.
    """
    thresholds = np.unique(np.quantile(one, np.linspace(0.05, 0.95, 19)))
    more, less = (
        np.array([np.mean(side >= each) * trials for each in thresholds]) for side in (one, other)
    )
    # An event that never occurred in releases of the other dataset is still possible, so take it to
    # have occurred once.
    bounds = least_log_ratio(more, np.maximum(less, 1.0), trials, math.exp(LOG_FALSE_ALARM))
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])
