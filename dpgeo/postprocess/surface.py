"""A surface of cells inferred from noisy counts of quadtree nodes. Costs no privacy.

`infer` turns all evidence into expected counts of cells, even within each leaf. It runs ROUNDS
rounds of: guess each leaf from the others, shrink its noisy count towards what such guesses mean
(`shrinkage`), and reconcile leaves and all counts above them by least squares with the *posterior*
variances, so that what is left over goes to uncertain leaves and not to those that are surely
empty.

There are two ways to guess, after two ways in which places are alike: from all that is near, or
from what lies in the same row and the same column (`crossing`). Both are tried, and the one that
makes the counts likelier is kept (empirical Bayes once more): likelier by CLEARLY, unless one cell
holds much of everything, as the cell of noughts does in a table of attributes.
`quiet` then shrinks all leaves that do not stand out together, and `smooth` bends the surface
within large leaves so that it meets its surroundings, or its row and its column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.empirical_bayes import posterior
from dpgeo.postprocess.node_measurements import Evidence, Masks, Tree
from dpgeo.postprocess.pyramid import Floats, expanded, neighbours, pooled, ratio
from dpgeo.postprocess.row_column_model import Crossing

ROUNDS = 3

NEXT_TO_NOTHING = 1e-9
"""Of a count; lets a parent's count go somewhere when all its children are thought empty."""

CLEARLY, NOT_UNLIKELY = 10.0, -2.0
"""By how much rows and columns must make the counts likelier (a difference of logarithms) to be
believed; the latter where one cell is expected to hold more than MUCH of everything. On generated
maps that are not tables, chance and the shape of crowds brought up to 9. Where one cell held more
than MUCH, tables brought -3 to 21, and crowds around that cell mostly -2 to -25: few counts cannot
tell the two apart, and tables are then the likelier."""

MUCH = 1 / 3

ENOUGH = 40
"""Fewer leaves than this say nothing of either way: their likelihood is not fitted."""

HOPELESS = -20.0
"""Once rows and columns have fallen so far behind, they are given up, which saves time. Of those
that won on generated maps in the end, none was behind by more than 2 after the first round."""

QUIET = 10.0
"""Leaves expected to hold less than so many noise scales do not stand out.

On generated maps of 1e3 to 1e6 points, 10 errs by 1 % less than 5 does. Shrinking by strata of
expected counts, each by a factor of its own, errs by 3 to 14 % more.
"""

BLURS = 12
CROSSINGS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Expected counts of cells (2^depth, 2^depth), never negative, even within each leaf.

    `crossed` says whether leaves were guessed from their rows and columns.
    """

    cells: Floats
    crossed: bool


def infer(evidence: Evidence) -> Surface:
    """The surface, by the way of guessing that suits the counts."""
    leaves = evidence.leaves()
    near = list(_rounds(evidence, leaves, crossed=False))
    cells = near[-1].cells
    if sum(np.count_nonzero(chosen) for chosen in leaves) < ENOUGH:
        return Surface(cells, False)
    least = NOT_UNLIKELY if cells.max() > MUCH * cells.sum() else CLEARLY
    for before, crossed in zip(near, _rounds(evidence, leaves, crossed=True), strict=True):
        gain = crossed.log_likelihood - before.log_likelihood
        if gain < HOPELESS:
            break
    return Surface(crossed.cells, True) if gain > least else Surface(cells, False)


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """What a round found, even within leaves, and how likely its guesses made the counts."""

    cells: Floats
    log_likelihood: float


def _rounds(evidence: Evidence, leaves: Masks, *, crossed: bool) -> Iterator[_Round]:
    """Round after round of one way of guessing."""
    scales = evidence.scales()
    cells = bent = _first_guess(evidence, evidence.raw_tree(leaves))
    for number in range(ROUNDS):
        if crossed and number:
            bent = _bend(evidence, leaves, cells, crossed=True)
        guesses = [
            _guess(evidence, cells, bent if crossed else None, level) if chosen.any() else None
            for level, chosen in enumerate(leaves)
        ]
        value, variance, log_likelihood = _shrunk(evidence, leaves, scales, guesses)
        tree = evidence.tree(leaves, value, variance)
        shares = [np.maximum(each, 0.0) + NEXT_TO_NOTHING for each in tree.value]
        cells = evidence.spread(leaves, _downwards(evidence, shares, tree.value[0]))
        yield _Round(cells, log_likelihood)


def _guess(evidence: Evidence, cells: Floats, bent: Floats | None, level: int) -> Floats:
    """What nodes of a level should hold by what is near, or by that and their row and column.

    Of the latter two the geometric mean is taken.
    """
    near = _surroundings(evidence, cells, level)
    if bent is None:
        return near
    across = Crossing(evidence.sizes[level], alone=True).expected(pooled(bent, 1 << level))
    return np.asarray(np.sqrt(near * across))


def _first_guess(evidence: Evidence, tree: Tree) -> Floats:
    """Shares by what surely exceeds the noise; even shares below the leaves."""
    shares = []
    for level, value in enumerate(tree.value):
        deviation = np.sqrt(tree.variance[level])
        sure = np.maximum(value - deviation, 0.05 * deviation) + NEXT_TO_NOTHING
        shares.append(np.where(tree.variance[level] > 0, sure, evidence.sizes[level]))
    return _downwards(evidence, shares, tree.value[0])[-1]


def _downwards(evidence: Evidence, shares: list[Floats], root: Floats) -> list[Floats]:
    """The root's count, at least 0, handed down in proportion to the shares of each level."""
    counts = [np.maximum(root, 0.0)]
    for level in range(1, evidence.depth + 1):
        share = np.where(evidence.sizes[level] > 0, shares[level], 0.0)
        factor = ratio(counts[-1], pooled(share, 1 << (level - 1)))
        counts.append(expanded(factor, 1 << level) * share)
    return counts


