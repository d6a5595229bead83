"""Perturbed positions: k-anonymity, Laplace noise per coordinate, and mechanisms on plane grids.

Positions are metres in the plane. Geo-indistinguishability at epsilon per metre means that for two
places d apart, the odds of an outcome differ by a factor of at most e^(epsilon d) (Andres et al.
2013).

k-anonymity (Mondrian: LeFevre, DeWitt and Ramakrishnan 2006) gives no such guarantee: means of
boxes depend on all positions in them, and somebody who knows all positions but one can solve for
that one.

Laplace noise on each coordinate. With the scale (width of the area)/(epsilon/2) for both
coordinates, the log-odds of an outcome differ by at most epsilon for any two places of the area.
This is the "plain" mechanism with which PriLocation's authors compare it. With scale
sqrt(2)/epsilon, for epsilon per metre, the ratio is e^(epsilon (|dx| + |dy|)/sqrt(2)) <= e^(epsilon
d): the same guarantee as planar noise, with larger displacements (Dewri 2012 has independent
coordinates).

Planar Laplace on a grid (Andres et al. 2013; Zhu et al. 2017, section 12.3.1.3). The density is
epsilon^2/(2 pi) e^(-epsilon r): a uniform direction, and a distance from Gamma(2, 1/epsilon). The
triangle inequality is the proof. Moving the output to the nearest allowed point of the grid is
post-processing. In floating point the guarantee is not exact; dpgeo's own mechanism corrects this.

Exponential mechanism: an allowed point z is drawn with weight e^(-epsilon d(x, z)/2). From x to x'
each weight changes by a factor of at most e^(epsilon d(x, x')/2). The sum of the weights changes by
at most the same factor, because near the edge it depends on x; therefore the exponent is divided by
2.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def k_anonymous(x: Floats, y: Floats, persons: Ints, crowd: int) -> tuple[Floats, Floats]:
    """Return positions (n,) in which every record is moved to the mean of its box.

    Boxes are halved as long as both halves contain `crowd` people (Mondrian).
    """
    x, y = x.copy(), y.copy()
    waiting = [np.arange(x.size)]
    while waiting:
        group = waiting.pop()
        halves = _halves(x[group], y[group], group)
        if all(np.unique(persons[half]).size >= crowd for half in halves):
            waiting += halves
        else:
            x[group], y[group] = x[group].mean(), y[group].mean()
    return x, y


def _halves(x: Floats, y: Floats, held: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    axis = x if np.ptp(x) >= np.ptp(y) else y
    low = axis < np.median(axis)
    return [held[low], held[~low]]


def per_coordinate(
    x: Floats, y: Floats, scales: tuple[float, float], random: Generator
) -> tuple[Floats, Floats]:
    """Return positions (n,) with Laplace noise of one scale in x and another in y."""
    east = random.laplace(0, scales[0], x.size)
    return x + east, y + random.laplace(0, scales[1], y.size)


def planar(x: Floats, y: Floats, epsilon: float, random: Generator) -> tuple[Floats, Floats]:
    """Return positions (n,) with planar Laplace noise of epsilon per metre."""
    distance = random.gamma(2, 1 / epsilon, x.size)
    direction = random.uniform(0, 2 * np.pi, x.size)
    return x + distance * np.cos(direction), y + distance * np.sin(direction)


def nearest_points(x: Floats, y: Floats, side: float, cells: int) -> Ints:
    """Return the nearest point of a square grid, as row * cells + column.

    The grid points are the centres of `cells` x `cells` squares with sides of `side` metres; the
    first square has a corner at the origin.
    """
    column = np.clip(np.floor(x / side), 0, cells - 1).astype(np.int64)
    row = np.clip(np.floor(y / side), 0, cells - 1).astype(np.int64)
    return row * cells + column


def exponential_weights(side: float, cells: int, epsilon: float) -> Floats:
    """Return the probabilities (n, n) of drawing a grid point (column) for a true one (row)."""
    row, column = (each.ravel() * side for each in np.mgrid[0:cells, 0:cells])
    away = np.hypot(row[:, None] - row, column[:, None] - column)
    weights = np.exp(-epsilon * away / 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def exponential(points: Ints, weights: Floats, random: Generator) -> Ints:
    """Return random grid points (n,): for point i, with the probabilities in row i of `weights`."""
    drawn = np.empty(points.size, dtype=np.int64)
    for point in np.unique(points):
        here = points == point
        drawn[here] = random.choice(len(weights), int(here.sum()), p=weights[point])
    return drawn
