"""Random generators that draw no noise and record the noise scales that were requested."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import PCG64, Generator


class WithoutLaplace(Generator):
    """Draws zeros instead of Laplace noise, and records each scale and number of draws."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(PCG64(seed))
        self.asked: list[tuple[Any, int]] = []

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return zeros of this size."""
        zeros = np.zeros(() if size is None else size)
        self.asked.append((scale, int(zeros.size)))
        return zeros if size is not None else 0.0

    @property
    def scales(self) -> list[float]:
        """The scales of the Laplace noise requested so far, in order."""
        return [float(scale) for scale, _ in self.asked]


class WithoutNoise(WithoutLaplace):
    """Draws zeros instead of Laplace and Gumbel noise, so that the best score is always chosen."""

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return zeros of this size."""
        return np.zeros(size)


def rare(happened: int, draws: int, chance: float) -> bool:
    """Return whether a number of events is more than five standard deviations from the expected."""
    return bool(abs(happened - draws * chance) > 5 * (draws * chance * (1 - chance)) ** 0.5)
