"""Surface of expected counts, inferred from noisy counts of quadtree nodes.

`infer` computes the surface from all node measurements; every cell of a leaf has the same expected
count. It runs ROUNDS rounds. Each round guesses every leaf's count from its surroundings, shrinks
the leaf's noisy count towards this guess (`empirical_bayes`), and reconciles the leaves with all
counts above them by least squares. The least squares use the *posterior* variances, so that
remaining differences go to uncertain leaves and not to leaves that are almost certainly empty.

There are two kinds of guess: from nearby cells, or from cells in the same row and column
(`row_column_model`). Both are tried. The row-column model is used if it raises the log-likelihood
by more than CLEARLY. If one cell holds much of the total, as the cell of zeros often does in a
table of attributes, a gain above NOT_UNLIKELY suffices, which is negative. `quiet` then shrinks
all leaves that do not stand out from the noise by one common factor. `smooth` varies the surface
within large leaves, following nearby cells or the row and column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.empirical_bayes import posterior
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements, Tree
from dpgeo.postprocess.pyramid import Floats, expanded, neighbours, pooled, ratio
from dpgeo.postprocess.row_column_model import RowColumnModel

ROUNDS = 3

NEXT_TO_NOTHING = 1e-9
"""Tiny count added to each node's estimate, so that a parent's count can be divided in proportion
to its children's estimates even if all of them are 0.
"""

CLEARLY, NOT_UNLIKELY = 10.0, -2.0
"""The row-column model is used only if it raises the log-likelihood by more than this.

The gain is over guesses from nearby cells. NOT_UNLIKELY applies if one cell is expected to hold
more than MUCH of the total, CLEARLY otherwise. NOT_UNLIKELY is negative: a small loss is allowed.
Maps were generated of two kinds: tables, whose rows and columns explain their counts, and crowds,
whose counts lie in a few clusters. Without a cell above MUCH, crowds gained at most 9. With one,
tables gained -3 to 21, and crowds around that cell mostly -2 to -25. Where the gain is the same, a
map with such a cell is more likely a table, so the limit is lower.
"""

MUCH = 1 / 3

ENOUGH = 40
"""With fewer leaves than this, the counts of leaves are always guessed from nearby cells.

With more, the guesses may come from the row-column model.
"""

HOPELESS = -20.0
"""Row-column models with less gain in log-likelihood than this are abandoned to save time.

The gain is over guesses from nearby cells, and is computed after each round. On generated maps for
which the model was used in the end, the gain after the first round was never below -2.
"""

QUIET = 10.0
"""Leaves with an expected count below this many noise scales do not stand out from the noise.

On generated maps of 1e3 to 1e6 points, 10 gives 1 % less error than 5. Shrinking groups of leaves
with similar expected counts by separate factors would give 3 to 14 % more error.
"""

BLURS = 12
CROSSINGS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Surface of the expected counts of cells (2^depth, 2^depth), never negative.

    `crossed` is true if the counts of leaves were guessed by the row-column model.
    """

    cells: Floats
    crossed: bool


