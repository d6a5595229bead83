"""Hierarchical consistency of a tree's noisy counts, by least squares.

A node's true count is the sum of its children's. Where several levels were measured, each with
independent noise of its own variance, the best linear unbiased estimate of all counts that keeps
those sums is the generalised least-squares solution. On a tree it takes one pass up and one pass
down, as in Hay, Rastogi, Miklau and Suciu 2010, here with inverse variances instead of their
equal-noise weights and for any shape of tree and any set of measured nodes.

Up. Let y be a node's noisy count, of variance v, and z the estimate of its count from what was
measured at and below it, of variance s. Let C be the sum of its children's z, whose variance W is
the sum of their s. Then
    z = y, s = v                                    for a leaf,
    z = (y W + C v)/(v + W), s = v W/(v + W)        for a measured inner node,
    z = C, s = W                                    for an unmeasured inner node.
Down. A root's estimate is x = z of variance V = s. The difference between a parent's estimate x (of
variance V) and the sum of its children goes to each child in proportion to the child's variance:
    x_u = z_u + s_u/W (x - C),   V_u = s_u - s_u^2/W + (s_u/W)^2 V.
Both lines follow from conditioning independent errors of the children on their sum.

The variances are true where the tree was chosen independently of the noise, nominal elsewhere.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_VARIANCE = 1e-100
"""Replaces a variance that vanishes in floating point, so that no quotient is 0/0."""


@dataclass(frozen=True, slots=True, eq=False)
class Consistent:
    """Estimates (n,) of nodes, each the sum of its children's estimates, and variances (n,)."""

    value: Floats
    variance: Floats


def consistent(
    counts: NDArray[Any],
    variance: NDArray[np.float64],
    parent: NDArray[np.integer[Any]],
    level: NDArray[np.integer[Any]],
) -> Consistent:
    """Reconcile the noisy `counts` (n,) of a forest of nodes by inverse variances.

    `variance` (n,) is infinite where a node was not measured; its count is then ignored. `parent`
    (n,) is the index of a node's parent, -1 for a root; `level` (n,) is one more than the parent's.
    Nodes are ordered by level. Raises ValueError where a leaf was not measured.
    """
    variance = np.maximum(variance, LEAST_VARIANCE)
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
    for nodes in levels:
        _share(value, error, below, below_variance, nodes, parent[nodes])
    return Consistent(value, error)


def _combine(
    value: Floats, error: Floats, below: Floats, below_variance: Floats, inner: NDArray[np.bool_]
) -> None:
    """Compute z and s of the module docstring from y and v, in place, for inner nodes."""
    both = np.where(np.isfinite(error), error + below_variance, 1.0)
    # Each weight is a quotient of its own: 1 minus the other weight could lose all its digits.
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
    """Give children their parts of the difference between a parent and their sum, in place."""
    child = np.flatnonzero(parents >= 0) + nodes.start
    parents = parents[parents >= 0]
    fraction = error[child] / below_variance[parents]
    value[child] += fraction * (value[parents] - below[parents])
    error[child] *= 1 - fraction
    error[child] += fraction**2 * error[parents]
