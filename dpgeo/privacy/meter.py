"""The Meter: the only door from private counts to noisy ones.

Privacy argument. A plan declares labels and epsilons before any data is seen. `measure` adds
discrete Laplace noise of rate epsilon/sensitivity to an integer vector whose L1 sensitivity is
computed from the contribution bound, so each measurement is epsilon-differentially private
(Ghosh, Roughgarden and Sundararajan 2009), and adaptive sequential composition adds them up
(Dwork et al. 2006). Every label is spent once or waived. A label is closed before its noise is
drawn, so that a draw that breaks off stays charged, and every refusal comes before the draw it
refuses and depends on labels and public types alone: what a mechanism asks for follows from public
inputs and earlier noisy answers, hence so does whether it is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.spend import Measured, Spend
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.randomness import Entropy
from dpgeo.privacy.sampler import sample


class Meter:
    """Measures private counts under a declared plan and keeps the trace of what was spent."""

    def __init__(self, plan: Sequence[Spend], entropy: Entropy) -> None:
        self._open = {spend.label: spend for spend in plan}
        if len(self._open) != len(plan):
            raise PrivacyError("A plan must not declare a label twice.")
        self._entropy = entropy
        self._trace: list[Measured] = []

    def noise(self, label: str, sensitivity: int) -> DiscreteLaplace:
        """The noise that measuring counts of this sensitivity under a label will carry."""
        return DiscreteLaplace(self._declared(label).epsilon, sensitivity)

    def measure(self, label: str, counts: PrivateCounts) -> NDArray[np.int64]:
        """Noisy counts, int64 of the counts' shape. Raises PrivacyError before any draw."""
        if type(counts) is not PrivateCounts:
            # Anything else could claim a sensitivity of its own.
            raise PrivacyError("Only private counts that a view made can be measured.")
        noise = self.noise(label, counts.sensitivity)
        self._close(label, noise)
        drawn = sample(noise, math.prod(counts.shape), self._entropy.stream())
        return counts._read_by_meter() + drawn.reshape(counts.shape)

    def waive(self, label: str) -> None:
        """Give a declared measurement up: it stays charged, nothing is drawn."""
        self._declared(label)
        self._close(label, None)

    def finish(self) -> tuple[Measured, ...]:
        """The trace; what was declared and not measured is waived."""
        for label in tuple(self._open):
            self.waive(label)
        return tuple(self._trace)

    def _declared(self, label: str) -> Spend:
        if label not in self._open:
            raise PrivacyError(f"{label!r} was not declared in the plan, or is already spent.")
        return self._open[label]

    def _close(self, label: str, noise: DiscreteLaplace | None) -> None:
        spend = self._open.pop(label)
        self._trace.append(Measured(label=label, epsilon=spend.epsilon, noise=noise))