def infer(measurements: NodeMeasurements) -> Surface:
    """Infer the surface from guesses of the kind that makes the noisy counts likelier.

    The two kinds are in the module docstring; CLEARLY says how much likelier.
    """
    leaves = measurements.leaves()
    neighbour_rounds = list(_rounds(measurements, leaves, crossed=False))
    cells = neighbour_rounds[-1].cells
    if sum(np.count_nonzero(chosen) for chosen in leaves) < ENOUGH:
        return Surface(cells, False)
    least = NOT_UNLIKELY if cells.max() > MUCH * cells.sum() else CLEARLY
    for other, crossed in zip(
        neighbour_rounds, _rounds(measurements, leaves, crossed=True), strict=True
    ):
        gain = crossed.log_likelihood - other.log_likelihood
        if gain < HOPELESS:
            break
    return Surface(crossed.cells, True) if gain > least else Surface(cells, False)


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The surface `cells` after a round of inference, and how likely its guesses make the counts.

    `log_likelihood` is that of the leaves' noisy counts, given the guesses of this round.
    """

    cells: Floats
    log_likelihood: float


def _rounds(measurements: NodeMeasurements, leaves: Masks, *, crossed: bool) -> Iterator[_Round]:
    """Yield the result of each of ROUNDS rounds with one kind of guess.

    If `crossed`, guesses come from the row-column model, else from nearby cells.
    """
    scales = measurements.scales()
    cells = bent = _first_guess(measurements, measurements.raw_tree(leaves))
    for number in range(ROUNDS):
        if crossed and number:
            bent = _bend(measurements, leaves, cells, crossed=True)
        guesses = [
            _guess(measurements, cells, bent if crossed else None, level) if chosen.any() else None
            for level, chosen in enumerate(leaves)
        ]
        value, variance, log_likelihood = _shrunk(measurements, leaves, scales, guesses)
        tree = measurements.tree(leaves, value, variance)
        shares = [np.maximum(each, 0.0) + NEXT_TO_NOTHING for each in tree.value]
        cells = measurements.spread(leaves, _downwards(measurements, shares, tree.value[0]))
        yield _Round(cells, log_likelihood)


def posterior_tree(measurements: NodeMeasurements, cells: Floats) -> Tree:
    """Return the posterior of the counts of all nodes at or above the leaves.

    The prior guesses of the leaves' counts come from an inferred surface, `cells` (2^depth,
    2^depth). Variances are those of the reconciled counts, given the counts measured at and below
    each node.
    """
    leaves = measurements.leaves()
    guesses = [
        _guess(measurements, cells, None, level) if chosen.any() else None
        for level, chosen in enumerate(leaves)
    ]
    value, variance, _ = _shrunk(measurements, leaves, measurements.scales(), guesses)
    return measurements.tree(leaves, value, variance)


def _guess(
    measurements: NodeMeasurements, cells: Floats, bent: Floats | None, level: int
) -> Floats:
    """Guess the counts (2^level, 2^level) of all nodes of a level.

    `cells` and `bent` are surfaces of expected counts of cells. If `bent` is None, the guess comes
    from nearby cells in `cells`. Otherwise it is the geometric mean of that guess and that of the
    row-column model for `bent`.
    """
    near = _surroundings(measurements, cells, level)
    if bent is None:
        return near
    across = RowColumnModel(measurements.sizes[level], alone=True).expected(
        pooled(bent, 1 << level)
    )
    return np.asarray(np.sqrt(near * across))


def _first_guess(measurements: NodeMeasurements, tree: Tree) -> Floats:
    """Guess the counts of cells by dividing the total count downwards, level by level.

    Siblings get shares proportional to their estimates minus one standard error, so that nodes that
    contain only noise get little. Below the leaves, counts are divided evenly.
    """
    shares = []
    for level, value in enumerate(tree.value):
        deviation = np.sqrt(tree.variance[level])
        sure = np.maximum(value - deviation, 0.05 * deviation) + NEXT_TO_NOTHING
        shares.append(np.where(tree.variance[level] > 0, sure, measurements.sizes[level]))
    return _downwards(measurements, shares, tree.value[0])[-1]


def _downwards(measurements: NodeMeasurements, shares: list[Floats], root: Floats) -> list[Floats]:
    """Return the counts of all nodes by level, dividing the root's count from the top down.

    The counts of siblings are proportional to their `shares`. A negative root counts as 0.
    """
    counts = [np.maximum(root, 0.0)]
    for level in range(1, measurements.depth + 1):
        share = np.where(measurements.sizes[level] > 0, shares[level], 0.0)
        factor = ratio(counts[-1], pooled(share, 1 << (level - 1)))
        counts.append(expanded(factor, 1 << level) * share)
    return counts


def _shrunk(
    measurements: NodeMeasurements,
    leaves: Masks,
    scales: list[Floats],
    guesses: list[Floats | None],
) -> tuple[list[Floats], list[Floats], float]:
    """Return the leaves' posterior means and variances by level, and their noisy counts'
    log-likelihood.

    `guesses` has an array of prior guesses for each level, or None for a level without leaves.
    """
    noisy, guess, scale = [], [], []
    for level, level_guess in enumerate(guesses):
        if level_guess is not None:
            chosen = leaves[level]
            scale.append(scales[level][chosen])
            noisy.append(measurements.value[level][chosen])
            guess.append(level_guess[chosen])
    scales_of_leaves = np.concatenate(scale)
    estimates = posterior(
        np.concatenate(noisy) / scales_of_leaves,
        np.concatenate(guess) / scales_of_leaves,
        measurements.kind,
    )
    means = [np.zeros_like(size) for size in measurements.sizes]
    variances = [np.zeros_like(size) for size in measurements.sizes]
    start = 0
    for level, chosen in enumerate(leaves):
        end = start + int(np.count_nonzero(chosen))
        means[level][chosen] = estimates.mean[start:end] * scales_of_leaves[start:end]
        variances[level][chosen] = estimates.variance[start:end] * scales_of_leaves[start:end] ** 2
        start = end
    return means, variances, estimates.log_likelihood


def _surroundings(measurements: NodeMeasurements, cells: Floats, level: int) -> Floats:
    """Guess the counts of a level's nodes from nearby cells.

    A node's density is taken to be the mean of its parent's density and its neighbours' density.
    """
    counts = pooled(cells, 1 << level)
    if level == 0:
        return counts
    size = measurements.sizes[level]
    density = ratio(pooled(cells, 1 << (level - 1)), measurements.sizes[level - 1])
    around = ratio(neighbours(counts), measurements.sizes_around[level])
    return np.asarray(size * (0.5 * expanded(density, 1 << level) + 0.5 * around))


def quiet(measurements: NodeMeasurements, surface: Surface) -> Surface:
    """Shrink all leaves that do not stand out from the noise by one common factor.

    The factor is max(0, 1 - V/S^2), where S is the sum of the expected counts of these leaves, and
    V the variance of the least-squares estimate of that sum (James and Stein 1961). The bias of a
    single leaf is negligible, but the biases of many leaves would distort sums over large empty
    regions.
    """
    leaves, cells = measurements.leaves(), surface.cells
    variance = measurements.raw_tree(leaves).variance
    low = np.zeros_like(measurements.inside)
    for level, scale in enumerate(measurements.scales()):
        below = leaves[level] & (pooled(cells, 1 << level) < QUIET * scale)
        if below.any():
            low |= expanded(below, len(cells))
    low &= measurements.inside
    total = float(cells[low].sum())
    if total <= 0:
        return surface
    spread = _variance_of_union(measurements, low.astype(np.float64), variance)
    cells_shrunk = np.where(low, max(0.0, 1 - spread / total**2) * cells, cells)
    return Surface(cells_shrunk, surface.crossed)


def _variance_of_union(
    measurements: NodeMeasurements, chosen: Floats, variance: list[Floats]
) -> float:
    """Return the variance of the sum of the cells that are 1 in `chosen` (2^depth, 2^depth).

    The cells are grouped into the largest nodes that contain only chosen cells. The variances of
    these nodes, given by level in `variance`, are added up.
    """
    total = 0.0
    filled_above = np.zeros((1, 1), dtype=np.bool_)
    for level, size in enumerate(measurements.sizes):
        filled = (pooled(chosen, 1 << level) >= size - 0.5) & (size > 0)
        if level:
            filled_above = expanded(filled_above, 1 << level)
        total += float(variance[level][filled & ~filled_above].sum())
        filled_above = filled | filled_above
    return total


def smooth(measurements: NodeMeasurements, surface: Surface) -> Floats:
    """Vary the surface within leaves of several cells, keeping each leaf's count."""
    return _bend(measurements, measurements.leaves(), surface.cells, crossed=surface.crossed)


