"""Overlaps among shapes."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

SLIVER = 1e-6
"""Shapes that overlap by less than this share of the smaller one count as disjoint.

Published borders are imprecise, so adjacent zones often overlap slightly.
"""


def overlapping_pairs(
    shapes: NDArray[np.object_], tree: shapely.STRtree | None = None
) -> NDArray[np.int64]:
    """Return the pairs (m, 2) of shapes that overlap, the smaller index first.

    `tree` is a spatial index of the shapes, if there is one already.
    """
    first, second = (tree or shapely.STRtree(shapes)).query(shapes, predicate="intersects")
    pair = first < second
    first, second = first[pair], second[pair]
    shared = shapely.area(shapely.intersection(shapes[first], shapes[second]))
    smaller = np.minimum(shapely.area(shapes[first]), shapely.area(shapes[second]))
    pairs = np.column_stack([first, second])[shared > SLIVER * smaller]
    return np.asarray(pairs, dtype=np.int64)
