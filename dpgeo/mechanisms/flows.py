"""Flows: how many trips lead from each zone or square to each other one.

Idea. Count the trips that leave each region and the trips that arrive in it, and then the trips of
every pair of an origin and a destination. A pair is listed only if its origin's departures, its
destination's arrivals and its own count stand out.

Privacy argument. The regions are public and disjoint, and so are the slices of local time, of a
declared category, or of both. A trip is derived from one row, or from two consecutive rows of one
person (`engine.trips`), and is in the slice of the row in which it begins, so a privacy unit's
trips depend on its own rows alone. The view keeps at most l trips of a privacy unit over all pairs
and slices together (or, if people are counted, l distinct pairs). A kept trip adds 1 to one pair, 1
to one origin and 1 to one destination. So each of the three arrays has the L1 sensitivity l, and
measuring them with 15, 15 and 70 per cent of epsilon is epsilon-differentially private by
composition. All three are sums of one sample. With more than MAX_PAIRS pairs, only those whose
noisy count reaches a threshold are drawn, with the same distribution as if all were drawn
(`privacy.sparse_threshold`); the threshold follows from the noisy departures and arrivals (adaptive
composition). Unless the parameters ask for trips inside a region, these are left
out before anything is counted, so setting their pairs to 0 is post-processing. The least-squares
estimates, the list of flows that exceed the noise, and the sum of the other flows ("other") are
post-processing, too.

Under zCDP. If distinct people are counted, a privacy unit changes at most l pairs, each by at most
1: the squared sensitivity of the pairs is l. Dropping pairs outside the study area does not change
that, since no counts are added up (`PrivateSparseCounts.between`). Departures and arrivals do add
up pairs, and all l trips may leave one region, so their squared sensitivities are l^2 each, as are
those of all three if trips are counted. The shares of rho add up to rho.

Utility. Each pair carries noise of scale l/(0.7 epsilon), however many trips it has, so few, large
regions give the clearest map. Departures and arrivals stand out if they reach a threshold that at
most one region would be expected to reach if all were empty. Let m be the number of pairs of an
origin and a destination that stand out. Their noise is independent of the noise of the ends,
which alone decide which pairs these are. So if a listed pair must reach a threshold T with m
P(noise >= T) at most ERROR, the probability that any pair without a trip is listed is at most
ERROR, whatever the ends are. m is far smaller than the number of all pairs, so T is lower, too. If
trips are counted, a person who travels the same way every day uses up the bound on one pair; if
people are counted, that person counts once.

References. Dwork, McSherry, Nissim and Smith 2006; Cormode, Procopiuc, Srivastava and Tran 2012
(thresholds); weighted least squares as in Hay, Rastogi, Miklau and Suciu 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.core import subjects
from dpgeo.core.categories import find_category
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.kinds import FLOWS
from dpgeo.core.noise import CountNoise
from dpgeo.core.parameters import param
from dpgeo.core.released import FlowsRelease
from dpgeo.core.slices import ALL_TIMES, UNDIVIDED, Slicing, slicing
from dpgeo.core.spend import Spend
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.core.trips import TripPairs
from dpgeo.phrases import Phrase
from dpgeo.postprocess.flow_regions import square_zones
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, single_sample
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.overlaps import overlapping_pairs
from dpgeo.spatial.zones import Zones

Ints = NDArray[np.int64]

PAIRS, LEAVING, ARRIVING = "pairs of regions", "departures", "arrivals"

SHARES = {LEAVING: Fraction(3, 20), ARRIVING: Fraction(3, 20), PAIRS: Fraction(7, 10)}
"""The shares of epsilon for the counts of departures, arrivals and pairs."""

ERROR = 0.05
"""Largest probability that a map lists any pair without a trip."""

MAX_PAIRS = 4_000_000
"""Largest number of pairs for which every noisy count is drawn; beyond it, only counts that reach
the threshold are drawn.
"""

DRAWN_BY_NOISE = 100_000
"""Largest expected number of pairs that noise alone lifts to the threshold of a sparse drawing.

