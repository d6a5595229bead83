"""What a release says in figures: its total and its largest counts, each with a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a measured layer, half the width of its 95 % interval, and how many it adds."""

    value: int
    margin: float
    counts: int


def total(layer: BoxLayer) -> Total:
    """The sum of the counts of a measured layer, each of which carries its own noise.

    The margin of a sum of n independent counts is their margins' root sum of squares: never too
    narrow, since a sum of Laplace variables has a lighter tail, in standard errors, the more
    there are (ln 20 / sqrt 2 = 2.12 for one, 1.96 in the limit).
    """
    margin = float(np.sqrt(np.sum(np.square(layer.margin))))
    return Total(value=int(layer.value.sum()), margin=margin, counts=int(layer.value.size))


def largest(layer: BoxLayer, most: int) -> NDArray[np.intp]:
    """The boxes that stand out from noise, crowded first: at most `most` of them.

    Boxes of many cells are ranked by their count per cell, as the map colours them.
    """
    standing = np.flatnonzero(layer.value >= layer.threshold)
    density = layer.value[standing] / np.maximum(layer.cells[standing], 1)
    order = np.argsort(-density, kind="stable")[:most]
    return standing[order]


def cells_standing_out(layer: BoxLayer) -> int:
    """How many cells of the study area lie in boxes that stand out from noise."""
    return int(layer.cells[layer.value >= layer.threshold].sum())
