"""Running counts of a stream: p-sums (the binary mechanism) and two simpler mechanisms.

An event is one record, and neighbours differ by one event ("event level"). A person with k events
is protected only at k epsilon.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mechanism = Callable[[Floats, float, Generator], Floats]
"""Type of a function that returns the running sums (T,) of events (T,), with noise."""


def running_sums(events: Floats, epsilon: float, random: Generator) -> Floats:
    """Return running sums (T,) with noise of scale T/epsilon; each costs epsilon/T."""
    return np.cumsum(events) + random.laplace(0, len(events) / epsilon, len(events))


def single_steps(events: Floats, epsilon: float, random: Generator) -> Floats:
    """Return running sums (T,) of noisy counts: every step's count gets noise of scale 1/epsilon.

    An event is in one step, so all steps together cost epsilon.
    """
    return np.cumsum(events + random.laplace(0, 1 / epsilon, len(events)))


def partial_sums(events: Floats, epsilon: float, random: Generator) -> Floats:
    """Return running sums (T,) from p-sums (Chan, Shi and Song 2011, binary mechanism).

    Step t closes the p-sum of the last 2^i steps, where 2^i is the largest power of two that
    divides t, and the running sum adds one p-sum for every 1 in t's binary form. An event is in at
    most L = floor(log2 T) + 1 p-sums, one for each i, so noise of scale L/epsilon on each costs
    epsilon. Each p-sum is drawn at the step that closes it, from events up to that step.
    """
    size = len(events)
    scale = (int(size).bit_length()) / epsilon
    closed = np.zeros(size.bit_length())
    sums = np.empty(size)
    total = np.concatenate([[0.0], np.cumsum(events)])
    for step in range(1, size + 1):
        level = (step & -step).bit_length() - 1
        closed[level] = total[step] - total[step - (1 << level)] + random.laplace(0, scale)
        sums[step - 1] = sum(closed[each] for each in range(len(closed)) if step >> each & 1)
    return sums
