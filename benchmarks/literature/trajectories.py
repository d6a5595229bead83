"""Made-up trips after DPT and AdaTrace, each trip a privacy unit of its own.

A trip is a path over the cells of a grid, and neighbours differ by one trip, as in both papers. For
a person with k trips, the promise is k epsilon.

Both are written from descriptions (DPT from that in Zhu et al. 2017, section 12.3.2), and only as
far as a comparison needs. Where a paper normalises by numbers that it reads from the data, such as
the longest trip, the caller passes a public limit instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Way = Ints
"""The cells (k,) of a trip on a grid of side x side cells; each differs from the one before."""


def walk_and_jump(
    ways: Sequence[Way], side: int, epsilon: float, random: Generator, *, most: int, number: int
) -> list[Way]:
    """Return `number` trips of an AdaTrace-like model: a Markov chain, and pairs of start and end.

    Half of epsilon is spent on counts of moves, and half on counts of pairs of start and end
    (AdaTrace's Markov model and trip distribution; its adaptive grid and its route lengths are left
    out, and so are its defences against attacks on single trips, which have no proof). Each trip
    adds 1 to one pair and 1/(number of its moves) to each of its moves, which is 1 in all. So noise
    of scale 2/epsilon on both tables is epsilon-differentially private. A generated trip walks from
    its start until it meets its end, or jumps to the end after `most` moves, as in AdaTrace.
    """
    cells, scale = side * side, 2 / epsilon
    moves, ends = np.zeros((cells, cells)), np.zeros((cells, cells))
    for way in ways:
        ends[way[0], way[-1]] += 1
        np.add.at(moves, (way[:-1], way[1:]), 1 / (len(way) - 1))
    near = neighbouring(side)
    moves = np.where(near, np.maximum(moves + random.laplace(0, scale, moves.shape), 0), 0)
    moves += np.where(near, 1e-9, 0)
    chances = np.cumsum(moves / moves.sum(axis=1, keepdims=True), axis=1)
    ends = np.maximum(ends + random.laplace(0, scale, ends.shape), 0)
    pairs = random.choice(cells * cells, number, p=(ends / ends.sum()).ravel())
    drawn = []
    for start, end in zip(*np.divmod(pairs, cells), strict=True):
        walk = [int(start)]
        while len(walk) <= most and (len(walk) == 1 or walk[-1] != end):
            step = int(np.searchsorted(chances[walk[-1]], random.random(), side="right"))
            walk.append(min(step, cells - 1))
        drawn.append(np.array([*walk[:-1], int(end)]))
    return drawn


def neighbouring(side: int) -> NDArray[np.bool_]:
    """Return a mask (n, n) of the pairs of different cells that touch, for n = side * side."""
    row, column = np.divmod(np.arange(side * side), side)
    apart = np.maximum(
        np.abs(np.subtract.outer(row, row)), np.abs(np.subtract.outer(column, column))
    )
    return np.asarray(apart == 1)


STAY, STOP = 0, 9
"""Tokens of a prefix tree: 1 to 8 are moves to the neighbouring cells, and STOP ends a trip.

STAY stands for no move: no trip contains it, and `_drawn` uses it before a trip's first move.
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """Noisy counts of DPT's prefix tree in one reference system, a grid of n = side x side cells.

    `first` (n,) counts trips by the cell where they start. `second` (n, 10) counts moves by cell
    and next token, and `third` (n, 10, 10) counts them by cell, last token and next token. A token
    is one of eight moves or the trip's end.
    """

    side: int
    first: Floats
    second: Floats
    third: Floats