def _shrunk(
    evidence: Evidence, leaves: Masks, scales: list[Floats], guesses: list[Floats | None]
) -> tuple[list[Floats], list[Floats], float]:
    """Posterior means and variances of the leaves, by level, 0 elsewhere; and the likelihood."""
    noisy, guess, scale = [], [], []
    for level, guessed in enumerate(guesses):
        if guessed is not None:
            chosen = leaves[level]
            scale.append(scales[level][chosen])
            noisy.append(evidence.value[level][chosen])
            guess.append(guessed[chosen])
    unit = np.concatenate(scale)
    found = posterior(np.concatenate(noisy) / unit, np.concatenate(guess) / unit)
    means = [np.zeros_like(size) for size in evidence.sizes]
    variances = [np.zeros_like(size) for size in evidence.sizes]
    start = 0
    for level, chosen in enumerate(leaves):
        end = start + int(np.count_nonzero(chosen))
        means[level][chosen] = found.mean[start:end] * unit[start:end]
        variances[level][chosen] = found.variance[start:end] * unit[start:end] ** 2
        start = end
    return means, variances, found.log_likelihood


def _surroundings(evidence: Evidence, cells: Floats, level: int) -> Floats:
    """What nodes of a level should hold by half their parent's density, half their neighbours'."""
    here = pooled(cells, 1 << level)
    if level == 0:
        return here
    size = evidence.sizes[level]
    density = ratio(pooled(cells, 1 << (level - 1)), evidence.sizes[level - 1])
    around = ratio(neighbours(here), evidence.sizes_around[level])
    return np.asarray(size * (0.5 * expanded(density, 1 << level) + 0.5 * around))


def quiet(evidence: Evidence, surface: Surface) -> Surface:
    """Shrink all leaves that do not stand out by one factor, the positive part of 1 - V/S^2.

    S is what they are expected to hold together and V the variance of their least-squares total
    (James and Stein 1961): each alone is too small to see, and their common bias is what would
    harm sums over large empty regions.
    """
    leaves, cells = evidence.leaves(), surface.cells
    variance = evidence.raw_tree(leaves).variance
    low = np.zeros_like(evidence.inside)
    for level, scale in enumerate(evidence.scales()):
        below = leaves[level] & (pooled(cells, 1 << level) < QUIET * scale)
        if below.any():
            low |= expanded(below, len(cells))
    low &= evidence.inside
    total = float(cells[low].sum())
    if total <= 0:
        return surface
    spread = _variance_of_union(evidence, low.astype(np.float64), variance)
    shrunk = np.where(low, max(0.0, 1 - spread / total**2) * cells, cells)
    return Surface(shrunk, surface.crossed)


def _variance_of_union(evidence: Evidence, chosen: Floats, variance: list[Floats]) -> float:
    """The variance of the sum over chosen cells: that of the largest nodes they fill, added up."""
    total = 0.0
    filled_above = np.zeros((1, 1), dtype=np.bool_)
    for level, size in enumerate(evidence.sizes):
        filled = (pooled(chosen, 1 << level) >= size - 0.5) & (size > 0)
        if level:
            filled_above = expanded(filled_above, 1 << level)
        total += float(variance[level][filled & ~filled_above].sum())
        filled_above = filled | filled_above
    return total


def smooth(evidence: Evidence, surface: Surface) -> Floats:
    """Bend the surface within leaves of several cells, keeping what each leaf holds."""
    return _bend(evidence, evidence.leaves(), surface.cells, crossed=surface.crossed)


def _bend(evidence: Evidence, leaves: Masks, cells: Floats, *, crossed: bool) -> Floats:
    """Bend, then hand each leaf its count again, time after time.

    Either by blurring twice, BLURS times (Tobler 1979, pycnophylactic interpolation), or by rows
    and columns, CROSSINGS times (iterative proportional fitting: Deming and Stephan 1940).
    """
    lines = Crossing(evidence.sizes[-1]) if crossed else None
    label = evidence.labels(leaves)
    fine = label >= label.max() + 1 - np.count_nonzero(leaves[-1])
    totals = _totals(label, cells)
    bent = cells
    for _ in range(CROSSINGS if crossed else BLURS):
        bent = lines.expected(bent) if lines else _blurred(evidence, bent)
        bent = np.where(fine, cells, bent)
        bent = bent * ratio(totals, _totals(label, bent))[label]
    return bent


def _blurred(evidence: Evidence, cells: Floats) -> Floats:
    around = evidence.sizes_around[-1]
    for _ in range(2):
        cells = np.where(evidence.inside, ratio(neighbours(cells), around), 0.0)
    return cells


def _totals(label: NDArray[np.int64], cells: Floats) -> Floats:
    """Sums of cells by label."""
    return np.bincount(label.ravel(), weights=cells.ravel()).astype(np.float64)
