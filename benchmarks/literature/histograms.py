"""One-dimensional histograms: NoiseFirst, StructureFirst, AHP, and sorted counts.

All counts are of disjoint bins, so adding a person changes one of them by 1: sensitivity 1.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def identity(counts: Floats, epsilon: float, random: Generator) -> Floats:
    """Return every bin with independent noise (Dwork, McSherry, Nissim and Smith 2006)."""
    return counts + random.laplace(0, 1 / epsilon, counts.shape)


def noise_first(counts: Floats, epsilon: float, random: Generator) -> Floats:
    """Return NoiseFirst's histogram (Xu, Zhang, Xiao, Yang, Yu and Winslett 2013).

    Noisy bins are merged where that lowers the expected error, which costs nothing more, because
    only noisy counts are read. With k parts of the n bins, let E be the sum of squared deviations
    of the true bins from their part's mean, and v the variance of the noise. The same sum for the
    noisy bins has the expectation E + (n - k) v. The expected error of the parts' noisy means is E
    + k v. Up to a constant, it is estimated by the noisy sum plus 2 k v, so k is chosen to minimise
    this sum.
    """
    noisy = identity(counts, epsilon, random)
    costs, _ = partitions(noisy, len(counts))
    parts = np.arange(1, len(counts) + 1)
    best = int(np.argmin(costs[1:, -1] + 2 * (2 / epsilon**2) * parts)) + 1
    _, cuts = partitions(noisy, best)
    edges = [len(counts)]
    for part in range(best, 0, -1):
        edges.append(int(cuts[part, edges[-1]]))
    return _means(noisy, np.array(edges[::-1]))


def structure_first(
    counts: Floats, epsilon: float, random: Generator, *, parts: int, most: float
) -> Floats:
    """Return StructureFirst's histogram with `parts` parts (Xu et al. 2013).

    Half of epsilon is spent on choosing the edges between parts, from the last edge to the first,
    each by the exponential mechanism. A possible edge is scored by the least squared error of all
    bins up to the edge chosen last, if their last part begins at the possible edge. `most` is F, a
    public limit on the count of a bin. For the scores, counts are clipped to F. Adding a person
    then changes a bin x among m to x + 1, hence a sum of squared deviations by at most
    (1 - 1/m)(2 (x - mean) + 1), and every score by at most 2 F + 1. The noisy sums of the parts
    cost the other half of epsilon.

    The authors take F to be the largest count in the data. That count is itself private: in a
    neighbouring dataset it may differ, and then so does the noise of the choice.
    """
    half = epsilon / 2
    seen = np.clip(counts, 0, most)
    costs, _ = partitions(seen, parts)
    inner = _costs(seen)
    rate = half / max(parts - 1, 1) / (2 * (2 * most + 1))
    edges = [len(counts)]
    for part in range(parts - 1, 0, -1):
        places = np.arange(part, edges[-1])
        score = -rate * (costs[part, places] + inner[places, edges[-1]])
        # The index of the greatest score plus Gumbel noise has the distribution of the exponential
        # mechanism's choice.
        edges.append(int(places[np.argmax(score + random.gumbel(size=len(places)))]))
    edges.append(0)
    bounds = np.array(edges[::-1])
    sums = np.add.reduceat(counts, bounds[:-1]) + random.laplace(0, 1 / half, parts)
    return np.repeat(sums / np.diff(bounds), np.diff(bounds))


def clustered(counts: Floats, epsilon: float, random: Generator) -> Floats:
    """Return AHP's histogram (Zhang, Chen, Xu, Meng and Xie 2014).

    Half of epsilon is spent on noisy bins. Those below sqrt(ln n)/(epsilon/2) become 0; then bins
    are sorted. In this order, a bin joins the cluster before it as long as its distance from the
    cluster's mean adds less error than separate noise would: a simple form of the authors' greedy
    rule. Only noisy bins are read, so clustering costs no epsilon. The other half is spent on one
    sum per cluster.
    """
    half = epsilon / 2
    noisy = identity(counts, half, random)
    noisy[noisy < np.sqrt(np.log(len(counts))) / half] = 0
    order = np.argsort(-noisy, kind="stable")
    label = np.zeros(len(counts), dtype=np.intp)
    start = 0
    for place in range(1, len(counts)):
        mean = noisy[order[start:place]].mean()
        joined = (noisy[order[place]] - mean) ** 2 <= 2 / half**2
        start = start if joined else place
        label[order[place]] = label[order[place - 1]] + (not joined)
    sums = np.bincount(label, counts)
    return ((sums + random.laplace(0, 1 / half, len(sums))) / np.bincount(label))[label]


def sorted_counts(counts: Floats, epsilon: float, random: Generator) -> Floats:
    """Return the bins in ascending order, consistent with that order (Hay et al. 2010).

    Adding a person moves one entry of the sorted vector by 1, so its sensitivity is 1 as well. The
    ascending vector nearest to the noisy one is post-processing.
    """
    return ascending(identity(np.sort(counts), epsilon, random))


def ascending(values: Floats) -> Floats:
    """Return the ascending vector with the least squared distance from the values (n,).

    Neighbours that violate the order are pooled to their mean, until none do.
    """
    sums: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        sums.append(value)
        sizes.append(1)
        while len(sums) > 1 and sums[-2] * sizes[-1] >= sums[-1] * sizes[-2]:
            last, size = sums.pop(), sizes.pop()
            sums[-1] += last
            sizes[-1] += size
    return np.repeat(np.array(sums) / np.array(sizes), sizes)


def partitions(values: Floats, most: int) -> tuple[Floats, Ints]:
    """Return two arrays with entries [k, j] on the best division of the first j bins into k parts.

    The entries are its squared error, the least possible, and the bin at which the last of its
    parts begins (Jagadish et al. 1998). Both arrays have the shape (most + 1, n + 1).
    """
    inner = _costs(values)
    best = np.full((most + 1, len(values) + 1), np.inf)
    cuts = np.zeros(best.shape, dtype=np.intp)
    best[0, 0] = 0
    for part in range(1, most + 1):
        total = best[part - 1][:, None] + inner
        cuts[part] = total.argmin(axis=0)
        best[part] = total.min(axis=0)
    return best, cuts


def _costs(values: Floats) -> Floats:
    """Return the squared errors (n + 1, n + 1) of bins i to j - 1 around their mean."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squares = np.concatenate([[0.0], np.cumsum(values**2)])
    size = np.arange(len(sums))[None, :] - np.arange(len(sums))[:, None]
    error = (squares[None, :] - squares[:, None]) - (
        sums[None, :] - sums[:, None]
    ) ** 2 / np.maximum(size, 1)
    return np.where(size > 0, np.maximum(error, 0.0), np.inf)


def _means(values: Floats, edges: Ints) -> Floats:
    sizes = np.diff(edges)
    return np.repeat(np.add.reduceat(values, edges[:-1]) / sizes, sizes)
