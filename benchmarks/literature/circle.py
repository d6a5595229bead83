"""Radius within which workers are asked, as printed by Zhu et al. 2017, section 13.3.3.

Equations 13.9 to 13.13 give r^2 h(r) = a, with h(r) = ln((e^(3cw/r) + 1)/2) and a = -ln(1 - E)/ (pi
den). This is dpgeo's circle model, solved exactly (`dpgeo.postprocess.tasks.radius`). The book
then prints two equations that do not follow from it:

Equation 13.14 has lost the factor r^2 and reads h(r) = a. Since h decreases with r, the radius
grows with the density den.

Equation 13.16 expands r^2 h(r) around r = 1, whatever the unit of length, so that the radius
depends on the unit. At high densities the radius is negative.

No private data are read: densities come from a release.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def expanded_radius(target: float, density: Floats, pull: Floats) -> Floats:
    """Return the radius by equation 13.16, in the density's unit of length.

    `target` is the task success probability E, `density` (n,) the workers in a unit of area, and
    `pull` (n,) the length c w: the willingness c times the reward w.
    """
    k = 3 * pull
    log = np.logaddexp(k, 0) - math.log(2)
    slope = 2 * log - k / (1 + np.exp(-k))
    wanted = -math.log1p(-target) / (math.pi * density)
    return np.asarray((wanted + log - k / (1 + np.exp(-k))) / slope)


def printed_radius(target: float, density: Floats, pull: Floats) -> Floats:
    """Return the radius (n,) by equation 13.14 of Zhu et al. 2017, which lacks the factor r^2."""
    wanted = -math.log1p(-target) / (math.pi * density)
    # With z = 3 pull/r, ln((e^z + 1)/2) = wanted, so z = ln(2 e^wanted - 1).
    return np.asarray(3 * pull / (wanted + np.log(2 - np.exp(-wanted))))


def circle_success(radius: Floats, density: Floats, pull: Floats) -> Floats:
    """Return the task success probability for the radius (n,): Zhu et al. 2017, equation 13.9."""
    refusal = math.log(2) - np.logaddexp(3 * pull / radius, 0)
    return np.asarray(-np.expm1(math.pi * radius**2 * density * refusal))
