"""Hierarchical consistency of a tree's noisy counts, by least squares.

The true count of a node is the sum of its children's true counts. If several levels were measured,
each with independent noise and a variance of its own, the best linear unbiased estimate of all
counts that preserves those sums is the generalised least-squares solution. On a tree it takes one
pass up and one pass down, as in Hay, Rastogi, Miklau and Suciu 2010. Unlike theirs, the weights
here are inverse variances, and the tree may have any shape and any set of measured nodes.

Up. Let y be a node's noisy count, of variance v. Let z, of variance s, be the estimate of its count
from the measurements at and below the node. Let C be the sum of its children's z, and W the
variance of C, which is the sum of their s. Then
    z = y, s = v                                    for a leaf,
    z = (y W + C v)/(v + W), s = v W/(v + W)        for a measured inner node,
    z = C, s = W                                    for an unmeasured inner node.
Down. A root's estimate is x = z of variance V = s. For a parent with estimate x of variance V, the
difference x - C is divided among its children u in proportion to their variances s_u:
    x_u = z_u + (s_u/W) (x - C),   V_u = s_u - s_u^2/W + (s_u/W)^2 V.
Both formulas follow from conditioning the independent errors of the children on their sum.

The variances are correct if the tree was chosen independently of the noise, and nominal otherwise.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_VARIANCE = 1e-100
"""Replaces variances that underflow to 0, so that no quotient is 0/0."""


@dataclass(frozen=True, slots=True, eq=False)
class Consistent:
    """Estimates (n,) in which each parent is the sum of its children.

    `variance` (n,) holds the variances of the estimates. `below` (n,) holds the variances of
    estimates from only the measurements at and below each node (s in the module docstring).
    """

    value: Floats
    variance: Floats
    below: Floats


def consistent(
    counts: NDArray[Any],
    variance: NDArray[np.float64],
    parent: NDArray[np.integer[Any]],
    level: NDArray[np.integer[Any]],
) -> Consistent:
    """Reconcile the noisy `counts` (n,) of a forest of nodes by generalised least squares.

    `variance` (n,) holds the noise variance of each count; it is infinite for nodes that were not
    measured, and the counts of these nodes are ignored. `parent` (n,) holds the index of each
    node's parent, -1 for a root. `level` (n,) must be ascending; the level of a node is one more
    than its parent's. Raises ValueError if a leaf was not measured.
    """
    variance = np.maximum(variance, MIN_VARIANCE)
    measured = np.isfinite(variance)
    starts = np.searchsorted(level, np.arange(int(level[-1]) + 2))
    levels = [slice(first, after) for first, after in itertools.pairwise(starts)]
    below, below_variance = np.zeros(len(counts)), np.zeros(len(counts))
    value, error = np.where(measured, counts, 0.0), variance.copy()
    for nodes in reversed(levels):
        inner = below_variance[nodes] > 0
        if not (measured[nodes] | inner).all():
            raise ValueError("Every leaf of the tree must have been measured.")
        _combine(value[nodes], error[nodes], below[nodes], below_variance[nodes], inner)
        parents = parent[nodes]
        child = parents >= 0
        np.add.at(below, parents[child], value[nodes][child])
        np.add.at(below_variance, parents[child], error[nodes][child])
    upwards = error.copy()
    for nodes in levels:
        _share(value, error, below, below_variance, nodes, parent[nodes])
    return Consistent(value, error, upwards)


def _combine(
    value: Floats, error: Floats, below: Floats, below_variance: Floats, inner: NDArray[np.bool_]
) -> None:
    """Combine each inner node's count with the sum of its children's estimates, in place.

    `value` and `error` hold y and v of the module docstring, and become z and s. `below` and
    `below_variance` hold C and W. An unmeasured node has an infinite `error`.
    """
    both = np.where(np.isfinite(error), error + below_variance, 1.0)
    # The weights of a node's own count and of its children's sum are both computed as quotients. As
    # 1 minus the first, the second could lose all its digits.
    own = np.where(np.isfinite(error), below_variance / both, 0.0)
    children = np.where(np.isfinite(error), error / both, 1.0)
    value[inner] = (value * own + below * children)[inner]
    error[inner] = (below_variance * children)[inner]


def _share(
    value: Floats,
    error: Floats,
    below: Floats,
    below_variance: Floats,
    nodes: slice,
    parents: NDArray[np.integer[Any]],
) -> None:
    """Compute the estimates of one level's nodes from those of their parents, in place.

    `value` becomes x and `error` becomes V of the module docstring.
    """
    child = np.flatnonzero(parents >= 0) + nodes.start
    parents = parents[parents >= 0]
    fraction = error[child] / below_variance[parents]
    value[child] += fraction * (value[parents] - below[parents])
    error[child] *= 1 - fraction
    error[child] += fraction**2 * error[parents]
