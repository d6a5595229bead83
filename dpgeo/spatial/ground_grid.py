"""Public grid of points on the sphere, to which positions are snapped.

The grid's rows are circles of latitude one step apart; one of them is the equator. A row of
circumference c has floor(c / step) evenly spaced points, one of them on the prime meridian. The
rows next to the poles have at most six points.

Distances. Neighbouring points of a row are at least 0.6 steps apart: with n >= 2 points on a circle
of circumference c >= n steps, the chord between two neighbours is (c/pi) sin(pi/n), which is at
least 2/pi steps. Points of different rows are at least one step apart. Snapping moves a position by
at most 0.75 steps, except close to the poles, where rows have few points and it can move further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.projection import EARTH_RADIUS_METRES

Floats = NDArray[np.float64]

NEAREST = 0.6
"""Smallest distance between two points of the grid, in steps."""

FURTHEST_SNAP = 0.75
"""Largest distance, in steps, by which snapping moves a position within 85° of the
equator.
"""


STEPS = 100
"""Steps of the grid for perturbed positions in one radius of a level; none is below a metre."""

INPUT_STEPS = 200
"""Steps of the grid for true positions in one radius of a level.

Snapping two positions adds at most 1.5 steps to their distance, which is less than 1 % of the
radius.
"""


def grid_step(radius: int) -> int:
    """Return the step in metres of the output grid, to which perturbed positions are snapped."""
    return max(1, radius // STEPS)


def input_step(radius: int) -> int:
    """Return the step in millimetres of the input grid, to which true positions are snapped."""
    return radius * 1000 // INPUT_STEPS


def snapped_apart(metres: Fraction | int, millimetres: int) -> Fraction:
    """Return an upper bound on the distance in metres between two positions after snapping.

    `metres` is their distance before snapping, and `millimetres` is the step of the grid.
    """
    return metres + 2 * Fraction(FURTHEST_SNAP) * Fraction(millimetres, 1000)


@dataclass(frozen=True, slots=True)
class GroundGrid:
    """Grid of points on the sphere; `step` is in metres. The class computes with angles in
    radians.
    """

    step: float

    def __post_init__(self) -> None:
        if self.step < 0.001:
            raise ValueError("A grid needs a step of at least a millimetre.")

    def snap(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Snap positions (n,) to the nearest row, then to the nearest point of that row.

        A position halfway between two rows or two points may be snapped to either of them.
        Longitudes may have any value, including values beyond 180 degrees.
        """
        row_angle = self.step / EARTH_RADIUS_METRES
        last = math.floor(math.pi / 2 / row_angle)
        snapped = np.clip(np.rint(latitude / row_angle), -last, last) * row_angle
        # A row has one point for each whole step that fits in its circumference, but at least one
        # point.
        points = np.maximum(np.floor(np.cos(snapped) * (2 * math.pi / row_angle)), 1)
        column_angle = 2 * math.pi / points
        column = np.rint(longitude / column_angle)
        wrapped = column - points * np.floor(column / points + 0.5)
        return wrapped * column_angle, snapped
