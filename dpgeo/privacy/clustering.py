"""k-means whose every round is a measurement: centres that may be published.

What is drawn. Positions are the middles of the cells of a public grid. In each round every counted
record goes to the centre nearest to it on the ground, and for each cluster the number n of records
and the sums of their x and y, in half cells from the middle of the frame, are measured together.
The new centre lies between the old one and (sum x/n, sum y/n), nearer to the old one the more the
quotient owes to noise, within the old cluster and the frame. A cluster whose noisy n is below the
noise's scale keeps its centre.

Privacy argument. Given the centres, which follow from public inputs and the noisy sums of earlier
rounds, every record adds (1, x, y) to one cluster, with |x| and |y| at most the public half side
of the frame. So each round is one measurement of `privacy.vector_sums`, of joint sensitivity 3 l,
and costs its declared epsilon; adaptive composition adds the rounds up. Which cluster a cell
belongs to depends on that cell and the centres alone (`spatial.centres.nearest`). All that is done
with the noisy sums is post-processing.

References. Blum, Dwork, McSherry and Nissim 2005 (SuLQ k-means); Su, Cao, Li, Bertino and Jin 2016
(its error, and what a round should cost).
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


def clustered(
    meter: Meter,
    labels: Sequence[str],
    counts: PrivateSparseCounts,
    grid: Grid,
    start: Centres,
) -> Centres:
    """The centres after one round of k-means for each label, from public centres on."""
    centres = start
    for label in labels:
        sums = counts.cluster_sums(grid, centres)
        noise = meter.noise(label, sums.sensitivity)
        centres = moved(centres, meter.measure_sums(label, sums), noise, grid)
    return centres


def moved(centres: Centres, sums: NDArray[np.int64], noise: DiscreteLaplace, grid: Grid) -> Centres:
    """New centres from noisy (n, sum x, sum y) int64 (k, 3), `noise` being that of n.

    A step is the noisy mean less the old centre, times t^2/(t^2 + s^2): s is the mean's standard
    deviation by noise, t half the distance to the nearest other centre, as if true means lay so
    far away. It ends where another centre becomes the nearest, for clusters hold their means.
    """
    west, south, east, north = grid.mercator_bounds
    known = sums[:, 0] * noise.rate.numerator >= noise.rate.denominator
    number = np.where(known, sums[:, 0], 1).astype(np.float64)
    half = grid.cell / 2
    step_x = np.where(known, (west + east) / 2 + half * sums[:, 1] / number - centres.x, 0.0)
    step_y = np.where(known, (south + north) / 2 - half * sums[:, 2] / number - centres.y, 0.0)
    error = half * max(grid.shape) * math.sqrt(noise.variance) / number
    share = _share_of_steps(centres, step_x, step_y, error)
    return Centres(centres.x + share * step_x, centres.y + share * step_y).clamped(grid)


def _share_of_steps(centres: Centres, step_x: Floats, step_y: Floats, error: Floats) -> Floats:
    """How much of each step (k,) to take, from 0 to 1: see `moved`."""
    if len(centres) == 1:
        return np.ones(1)
    across, along = centres.x - centres.x[:, None], centres.y - centres.y[:, None]
    squared = across**2 + along**2
    np.fill_diagonal(squared, np.inf)
    trust = squared.min(axis=1) / 4
    # Positions on a pair's midline have half the pair's squared distance as their product with it.
    towards = step_x[:, None] * across + step_y[:, None] * along
    reached = np.divide(squared / 2, towards, out=np.full_like(squared, np.inf), where=towards > 0)
    shrunk = trust / np.maximum(trust + error**2, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum(shrunk, reached.min(axis=1)))
