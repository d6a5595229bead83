"""Radius within which workers are asked, as printed by Zhu et al. 2017, section 13.3.3.

Their model, equations 13.9 to 13.13: the density den is uniform in the circle, all n = pi r^2 den
workers live at the mean distance 2r/3, and E = 1 - (1 - theta)^n. Hence r^2 h(r) = a, with h(r) =
ln((e^(3cw/r) + 1)/2) and a = -ln(1 - E)/(pi den); `circle_radius` solves it exactly. n need not be
an integer: even if fewer than one worker is expected, the model can predict certain success. The
book then prints two equations that do not follow from it:

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

PRECISION, MAX_STEPS = 1e-12, 80
"""Relative precision to which a radius is computed, and the largest number of Newton steps."""


def circle_radius(needed: float, density: Floats, pull: Floats) -> Floats:
    """Solve r^2 ln((exp(3 a/r) + 1)/2) = needed/(pi den) for r, with a = c w.

    This is the equation of the module docstring: `needed` is -ln(1 - E), `density` (n,) holds den,
    and `pull` (n,) holds a. With u = r/a, the equation is g(u) = K, where g(u) = u^2 ln((exp(3/u) +
    1)/2) and K = needed/(pi den a^2). Since ln((e^x + 1)/2) is at most x and at most x/2 + x^2/8,
    the root is at least K/3 and at least (2 K - 9/4)/3. Newton's method starts from the larger of
    these bounds. Since g is increasing and concave, its steps approach the root from below.
    """
    size = needed / (math.pi * density * pull**2)
    return np.asarray(_circle_ratio(size) * pull)


def _circle_ratio(size: Floats) -> Floats:
    """Solve g(u) = `size` for u by Newton's method; g is defined in `circle_radius`.

    `size` and the result have shape (n,).
    """
    u = np.maximum(size / 3, (2 * size - 2.25) / 3)
    for _ in range(MAX_STEPS):
        x = 3 / u
        fall = np.expm1(-x)
        log = x + np.log1p(fall / 2)
        step = (size - u * u * log) / (2 * u * log - 3 / (2 + fall))
        u += step
        if np.all(np.abs(step) <= PRECISION * u):
            break
    return u


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
