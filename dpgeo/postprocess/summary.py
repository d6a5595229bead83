"""What a release says in figures: its total and its largest counts, each with a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer, Layer
from dpgeo.postprocess.layers.layer import Numbers


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a measured layer, half the width of its 95 % interval, and how many it adds."""

    value: int
    margin: float
    counts: int


def total(layer: Layer) -> Total:
    """The sum of the counts of a measured layer, each of which carries its own noise.

    The margin of a sum of n independent counts is their margins' root sum of squares: never too
    narrow, since a sum of Laplace variables has a lighter tail, in standard errors, the more
    there are (ln 20 / sqrt 2 = 2.12 for one, 1.96 in the limit).
    """
    value, margin, _ = counted(layer)
    error = float(np.sqrt(np.sum(np.square(margin))))
    return Total(value=int(value.sum()), margin=error, counts=int(value.size))


def largest(layer: Layer, most: int) -> NDArray[np.intp]:
    """The features that stand out from noise, crowded first: at most `most` of them.

    Boxes of many cells are ranked by their count per cell, as the map colours them.
    """
    value = counted(layer)[0]
    standing = np.flatnonzero(_standing(layer))
    density = value[standing] / np.maximum(_sizes(layer)[standing], 1)
    order = np.argsort(-density, kind="stable")[:most]
    return standing[order]


def size(layer: Layer) -> int:
    """How many cells, zones or clusters of the study area a layer tells of."""
    return int(_sizes(layer).sum())


def standing_out(layer: Layer) -> int:
    """How many of them are, or lie in boxes that are, above what noise reaches."""
    return int(_sizes(layer)[_standing(layer)].sum())


def _standing(layer: Layer) -> NDArray[np.bool_]:
    """Which features (n,) stand out; nothing does where it is not even there."""
    value, _, threshold = counted(layer)
    return np.asarray((value >= threshold) & (value > 0))


def _sizes(layer: Layer) -> NDArray[np.int64]:
    """Cells in each feature (n,); 1 where features are not boxes of them."""
    return layer.cells if isinstance(layer, BoxLayer) else np.ones(len(layer), dtype=np.int64)


def counted(layer: Layer) -> tuple[Numbers, NDArray[np.float64], NDArray[np.float64]]:
    """Value, margin and threshold, (n,) each. Raises ValueError where a layer has none."""
    if layer.value is None or layer.margin is None or layer.threshold is None:
        raise ValueError(f"The layer {layer.name} has no counts with margins.")
    return layer.value, layer.margin, layer.threshold
