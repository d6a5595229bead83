"""Functional mechanism for linear regression, with the intercept.

Zhang, Zhang, Xiao, Yang and Winslett 2012; with the intercept, Srivastava 2016, chapter 4. The
coefficients of the squared error as a polynomial in slopes w and intercept a get noise, and the
noisy polynomial is minimised.

Privacy. Let x be (1, x_1, ..., x_d) with all |x_j| <= 1, and |y| <= 1. A person adds the
coefficients x_j x_k of every pair j <= k, twice where j < k, and -2 y x_j. Their absolute values
sum to (|x_0| + ... + |x_d|)^2 + 2 |y| (|x_0| + ... + |x_d|) <= (d + 1)^2 + 2 (d + 1), so noise of
scale (d + 1)(d + 3)/epsilon on each coefficient once is epsilon-differentially private when a
person is added or removed. y^2 does not move the minimum and is left out. Nothing else is left out:
the coefficient n of the squared intercept gets noise too, because the number of people n is
private.

Srivastava has the sensitivity 16 for d = 1. There, neighbouring datasets differ in the values of
one record, so n is public, and each of y^2, x^2, 2 x y, 2 x and 2 y changes by up to twice its
bound.

`simplex_regression` is ours and has the sensitivity 1. With u = (1 + x)/2 and v = (1 + y)/2, the
six products of (1 - u)^2, 2u(1 - u), u^2 with 1 - v, v are not negative and add up to 1. So a
person adds a point of a simplex, whose sums have the L1 sensitivity 1, and the sums of 1, u, u^2, v
and uv, of which the least-squares line is made, are linear in them.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def objective(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the quadratic form (d + 1, d + 1) and the linear part (d + 1,) of the squared error.

    The error is w'Qw - 2 b'w + sum of y^2, with the intercept first in w. `x` is (n, d).
    """
    with_one = np.column_stack([np.ones(len(y)), x])
    return with_one.T @ with_one, with_one.T @ y


def functional_mechanism(
    x: Floats, y: Floats, epsilon: float, random: Generator, *, sensitivity: float | None = None
) -> Floats:
    """Return the intercept and slopes (d + 1,); x (n, d) and y (n,) are clipped to [-1, 1].

    Noise can make directions of the quadratic form flat or concave. Directions with an eigenvalue
    below the noise's standard deviation are left out of the solution; this reads noisy values
    alone.
    """
    form, linear = objective(np.clip(x, -1, 1), np.clip(y, -1, 1))
    size = len(linear)
    scale = (size * (size + 2) if sensitivity is None else sensitivity) / epsilon
    noise = np.diag(random.laplace(0, scale, size))
    # The coefficient of w_j w_k gets the noise. It is twice the entry [j, k] of the matrix, so the
    # entry gets half of the noise.
    pairs = np.triu_indices(size, 1)
    noise[pairs] = random.laplace(0, scale, len(pairs[0])) / 2
    form = form + noise + np.triu(noise, 1).T
    linear = linear + random.laplace(0, scale, size) / 2
    values, vectors = np.linalg.eigh(form)
    strong = values > np.sqrt(2) * scale
    return np.asarray(vectors[:, strong] @ (vectors[:, strong].T @ linear / values[strong]))


def simplex_sums(x: Floats, y: Floats) -> Floats:
    """Return sums (3, 2) over people: (1 - u)^2, 2u(1 - u) and u^2, each times 1 - v and v.

    u is (1 + x)/2, and v is (1 + y)/2, with x and y clipped to [-1, 1].
    """
    u, v = (1 + np.clip(x, -1, 1)) / 2, (1 + np.clip(y, -1, 1)) / 2
    return np.stack([(1 - u) ** 2, 2 * u * (1 - u), u**2]) @ np.stack([1 - v, v]).T


def simplex_regression(x: Floats, y: Floats, epsilon: float, random: Generator) -> Floats:
    """Return the intercept and slope (2,); x (n,) and y (n,) are clipped to [-1, 1].

    Directions of the quadratic form that noise made flat or concave are left out of the solution.
    """
    sums = simplex_sums(x, y) + random.laplace(0, 1 / epsilon, (3, 2))
    number, halves, squares = sums.sum(), np.array([0, 0.5, 1]), np.array([0, 0, 1])
    first, second = halves @ sums.sum(axis=1), squares @ sums.sum(axis=1)
    up, product = sums[:, 1].sum(), halves @ sums[:, 1]
    # The sums are converted back to x = 2u - 1 and y = 2v - 1.
    form = np.array([[number, 2 * first - number], [0, 4 * second - 4 * first + number]])
    form[1, 0] = form[0, 1]
    linear = np.array([2 * up - number, 4 * product - 2 * first - 2 * up + number])
    values, vectors = np.linalg.eigh(form)
    strong = values > np.sqrt(2) / epsilon
    return np.asarray(vectors[:, strong] @ (vectors[:, strong].T @ linear / values[strong]))


def least_squares(x: Floats, y: Floats, weight: Floats | None = None) -> Floats:
    """Return the intercept and slopes (d + 1,) of least squares, with weights (n,) if given."""
    with_one = np.column_stack([np.ones(len(y)), x])
    root = np.ones(len(y)) if weight is None else np.sqrt(np.maximum(weight, 0))
    return np.asarray(np.linalg.lstsq(with_one * root[:, None], y * root, rcond=None)[0])