def prefix_trees(
    ways: Sequence[Way],
    side: int,
    epsilon: float,
    random: Generator,
    *,
    most: int,
    number: int,
    coarser: Sequence[int] = (2, 4),
) -> list[Way]:
    """Return `number` trips of a DPT-like model: prefix trees in grids of several sizes.

    DPT describes each stretch of a trip in the grid (reference system) whose cells match its speed.
    Here a whole trip is described in the one grid in which it has the fewest moves of at least two,
    so it adds to the counts of a single `Tree`. Of every trip the first `most` + 1 tokens count: it
    adds 1 to the tree's `first`, and at most `most` + 1 to each of `second` and `third`. DPT pays
    for the length in this way, too. Each of the three gets a third of epsilon, so noise of scale
    3/epsilon on `first`, and of 3 (`most` + 1)/epsilon on the others, is epsilon-differentially
    private. Counts not above the scale are set to 0 (DPT prunes its trees). A trip is drawn token
    by token, given the last one, so that a trip tends to keep its direction (DPT's direction
    weights), and its points are the cells' middles in the fine grid.
    """
    systems = [1, *(each for each in coarser if side % each == 0)]
    told: dict[int, list[Way]] = {each: [] for each in systems}
    for way in ways:
        told[_system(way, side, systems)].append(way)
    trees = {
        factor: _tree([_coarse(way, side, factor) for way in of], side // factor, most)
        for factor, of in told.items()
    }
    share, long = 3 / epsilon, 3 * (most + 1) / epsilon
    noisy = {}
    for factor, tree in trees.items():
        parts = [
            _pruned(part + random.laplace(0, scale, part.shape), scale)
            for part, scale in ((tree.first, share), (tree.second, long), (tree.third, long))
        ]
        noisy[factor] = Tree(tree.side, *parts)
    weights = np.array([tree.first.sum() for tree in noisy.values()])
    if not weights.any():
        weights = np.ones(len(noisy))
    chosen = random.choice(len(weights), number, p=weights / weights.sum())
    factors = list(noisy)
    return [
        _fine(_drawn(noisy[factors[each]], most, random), side, factors[each]) for each in chosen
    ]


def _system(way: Way, side: int, systems: Sequence[int]) -> int:
    """Return the factor of the coarsest grid in which a trip has at least two moves; at least 1."""
    fitting = [each for each in systems if len(_coarse(way, side, each)) > 2]
    return max(fitting, default=1)


def _coarse(way: Way, side: int, factor: int) -> Way:
    """Return a trip in a grid that is coarser by a factor, without repeated cells."""
    row, column = np.divmod(way, side)
    cells = row // factor * (side // factor) + column // factor
    return np.asarray(cells[np.r_[True, cells[1:] != cells[:-1]]])


def _fine(way: Way, side: int, factor: int) -> Way:
    """Return a coarser grid's trip in fine cells, by way of the middles of its coarse cells."""
    if factor == 1:
        return way
    row, column = np.divmod(way, side // factor)
    rows, columns = row * factor + factor // 2, column * factor + factor // 2
    filled = [(int(rows[0]), int(columns[0]))]
    for target in zip(rows.tolist(), columns.tolist(), strict=True):
        while filled[-1] != target:
            at = filled[-1]
            filled.append(
                (at[0] + int(np.sign(target[0] - at[0])), at[1] + int(np.sign(target[1] - at[1])))
            )
    return np.array([at * side + across for at, across in filled])


def _tree(ways: Sequence[Way], side: int, most: int) -> Tree:
    first, second = np.zeros(side * side), np.zeros((side * side, 10))
    third = np.zeros((side * side, 10, 10))
    for way in ways:
        tokens = tokens_of(way, side)[: most + 1]
        cells = way[: len(tokens)]
        first[way[0]] += 1
        np.add.at(second, (cells, tokens), 1)
        np.add.at(third, (cells[1:], tokens[:-1], tokens[1:]), 1)
    return Tree(side, first, second, third)


def tokens_of(way: Way, side: int) -> Ints:
    """Return a trip's tokens: a number from 1 to 8 for each move between neighbours, then STOP."""
    row, column = np.divmod(way, side)
    # 0 to 8 within the 3 x 3 cells around a cell; 4, the cell itself, would be no move
    number = (np.diff(row) + 1) * 3 + np.diff(column) + 1
    return np.append(np.where(number < 4, number + 1, number), STOP)


def _pruned(counts: Floats, scale: float) -> Floats:
    return np.where(counts > scale, counts, 0.0)


def _drawn(tree: Tree, most: int, random: Generator) -> Way:
    """Return one trip, drawn token by token from a tree's counts.

    If no token has a count after the current cell and last token, the counts after the cell alone
    are used; without these, the trip ends. If no first cell has a count, all are equally likely.
    """
    weights = tree.first if tree.first.any() else np.ones(len(tree.first))
    cell = int(random.choice(len(weights), p=weights / weights.sum()))
    way, token = [cell], STAY
    while len(way) <= most:
        chances = _possible(tree.third[cell, token] if token else tree.second[cell], cell, tree)
        if not chances.any():
            chances = _possible(tree.second[cell], cell, tree)
        if not chances.any():
            break
        token = int(random.choice(10, p=chances / chances.sum()))
        if token == STOP:
            break
        cell = _moved(cell, token, tree.side)
        way.append(cell)
    return np.array(way)


def _possible(chances: Floats, cell: int, tree: Tree) -> Floats:
    """Return the weights (10,) of tokens, without those that would leave the grid."""
    possible = chances.copy()
    possible[STAY] = 0
    row, column = divmod(cell, tree.side)
    for token in range(1, STOP):
        down, across = _step(token)
        if not (0 <= row + down < tree.side and 0 <= column + across < tree.side):
            possible[token] = 0
    return possible


def _step(token: int) -> tuple[int, int]:
    number = token - 1 if token < 5 else token
    return number // 3 - 1, number % 3 - 1


def _moved(cell: int, token: int, side: int) -> int:
    down, across = _step(token)
    return cell + down * side + across
