"""A view of people in a triangular study area, for tests of mechanisms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.released import TreeRelease
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_sums, summed_area
from tests.views import ArrayView

TRIANGLE = StudyArea.from_geojson(
    {"type": "Polygon", "coordinates": [[[10, 50], [10.2, 50], [10, 50.1], [10, 50]]]}
)


def view(people: int = 4000, bound: int = 2) -> ArrayView:
    """Return a view of people in two clusters in the triangle, with three positions each."""
    random = np.random.default_rng(9)
    heart = random.integers(0, 2, 3 * people)
    spread = random.normal(0, 0.004, (2, 3 * people))
    return ArrayView(
        area=TRIANGLE,
        longitude=np.where(heart, 10.02, 10.1) + spread[0],
        latitude=np.where(heart, 50.06, 50.02) + spread[1],
        persons=np.repeat(np.arange(people), 3),
        unit=Unit.PERSON,
        counting=Counting.PEOPLE,
        bound=bound,
    )


def true_counts(tree: TreeRelease, seen: ArrayView) -> NDArray[np.int64]:
    """Return the exact bounded counts of a tree's nodes, in the tree's order."""
    cells = seen.histogram(tree.grid)._read_by_meter()
    return box_sums(summed_area(cells), tree.boxes)
