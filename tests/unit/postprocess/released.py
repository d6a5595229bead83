"""Released objects small enough to check by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpgeo.core.guarantees import Counting, PureDP, Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import Content, PartitionRelease, Released
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

SQUARE = StudyArea.from_bounds(0, 0, 1, 1)
"""All cells of a small grid over it touch it."""

BAND = StudyArea.from_bounds(0, 0.45, 1, 0.55)
"""The middle row of a 3 x 3 grid over it touches it, and no other."""


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
    """Seed 004's nine cells and four partitions, free of noise.

    The source prints 51 and 53 as totals of {1, 2} and {4, 7}; its own matrix gives 31 and 73.
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
