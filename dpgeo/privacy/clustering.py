"""Differentially private k-means on the cells of a public grid.

What is drawn. Positions are the centres of the cells of a public grid. In each round every counted
record is assigned to the cluster centre nearest to it on the ground. For each cluster the number n
of records and the sums of their x and y, in half cells from the middle of the frame, are measured
together. The new centre lies between the old one and (sum x/n, sum y/n), closer to the old one the
noisier that quotient is, and stays within the old cluster and the frame. A cluster whose noisy n is
below the noise scale keeps its centre.

Privacy argument. Given the centres, which follow from public inputs and the noisy sums of earlier
rounds, every record adds (1, x, y) to one cluster, with |x| and |y| at most the public half side
of the frame. So each round is one measurement of `privacy.vector_sums`, of joint sensitivity 3 l
for a contribution bound l, and costs its declared epsilon; adaptive composition adds the rounds up.
Which cluster a cell belongs to depends on that cell and the centres alone
(`spatial.centres.nearest`). Everything done with the noisy sums is post-processing.

References. Blum, Dwork, McSherry and Nissim 2005 (SuLQ k-means); Su, Cao, Li, Bertino and Jin 2016
(error analysis and the epsilon of a round).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
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
    """Run k-means from public centres; each label names the measurement of one round."""
    centres = start
    for label in labels:
        sums = counts.cluster_sums(grid, centres)
        noise = meter.noise(label, sums.sensitivity)
        centres = update_centres(centres, meter.measure_sums(label, sums), noise, grid)
    return centres


def update_centres(
    centres: Centres, sums: NDArray[np.int64], noise: DiscreteLaplace, grid: Grid
) -> Centres:
    """Compute new centres from noisy (n, sum x, sum y), int64 (k, 3).

    A step is the noisy mean minus the old centre, times t^2/(t^2 + s^2): s is the noise standard
    deviation of the mean, and t, half the distance to the nearest other centre, serves as the prior
    spread of true means. A step ends where another centre becomes the nearest, since the true mean
    of a cluster lies within that cluster.
    """
    west, south, east, north = grid.mercator_bounds
    reliable = sums[:, 0] * noise.rate.numerator >= noise.rate.denominator
    divisor = np.where(reliable, sums[:, 0], 1).astype(np.float64)
    half = grid.cell / 2
    step_x = np.where(reliable, (west + east) / 2 + half * sums[:, 1] / divisor - centres.x, 0.0)
    step_y = np.where(reliable, (south + north) / 2 - half * sums[:, 2] / divisor - centres.y, 0.0)
    error = half * max(grid.shape) * math.sqrt(noise.variance) / divisor
    fraction = _step_fractions(centres, step_x, step_y, error)
    return Centres(centres.x + fraction * step_x, centres.y + fraction * step_y).clamped(grid)


def _step_fractions(centres: Centres, step_x: Floats, step_y: Floats, error: Floats) -> Floats:
    """Return the fraction, 0 to 1, of its step that each centre takes (k,)."""
    if len(centres) == 1:
        return np.ones(1)
    offset_x, offset_y = centres.x - centres.x[:, None], centres.y - centres.y[:, None]
    squared = offset_x**2 + offset_y**2
    np.fill_diagonal(squared, np.inf)
    prior_variance = squared.min(axis=1) / 4
    # A point on the midline between two centres has a dot product of half their squared distance.
    projection = step_x[:, None] * offset_x + step_y[:, None] * offset_y
    limit = np.divide(
        squared / 2, projection, out=np.full_like(squared, np.inf), where=projection > 0
    )
    shrinkage = prior_variance / np.maximum(prior_variance + error**2, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum(shrinkage, limit.min(axis=1)))
