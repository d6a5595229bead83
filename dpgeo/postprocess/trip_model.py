"""Model of trips from noisy tables, and trips drawn from it.

*Privacy argument.* Everything here is a function of a released object. The draw's randomness comes
from a counter-based generator whose key is a digest of the released tables, so that the same trips
can be made again by anybody.

Model. With scale b of a table's noise:

- Pairs of a start and an end whose noisy count reaches 0.6 b ln(n^2/2), for n cells, keep this
  count. The other trips are spread over all pairs in proportion to the product of the noisy
  departures and arrivals without the kept counts, each lowered by two standard errors of a sum of n
  noises.
- The table of moves holds noisy sums of units, of which each trip divides the same number among its
  moves. Sums of at least 1.5 b are kept; all other moves get a small weight, so that trips can
  leave every cell. Divided by their sum for a cell, these numbers are the chances of moving on from
  the cell.
- Numbers of moves keep their noisy count above b.

Draw. Given a start a, an end e and a matrix P of chances, a number of moves k is drawn with weights
lengths(k) (P^k)[a, e]. The path is a Markov bridge: from cell x with k moves left, the next cell z
has the weight P[x, z] (P^(k-1))[z, e], so the path ends at e exactly. Powers of P are added up
neighbour by neighbour, in a fixed order, so that they have the same bits on every machine.

Choice. Noise of single pairs and moves leads too many paths through empty cells, but the sum of a
cell's eight moves is known well. So several candidates are drawn for each trip. Their weights are
fitted to these sums, lowered by a standard error and at least 0, by a few steps of the
expectation-maximisation algorithm for Poisson counts (Shepp and Vardi 1982), and the trips are
chosen from them by weight. Trips weigh the same here as in the table: each divides 1 among the
cells from which it moves on. The first steps correct the large errors; further steps would fit the
noise.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import TripsRelease
from dpgeo.core.trip_paths import UNITS, neighbours
from dpgeo.spatial.area import StudyArea

FLOOR = 1e-3
"""Weight, in trips, of a move that does not stand out from the noise."""

RARE = 1e-6
"""Weight of a number of moves that does not stand out, relative to the largest.

Without it, pairs that are further apart than all listed numbers of moves could not be connected by
any trip.
"""

ENDS_FACTOR, MOVES_FACTOR = 0.6, 1.5

CANDIDATES, MIN_CANDIDATES = 4, 4_000
"""Number of candidate trips drawn for each trip that is chosen, and the smallest number of
candidates drawn for a whole release.
"""

STEPS = 5
"""Number of steps in which the weights of drawn trips are fitted.

