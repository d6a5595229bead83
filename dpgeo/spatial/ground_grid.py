"""A public grid of points on the sphere, so many metres apart: where positions are snapped to.

Rows are circles of latitude a step apart, the equator among them. A row of circumference c has
floor(c / step) points, evenly spaced, one of them on the prime meridian; the last rows have six at
most. So the nearest points of one row are at least 0.6 steps apart (the chord between neighbours
of n >= 2 points on a circle of circumference c >= n steps is (c/pi) sin(pi/n) >= 2 steps/pi),
points of different rows at least one step, and no position is further than 0.75 steps from the
point it is snapped to, up to latitudes where rows have many points.
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
"""Any two points of the grid are at least so many steps apart."""

FURTHEST_SNAP = 0.75
"""No position between 85 degrees north and south is snapped further than so many steps."""


STEPS = 100
"""Steps of the public grid in a radius, where that makes them a metre or more."""


def grid_step(radius: int) -> int:
    """Metres between the points that positions are snapped to, for a radius."""
    return max(1, radius // STEPS)


def snapped_apart(radius: int) -> Fraction:
    """How many metres apart two positions can be once they are snapped, that are a radius apart.

    The grid is that of the radius, or a finer one.
    """
    return radius + 2 * Fraction(FURTHEST_SNAP) * grid_step(radius)


@dataclass(frozen=True, slots=True)
class GroundGrid:
    """The grid of a step in metres. Angles are radians on the sphere of the earth's mean radius."""

    step: int

    def __post_init__(self) -> None:
        if self.step < 1:
            raise ValueError("A grid needs a step of at least one metre.")

    def snap(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """The grid's points (n,) nearest in row, then in column; longitudes from -pi to pi.

        The equator's side of a tie is not defined. Any angles are taken, also beyond 180 degrees.
        """
        row_angle = self.step / EARTH_RADIUS_METRES
        last = math.floor(math.pi / 2 / row_angle)
        snapped = np.clip(np.rint(latitude / row_angle), -last, last) * row_angle
        # The circumference of the row in steps; one point at the least.
        points = np.maximum(np.floor(np.cos(snapped) * (2 * math.pi / row_angle)), 1)
        column_angle = 2 * math.pi / points
        column = np.rint(longitude / column_angle)
        wrapped = column - points * np.floor(column / points + 0.5)
        return wrapped * column_angle, snapped
