"""Decision trees (ID3) over categories: from a histogram, and grown privately by queries.

A histogram has an axis for every attribute and, as its last, one for the class. A classifier is the
array of the class that it predicts for every combination of attributes.

ID3 of a released histogram is post-processing. Friedman and Schuster 2010 grow the tree by queries
instead (DiffPID3, here with their operator "max", of sensitivity 1). Nodes of a level hold
different people, so a level costs what one node costs: a noisy count, and then either the choice of
an attribute by the exponential mechanism or noisy counts of the classes. With d attributes there
are at most d + 1 levels, so epsilon/(2 (d + 1)) for each of the two costs epsilon in all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Split = Callable[[Floats, list[int]], int | None]
"""Function that chooses the attribute to split a node by, or None for a leaf, from the node's
histogram and the attributes that are left.
"""


def id3(histogram: Floats) -> Ints:
    """Return the classifier that ID3 learns from a histogram, whose negative counts become 0."""
    return _grown(np.maximum(histogram, 0), _best, lambda leaf: leaf)


def private_id3(histogram: Floats, epsilon: float, random: Generator) -> Ints:
    """Return the classifier of DiffPID3, which learns from noisy counts and private choices
    alone.
    """
    share = epsilon / (2 * histogram.ndim)
    classes = histogram.shape[-1]

    def split(node: Floats, still: list[int]) -> int | None:
        people = node.sum() + random.laplace(0, 1 / share)
        widest = max((node.shape[axis] for axis in still), default=1)
        if not still or people / (widest * classes) < np.sqrt(2) / share:
            return None
        score = np.array([_by_class(node, axis).max(axis=1).sum() for axis in still])
        return still[int(np.argmax(score * share / 2 + random.gumbel(size=len(still))))]

    return _grown(histogram, split, lambda leaf: leaf + random.laplace(0, 1 / share, classes))


def accuracy(classifier: Ints, histogram: Floats) -> float:
    """Return the share of a histogram's people whose class is predicted."""
    right = np.take_along_axis(histogram, classifier[..., None], axis=-1)
    return float(right.sum() / histogram.sum())


def _grown(histogram: Floats, split: Split, counted: Callable[[Floats], Floats]) -> Ints:
    """Grow a decision tree; return the class it gives to every combination of attribute values.

    `split` chooses the attribute of each node, and `counted` returns the (noisy) number of people
    of each class in a leaf.
    """
    classifier = np.zeros(histogram.shape[:-1], dtype=np.int64)
    attributes = histogram.ndim - 1
    everything = (slice(None),) * attributes
    waiting = [(everything, list(range(attributes)), 0)]
    while waiting:
        part, still, inherited = waiting.pop()
        node = histogram[part]
        axis = split(node, still)
        if axis is None:
            leaf = counted(node.reshape(-1, histogram.shape[-1]).sum(axis=0))
            classifier[part] = int(np.argmax(leaf)) if leaf.any() else inherited
            continue
        majority = int(np.argmax(node.reshape(-1, histogram.shape[-1]).sum(axis=0)))
        rest = [each for each in still if each != axis]
        for value in range(histogram.shape[axis]):
            # A slice, unlike an index, keeps the axis, so that axes have the same numbers in every
            # node.
            chosen = (*part[:axis], slice(value, value + 1), *part[axis + 1 :])
            waiting.append((chosen, rest, majority))
    return classifier


def _best(node: Floats, still: list[int]) -> int | None:
    """Return the attribute among `still` with the largest information gain, or None if none has
    any.
    """
    whole = _bits(node.reshape(-1, node.shape[-1]).sum(axis=0, keepdims=True))
    gains = [whole - _bits(_by_class(node, axis)) for axis in still]
    if not gains or max(gains) <= 1e-9:
        return None
    return still[int(np.argmax(gains))]


def _by_class(node: Floats, axis: int) -> Floats:
    """Return counts (values, classes) of one attribute."""
    others = tuple(each for each in range(node.ndim - 1) if each != axis)
    return np.asarray(node.sum(axis=others))


def _bits(table: Floats) -> float:
    """Return the entropy in bits of the classes in each row of a table, times the row's count."""
    rows = table.sum(axis=1, keepdims=True)
    share = table / np.where(rows > 0, rows, 1)
    return float(-(table * np.log2(np.where(share > 0, share, 1))).sum())
