"""Released objects small enough to check by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpgeo.core.guarantees import Counting, PureDP, Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import Content, PartitionRelease, Released, TreeRelease
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

SQUARE = StudyArea.from_bounds(0, 0, 1, 1)
"""A study area that intersects every cell of a small grid laid over it."""

BAND = StudyArea.from_bounds(0, 0.45, 1, 0.55)
"""A study area that intersects only the middle row of a 3 x 3 grid laid over its square frame."""


def released(content: Content, area: StudyArea = SQUARE) -> Released:
    return Released(
        mechanism="test",
        parameters={},
        software="test",
        about={},
        area=area,
        counting=Counting.PEOPLE,
        bound=1,
        guarantee=PureDP(Fraction(1), Unit.PERSON),
        trace=(),
        content=content,
    )


def worked_example(answers: str, area: StudyArea = SQUARE) -> PartitionRelease:
    """Return the nine cells and four partitions of DPCube's published example, without noise.

    The paper prints 51 and 53 as the totals of {1, 2} and {4, 7}, but its own matrix gives 31 and
    73.
    """
    return PartitionRelease(
        grid=Grid.over(area, 3),
        counts=np.array([[10, 21, 37], [20, 0, 0], [53, 0, 0]]),
        noise=DiscreteLaplace(Fraction(1), 1),
        boxes=np.array([[0, 1, 0, 2], [0, 1, 2, 3], [1, 3, 0, 1], [1, 3, 1, 3]], dtype=np.int32),
        totals=np.array([31, 37, 73, 0]),
        totals_noise=DiscreteLaplace(Fraction(1, 2), 1),
        answers=answers,
    )


def small_tree(*, measured: tuple[bool, ...] = (True,) * 5) -> TreeRelease:
    """Return a tree over three by three cells.

    Node 0 is the whole grid. Its children are node 1, the first row, and node 2, the other two
    rows. The children of node 2 are node 3, its first column, and node 4, its other two columns.
    """
    counts = np.array([100, 40, 50, 12, 30])
    return TreeRelease(
        grid=Grid.over(SQUARE, 3),
        boxes=np.array(
            [[0, 3, 0, 3], [0, 1, 0, 3], [1, 3, 0, 3], [1, 3, 0, 1], [1, 3, 1, 3]], dtype=np.int32
        ),
        level=np.array([0, 1, 1, 2, 2], dtype=np.int32),
        parent=np.array([-1, 0, 0, 2, 2], dtype=np.int32),
        measured=np.array(measured),
        counts=np.where(measured, counts, 0),
        noises=tuple(DiscreteLaplace(Fraction(1, share), 2) for share in (2, 4, 8)),
    )
