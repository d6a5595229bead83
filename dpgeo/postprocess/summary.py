"""Key figures of a release: its total and its largest counts, each with a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer, Layer
from dpgeo.postprocess.layers.layer import Numbers


@dataclass(frozen=True, slots=True)
class Total:
    """Sum of the counts of a measured layer, with its margin and the number of counts."""

    value: int
    margin: float
    counts: int


def total(layer: Layer) -> Total:
    """Add up the counts of a measured layer; the counts must have independent noise.

    The margin of the sum is the root sum of squares of the counts' margins. It is never too narrow:
    in standard errors, the 95 % margin of a sum of n Laplace variables decreases as n grows, from
    ln 20 / sqrt 2 = 2.12 for one variable to 1.96 in the limit.
    """
    value, margin, _ = counted(layer)
    error = float(np.sqrt(np.sum(np.square(margin))))
    return Total(value=int(value.sum()), margin=error, counts=int(value.size))


def largest(layer: Layer, most: int) -> NDArray[np.intp]:
    """Return the indices of at most `most` features that stand out from the noise, largest first.

    Boxes of several cells are ranked by their count per cell, as on the map.
    """
    value = counted(layer)[0]
    significant = np.flatnonzero(_standing(layer))
    density = value[significant] / np.maximum(_sizes(layer)[significant], 1)
    order = np.argsort(-density, kind="stable")[:most]
    return significant[order]


def size(layer: Layer) -> int:
    """Return the number of cells, zones or clusters in a layer."""
    return int(_sizes(layer).sum())


def standing_out(layer: Layer) -> int:
    """Return how many cells, zones or clusters have a count that stands out from the noise.

    Some layers have one count for a whole box of cells. If it stands out, all cells of the box
    are included in the number.
    """
    return int(_sizes(layer)[_standing(layer)].sum())


def _standing(layer: Layer) -> NDArray[np.bool_]:
    """Return a mask (n,) of the features that stand out from the noise; a count of 0 never does."""
    value, _, threshold = counted(layer)
    return np.asarray((value >= threshold) & (value > 0))


def _sizes(layer: Layer) -> NDArray[np.int64]:
    """Return the number (n,) of cells in each feature, or 1 for features that are not boxes."""
    return layer.cells if isinstance(layer, BoxLayer) else np.ones(len(layer), dtype=np.int64)


def counted(layer: Layer) -> tuple[Numbers, NDArray[np.float64], NDArray[np.float64]]:
    """Return a layer's values (n,), margins (n,) and thresholds (n,).

    Raises ValueError if the layer has no counts.
    """
    if layer.value is None or layer.margin is None or layer.threshold is None:
        raise ValueError(f"The layer {layer.name} has no counts with margins.")
    return layer.value, layer.margin, layer.threshold
