"""Repeated runs of a published method or of dpgeo, and the lines that report them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.random import Generator

Line = dict[str, str | float]
Trial = Callable[[Generator], Mapping[str, float]]
"""Type of a function that runs a system once, with noise from the generator, and returns errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a comparison; `file` replaces the generated data if the comparison reads files."""

    epsilon: Fraction
    trials: int
    seed: int
    file: Path | None = None

    @property
    def budget(self) -> float:
        """Epsilon as a floating-point number; exact arithmetic is not needed in a comparison."""
        return float(self.epsilon)


def line(system: str, source: str, trial: Trial, options: Options, promise: str = "eps") -> Line:
    """Return the mean of every error over the trials, and its standard error.

    An error is left out if any of the trials does not return it.

    `source` says who published the system, and `promise` what it guarantees: "eps" for
    epsilon-differential privacy at the requested epsilon, "none", or another phrase.
    """
    runs = [trial(np.random.default_rng([options.seed, each])) for each in range(options.trials)]
    figures: Line = {"system": system, "source": source, "promise": promise}
    for name in (each for each in runs[0] if all(each in run for run in runs)):
        values = np.array([run[name] for run in runs])
        figures[name] = float(values.mean())
        # For equal values, rounding would give a tiny standard deviation instead of 0.
        spread = float(values.std()) if np.ptp(values) else 0.0
        figures[f"{name}_se"] = spread / max(1, options.trials - 1) ** 0.5
    return figures
