"""Differentially private k-means on the cells of a public grid.

What is drawn. Positions are the centres of the cells of a public grid. In each round every counted
record is assigned to the cluster centre at the smallest ground distance. For each cluster, the
number n of records and the sums of their x and y, in half cells from the middle of the grid, are
measured together. The new centre lies between the old centre and the noisy mean (sum x/n, sum y/n):
the noisier the mean, the closer to the old centre. The new centre stays within the old cluster and
the grid. A cluster whose noisy n is below the noise scale keeps its centre.

Privacy argument. The centres follow from public inputs and the noisy sums of earlier rounds. Given
the centres, every record adds (1, x, y) to one cluster, where |x| and |y| are at most half the
public side of the grid. So each round is one measurement of `privacy.vector_sums`, with a joint
sensitivity of 3 l for a contribution bound l, and costs its declared epsilon. By adaptive
composition the epsilons of the rounds add up. Under zCDP, a round's joint squared sensitivity is
3 l^2, and the rhos of the rounds add up. Which cluster a cell belongs to depends only on that
cell and the centres (`spatial.centres.nearest`). Everything computed from the noisy sums is
post-processing.

References. Blum, Dwork, McSherry and Nissim 2005 (SuLQ k-means); Su, Cao, Li, Bertino and Jin 2016
(error analysis and the epsilon of a round).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise, DiscreteGaussian
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.spatial.centres import Centres
from dpgeo.spatial.grid import Grid

Floats = NDArray[np.float64]


def run_kmeans(
    meter: Meter,
    labels: Sequence[str],
    counts: PrivateSparseCounts,
    grid: Grid,
    start: Centres,
) -> Centres:
    """Run k-means from the public centres `start` and return the final centres.

    There is one round for each of `labels`, the labels of spends in the plan.
    """
    centres = start
    for label in labels:
        sums = counts.cluster_sums(grid, centres)
        noise = meter.noise(label, sums)
        centres = update_centres(centres, meter.measure_sums(label, sums), noise, grid)
    return centres


def update_centres(
    centres: Centres, sums: NDArray[np.int64], noise: CountNoise, grid: Grid
) -> Centres:
    """Compute new centres from the noisy `sums`, int64 (k, 3), with columns n, sum x and sum y.

    A centre moves by (noisy mean - old centre) t^2/(t^2 + s^2). Here s is the standard deviation of
    the mean's noise, and t is half the distance to the nearest other centre, which serves as the
    prior standard deviation of the true mean. The move stops where another centre would become the
    nearest, since the true mean of a cluster lies within that cluster.
    """
    west, south, east, north = grid.mercator_bounds
    reliable = sums[:, 0] >= _least_number(noise)
    divisor = np.where(reliable, sums[:, 0], 1).astype(np.float64)
    half = grid.cell / 2
    step_x = np.where(reliable, (west + east) / 2 + half * sums[:, 1] / divisor - centres.x, 0.0)
    step_y = np.where(reliable, (south + north) / 2 - half * sums[:, 2] / divisor - centres.y, 0.0)
    error = half * max(grid.shape) * math.sqrt(noise.variance) / divisor
    fraction = _step_fractions(centres, step_x, step_y, error)
    return Centres(centres.x + fraction * step_x, centres.y + fraction * step_y).clamped(grid)


def _least_number(noise: CountNoise) -> int:
    """Return the number that a noisy number of records must reach for its centre to move.

    This is the noise scale.

    It is 1/rate for Laplace noise and sqrt(s) for Gaussian noise, rounded up.
    """
    if isinstance(noise, DiscreteGaussian):
        return 1 + math.isqrt(math.ceil(noise.square_scale) - 1)
    return math.ceil(1 / noise.rate)


def _step_fractions(centres: Centres, step_x: Floats, step_y: Floats, error: Floats) -> Floats:
    """Return the fraction (k,) of the way to its noisy mean that each centre moves.

    `step_x` and `step_y` (k,) lead from each centre to its noisy mean.

    `error` (k,) is the standard deviation of the noise of each mean.
    """
    if len(centres) == 1:
        return np.ones(1)
    offset_x, offset_y = centres.x - centres.x[:, None], centres.y - centres.y[:, None]
    squared = offset_x**2 + offset_y**2
    np.fill_diagonal(squared, np.inf)
    prior_variance = squared.min(axis=1) / 4
    # Let o lead from a centre to another one. After the fraction (|o|^2/2) / (step . o) of its
    # step, the centre reaches the line midway between its old position and the other centre.
    projection = step_x[:, None] * offset_x + step_y[:, None] * offset_y
    limit = np.divide(
        squared / 2, projection, out=np.full_like(squared, np.inf), where=projection > 0
    )
    shrinkage = prior_variance / np.maximum(prior_variance + error**2, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum(shrinkage, limit.min(axis=1)))
