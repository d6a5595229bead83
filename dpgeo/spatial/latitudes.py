"""Latitudes of Web Mercator positions by a polynomial, several times faster than exactly.

The latitude is the Gudermannian function of u = y / R, gd(u) = arctan(sinh u). It is analytic
where the imaginary part of u is less than pi/2 from zero, and in the strip up to pi/3 its modulus
is below 2.1: its real part is at most pi/2, and its imaginary part at most artanh(sin pi/3) < 1.32.
An interpolant of degree n in Chebyshev points of an interval of half-width h therefore differs
from it by at most 4 M r^-n / (r - 1), where M = 2.1, r = s + sqrt(s^2 + 1) and s = pi/3 / h: the
ellipse with the interval's ends as foci and the sum r h of its semi-axes lies in the strip
(Trefethen, Approximation Theory and Approximation Practice, 2013, theorem 8.2; the factor 4 holds
for points of the first kind, too, since each Chebyshev polynomial beyond n takes the values of one
up to n, or their negatives, or 0, in them).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from dpgeo.spatial.projection import (
    MAX_LATITUDE,
    MERCATOR_RADIUS_METRES,
    to_degrees,
    to_mercator,
)

STRIP = math.pi / 3
"""Distance from the real axis up to which MODULUS bounds the Gudermannian function."""

MODULUS = 2.1
"""Upper bound on the modulus of the Gudermannian function in the strip around the real axis."""

MAX_DEGREE = 12
"""Largest degree of a polynomial; beyond it, exact latitudes take about as long to compute."""

BEYOND = 0.1
"""Degrees beyond MAX_LATITUDE, north or south, up to which a polynomial may be valid."""


@dataclass(frozen=True, slots=True, eq=False)
class Latitudes:
    """Polynomial in t = y * `scale` + `offset`, which is from -1 to 1 in its interval.

    `terms` are its coefficients in degrees, that of the highest power first.
    """

    scale: float
    offset: float
    terms: tuple[float, ...]

    @classmethod
    def between(cls, south: float, north: float, *, error: float) -> Self | None:
        """Return the polynomial of least degree that is proven to err by at most `error` degrees.

        `south` and `north` are latitudes; what lies beyond 85.1 degrees is left out. Returns None
        if the degree would be too high.
        """
        highest = MAX_LATITUDE + BEYOND
        low, high = (
            float(to_mercator(0.0, min(max(each, -highest), highest))[1]) for each in (south, north)
        )
        half = (high - low) / 2 / MERCATOR_RADIUS_METRES
        ratio = STRIP / half + math.hypot(STRIP / half, 1)
        for degree in range(1, MAX_DEGREE + 1):
            if math.degrees(4 * MODULUS * ratio**-degree / (ratio - 1)) <= error:
                break
        else:
            return None
        chebyshev = Chebyshev.interpolate(lambda y: to_degrees(0.0, y)[1], degree, [low, high])
        powers = chebyshev.convert(kind=Polynomial, domain=[low, high], window=[-1, 1])
        scale = 2 / (high - low)
        terms = tuple(map(float, powers.coef[::-1]))
        return cls(scale=scale, offset=-1 - low * scale, terms=terms)

    def __call__(self, y: Any) -> NDArray[np.float64]:
        """Return the latitudes in degrees of `y` (n,) in Web Mercator metres.

        NaN stands for positions outside the interval.
        """
        t = np.multiply(y, self.scale)
        t += self.offset
        latitude = np.full(t.shape, self.terms[0])
        for term in self.terms[1:]:
            latitude *= t
            latitude += term
        if t.size and not max(-t.min(), t.max()) <= 1:
            latitude[~(np.abs(t) <= 1)] = np.nan
        return latitude