Most of them are between ends that do not stand out, and are not listed.
"""

AS_DECLARED, DESTINATIONS, FOLLOWING = "as declared", "destination columns", "consecutive rows"

ALL_TOGETHER = "all times together"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of flows."""

    zones: str = param(
        "",
        "The declared layer of zones between which trips are counted; empty for squares.",
        layer=LayerKind.ZONES,
        optional=True,
    )
    cells: int = param(
        16,
        "Squares along each side, where no zones are named.",
        low=2,
        high=64,
        beyond="Finer squares have too few trips for each pair.",
    )
    trips: str = param(
        AS_DECLARED,
        "What a trip is: a row with columns for its destination, or a person's way from one row to "
        "the next. As declared: by destination if there are such columns.",
        choices=[AS_DECLARED, DESTINATIONS, FOLLOWING],
    )
    gap_hours: int = param(
        6,
        "For consecutive rows: the most hours between two rows that make a trip.",
        low=1,
        high=168,
        beyond="Rows further apart say little about a trip.",
    )
    slices: str = param(
        ALL_TOGETHER,
        "Whether flows are counted for each part of the day or day of the week on its own, by when "
        "a trip begins.",
        choices=[ALL_TOGETHER, *TIME_SLICES],
    )
    category: str = param(
        "",
        "The declared category by which flows are divided, too, such as the mode of transport, by "
        "the row in which a trip begins; empty for none.",
        category=True,
        optional=True,
    )
    within: bool = param(False, "Also count trips that begin and end in the same region.")


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare the measurements of departures, arrivals and pairs."""
    return [Spend(label=label, epsilon=epsilon * share) for label, share in SHARES.items()]


def release(view: PrivateView, params: Params, meter: Meter) -> FlowsRelease:
    """Measure departures, arrivals and pairs, all three of the same kept trips."""
    pairs, number = _counted(params, view.domain)
    names, n = pairs.slices.names if pairs.slices else UNDIVIDED, int(number.max()) + 1
    size = max(len(names), 1)
    trips = view.trips(pairs).between(number >= 0)
    ends = {
        label: trips.mapped(_end(n, arriving=last), size * n).dense()
        for label, last in ((LEAVING, False), (ARRIVING, True))
    }
    sum_noise = meter.noise(LEAVING, ends[LEAVING])
    leaving, arriving = (
        meter.measure(label, counts).reshape(size, n) for label, counts in ends.items()
    )
    ends_threshold = sum_noise.threshold(1 / (size * n))
    noise = meter.noise(PAIRS, trips)
    threshold = listing_threshold(noise, possible_pairs(leaving, arriving, ends_threshold))
    every = size * n * (n if params.within else n - 1)
    sparse = every > MAX_PAIRS
    if sparse:
        threshold = max(threshold, noise.threshold(DRAWN_BY_NOISE / every))
    listed, counts = _measure(trips, threshold, meter, sparse=sparse)
    listed, counts = _apart(listed, counts, n, within=params.within, sparse=sparse)
    return FlowsRelease(
        zones=_as_zones(pairs.regions, number),
        squares=isinstance(pairs.regions, Grid),
        keys=names.keys or ("",),
        titles=names.titles if len(names) else ("",),
        time_zone=names.time_zone,
        gap_hours=pairs.gap_hours,
        within=params.within,
        sparse=sparse,
        threshold=threshold,
        ends_threshold=ends_threshold,
        listed=listed,
        pairs=counts,
        leaving=leaving,
        arriving=arriving,
        noise=noise,
        sum_noise=sum_noise,
        values=names.values,
        times=names.times,
        category=names.category,
    )


def possible_pairs(leaving: Ints, arriving: Ints, least: int) -> int:
    """Return how many pairs have an origin and a destination that stand out, over all slices.

    `leaving` and `arriving`, int64 (slices, n), stand out from `least` on. Pairs of a region with
    itself are among them, whether or not they are counted, which can only raise the threshold.
    """
    return int(((leaving >= least).sum(axis=1) * (arriving >= least).sum(axis=1)).sum())


def listing_threshold(noise: CountNoise, pairs: int) -> int:
    """Return the smallest T >= 1 that noise reaches in any of `pairs` pairs with chance <= ERROR.

    By the union bound, T is the smallest integer for which `pairs` times P(noise >= T) is at most
    ERROR. For Laplace noise, the probability is a^T/(1+a) with a = exp(-rate).
    """
    return noise.threshold(ERROR / max(pairs, 1))


def _measure(
    trips: PrivateSparseCounts, threshold: int, meter: Meter, *, sparse: bool
) -> tuple[Ints, Ints]:
    """Return the indices of the pairs whose noisy counts were drawn, and these counts.

    If `sparse` is true, only counts that reach `threshold` are drawn. Otherwise the counts of all
    pairs are drawn, and the array of indices is empty.
    """
    if sparse:
        return meter.measure_sparse(PAIRS, trips, threshold)
    return np.empty(0, dtype=np.int64), meter.measure(PAIRS, trips.dense())


def _apart(listed: Ints, counts: Ints, n: int, *, within: bool, sparse: bool) -> tuple[Ints, Ints]:
    """Remove the pairs whose origin and destination are the same region, unless `within` is true.

    These pairs are empty, since trips inside a region were not counted. `n` is the number of
    regions. If `sparse` is true, `listed` holds the indices of the pairs whose `counts` were drawn,
    and the pairs are removed from both; otherwise all pairs have a count, and theirs become 0.
    """
    if within:
        return listed, counts
    if sparse:
        apart = listed % n != listed // n % n
        return listed[apart], counts[apart]
    number = np.arange(counts.size)
    return listed, np.where(number % n != number // n % n, counts, 0)


def _counted(params: Params, domain: Domain) -> tuple[TripPairs, Ints]:
    """Return the pairs to count, and each region's index among the regions in the study area.

    The index is -1 for a square outside the study area. Raises InvalidInput if the regions overlap,
    or if the dataset has no trips of the chosen kind, no such category or no times.
    """
    regions = _regions(params, domain)
    by_row = params.trips == DESTINATIONS or (params.trips == AS_DECLARED and domain.destinations)
    if by_row and not domain.destinations:
        raise InvalidInput(
            "This dataset has no columns for the destinations of trips; choose consecutive rows, "
            "or name the columns in a new dataset.",
            field="trips",
        )
    slices = _slices(params, domain)
    if not by_row and domain.unit is Unit.RECORD:
        raise InvalidInput(
            "This dataset protects single records, and a record would change two trips between "
            "rows. Name columns for the destinations of trips in a new dataset, or declare one "
            "that protects persons.",
            field="trips",
        )
    if not by_row and not domain.time_zone:
        raise InvalidInput(
            "This dataset has no time column, by which a person's rows would be put in order; "
            "declare a dataset whose file has one, or columns for the destinations of trips.",
            field="trips",
        )
    pairs = TripPairs(
        regions,
        gap_hours=0 if by_row else params.gap_hours,
        within=params.within,
        slices=slices,
    )
    if isinstance(regions, Zones):
        return pairs, np.arange(len(regions))
    inside = regions.inside(domain.area).ravel()
    return pairs, np.where(inside, np.cumsum(inside) - 1, -1).astype(np.int64)


def _slices(params: Params, domain: Domain) -> Slicing | None:
    """Return the slices that divide the trips, or None if they are not divided.

    Raises InvalidInput for a category or times that the dataset lacks.
    """
    times = ALL_TIMES if params.slices == ALL_TOGETHER else params.slices
    if times != ALL_TIMES and not domain.time_zone:
        raise InvalidInput(
            "This dataset has no time column. Choose all times together, or declare a dataset "
            "whose file has one.",
            field="slices",
        )
    category = find_category(domain.categories, params.category) if params.category else None
    return slicing(times, category, domain.time_zone)


def _regions(params: Params, domain: Domain) -> Grid | Zones:
    if not params.zones:
        return Grid.over(domain.area, params.cells)
    zones = domain.layer(params.zones, Zones)
    overlaps = overlapping_pairs(zones.shapes)
    if len(overlaps):
        first, second = overlaps[0].tolist()
        raise InvalidInput(
            "The zones {first} and {second} overlap, so that a trip could begin in both; choose "
            "zones that do not, or squares.",
            first=zones.names[first],
            second=zones.names[second],
            field="zones",
        )
    return zones


def _end(n: int, *, arriving: bool) -> Callable[[Ints], Ints]:
    """Return a public function that maps a pair to the pair's slice and one of its two regions.

    The region is the destination if `arriving` is true, and the origin otherwise. `n` is the number
    of regions.
    """

    def region(pair: Ints) -> Ints:
        return pair // n**2 * n + (pair % n if arriving else pair // n % n)

    return region


def _as_zones(regions: Grid | Zones, number: Ints) -> Zones:
    return regions if isinstance(regions, Zones) else square_zones(regions, number >= 0)


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a pair's count.

    Raises InvalidInput for regions, trips or slices that the dataset lacks.
    """
    pairs, number = _counted(params, domain)
    n = int(number.max()) + 1
    possible = (len(pairs.slices) if pairs.slices else 1) * n * (n if params.within else n - 1)
    noise = law.counts(epsilon * SHARES[PAIRS], bound)
    sums = law.sums(epsilon * SHARES[LEAVING], bound)
    metres = (
        pairs.regions.smallest_side_metres
        if isinstance(pairs.regions, Zones)
        else pairs.regions.ground_cell_metres
    )
    return Forecast(
        region="pair of regions",
        plural="pairs of regions",
        regions=possible,
        noise=noise,
        ground_metres=metres,
        facts=(
            Phrase(
                "There are {regions:,} regions. A flow is shown from {least:,} trips on, or from "
                "fewer where few regions stand out. Departures and arrivals of a region are give "
                "or take {margin:,}.",
                regions=n,
                least=listing_threshold(noise, possible),
                margin=sums.margin(),
            ),
        ),
    )


MECHANISM = Mechanism(
    key="flows",
    title="Flows",
    summary="How many trips lead from each zone or square to each other one, with departures and "
    "arrivals.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=FLOWS,
    subjects=(subjects.TRIPS,),
    serial=single_sample,
)