def _bend(measurements: NodeMeasurements, leaves: Masks, cells: Floats, *, crossed: bool) -> Floats:
    """Return the surface `cells`, smoothed again and again, each leaf always rescaled to its count.

    If `crossed`, each of CROSSINGS repetitions replaces the surface by the row-column model's
    expected counts (iterative proportional fitting: Deming and Stephan 1940). Otherwise each of
    BLURS repetitions blurs it twice (pycnophylactic interpolation: Tobler 1979).
    """
    lines = RowColumnModel(measurements.sizes[-1]) if crossed else None
    label = measurements.labels(leaves)
    fine = label >= label.max() + 1 - np.count_nonzero(leaves[-1])
    totals = _totals(label, cells)
    bent = cells
    for _ in range(CROSSINGS if crossed else BLURS):
        bent = lines.expected(bent) if lines else _blurred(measurements, bent)
        bent = np.where(fine, cells, bent)
        bent = bent * ratio(totals, _totals(label, bent))[label]
    return bent


def _blurred(measurements: NodeMeasurements, cells: Floats) -> Floats:
    around = measurements.sizes_around[-1]
    for _ in range(2):
        cells = np.where(measurements.inside, ratio(neighbours(cells), around), 0.0)
    return cells


def _totals(label: NDArray[np.int64], cells: Floats) -> Floats:
    """Return, for each label, the sum of the values of the cells with that label."""
    return np.bincount(label.ravel(), weights=cells.ravel()).astype(np.float64)
