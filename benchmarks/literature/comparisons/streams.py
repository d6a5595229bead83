"""Running counts of events, for a year of days and for 4,096 steps.

`sum_error` is the root mean square error of a running count, and `step_error` the root mean square
error of a single step's count (the difference of two running counts). An event counts once, and the
privacy unit is one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import measured
from benchmarks.literature.streams import Mechanism, partial_sums, running_sums, single_steps
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]

STEPS = (365, 4096)
RATE = 20.0


def compare(options: Options) -> Iterator[Line]:
    """Yield a line for each number of steps and each system."""
    for steps in STEPS:
        yield from _compared(steps, options)


def _compared(steps: int, options: Options) -> Iterator[Line]:
    whole = np.random.default_rng(11).poisson(RATE, steps).astype(np.int64)
    events, epsilon = whole.astype(np.float64), options.budget

    def errors(estimate: Floats) -> Mapping[str, float]:
        wrong = estimate - np.cumsum(events)
        return {
            "sum_error": float(np.sqrt(np.mean(wrong**2))),
            "step_error": float(np.sqrt(np.mean(np.diff(wrong, prepend=0.0) ** 2))),
        }

    def run(mechanism: Mechanism, random: Generator) -> Mapping[str, float]:
        return errors(mechanism(events, epsilon, random))

    for name, source, mechanism in (
        ("epsilon/T for every sum", "Dwork et al. 2010", running_sums),
        ("noise on every step", "Dwork et al. 2010", single_steps),
        ("p-sums", "Chan et al. 2011", partial_sums),
    ):
        yield line(f"{name}, {steps} steps", source, partial(run, mechanism), options)
    yield line(
        f"dpgeo, counts of each step, {steps} steps",
        "dpgeo",
        lambda r: errors(np.cumsum(measured(whole, options.epsilon, r))),
        options,
    )
