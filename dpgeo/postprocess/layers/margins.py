"""Margins of inferred cells, by a rule whose coverage was measured on generated maps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise

MIN_MARGIN = 0.1
"""Smallest calibrated margin, in units of the noise scale."""

WHOLE = 1.0
"""No margin of a cell is below this: no count can be known better than to one record.

Without this limit, cells that looked empty had margins of 0.1 to 0.8 at epsilon 1, though some of
them held one record.
"""

STEPS_TO_DOUBLE = 8
"""Margins are rounded up to powers of 2^(1/STEPS_TO_DOUBLE), because files with few distinct
margins compress well.
"""

Floats = NDArray[np.float64]


def calibrated(
    value: Floats,
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    noise: CountNoise,
    per_root: float,
) -> Floats:
    """Return the margins (n,) of cells: at most `per_root` sqrt(value) + MIN_MARGIN.

    `value` (n,) holds the cells' values, not negative; `sizes` (n,) the number of cells in each
    cell's partition, and `counts` (n,) that partition's noisy count. In the formula, value and
    margin are in units of the noise scale. A second limit needs no calibration. In 95 of 100 draws,
    the cell's true count lies in this interval: if the cell is the whole partition, the noisy count
    plus or minus its margin; otherwise from 0 to the partition's noisy count plus the one-sided
    95 % quantile of its noise. The margin is at most the distance from the value to the further end
    of that interval.
    """
    scale = noise.scale
    most = np.maximum(counts + noise.margin(0.9), 0)
    guaranteed = np.where(
        sizes == 1, np.abs(value - counts) + noise.margin(), np.maximum(value, most - value)
    )
    from_value = per_root * np.sqrt(value * scale) + MIN_MARGIN * scale
    margin = np.maximum(np.minimum(guaranteed, from_value), max(MIN_MARGIN * scale, WHOLE))
    return np.asarray(np.exp2(np.ceil(np.log2(margin) * STEPS_TO_DOUBLE) / STEPS_TO_DOUBLE))
