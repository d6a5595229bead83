"""Hierarchical consistency: noisy counts of a tree of boxes, reconciled by least squares.

A node's true count is the sum of its children's. Where several levels were measured, each with
independent noise of its own variance, the best linear unbiased estimate of all counts that keeps
those sums is the generalised least-squares solution. On a tree it takes one pass up and one pass
down, as in Hay, Rastogi, Miklau and Suciu 2010, here with inverse variances in the place of their
equal-noise weights and for any shape of tree and any pattern of measured nodes.

Up. Let y be a node's noisy count of variance v, and C the sum of its children's z, of variance W,
the sum of their s. What lies at and below a node says of its count
    z = y, s = v                                    for a leaf,
    z = (y W + C v)/(v + W), s = v W/(v + W)        for a measured inner node,
    z = C, s = W                                    for one that was not measured.
Down. A root's estimate is x = z of variance V = s. A child of a node with estimate x and variance V
shares in what its parent knows beyond the children, in proportion to its own variance:
    x_u = z_u + s_u/W (x - C),   V_u = s_u - s_u^2/W + (s_u/W)^2 V.
Given their sum, the children's errors are those of independent variables conditioned on it, which
is where both lines come from.

The variances are true where the tree was chosen without looking at the noise, nominal elsewhere.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_VARIANCE = 1e-100
"""Stands for noise that vanishes in floating point, so that no quotient is 0/0."""


@dataclass(frozen=True, slots=True, eq=False)
class Consistent:
    """Estimates (n,) of all nodes, a node's being the sum of its children's, and variances (n,)."""

    value: Floats
    variance: Floats


def consistent(
    counts: NDArray[Any],
    variance: NDArray[np.float64],
    parent: NDArray[np.integer[Any]],
    level: NDArray[np.integer[Any]],
) -> Consistent:
    """Reconcile the noisy `counts` (n,) of a forest of nodes by inverse variances.

    `variance` (n,) is infinite where a node was not measured; its count is then not looked at.
    `parent` (n,) is the index of a node's parent, -1 for a root; `level` (n,) is one more than the
    parent's. Nodes are in order of their levels. Raises ValueError where a leaf was not measured.
    """
    variance = np.maximum(variance, LEAST_VARIANCE)
    measured = np.isfinite(variance)
    starts = np.searchsorted(level, np.arange(int(level[-1]) + 2))
    levels = [slice(first, after) for first, after in itertools.pairwise(starts)]
    below, spread = np.zeros(len(counts)), np.zeros(len(counts))
    value, error = np.where(measured, counts, 0.0), variance.copy()
    for nodes in reversed(levels):
        inner = spread[nodes] > 0
        if not (measured[nodes] | inner).all():
            raise ValueError("Every leaf of the tree must have been measured.")
        _combine(value[nodes], error[nodes], below[nodes], spread[nodes], inner)
        above = parent[nodes]
        child = above >= 0
        np.add.at(below, above[child], value[nodes][child])
        np.add.at(spread, above[child], error[nodes][child])
    for nodes in levels:
        _share(value, error, below, spread, nodes, parent[nodes])
    return Consistent(value, error)


def _combine(
    value: Floats, error: Floats, below: Floats, spread: Floats, inner: NDArray[np.bool_]
) -> None:
    """Make z and s of y and v where there are children; in place, on views of a level."""
    both = np.where(np.isfinite(error), error + spread, 1.0)
    # Each weight is a quotient of its own: 1 minus the other can lose all its digits.
    own = np.where(np.isfinite(error), spread / both, 0.0)
    others = np.where(np.isfinite(error), error / both, 1.0)
    value[inner] = (value * own + below * others)[inner]
    error[inner] = (spread * others)[inner]


def _share(
    value: Floats,
    error: Floats,
    below: Floats,
    spread: Floats,
    nodes: slice,
    above: NDArray[np.integer[Any]],
) -> None:
    """Hand what the parents know beyond their children down to a level; in place."""
    child = np.flatnonzero(above >= 0) + nodes.start
    above = above[above >= 0]
    share = error[child] / spread[above]
    value[child] += share * (value[above] - below[above])
    error[child] *= 1 - share
    error[child] += share**2 * error[above]