It was chosen by measurements (docs/mechanisms/trips.md).
"""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TripModel:
    """A distribution of trips over n cells.

    `ends` (n, n) holds the weight of each pair of a start and an end. `to` (n, 8) holds each cell's
    neighbours, and `chances` (n, 8) the probability of moving on to each neighbour. `lengths` (m,)
    holds the weights of trips of 1 to m moves. `moving_on` (n,) holds the number of trips that move
    on from each cell, where each of a trip's k moves counts 1/k. `total` is the estimated number of
    trips.
    """

    total: float
    ends: Floats
    chances: Floats
    to: Ints
    lengths: Floats
    moving_on: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ways:
    """Made-up trips: trip i visits `cell[start[i] : start[i + 1]]`, one cell after the other."""

    cell: Ints
    start: Ints

    def __len__(self) -> int:
        return len(self.start) - 1


def trip_model_of_content(content: TripsRelease, area: StudyArea) -> TripModel:
    """Return the model of the trips of a release over a study area."""
    inside = content.grid.inside(area).ravel()
    to = neighbours(content.grid)
    open_ways = inside[:, None] & (to >= 0) & inside[to]
    total = _total(content, inside, open_ways)
    units = np.where(
        content.moves >= MOVES_FACTOR / float(content.move_noise.rate), content.moves, 0
    )
    weights = np.where(open_ways, units / UNITS + FLOOR, 0.0)
    sums = weights.sum(axis=1, keepdims=True)
    return TripModel(
        total=total,
        ends=_ends(content, inside, total),
        chances=np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0),
        to=to,
        lengths=_lengths(content),
        moving_on=_moving_on(content),
    )


def _total(content: TripsRelease, inside: NDArray[np.bool_], ways: NDArray[np.bool_]) -> float:
    """Return the estimated number of trips, at least 0.

    It is the mean of the totals of the tables of starts and ends, of moves, and of numbers of
    moves, weighted by their inverse variances.

    Moves into cells outside the study area are missing from the total of the moves. They are rare:
    only cells that a path fills in between two positions can lie outside.
    """
    cells = int(inside.sum())
    totals = np.array([content.ends.sum(), content.moves.sum() / UNITS, content.lengths.sum()])
    variances = np.array(
        [
            cells**2 * content.noise.variance,
            int(ways.sum()) * content.move_noise.variance / UNITS**2,
            content.lengths.size * content.length_noise.variance,
        ]
    )
    return max(0.0, float((totals / variances).sum() / (1 / variances).sum()))


def _ends(content: TripsRelease, inside: NDArray[np.bool_], total: float) -> Floats:
    """Return the weights (n, n) of trips by start and end, as the module docstring describes."""
    scale, cells = 1 / float(content.noise.rate), int(inside.sum())
    noisy = content.ends.astype(np.float64)
    least = ENDS_FACTOR * scale * math.log(max(cells**2 / 2, 1))
    kept = np.where(noisy >= max(least, 1.0), noisy, 0.0)
    left = max(total - float(kept.sum()), 0.0)
    spare = 2 * scale * math.sqrt(cells)
    leaving, arriving = (np.maximum((noisy - kept).sum(axis=axis) - spare, 0.0) for axis in (1, 0))
    if not leaving.any() or not arriving.any():
        leaving = arriving = inside.astype(np.float64)
    even = np.outer(leaving, arriving)
    weights: Floats = kept + left * even / even.sum()
    return weights if weights.any() else even


def _lengths(content: TripsRelease) -> Floats:
    """Return the weights (m,) with which trips have each number of moves, from released counts.

    Counts up to the noise scale, and negative ones, are replaced by a small weight.
    """
    kept = np.where(content.lengths > 1 / float(content.length_noise.rate), content.lengths, 0)
    if not kept.any():
        return np.ones(kept.size)
    return np.asarray(np.maximum(kept, RARE * kept.max()), dtype=np.float64)


def trip_generator(content: TripsRelease) -> np.random.Philox:
    """Return a source of random bits that is seeded with a hash of the released tables."""
    digest = hashlib.sha256()
    for table in (content.ends, content.moves, content.lengths):
        digest.update(np.ascontiguousarray(table, dtype="<i8").tobytes())
    key = int.from_bytes(digest.digest()[:16], "little")
    return np.random.Philox(key=key)


def make_ways(model: TripModel, number: int, generator: np.random.Generator) -> Ways:
    """Draw more trips from the model than needed, and choose `number` of them.

    They are chosen so that the numbers of trips that move on from each cell are about in proportion
    to `model.moving_on`. The result is empty if no trip is possible.
    """
    drawn = draw_ways(model, max(CANDIDATES * number, MIN_CANDIDATES) if number else 0, generator)
    if not len(drawn):
        return Ways(cell=np.empty(0, dtype=np.int64), start=np.zeros(1, dtype=np.int64))
    sums = np.cumsum(_fitted(drawn, model.moving_on))
    chosen = _drawn(sums, (np.arange(number) + 0.5) / number)
    length = np.diff(drawn.start)[chosen]
    start = np.concatenate([[0], np.cumsum(length)])
    shift = np.repeat(drawn.start[chosen] - start[:-1], length)
    return Ways(cell=drawn.cell[np.arange(start[-1]) + shift], start=start)


def _moving_on(content: TripsRelease) -> Floats:
    """Return the number (n,) of trips that move on from each cell.

    It is lowered by a standard error, so that noise does not lead trips through empty cells.
    """
    measured = np.count_nonzero(content.moves, axis=1)
    errors = np.sqrt(measured * float(content.move_noise.variance))
    lowered: Floats = np.maximum(content.moves.sum(axis=1) - errors, 0.0) / UNITS
    return lowered


def _fitted(ways: Ways, target: Floats) -> Floats:
    """Return weights (t,) of trips such that the weighted moves from each cell roughly match
    `target`.

    All weights are 1 if no trip leaves a cell of the target.
    """
    moves = np.diff(ways.start) - 1
    trip = np.repeat(np.arange(len(ways)), moves)
    cell = np.delete(ways.cell, ways.start[1:] - 1)
    part = 1 / moves[trip]
    weights = np.ones(len(ways))
    for _ in range(STEPS):
        reached = np.bincount(cell, weights[trip] * part, minlength=target.size)
        ratio = np.divide(target, reached, out=np.zeros_like(reached), where=reached > 0)
        weights = weights * np.bincount(trip, part * ratio[cell], minlength=len(ways))
        if not weights.any():
            return np.ones(len(ways))
    return weights


def draw_ways(model: TripModel, number: int, generator: np.random.Generator) -> Ways:
    """Draw `number` trips.

    A pair of a start and an end that no path connects, as on two islands, is never drawn. If no
    pair is connected, the result is empty.
    """
    within = _arrivals(model)
    most = model.lengths.size
    possible = np.tensordot(model.lengths, within[1:], axes=1) > 0
    weights = np.where(possible, model.ends, 0.0).ravel()
    if not weights.any() or not number:
        return Ways(cell=np.empty(0, dtype=np.int64), start=np.zeros(1, dtype=np.int64))
    cells = len(model.ends)
    at, end = np.divmod(_drawn(np.cumsum(weights), generator.random(number)), cells)
    of_length = np.cumsum(model.lengths[:, None] * within[1:, at, end], axis=0)
    moves = 1 + _each(of_length.T, generator.random(number))
    visited = np.full((number, most + 1), -1, dtype=np.int64)
    visited[:, 0] = at
    for done in range(most):
        going = np.flatnonzero(moves > done)
        if not going.size:
            break
        here, to = visited[going, done], model.to[visited[going, done]]
        left = moves[going] - done - 1
        bridge = model.chances[here] * within[left[:, None], to, end[going, None]]
        step = _each(np.cumsum(bridge, axis=1), generator.random(going.size))
        visited[going, done + 1] = to[np.arange(going.size), step]
    lengths = moves + 1
    mask = np.arange(most + 1) < lengths[:, None]
    return Ways(cell=visited[mask], start=np.concatenate([[0], np.cumsum(lengths)]))


def _arrivals(model: TripModel) -> Floats:
    """Return, at [k, a, e] of an array (m + 1, n, n), how likely k moves lead from cell a to e."""
    cells = len(model.ends)
    powers = np.zeros((model.lengths.size + 1, cells, cells))
    powers[0] = np.eye(cells)
    for power in range(1, len(powers)):
        for direction in range(model.to.shape[1]):
            chance = model.chances[:, direction, None]
            powers[power] += chance * powers[power - 1][model.to[:, direction]]
    return powers


def _drawn(sums: Floats, share: Floats) -> Ints:
    """Return the indices (k,) drawn by inverse transform from cumulative weights `sums` (n,).

    `share` (k,) holds uniform random numbers in [0, 1); each is a share of the total weight.
    """
    found = np.searchsorted(sums, share * sums[-1], side="right")
    return np.asarray(np.minimum(found, np.searchsorted(sums, sums[-1])), dtype=np.int64)


def _each(sums: Floats, share: Floats) -> Ints:
    """Return one index (k,) for each row of cumulative weights `sums` (k, m), drawn at random.

    `share` (k,) holds uniform random numbers in [0, 1), each a share of its row's total weight.
    """
    reached = sums <= (share * sums[:, -1])[:, None]
    last = np.argmax(sums >= sums[:, -1:], axis=1)
    return np.asarray(np.minimum(reached.sum(axis=1), last), dtype=np.int64)
