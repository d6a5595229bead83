"""Privelet: noise on the Haar coefficients of counts, in one and two dimensions.

Xiao, Wang and Gehrke 2010. For n = 2^h bins, a node of the binary tree over them has the
coefficient (mean of its left half - mean of its right half)/2; the mean of all bins is one more.
A coefficient over m bins gets noise of scale (1 + h)/(epsilon m).

Privacy. A person changes the coefficient of each of the h nodes above the person's bin by at most
1/m, and the mean by 1/n. Divided by the noise scales, that is epsilon/(1 + h) for each of the 1 + h
numbers, and epsilon in all. In two dimensions rows are transformed and then columns, coefficients
have scales (1 + h)^2/(epsilon m m'), and the sum over the (1 + h)^2 coefficients above a cell is
epsilon again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def privelet(counts: Floats, epsilon: float, random: Generator) -> Floats:
    """Return an estimate of the counts, of shape (n,) or (n, n) with n a power of two."""
    coefficients = counts.astype(np.float64)
    spans = np.ones(counts.shape)
    sensitivity = 1.0
    for axis in range(counts.ndim):
        coefficients = _along(_transformed, coefficients, axis)
        span = _spans(counts.shape[axis])
        spans = spans * (span if axis == counts.ndim - 1 else span[:, None])
        sensitivity *= 1 + np.log2(counts.shape[axis])
    noisy = coefficients + random.laplace(0, sensitivity / epsilon, counts.shape) / spans
    for axis in range(counts.ndim):
        noisy = _along(_restored, noisy, axis)
    return noisy


def shrunken(noisy: Floats, variance: float) -> Floats:
    """Return noisy counts (n,), n a power of two, with their Haar coefficients shrunk.

    Every count has independent noise of `variance`. A coefficient over m bins is a mean of them
    with alternating signs, so its noise has the variance v = `variance`/m. On each level of the
    tree, let t be the mean of the squared coefficients minus v, but at least 0; coefficients are
    multiplied by t/(t + v): empirical Bayes with a normal prior for each level. This reads noisy
    counts alone, so it costs no epsilon.
    """
    found = _transformed(noisy.astype(np.float64))
    first = 1
    while first < len(found):
        level = slice(first, 2 * first)
        wrong = variance * first / len(found)
        kept = max(float(np.mean(found[level] ** 2)) - wrong, 0.0)
        found[level] *= kept / (kept + wrong) if kept else 0.0
        first *= 2
    return _restored(found)


def _along(function: Callable[[Floats], Floats], values: Floats, axis: int) -> Floats:
    return np.asarray(np.moveaxis(function(np.moveaxis(values, axis, 0)), 0, axis))


def _transformed(values: Floats) -> Floats:
    """Return the mean and then the coefficients, from the widest node to the narrowest."""
    levels = []
    while len(values) > 1:
        levels.append((values[::2] - values[1::2]) / 2)
        values = (values[::2] + values[1::2]) / 2
    return np.concatenate([values, *levels[::-1]])


def _restored(coefficients: Floats) -> Floats:
    values, rest = coefficients[:1], coefficients[1:]
    while len(rest):
        here, rest = rest[: len(values)], rest[len(values) :]
        values = np.stack([values + here, values - here], axis=1).reshape(-1, *values.shape[1:])
    return values


def _spans(bins: int) -> Floats:
    """Return the number of bins (n,) under the tree node of each coefficient."""
    spans = [float(bins)]
    while len(spans) < bins:
        spans += [bins / len(spans)] * len(spans)
    return np.array(spans)
