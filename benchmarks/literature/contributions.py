"""Counts of places that people visit often: LPA, DFT (FPA) and GS.

A person has at most M visits in all, at any places. The authors take M from the data, which
violates privacy; here the caller passes it. All visits are counted, unlike with a contribution
bound.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def laplace(counts: Floats, visits: int, epsilon: float, random: Generator) -> Floats:
    """Return LPA's counts: with the L1 sensitivity M, every count gets noise of scale M/epsilon."""
    return counts + random.laplace(0, visits / epsilon, counts.shape)


def fourier(counts: Floats, visits: int, epsilon: float, random: Generator, *, kept: int) -> Floats:
    """Return DFT's counts, FPA of Rastogi and Nath 2010: noise on `kept` Fourier coefficients.

    A person changes the counts by at most M in L2 norm (with all visits at one place), hence the
    coefficients of an orthonormal basis by at most M in L2 norm, and the kept ones by at most
    sqrt(kept) M in L1 norm. So each kept coefficient gets noise of scale sqrt(kept) M/epsilon. The
    authors write their basis without the factor 1/sqrt(n), for which M would have to be replaced by
    sqrt(n) M, and count a complex coefficient once, although it consists of two numbers. Here the
    real orthonormal basis is used, so each coefficient is one number.
    """
    basis = real_fourier(len(counts), kept)
    noisy = basis @ counts + random.laplace(0, np.sqrt(kept) * visits / epsilon, kept)
    return np.asarray(basis.T @ noisy)


def real_fourier(size: int, kept: int) -> Floats:
    """Return the first rows (kept, n) of the orthonormal real Fourier basis, slowest first."""
    place = np.arange(size) * 2 * np.pi / size
    rows = [np.full(size, 1 / np.sqrt(size))]
    for wave in range(1, kept // 2 + 1):
        rows.append(np.cos(wave * place) * np.sqrt(2 / size))
        rows.append(np.sin(wave * place) * np.sqrt(2 / size))
    return np.array(rows[:kept])


def grouped(
    counts: Floats,
    sample: Floats,
    visits: int,
    epsilon: float,
    random: Generator,
    *,
    size: int,
) -> Floats:
    """Return GS's counts (Kellaris and Papadopoulos 2013): means of groups of similar places.

    `sample` (n,) counts one visit of each person, so its sensitivity is 1. The visit must be chosen
    by the person's own records alone. A group has `size` places. Half of epsilon is spent on noisy
    counts of the sample, by which places are sorted and grouped; the other half is spent on the
    sums of `counts` over groups, which together have sensitivity M. (A mean over w places has noise
    of scale M/(w epsilon), so grouping pays where places are alike.)
    """
    half = epsilon / 2
    order = np.argsort(sample + random.laplace(0, 1 / half, len(sample)), kind="stable")
    starts = np.arange(0, len(counts), size)
    sizes = np.diff(np.append(starts, len(counts)))
    sums = np.add.reduceat(counts[order], starts)
    means = (sums + random.laplace(0, visits / half, len(sums))) / sizes
    estimate = np.empty(len(counts))
    estimate[order] = np.repeat(means, sizes)
    return estimate
