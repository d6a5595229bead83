"""Public noise distributions, with their margins of error and thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.spatial.ground_grid import NEAREST, snapped_apart
from dpgeo.spatial.projection import EARTH_RADIUS_METRES

MIN_RATE = Fraction(1, 1 << 56)
"""Smallest ratio epsilon / sensitivity; at this ratio, the noise reaches 2^63 with probability
e^-128."""

MAX_SQUARE_SCALE = 1 << 80
"""Limit of a discrete Gaussian's parameter s, so that proposals of its sampler fit 64 bits."""

SUMMED_SCALES = 256
"""Largest scale of discrete Gaussian noise whose probabilities are added up one by one."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Integer noise with P(k) = (1-a)/(1+a) a^|k| and a = exp(-epsilon/sensitivity).

    Adding independent noise of this kind to each entry of an integer vector with that L1
    sensitivity is epsilon-differentially private (Ghosh, Roughgarden and Sundararajan 2009).
    """

    epsilon: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or not isinstance(self.sensitivity, int):
            raise TypeError("Noise needs an exact fraction and a whole number.")
        if self.epsilon <= 0 or self.sensitivity < 1:
            raise ValueError("Noise needs a positive epsilon and a sensitivity of at least 1.")
        if self.rate < MIN_RATE:
            raise InvalidInput(
                "Is too small for this bound: noisy counts would not fit 64 bits. Raise epsilon or "
                "lower the bound.",
                field="epsilon",
            )

    @property
    def rate(self) -> Fraction:
        """The rate epsilon / sensitivity; P(k) is proportional to exp(-rate |k|)."""
        return self.epsilon / self.sensitivity

    @property
    def variance(self) -> float:
        """The variance 2a / (1-a)^2 with a = exp(-rate), computed without cancellation."""
        rate = float(self.rate)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    @property
    def scale(self) -> float:
        """The scale 1/rate of continuous Laplace noise of this rate; its variance is 2 scale^2."""
        return 1 / float(self.rate)

    def above(self, value: int) -> float:
        """Return P(noise >= value) = a^value/(1+a) for value >= 1, with a = exp(-rate)."""
        rate = float(self.rate)
        return math.exp(-rate * value) / (1 + math.exp(-rate))

    def tail(self, chance: float) -> float:
        """Return the number of standard deviations that noise exceeds with probability `chance`.

        It is ln(1/(2 chance))/sqrt(2). A sum of noises exceeds that number of its own standard
        deviations with at most this probability, since tails become lighter with more terms.
        """
        return math.log(1 / (2 * chance)) / math.sqrt(2)

    def reach(self, chance: float) -> int:
        """Return the smallest k with P(noise >= k | noise >= 0) = exp(-rate k) <= `chance`."""
        return math.ceil(math.log(1 / chance) / float(self.rate))

    def difference_beyond(self, value: int) -> float:
        """Return P(|X - Y| > value) for independent noises X and Y, and value >= 0.

        With a = exp(-rate) and b = (1 + a^2)/(1 - a^2), P(X - Y = k) is ((1-a)/(1+a))^2 a^|k| (|k|
        + b). The sum over |k| > c is 2 a^(c+1) (1-a)/(1+a)^2 (c + 1 + b + a/(1-a)).
        """
        rate = float(self.rate)
        a, rest = math.exp(-rate), -math.expm1(-rate)
        b = (1 + a * a) / (rest * (1 + a))
        return 2 * math.exp(-rate * (value + 1)) * rest / (1 + a) ** 2 * (value + 1 + b + a / rest)

    def sum_threshold(self, terms: int) -> int:
        """Return a value that a sum of `terms` noises reaches with probability at most 0.001.

        For several terms, a Chernoff bound for Laplace variables gives such a value for each tilt
        (exponent) between 0 and 1; of 99 tilts, the smallest value is returned.
        """
        if terms == 1:
            return self.threshold()
        rate = float(self.rate)
        tilts = np.linspace(0.01, 0.99, 99)
        # A sum S of Laplace variables X has P(S >= t) <= exp(-tilt rate t) E exp(tilt rate S),
        # where E exp(u X) = 1/(1 - (u/rate)^2). The right-hand side is 0.001 at t = `reach`.
        reach = (terms * -np.log1p(-(tilts**2)) + np.log(1000)) / (tilts * rate)
        return int(np.ceil(reach.min()))

    def margin(self, confidence: float = 0.95) -> int:
        """Return the smallest integer m with P(|noise| <= m) >= confidence, up to rounding."""
        # P(|noise| > m) = 2 a^(m+1) / (1+a), with a = exp(-rate)
        return self._least(math.log((1 - confidence) / 2)) - 1

    def threshold(self, chance: float = 1e-3) -> int:
        """Return the smallest t >= 1 that noise alone reaches with probability <= `chance`."""
        # P(noise >= t) = a^t / (1+a) for t >= 1, with a = exp(-rate)
        return max(1, self._least(math.log(chance)))

    def list_threshold(self, cells: int, percent: int) -> int:
        """Return the threshold max(1, ceil(eta ln(cells)/rate)) with eta = percent/100.

        Cells whose noisy counts reach it are listed. `rate` depends on the contribution bound, as
        the sensitivity does. If all `cells` are empty, about cells^(1 - eta)/2 of them are expected
        to reach the threshold.
        """
        return max(1, math.ceil(Fraction(percent, 100) * Fraction(math.log(cells)) / self.rate))

    def _least(self, log_chance: float) -> int:
        """Return the smallest k >= 0 with a^k / (1+a) <= exp(log_chance), up to rounding.

        a = exp(-rate), as in the class docstring.
        """
        rate = float(self.rate)
        log_norm = math.log1p(math.exp(-rate))
        k = max(0, math.floor(-(log_chance + log_norm) / rate))
        while -rate * k - log_norm > log_chance + 1e-12:
            k += 1
        return k

    def to_json(self) -> dict[str, str | int]:
        """Return epsilon, as an exact fraction, and the sensitivity as a JSON object."""
        return {"epsilon": str(self.epsilon), "sensitivity": self.sensitivity}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the noise distribution described by `document`, which `to_json` made."""
        return cls(Fraction(document["epsilon"]), int(document["sensitivity"]))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Integer noise with P(k) proportional to exp(-k^2/(2 s)), s = squared_sensitivity/(2 rho).

    Adding independent noise of this kind to each entry of an integer vector is rho-zCDP if the
    squared changes of all entries add up to at most `squared_sensitivity` between neighbouring
    datasets (Canonne, Kamath and Steinke 2020, theorem 14; `privacy.gaussian_sampler` has the
    proof).
    """

    rho: Fraction
    squared_sensitivity: int

    def __post_init__(self) -> None:
        if not isinstance(self.rho, Fraction) or not isinstance(self.squared_sensitivity, int):
            raise TypeError("Noise needs an exact fraction and a whole number.")
        if self.rho <= 0 or self.squared_sensitivity < 1:
            raise ValueError("Noise needs a positive rho and a sensitivity of at least 1.")
        if self.square_scale >= MAX_SQUARE_SCALE:
            raise InvalidInput(
                "Is too small for this bound: noisy counts would not fit 64 bits. Raise epsilon or "
                "lower the bound.",
                field="epsilon",
            )

    @property
    def square_scale(self) -> Fraction:
        """The parameter s = squared_sensitivity/(2 rho), exactly.

        The variance is at most s, and less only if s is small.
        """
        return self.squared_sensitivity / (2 * self.rho)

    @property
    def variance(self) -> float:
        """The variance: s (`square_scale`) if s >= 2, to within a relative 2 * 10^-15.

        For smaller s, it is the sum of k^2 P(k) over the integers k from -64 to 64.
        """
        if self.square_scale >= 2:
            return float(self.square_scale)
        values, weights = self._weights(64)
        return float(2 * (values**2 * weights).sum())

    @property
    def scale(self) -> float:
        """The scale of continuous Laplace noise with the same variance, 2 scale^2."""
        return math.sqrt(self.variance / 2)

    def tail(self, chance: float) -> float:
        """Return how many standard deviations a sum of noises exceeds with probability `chance`.

        It is a quantile of the normal distribution, which the distribution of a sum nearly equals.
        """
        return NormalDist().inv_cdf(1 - chance)

    def reach(self, chance: float) -> int:
        """Return the smallest k >= 1 with P(noise >= k | noise >= 0) <= `chance`."""
        not_negative = (1 + self._at_zero()) / 2
        return self._least(lambda above: above <= chance * not_negative)

    def difference_beyond(self, value: int) -> float:
        """Return P(|X - Y| > value) for independent noises X and Y, and value >= 0.

        P(X - Y = k) is proportional to exp(-k^2/(4 s)) times the sum of exp(-(j - k/2)^2/s) over
        all integers j, which is A for even k and B for odd k. For s of 2 or more, A and B differ by
        a relative 2 * 10^-8 at most, and the difference is taken as noise with the parameter 2 s.
        """
        if self.square_scale >= 2:
            return 2 * DiscreteGaussian(self.rho, 2 * self.squared_sensitivity).above(value + 1)
        s = float(self.square_scale)
        j = np.arange(-64.0, 65)
        parts = np.exp(-(j**2) / s).sum(), np.exp(-((j + 0.5) ** 2) / s).sum()
        k = np.arange(129)
        weights = np.exp(-(k**2) / (4 * s)) * np.where(k % 2, parts[1], parts[0])
        total = 2 * weights.sum() - weights[0]
        return float(2 * weights[k > value].sum() / total)

    def sum_threshold(self, terms: int) -> int:
        """Return a value that a sum of `terms` noises reaches with probability at most 0.001.

        The sum is distributed nearly like a single noise with the parameter s times `terms`; for
        small s, the sum varies less than that noise.
        """
        return DiscreteGaussian(self.rho, terms * self.squared_sensitivity).threshold()

    def list_threshold(self, cells: int, percent: int) -> int:
        """Return the smallest T >= 1 with P(noise >= T) <= cells^-eta / 2, for eta = percent/100.

        Cells whose noisy counts reach T are listed. As with Laplace noise, about
        cells^(1 - eta)/2 of `cells` empty cells are expected to reach it.
        """
        return self.threshold(float(cells) ** (-percent / 100) / 2)

    def margin(self, confidence: float = 0.95) -> int:
        """Return the smallest integer m with P(|noise| <= m) >= confidence, up to rounding."""
        return self._least(lambda above: 2 * above <= 1 - confidence) - 1

    def threshold(self, chance: float = 1e-3) -> int:
        """Return the smallest t >= 1 that noise alone reaches with probability <= `chance`."""
        return self._least(lambda above: above <= chance)

    def above(self, value: int) -> float:
        """Return P(noise >= value) for value >= 1, up to rounding.

        For scales sqrt(s) up to SUMMED_SCALES, the probabilities are added up. For larger scales,
        the sum is approximated by the tail of a normal distribution from value - 1/2 on, corrected
        by the first term of the Euler-Maclaurin formula for midpoints; u is (value - 1/2)/sqrt(s).
        The next term is below 10^-10.
        """
        scale = math.sqrt(self.square_scale)
        if scale <= SUMMED_SCALES:
            values, weights = self._weights(40 * (math.ceil(scale) + 1))
            return float(weights[values >= value].sum())
        u = (value - 0.5) / scale
        density = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        return math.erfc(u / math.sqrt(2)) / 2 - u * density / (24 * float(self.square_scale))

    def _at_zero(self) -> float:
        """Return P(noise = 0)."""
        if self.square_scale >= 2:
            # The sum of exp(-k^2/(2 s)) over all integers is sqrt(2 pi s) to within a relative
            # 2 exp(-2 pi^2 s), which is below 2 * 10^-17.
            return 1 / math.sqrt(2 * math.pi * self.square_scale)
        return 1 - 2 * self.above(1)

    def _weights(self, largest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the integers k = 1, ..., `largest` and P(noise = k) for each, float64."""
        values = np.arange(1.0, largest + 1)
        weights = np.exp(-(values**2) / (2 * float(self.square_scale)))
        return values, weights / (1 + 2 * weights.sum())

    def _least(self, small: Callable[[float], bool]) -> int:
        """Return the smallest value >= 1 for which `small(P(noise >= value))` is true."""
        low, high = 0, 40 * (math.isqrt(math.ceil(self.square_scale)) + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if small(self.above(middle)) else (middle, high)
        return high

    def to_json(self) -> dict[str, str | int]:
        """Return rho, as an exact fraction, and the squared sensitivity as a JSON object."""
        return {"rho": str(self.rho), "squared_sensitivity": self.squared_sensitivity}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the noise distribution described by `document`, which `to_json` made."""
        return cls(Fraction(document["rho"]), int(document["squared_sensitivity"]))


WGS84_STRETCH = Fraction(10057, 10000)
"""Upper bound on the ratio of a path's length on the mean sphere to its length on WGS84.

The sphere's radius is at most 1.00562 times the ellipsoid's radius of curvature along a meridian
(6,335,439 m at the equator). Along a parallel the ratio is smaller, so the bound holds for any
path.
"""

PLACEMENT_ULPS = 128
"""Upper bound on the rounding error in placing a perturbed point, in units of 2^-53 Earth radii.

It covers angles, sines, cosines, arcs and the nearest grid point (see `PlanarLaplace`).
"""


@dataclass(frozen=True, slots=True)
class PlanarLaplace:
    """Noise for positions, with density proportional to exp(-rate * metres) on the sphere.

    `epsilon`, in epsilon per WGS84 metre, is declared and charged for all reports of one privacy
    unit together. Each of `sensitivity` reports gets an equal share, which is the property
    `declared`. Positions are snapped to a public `GroundGrid` of `input_step` millimetres,
    perturbed, and snapped to a second grid of `step` metres.

    The guarantee is for positions as reported. Snapping moves a position by at most 0.75 input
    steps, so two positions at distance d are at most d + 1.5 input steps apart after snapping. For
    every d, the odds change by at most exp(declared (d + 1.5 input steps)) per report. (Two
    positions that are snapped to the same point cannot be distinguished at all. A bound in d alone
    cannot hold, since two positions on either side of an edge of the grid may be arbitrarily
    close.) This holds between 85 degrees north and 85 degrees south, where all study areas lie.
    Nearer to the poles a row may have a single point; there, snapping moves a position by at most
    1.25 input steps, and two positions by at most 2.5 together.

    Finite precision adds a correction. Let e be the largest distance between a computed point and
    the ideal point. It is at most PLACEMENT_ULPS units of 2^-53 of the Earth's radius plus 16 units
    of 2^-53 of the scale 1/rate. The former cover errors of the angle (13 units at the antipode),
    of sines, cosines and arcs (32) and of finding the nearest grid point (16); the latter cover
    errors of the logarithm. Let C be the region of points that are snapped to one output. A
    computed point lies in C only if the ideal point lies in C widened by e, and it certainly lies
    in C if the ideal point lies in C narrowed by e. C is at least 0.6 and at most 1.5 steps wide.
    Widening therefore adds at most a fraction eta = (7 e/step) exp(2.2 rate step) of its mass: 7
    bounds the ratio of circumference to area in steps, and the exponential bounds the density at
    the rim relative to the middle. 2^-50 is added to eta for rounding in the acceptance test. The
    odds of any output thus change by at most a factor of (1 + eta)/(1 - eta) beyond the ideal odds
    (cf. Andres et al. 2013, theorem 4.1). Two different snapped positions are at least 0.6 input
    steps apart, so the additional loss per metre is at most ln((1 + eta)/(1 - eta))/(0.6 input
    steps), which is the property `correction`. The sampler uses the rate (declared -
    correction)/WGS84_STRETCH.

    Raises InvalidInput (field "level") if the correction is at least half of `declared`.
    """

    epsilon: Fraction
    sensitivity: int
    step: int
    input_step: int

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or min(self.sensitivity, self.step, self.input_step) < 1:
            raise ValueError("Points need a positive epsilon, reports and steps.")
        if not self.correction < float(self.declared) / 2:
            if self._growth > 1:
                raise InvalidInput(
                    "Is too large for this radius: its noise cannot be computed in floating "
                    "point; lower it, or choose a larger radius.",
                    field="level",
                )
            raise InvalidInput(
                "Is too small for this radius: its noise cannot be computed in floating point; "
                "raise it.",
                field="level",
            )

    @property
    def declared(self) -> Fraction:
        """Declared epsilon per WGS84 metre for one report."""
        return self.epsilon / self.sensitivity

    @property
    def snapping(self) -> float:
        """Step in metres of the grid to which positions are snapped before they are perturbed."""
        return self.input_step / 1000

    def snapped_apart(self, metres: Fraction | int) -> Fraction:
        """Return how far apart, in metres, two positions `metres` apart can be after snapping."""
        return snapped_apart(metres, self.input_step)

    def loss_within(self, metres: Fraction | int) -> Fraction:
        """Return the largest log-ratio of an output's odds for two positions `metres` apart."""
        return self.declared * self.snapped_apart(metres)

    @property
    def _growth(self) -> float:
        """Upper bound on the log-ratio of noise densities at two points snapped to one output."""
        return 2.2 * float(self.declared) * self.step

    @property
    def correction(self) -> float:
        """Upper bound on the privacy loss, in epsilon per metre, that finite precision adds."""
        rate = float(self.declared)
        error = (PLACEMENT_ULPS * EARTH_RADIUS_METRES + 16 / rate) * 2**-53
        eta = 7 * error / self.step * math.exp(min(self._growth, 700)) + 2**-50
        if eta >= 0.5:
            return math.inf
        return (math.log1p(eta) - math.log1p(-eta)) / (NEAREST * self.snapping)

    @property
    def rate(self) -> float:
        """Rate of the sampler, per metre on the sphere, rounded down."""
        return (float(self.declared) - self.correction) / float(WGS84_STRETCH) * (1 - 2**-40)

    @property
    def axis_deviation(self) -> float:
        """Standard deviation of displacements along one axis, in metres, ignoring curvature."""
        return math.sqrt(3) / self.rate

    def radius(self, share: float) -> float:
        """Return the radius in metres within which a fraction `share` of displacements lies.

        For a displacement r and the sphere's radius R, integration by parts gives P(r > s) =
        (exp(-rate s) (rate R sin(s/R) + cos(s/R)) + exp(-rate pi R)) / (1 + exp(-rate pi R)). The
        s at which this is 1 - share is found by bisection, to a millimetre.
        """
        low, high = 0.0, math.pi * EARTH_RADIUS_METRES
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (middle, high) if self._beyond(middle) > 1 - share else (low, middle)
        return high

    def _beyond(self, metres: float) -> float:
        angle, scaled = metres / EARTH_RADIUS_METRES, self.rate * EARTH_RADIUS_METRES
        end = math.exp(-scaled * math.pi)
        tail = math.exp(-self.rate * metres) * (scaled * math.sin(angle) + math.cos(angle))
        return (tail + end) / (1 + end)

    def to_json(self) -> dict[str, str | int]:
        """Return the fields that define the distribution, with epsilon as an exact fraction."""
        return {
            "epsilon": str(self.epsilon),
            "sensitivity": self.sensitivity,
            "step": self.step,
            "input_step": self.input_step,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the noise distribution described by `document`, which `to_json` made."""
        steps = int(document["step"]), int(document["input_step"])
        return cls(Fraction(document["epsilon"]), int(document["sensitivity"]), *steps)


CountNoise = DiscreteLaplace | DiscreteGaussian

Noise = CountNoise | PlanarLaplace


def noise_from_json(document: dict[str, Any]) -> Noise:
    """Return the noise described by a document that `to_json` of one of the distributions made."""
    if "step" in document:
        return PlanarLaplace.from_json(document)
    return count_noise_from_json(document)


def count_noise_from_json(document: dict[str, Any]) -> CountNoise:
    """Return the noise of counts that is described by a document: Gaussian if it has a "rho"."""
    return (DiscreteGaussian if "rho" in document else DiscreteLaplace).from_json(document)
