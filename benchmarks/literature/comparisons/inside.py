"""Errors of a count within a partition of DPCube, as Xiao et al. (2014, section 6.1) compute them.

A query asks for `size` of the `cells` of a partition. Cells have Laplace noise of the rate alpha_1,
a share of epsilon, and the count of the partition has Laplace noise of the rate alpha_2, the rest
of epsilon. Columns are expected absolute errors by the size of the query.

Equation 33 bounds the error of an even share if no two cells differ by more than `smooth`; no
dataset has an error as large as the bound (see `worst_smooth`). Equation 34 adds the noise of the
cells to `apart`, the difference between an even share and the noisy cells. Equation 35 is the error
of least squares with equal weights, whatever the noise of cells and partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]

DRAWS = 20_000
"""Number of random sums of noise that are simulated in a trial."""

SIZES = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Query:
    """A query within a partition, see the module docstring; defaults are of DPCube's table II.

    `share` is alpha_1 / epsilon; the authors call `smooth` gamma and `apart` eta.
    """

    size: int = 5
    cells: int = 11
    share: float = 0.25
    smooth: float = 5.0
    apart: float = 5.0

    def rates(self, epsilon: float) -> tuple[float, float]:
        """Return alpha_1 and alpha_2."""
        return self.share * epsilon, (1 - self.share) * epsilon


def compare(options: Options) -> Iterator[Line]:
    """Yield a line with the errors of each estimate, by the size of the query."""
    sizes = {f"size_{size}": Query(size=size) for size in SIZES}
    yield from _lines(sizes, options)


def varied(options: Options, **changed: float) -> Iterator[Line]:
    """Yield a line with the error of each estimate for a query in which `changed` fields differ.

    All other fields have the values of DPCube's authors.
    """
    query = replace(Query(), **changed)  # type: ignore[arg-type]
    yield from _lines({"error": query}, options)


def half_partition(options: Options, cells: int) -> Iterator[Line]:
    """Yield a line with the error of each estimate for a query of half of a partition's cells."""
    yield from varied(options, cells=cells, size=cells // 2)


def _lines(queries: Mapping[str, Query], options: Options) -> Iterator[Line]:
    epsilon, source = options.budget, "Xiao et al. 2014"

    def bound(random: Generator) -> Mapping[str, float]:
        return {name: smooth_bound(query, epsilon) for name, query in queries.items()}

    def worst(random: Generator) -> Mapping[str, float]:
        return {name: worst_smooth(query, epsilon) for name, query in queries.items()}

    def by_cells(random: Generator) -> Mapping[str, float]:
        return {
            name: _mean(query.apart + _noise(query.rates(epsilon)[0], query.size, random))
            for name, query in queries.items()
        }

    def solved(random: Generator, *, weighted: bool) -> Mapping[str, float]:
        return {
            name: least_squares(query, epsilon, random, weighted=weighted)
            for name, query in queries.items()
        }

    def alone(random: Generator) -> Mapping[str, float]:
        return {name: _mean(_noise(epsilon, query.size, random)) for name, query in queries.items()}

    yield line("even share, bound for smooth data (33)", source, bound, options)
    yield line("even share, the worst smooth data", source, worst, options)
    yield line("even share, any data (34)", source, by_cells, options)
    yield line("least squares (35)", source, lambda random: solved(random, weighted=False), options)
    yield line(
        "least squares, weighted", "Li et al. 2010", lambda r: solved(r, weighted=True), options
    )
    yield line("all of epsilon for cells", "Dwork et al. 2006", alone, options)


def smooth_bound(query: Query, epsilon: float) -> float:
    """Return the authors' bound (equation 33) on the error of an even share of the noisy count."""
    _, rate = query.rates(epsilon)
    share = query.size / query.cells
    return query.smooth * min(query.size, query.cells - query.size) + share / rate


def worst_smooth(query: Query, epsilon: float) -> float:
    """Return the largest error of an even share if no two cells differ by more than `smooth`.

    A query of s of the partition's n cells is answered by s/n of its noisy count. Even without
    noise, this is off by s (n - s)/n times the difference between the means of the cells inside and
    outside the query. The noise of the count adds to that.
    """
    _, rate = query.rates(epsilon)
    share = query.size / query.cells
    away, scale = share * (query.cells - query.size) * query.smooth, share / rate
    return float(away + scale * np.exp(-away / scale))


def least_squares(
    query: Query, epsilon: float, random: Generator, *, weighted: bool = False
) -> float:
    """Return the simulated error of the least-squares answer to a query.

    The count of the partition differs from the sum of its cells. This difference is divided evenly
    among the cells and the count itself or, if `weighted`, in proportion to their variances.
    """
    first, second = query.rates(epsilon)
    part = 1 / first**2 / (query.cells / first**2 + 1 / second**2) if weighted else None
    moved = query.size * (1 / (query.cells + 1) if part is None else part)
    inside = _noise(first, query.size, random)
    outside = _noise(first, query.cells - query.size, random)
    total = _noise(second, 1, random)
    return _mean(inside + moved * (total - inside - outside))


def _noise(rate: float, number: int, random: Generator) -> Floats:
    """Return DRAWS sums, each of `number` Laplace variables of this rate."""
    # A sum of Laplace variables is the difference of two gamma variables; an empty sum is 0.
    if not number:
        return np.zeros(DRAWS)
    first, second = random.gamma(number, 1 / rate, (2, DRAWS))
    return np.asarray(first - second)


def _mean(errors: Floats) -> float:
    return float(np.abs(errors).mean())
