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

`measure_sparse` returns the cells whose noisy counts reach a public threshold. Its result has the
same distribution as if `measure` added noise to all cells and those below the threshold were then
left out, which is post-processing. Occupied cells get noise of their own; for empty cells,
`privacy.gaussian_threshold` draws which would reach the threshold if all cells were empty, occupied
cells are dropped from that list, and the rest get noise given that it reaches the threshold. The
result is sorted by cell, because another order could tell occupied cells from empty ones.

`measure_sums` adds noise to vectors summed over groups, each column with a scale in proportion to
its reach; the argument is in `privacy.vector_sums`.

`divide` divides a rho that was declared as `unallocated` among new measurements, by fractions that
may depend on earlier answers and add up to 1; one of them may be unallocated again and be divided
later. Let a > 1, and let r be the ratio of the probabilities of an answer on two neighbouring
datasets, given the answers before it. For a measurement with rho', the expectation of r^(a-1) is at
most exp((a-1) a rho'). Given any answers so far, the fractions that were chosen are the same for
both datasets, and the rest of the rho is fixed. By induction from the last measurement to the
first, the expectation of the product of all r^(a-1) that follow is at most exp((a-1) a times that
rest). So all measurements together are zCDP for the declared rho (cf. Feldman and Zrnic 2021 on
such filters).

When Gaussian noise is smaller. If distinct people are counted, one person changes at most l counts,
each by 1. So D2 = l, and the noise grows with the square root of l, whereas Laplace noise grows
with l. If one person may add all l contributions to one count (visits, sums of several cells), D2 =
l^2, and nothing is gained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.spend import Measured, RhoSpend
from dpgeo.privacy import bound_choice
from dpgeo.privacy.bound_choice import PrivateContributions
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.gaussian_sampler import sample
from dpgeo.privacy.gaussian_threshold import check_scale, sample_beyond, sample_passing
from dpgeo.privacy.meter import MOST_PASSING, Meter, check_division
from dpgeo.privacy.randomness import Entropy
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.privacy.vector_sums import PrivateSums

Measurable: TypeAlias = PrivateCounts | PrivateShares | PrivateSparseCounts | PrivateSums
"""Private values that the Gaussian Meter can measure; each states its squared L2 sensitivity."""


CountMeter: TypeAlias = "Meter | GaussianMeter"
"""Either meter, for a mechanism that serves both pure differential privacy and zCDP."""


class GaussianMeter:
    """Measures private counts under a declared plan in rho and records what was spent."""

    def __init__(self, plan: Sequence[RhoSpend], entropy: Entropy) -> None:
        self._open = {spend.label: spend for spend in plan}
        if len(self._open) != len(plan):
            raise PrivacyError("A plan must not declare a label twice.")
        self._entropy = entropy
        self._trace: list[Measured] = []

    def noise(self, label: str, counts: Measurable) -> DiscreteGaussian:
        """Return the noise for the counts, given the rho that the plan declares for `label`."""
        if type(counts) not in (PrivateCounts, PrivateShares, PrivateSparseCounts, PrivateSums):
            # Accept only the exact classes, since a subclass could claim a different sensitivity.
            raise PrivacyError("Only private counts that a view made can be measured.")
        spend = self._declared(label)
        if spend.unallocated:
            raise PrivacyError("{label!r} is a remainder: divide it before measuring.", label=label)
        return DiscreteGaussian(spend.rho, counts.squared_sensitivity)

    def measure(self, label: str, counts: PrivateCounts | PrivateShares) -> NDArray[np.int64]:
        """Return noisy counts or, for averages, noisy sums, int64, in the shape of `counts`.

        The sums are U and D of `privacy.value_shares`. Raises PrivacyError, before anything
        is drawn, if the request is refused.
        """
        if type(counts) not in (PrivateCounts, PrivateShares):
            raise PrivacyError("Only private counts that a view made can be measured.")
        noise = self.noise(label, counts)
        self._close(label, noise)
        noisy = sample(noise, math.prod(counts.shape), self._entropy.stream())
        return noisy.reshape(counts.shape) + counts._read_by_meter()

    def measure_sums(self, label: str, sums: PrivateSums) -> NDArray[np.int64]:
        """Return noisy sums, int64 (n, m); see `Meter.measure_sums`.

        Raises PrivacyError or InvalidInput, before anything is drawn, if the request is refused.
        """
        if type(sums) is not PrivateSums:
            raise PrivacyError("Only private sums that a view made can be measured.")
        noise = self.noise(label, sums)
        columns = [
            DiscreteGaussian(noise.rho, noise.squared_sensitivity * reach**2)
            for reach in sums.reach
        ]
        self._close(label, noise)
        stream = self._entropy.stream()
        drawn = [sample(column, sums.shape[0], stream) for column in columns]
        return sums._read_by_meter() + np.column_stack(drawn)

    def measure_sparse(
        self, label: str, counts: PrivateSparseCounts, threshold: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells (n,) whose noisy counts reach `threshold`, and these counts (n,).

        Raises PrivacyError or InvalidInput, before anything is drawn, if the request is refused. It
        is also refused if noise alone is expected to lift more than MOST_PASSING cells to the
        threshold.
        """
        if type(counts) is not PrivateSparseCounts or threshold < 1:
            raise PrivacyError("Sparse private counts are measured above a threshold of 1 or more.")
        noise = self.noise(label, counts)
        check_scale(noise)
        if counts.size * noise.above(threshold) > MOST_PASSING:
            raise PrivacyError("Too many empty cells would pass; raise the threshold.")
        self._close(label, noise)
        stream = self._entropy.stream()
        occupied, values = counts._read_by_meter()
        noisy = values + sample(noise, values.size, stream)
        passing = sample_passing(noise, threshold, counts.size, stream)
        empty = passing[~np.isin(passing, occupied)]
        above = sample_beyond(noise, threshold, empty.size, stream)
        cells = np.concatenate([occupied[noisy >= threshold], empty])
        order = np.argsort(cells)
        return cells[order], np.concatenate([noisy[noisy >= threshold], above])[order]

    def choose_bound(
        self,
        label: str,
        contributions: PrivateContributions,
        stored: int | None = None,
        keep: Callable[[int], int] = lambda bound: bound,
    ) -> int:
        """Draw a contribution bound, or return the `stored` one; see `Meter.choose_bound`."""
        if type(contributions) is not PrivateContributions:
            raise PrivacyError("Only contributions that a view counted decide on a bound.")
        epsilon = bound_choice.epsilon_for(self._declared(label).rho)
        if stored is None:
            people = contributions._read_by_meter()
            stored = keep(bound_choice.draw(people, epsilon, self._entropy.stream()))
        self._close(label, None, bound=stored)
        return stored

    def divide(
        self, label: str, shares: Mapping[str, Fraction], *, rest: str | None = None
    ) -> None:
        """Divide the unallocated rho of `label` among new labels; see `Meter.divide`."""
        spend = self._declared(label)
        check_division(spend, shares, {line.label for line in self._trace} | self._open.keys())
        del self._open[label]
        for new_label, share in shares.items():
            self._open[new_label] = RhoSpend(
                label=new_label, rho=spend.rho * share, unallocated=new_label == rest
            )

    def finish(self) -> tuple[Measured, ...]:
        """Charge all declared measurements not yet made; return the trace of all spends."""
        for label in tuple(self._open):
            self._close(label, None)
        return tuple(self._trace)

    def _declared(self, label: str) -> RhoSpend:
        if label not in self._open:
            raise PrivacyError(
                "{label!r} was not declared in the plan, or is already spent.", label=label
            )
        return self._open[label]

    def _close(
        self, label: str, noise: DiscreteGaussian | None, *, bound: int | None = None
    ) -> None:
        rho = self._open.pop(label).rho
        self._trace.append(Measured(label=label, epsilon=None, noise=noise, rho=rho, bound=bound))
