"""What is publicly known about the noise: its distribution, margins and thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.errors import InvalidInput

LEAST_RATE = Fraction(1, 1 << 56)
"""Least epsilon / sensitivity: noise of this scale stays below 2^63 but for odds of e^-128."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Integer noise with P(k) = (1-a)/(1+a) a^|k| and a = exp(-epsilon/sensitivity).

    Adding it to an integer vector of that L1 sensitivity is epsilon-differentially private
    (Ghosh, Roughgarden and Sundararajan 2009).
    """

    epsilon: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or not isinstance(self.sensitivity, int):
            raise TypeError("Noise needs an exact fraction and a whole number.")
        if self.epsilon <= 0 or self.sensitivity < 1:
            raise ValueError("Noise needs a positive epsilon and a sensitivity of at least 1.")
        if self.rate < LEAST_RATE:
            raise InvalidInput(
                "Is too small for this bound: noisy counts would not fit 64 bits. Raise epsilon or "
                "lower the bound.",
                field="epsilon",
            )

    @property
    def rate(self) -> Fraction:
        """epsilon / sensitivity, the exponent's factor."""
        return self.epsilon / self.sensitivity

    @property
    def variance(self) -> float:
        """2a / (1-a)^2, computed without cancellation."""
        rate = float(self.rate)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def margin(self, confidence: float = 0.95) -> int:
        """The least whole m with P(|noise| <= m) >= confidence, an exact quantile."""
        # P(|noise| > m) = 2 a^(m+1) / (1+a)
        return self._least(math.log((1 - confidence) / 2)) - 1

    def threshold(self, chance: float = 1e-3) -> int:
        """The least whole t with P(noise >= t) <= chance: what an empty cell seldom reaches."""
        # P(noise >= t) = a^t / (1+a) for t >= 1
        return max(1, self._least(math.log(chance)))

    def list_threshold(self, cells: int, percent: int) -> int:
        """T = max(1, ceil(eta ln(cells)/rate)), eta = percent/100: see seed 000, with the bound.

        Of that many empty cells about cells^(1 - eta)/2 are expected to reach it.
        """
        return max(1, math.ceil(Fraction(percent, 100) * Fraction(math.log(cells)) / self.rate))

    def _least(self, log_chance: float) -> int:
        """The least whole k >= 0 with a^k / (1+a) <= exp(log_chance), forgiving rounding."""
        rate = float(self.rate)
        log_norm = math.log1p(math.exp(-rate))
        k = max(0, math.floor(-(log_chance + log_norm) / rate))
        while -rate * k - log_norm > log_chance + 1e-12:
            k += 1
        return k

    def to_json(self) -> dict[str, str | int]:
        """The two numbers that define the distribution, epsilon as an exact fraction."""
        return {"epsilon": str(self.epsilon), "sensitivity": self.sensitivity}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(Fraction(document["epsilon"]), int(document["sensitivity"]))
