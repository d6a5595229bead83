"""Exact earth mover's distance between two maps with the same cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def earth_movers_distance(
    first: NDArray[np.float64], second: NDArray[np.float64], cell: float
) -> float:
    """Return the mean distance in metres by which mass moves from one map (n, n) to the other.

    Mass moves between neighbouring cells along rows and columns, as the cheapest flow on the grid.
    The result is therefore between the straight-line distance and sqrt(2) times the straight-line
    distance. Both maps are scaled to the same total. The flow is found by linear programming
    (HiGHS).
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    excess = (first / first.sum() - second / second.sum()).ravel()
    number = np.arange(first.size).reshape(first.shape)
    start = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    end = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    start, end = np.concatenate([start, end]), np.concatenate([end, start])
    edges = np.arange(start.size)
    flow = coo_array(
        (
            np.concatenate([np.ones(start.size), -np.ones(start.size)]),
            (np.concatenate([start, end]), np.concatenate([edges, edges])),
        ),
        shape=(first.size, start.size),
    ).tocsr()
    # The equation of the first cell is left out, because it follows from the others; with it,
    # rounding could make the equations contradict each other.
    solution = linprog(
        np.ones(start.size), A_eq=flow[1:], b_eq=excess[1:], bounds=(0, None), method="highs"
    )
    if not solution.success:
        raise ValueError(f"The distance was not found: {solution.message}")
    return float(solution.fun) * cell
