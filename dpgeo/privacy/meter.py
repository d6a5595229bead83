"""The Meter, the only way from private counts to noisy counts.

Privacy argument. Before any data are read, a plan declares the measurements to be made: a label
and an amount for each. The amount is an epsilon under `LAPLACE`, the law of pure differential
privacy, and a rho under `GAUSSIAN`, that of zero-concentrated differential privacy (zCDP).
`measure` adds noise to an integer vector whose sensitivities are computed from the contribution
bound where the counts are made (`PrivateCounts`, `PrivateShares`), and never passed by a mechanism.
Discrete Laplace noise of rate epsilon/D1 for the L1 sensitivity D1 makes each measurement
epsilon-differentially private (Ghosh, Roughgarden and Sundararajan 2009). Discrete Gaussian noise
with s = D2/(2 rho) for the squared L2 sensitivity D2 makes it rho-zCDP
(`privacy.gaussian_sampler`). The amounts of a plan add up, also if a measurement is chosen after
the answers of those before it: epsilons by adaptive sequential composition (Dwork et al. 2006),
rhos by Bun and Steinke 2016, lemma 2.3. Each label is measured at most once, and its amount is
charged in any case. A label is closed before its noise is drawn, so an interrupted draw stays
charged. An invalid request is refused, with PrivacyError, before anything is drawn for it. Refusals
depend on labels and public types alone, and a mechanism's requests follow from public inputs and
earlier noisy answers. So refusals reveal nothing about the data.

`grow_tree` draws the splits of a quadtree; its argument is in `privacy.private_quadtree`. As with
`measure`, its cost is the declared epsilon and its noise follows from the counts' own sensitivity.

`measure_sparse` returns the cells whose noisy counts reach a public threshold. Its result has
the same distribution as if `measure` added noise to all cells and those below the threshold were
then left out, which is post-processing. It draws noise for each occupied cell. For the empty
cells, `privacy.sparse_threshold` or `privacy.gaussian_threshold` draws which cells would reach the
threshold if all cells were empty. Occupied cells are dropped from this list, since their own noise
decides about them; each remaining cell gets a value drawn from the distribution of noise that
reaches the threshold. The result is sorted by cell, because another order could tell occupied cells
from empty cells. Requests that would need too much memory are refused before anything is drawn;
this depends on public numbers alone.

`measure_sums` adds noise to vectors summed over groups. The noise scale of each column is
proportional to the most that one record can add to the column. The argument is in
`privacy.vector_sums`.

`measure` also adds noise to the two sums from which a region's average is computed; both get the
noise for the joint sensitivity of all sums. The argument is in `privacy.value_shares`.

`perturb` adds planar Laplace noise to positions; its argument is in
`privacy.planar_laplace_sampler`. Its guarantee is geo-indistinguishability at the declared epsilon
per metre for all reports of one privacy unit together. The outputs are sorted, because they are
drawn in the order of the private rows. The number of outputs is public under this notion; with
padding, the number of outputs is the number of privacy units times the contribution bound.

`assign_virtual_user` assigns persons to virtual users, whose number is declared beforehand. It
releases nothing and therefore costs nothing; `privacy.person_records` proves that a person still
changes at most l records afterwards, l being the contribution bound.

`replace` draws substitutes for the places of virtual users, within public bins; the number of
substitutes follows from an earlier noisy count. Its argument is in `privacy.exponential_mechanism`.

`choose_bound` draws the contribution bound; its argument is in `privacy.bound_choice`.

`divide` divides an amount that was declared as `unallocated` among new measurements, whose
amounts add up to it exactly; one of them may be unallocated again and be divided later. The
fractions may depend on earlier noisy answers. Take any sequence of answers, and the probabilities
of getting it from two neighbouring datasets. The fractions follow from the answers, so they are the
same for both.

Under pure differential privacy, the log-ratio of the two probabilities is the sum of the log-ratios
of the single measurements, each given the answers before it. Each of these log-ratios is at most
the epsilon of its measurement, so their sum is at most the declared sum. (Choosing epsilons
adaptively under a fixed sum is harmless in pure differential privacy, though not in general; see
Rogers, Roth, Ullman and Vadhan 2016.)

Under zCDP, let a > 1, and let r be the ratio of the probabilities of an answer on two neighbouring
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import CountNoise, DiscreteGaussian, DiscreteLaplace, Noise, PlanarLaplace
from dpgeo.core.spend import Measured, Spend
from dpgeo.privacy import bound_choice, gaussian_sampler, gaussian_threshold
from dpgeo.privacy.bound_choice import PrivateContributions
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.exponential_mechanism import (
    STEPS,
    Bins,
    draw_permutation,
    fit_to_counts,
    replace_places,
)
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.planar_laplace_sampler import Perturbed, gather, move, scatter
from dpgeo.privacy.positions import PrivatePositions, Reports
from dpgeo.privacy.private_quadtree import GrownTree, bias, grow, split_noise
from dpgeo.privacy.randomness import Entropy, RandomWords
from dpgeo.privacy.sampler import sample, sample_geometric
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.sparse_threshold import sample_passing
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.privacy.vector_sums import PrivateSums
from dpgeo.spatial.truncation import Truncation

Measurable: TypeAlias = PrivateCounts | PrivateShares | PrivateSparseCounts | PrivateSums
"""Private values to which the Meter adds noise; each states its L1 and squared L2 sensitivity."""

MAX_PASSING = 5_000_000
"""Largest expected number of empty cells that reach a threshold; each takes about 100 bytes of
memory.
"""

PADDING_CHUNK = 131_072
"""Number of padding reports generated at a time."""


class Meter:
    """Measures private counts under a declared plan and records what was spent.

    Under the law `GAUSSIAN`, the epsilons of the plan are rhos; splits of trees, substitutes of
    places and perturbed positions are offered under `LAPLACE` alone.
    """

    def __init__(self, plan: Sequence[Spend], entropy: Entropy, law: Law = LAPLACE) -> None:
        self._open = {spend.label: spend for spend in plan}
        if len(self._open) != len(plan):
            raise PrivacyError("A plan must not declare a label twice.")
        self._entropy = entropy
        self._trace: list[Measured] = []
        self.law = law

    def noise(self, label: str, counts: Measurable) -> CountNoise:
        """Return the noise for the counts, given the amount that the plan declares for `label`."""
        if type(counts) not in (PrivateCounts, PrivateShares, PrivateSparseCounts, PrivateSums):
            # Accept only the exact classes, since a subclass could claim a different sensitivity.
            raise PrivacyError("Only private counts that a view made can be measured.")
        return self.law.noise(self._measured(label), counts.sensitivity, counts.squared_sensitivity)

    def laplace(self, label: str, counts: Measurable) -> DiscreteLaplace:
        """Return the noise for the counts. Raises PrivacyError under zCDP."""
        noise = self.noise(label, counts)
        if isinstance(noise, DiscreteGaussian):
            raise PrivacyError("{label!r} is not measured under zCDP.", label=label)
        return noise

    def _measured(self, label: str) -> Fraction:
        """Return the amount of a measurement. Raises PrivacyError for what is to be divided."""
        spend = self._declared(label)
        if spend.unallocated:
            raise PrivacyError("{label!r} is a remainder: divide it before measuring.", label=label)
        return spend.epsilon

    def _epsilon(self, label: str) -> Fraction:
        """Return the epsilon of a measurement. Raises PrivacyError under zCDP."""
        if self.law.gaussian:
            raise PrivacyError("{label!r} is not measured under zCDP.", label=label)
        return self._measured(label)

    def measure(self, label: str, counts: PrivateCounts | PrivateShares) -> NDArray[np.int64]:
        """Return noisy counts or, for averages, noisy sums, int64, in the shape of `counts`.

        The sums are U and D of `privacy.value_shares`. Raises PrivacyError or InvalidInput, before
        anything is drawn, if the request is refused.
        """
        if type(counts) not in (PrivateCounts, PrivateShares):
            raise PrivacyError("Only private counts that a view made can be measured.")
        noise = self.noise(label, counts)
        self._close(label, noise)
        noisy = _drawn(noise, math.prod(counts.shape), self._entropy.stream())
        noisy = noisy.reshape(counts.shape)
        noisy += counts._read_by_meter()
        return noisy

    def measure_sums(self, label: str, sums: PrivateSums) -> NDArray[np.int64]:
        """Return noisy sums, int64 (n, m).

        The noise of a column is proportional to its `reach`, the most that one contribution adds to
        it. The trace records the noise that a column of reach 1 would get. Raises PrivacyError or
        InvalidInput, before anything is drawn, if the request is refused.
        """
        if type(sums) is not PrivateSums:
            raise PrivacyError("Only private sums that a view made can be measured.")
        noise, amount = self.noise(label, sums), self._measured(label)
        columns = [
            self.law.noise(amount, sums.sensitivity * reach, sums.squared_sensitivity * reach**2)
            for reach in sums.reach
        ]
        self._close(label, noise)
        stream = self._entropy.stream()
        drawn = [_drawn(column, sums.shape[0], stream) for column in columns]
        return sums._read_by_meter() + np.column_stack(drawn)

    def choose_bound(
        self,
        label: str,
        contributions: PrivateContributions,
        stored: int | None = None,
        keep: Callable[[int], int] = lambda bound: bound,
    ) -> int:
        """Draw a contribution bound, store it with `keep`, and return it; see
        `privacy.bound_choice`.

        If a bound was drawn and `stored` before, it is returned and nothing is drawn. If another
        worker stored a bound first, `keep` returns that one instead, because the trace, which is
        published, must show a single draw. Raises PrivacyError, before anything is drawn, if the
        request is refused.
        """
        if type(contributions) is not PrivateContributions:
            raise PrivacyError("Only contributions that a view counted decide on a bound.")
        amount = self._declared(label).epsilon
        epsilon = bound_choice.epsilon_for(amount) if self.law.gaussian else amount
        if stored is None:
            people = contributions._read_by_meter()
            stored = keep(bound_choice.draw(people, epsilon, self._entropy.stream()))
        self._close(label, None, bound=stored)
        return stored

    def assign_virtual_user(self, visits: PrivateVisits, people: int) -> PrivateVisits:
        """Assign each real person to one of `people` virtual users at random.

        Raises PrivacyError, before anything is drawn, if the request is refused.
        """
        if type(visits) is not PrivateVisits or visits.people or people < 1:
            raise PrivacyError("Private visits are assigned once, to one virtual user or more.")
        return visits._assign_by_meter(people, self._entropy.stream())

    def replace(
        self, label: str, visits: PrivateVisits, wanted: NDArray[np.int64], bins: Bins
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return sorted pairs of a virtual user's new label (m,) and a place (m,) drawn for it.

        `visits` are the virtual users' own places, from `assign_virtual_user`. `wanted` (people,
        bins) is the number of places to draw for each virtual user in each bin; it was computed
        from a noisy count. Raises PrivacyError, before anything is drawn, if the request is
        refused.
        """
        if type(visits) is not PrivateVisits or visits.size != len(bins.of_place):
            raise PrivacyError("Only private visits to the places of the bins are replaced.")
        if wanted.shape != (visits.people, len(bins)):
            raise PrivacyError("What is wanted is a number for every person and bin.")
        rate = DiscreteLaplace(self._epsilon(label), visits.sensitivity).rate / (2 * STEPS)
        self._close(label, None, choices=True)
        stream = self._entropy.stream()
        persons, places = fit_to_counts(*visits._read_by_meter(), wanted, bins)
        drawn = replace_places(places, bins, rate, stream)
        labels = draw_permutation(len(wanted), stream)[persons]
        order = np.lexsort((drawn, labels))
        return labels[order], drawn[order]

    def divide(
        self, label: str, shares: Mapping[str, Fraction], *, rest: str | None = None
    ) -> None:
        """Divide the unallocated amount of `label` among new labels.

        `shares` maps each new label to its fraction. The fractions must be positive and add up to
        1, and the labels must be new. Otherwise raises PrivacyError and divides nothing. The label
        `rest`, if given, stays unallocated: it can be divided again after further answers.
        """
        spend = self._declared(label)
        used = {line.label for line in self._trace} | self._open.keys()
        _check_division(spend, shares, used)
        del self._open[label]
        for new_label, share in shares.items():
            self._open[new_label] = Spend(
                label=new_label, epsilon=spend.epsilon * share, unallocated=new_label == rest
            )

    def grow_tree(self, label: str, counts: PrivateCounts, inside: NDArray[np.bool_]) -> GrownTree:
        """Grow a quadtree on private counts (rows, columns).

        `inside` (rows, columns) marks the cells that intersect the study area. Raises PrivacyError,
        before anything is drawn, if the request is refused.
        """
        if type(counts) is not PrivateCounts or counts.shape != inside.shape:
            raise PrivacyError("A tree is grown on private counts of the mask's shape.")
        noise = split_noise(self.laplace(label, counts).epsilon, counts.sensitivity)
        self._close(label, None, splits=True)
        stream = self._entropy.stream()

        def split(biased: NDArray[np.int64]) -> NDArray[np.bool_]:
            return np.asarray(sample(noise, biased.size, stream) > -biased)

        return grow(counts._read_by_meter(), inside, bias(noise), split)

    def measure_sparse(
        self, label: str, counts: PrivateSparseCounts, threshold: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells (n,) whose noisy counts reach `threshold`, and these counts (n,).

        Raises PrivacyError or InvalidInput, before anything is drawn, if the request is refused. It
        is also refused if noise alone is expected to lift more than MAX_PASSING cells to the
        threshold.
        """
        if type(counts) is not PrivateSparseCounts or threshold < 1:
            raise PrivacyError("Sparse private counts are measured above a threshold of 1 or more.")
        noise = self.noise(label, counts)
        if isinstance(noise, DiscreteGaussian):
            gaussian_threshold.check_scale(noise)
        if counts.size * noise.above(threshold) > MAX_PASSING:
            raise PrivacyError("Too many empty cells would pass; raise the threshold.")
        self._close(label, noise)
        stream = self._entropy.stream()
        occupied, values = counts._read_by_meter()
        noisy = values + _drawn(noise, values.size, stream)
        passing = _passing(noise, threshold, counts.size, stream)
        empty = passing[~np.isin(passing, occupied)]
        above = _above(noise, threshold, empty.size, stream)
        cells = np.concatenate([occupied[noisy >= threshold], empty])
        order = np.argsort(cells)
        return cells[order], np.concatenate([noisy[noisy >= threshold], above])[order]

    def perturb(
        self,
        label: str,
        positions: PrivatePositions,
        area: Truncation,
        *,
        input_step: int,
        padded: bool = False,
    ) -> Perturbed:
        """Perturb reports on the sphere, truncate them to the study area, and sort the results.

        Positions are first snapped to a grid of `input_step` millimetres. If `padded`, reports at
        random positions in the area are added until each privacy unit has as many reports as the
        contribution bound; the reports must then have no times and no attributes. Raises
        PrivacyError, before anything is drawn, if the request is refused.
        """
        if type(positions) is not PrivatePositions:
            raise PrivacyError("Only private positions that a view made can be perturbed.")
        epsilon = self._epsilon(label)
        noise = PlanarLaplace(epsilon, positions.sensitivity, area.step, input_step)
        self._close(label, noise)
        stream = self._entropy.stream()
        return gather(
            noise,
            (
                (
                    *area.apply(*move(chunk.longitude, chunk.latitude, noise, stream)),
                    chunk.time,
                    chunk.attributes,
                )
                for chunk in _reports(positions, area, padded, stream)
            ),
        )

    def charge_unused(self, label: str) -> None:
        """Close a declared measurement without drawing noise; its amount is still charged."""
        self._declared(label)
        self._close(label, None)

    def finish(self) -> tuple[Measured, ...]:
        """Charge all declared measurements not yet made; return the trace, a list of all spends."""
        for label in tuple(self._open):
            self.charge_unused(label)
        return tuple(self._trace)

    def _declared(self, label: str) -> Spend:
        if label not in self._open:
            raise PrivacyError(
                "{label!r} was not declared in the plan, or is already spent.", label=label
            )
        return self._open[label]

    def _close(
        self,
        label: str,
        noise: Noise | None,
        *,
        splits: bool = False,
        choices: bool = False,
        bound: int | None = None,
    ) -> None:
        amount = self._open.pop(label).epsilon
        self._trace.append(
            Measured(
                label=label,
                epsilon=None if self.law.gaussian else amount,
                rho=amount if self.law.gaussian else None,
                noise=noise,
                splits=splits,
                choices=choices,
                bound=bound,
            )
        )


def _drawn(noise: CountNoise, size: int, stream: RandomWords) -> NDArray[np.int64]:
    """Draw noise (size,) of either law."""
    if isinstance(noise, DiscreteGaussian):
        return gaussian_sampler.sample(noise, size, stream)
    return sample(noise, size, stream)


def _passing(
    noise: CountNoise, threshold: int, size: int, stream: RandomWords
) -> NDArray[np.int64]:
    """Draw which of `size` empty cells have noise that reaches the threshold, ascending."""
    if isinstance(noise, DiscreteGaussian):
        return gaussian_threshold.sample_passing(noise, threshold, size, stream)
    return sample_passing(noise, threshold, size, stream)


def _above(noise: CountNoise, threshold: int, size: int, stream: RandomWords) -> NDArray[np.int64]:
    """Draw values (size,) of noise given that it reaches the threshold."""
    if isinstance(noise, DiscreteGaussian):
        return gaussian_threshold.sample_beyond(noise, threshold, size, stream)
    return threshold + sample_geometric(noise.rate, size, stream)


def _check_division(spend: Spend, shares: Mapping[str, Fraction], used: set[str]) -> None:
    """Raise PrivacyError unless an unallocated spend can be divided by `shares`.

    `shares` must map new labels to positive fractions that add up to 1. `used` holds the labels
    that are already in use.
    """
    label = spend.label
    if not spend.unallocated:
        raise PrivacyError("{label!r} was declared as a measurement, not as a rest.", label=label)
    if used & shares.keys():
        raise PrivacyError("A part of {label!r} has a label that is already in use.", label=label)
    if any(not isinstance(share, Fraction) or share <= 0 for share in shares.values()):
        raise PrivacyError("The parts of {label!r} must be fractions above 0.", label=label)
    if sum(shares.values()) != 1:
        raise PrivacyError("The parts of {label!r} must add up to 1.", label=label)


def _reports(
    positions: PrivatePositions, area: Truncation, padded: bool, stream: RandomWords
) -> Iterator[Reports]:
    """Yield the private reports in chunks, followed by padding reports if `padded` is true.

    Padding reports have random positions in `area`. They bring every privacy unit to the largest
    number of reports, `positions.sensitivity`. Raises PrivacyError if `padded` is true and the
    reports have times or attributes.
    """
    for chunk in positions._read_by_meter():
        if padded and not (chunk.time is None and chunk.attributes is None):
            raise PrivacyError(
                "Reports that are made up have no times and no attributes; drop those of all."
            )
        yield chunk
    missing = positions._count_missing() if padded else 0
    for start in range(0, missing, PADDING_CHUNK):
        yield Reports(*scatter(area.area, min(PADDING_CHUNK, missing - start), stream), None)
