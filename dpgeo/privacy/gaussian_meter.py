"""The Gaussian Meter: noisy counts under zero-concentrated differential privacy (zCDP).

Privacy argument. Before any data are read, a plan declares the measurements to be made: a label and
a rho for each. `measure` adds discrete Gaussian noise with s = D2/(2 rho) to an integer vector,
where D2 is the vector's squared L2 sensitivity. It is computed from the contribution bound where
the counts are made (`PrivateCounts.squared_sensitivity`, `PrivateShares.squared_sensitivity`) and
never passed by a mechanism. Each measurement is therefore rho-zCDP (`privacy.gaussian_sampler`).
The rhos of a plan add up, also if a measurement is chosen after the answers of those before it (Bun
and Steinke 2016, lemma 2.3). Each label is measured at most once, and its rho is charged in any
case. A label is closed before its noise is drawn, so an interrupted draw stays charged. An invalid
request is refused, with PrivacyError, before anything is drawn for it. Refusals depend on labels
and public types alone.

When Gaussian noise is smaller. If distinct people are counted, one person changes at most l counts,
each by 1. So D2 = l, and the noise grows with the square root of l, whereas Laplace noise grows
with l. If one person may add all l contributions to one count (visits, sums of several cells), D2 =
l^2, and nothing is gained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.gaussian_sampler import sample
from dpgeo.privacy.randomness import Entropy
from dpgeo.privacy.value_shares import PrivateShares


@dataclass(frozen=True, slots=True, kw_only=True)
class RhoSpend:
    """One declared measurement: its rho, and a label that is unique in its plan."""

    label: str
    rho: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.rho, Fraction) or self.rho <= 0:
            raise ValueError(f"The spend {self.label!r} needs a positive rho, exact.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RhoMeasured:
    """One line of the trace: a rho that was spent, and the noise; None if it was not used."""

    label: str
    rho: Fraction
    noise: DiscreteGaussian | None


class GaussianMeter:
    """Measures private counts under a declared plan in rho and records what was spent."""

    def __init__(self, plan: Sequence[RhoSpend], entropy: Entropy) -> None:
        self._open = {spend.label: spend.rho for spend in plan}
        if len(self._open) != len(plan):
            raise PrivacyError("A plan must not declare a label twice.")
        self._entropy = entropy
        self._trace: list[RhoMeasured] = []

    def noise(self, label: str, counts: PrivateCounts | PrivateShares) -> DiscreteGaussian:
        """Return the noise that `measure` would add to the counts under the rho of `label`."""
        if type(counts) not in (PrivateCounts, PrivateShares):
            # Accept only the exact classes, since a subclass could claim a different sensitivity.
            raise PrivacyError("Only private counts that a view made can be measured.")
        if label not in self._open:
            raise PrivacyError(
                "{label!r} was not declared in the plan, or is already spent.", label=label
            )
        return DiscreteGaussian(self._open[label], counts.squared_sensitivity)

    def measure(self, label: str, counts: PrivateCounts | PrivateShares) -> NDArray[np.int64]:
        """Return noisy counts or noisy sums of shares, int64, in the shape of `counts`.

        Raises PrivacyError, before anything is drawn, if the request is refused.
        """
        noise = self.noise(label, counts)
        self._trace.append(RhoMeasured(label=label, rho=self._open.pop(label), noise=noise))
        noisy = sample(noise, math.prod(counts.shape), self._entropy.stream())
        return noisy.reshape(counts.shape) + counts._read_by_meter()

    def finish(self) -> tuple[RhoMeasured, ...]:
        """Charge all declared measurements not yet made; return the trace of all spends."""
        for label, rho in self._open.items():
            self._trace.append(RhoMeasured(label=label, rho=rho, noise=None))
        self._open.clear()
        return tuple(self._trace)
