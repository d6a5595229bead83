"""Places: counts of the places of a public list, such as stops or parks, and their ranking.

Idea. Count how many people, or visits, there were at each place of a declared list. A row belongs
to the place whose key it names or, without keys, to the nearest place if that is within a declared
reach. Places may also be counted by context: by part of the day, by day of the week, or by value of
a private category.

Privacy argument. The list is public; it comes from another source, and nothing in it is derived
from the rows. The reach and the contexts are public, too. Which place a row belongs to depends on
its position (or its key) and the list alone, and its context depends on its own time or value, so
pairs of a place and a context are public and disjoint. The view keeps at most l visits of a privacy
unit (or, if people are counted, l distinct places, and l distinct pairs of a place and a context)
over the whole list and all contexts together. So the vector of places has the L1 sensitivity l, and
so has the vector of pairs. Without contexts, one `measure` of the places gets the whole epsilon.
With contexts, places and pairs get half of epsilon each, which adds up to epsilon by composition.
Everything else (least squares, shrunken estimates, ranks and their intervals) is computed from the
noisy counts, the list and the distribution of the noise alone, and is therefore post-processing.
With popular bounding, popularity over the whole list is measured first (`privacy.bounding`), for a
tenth of epsilon.

Under zCDP. Places and pairs of distinct people have the squared sensitivity l each, since a person
adds at most 1 to each of at most l places, and to each of at most l pairs. If visits are counted,
it is l^2 for both. The shares of rho add up to rho.

Utility. Every place carries noise of scale l/epsilon, however many places there are, so in a long
list only the busiest places exceed the noise. Rankings are best if people are counted with a bound
of 1 to 3. The bound itself changes the ranking: the intervals of ranks refer to counts after
contribution bounding. If a time column is declared, rows without a time are rejected at upload, so
every row is in one context. If people are counted, somebody may be at a place in several contexts,
so the counts by context do not add up to the place's count.

References. Fan and Jin 2015 (random and popular bounding of the nodes and edges of a graph of
places and attributes; the graph's nodes are places here, and the graph's edges are pairs of a place
and a context); Dwork, McSherry, Nissim and Smith 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.categories import find_category
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting
from dpgeo.core.kinds import PLACES
from dpgeo.core.parameters import param
from dpgeo.core.released import PlacesRelease
from dpgeo.core.slices import (
    ALL_TIMES,
    UNDIVIDED,
    SlicedZones,
    Slicing,
    slices_param,
    slicing,
)
from dpgeo.core.spend import Spend
from dpgeo.phrases import Phrase
from dpgeo.postprocess.place_ranks import joint_margin
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places

LABEL, PAIRS = "counts of places", "counts of places by context"

AS_DECLARED, BY_KEY, NEAREST = "as declared", "by key", "nearest"

SHARE = Fraction(1, 2)
"""The share of epsilon for the places if they are also counted by context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of counts of places."""

    places: str = param(
        "",
        "The declared layer of places to count at; empty for the only one.",
        layer=LayerKind.PLACES,
    )
    match: str = param(
        AS_DECLARED,
        "How a row belongs to a place: by the key that it names, or because the place is nearest. "
        "As declared: by key if there is a column for it.",
        choices=[AS_DECLARED, BY_KEY, NEAREST],
    )
    reach: int = param(
        150,
        "The most metres between a row and its place, where the nearest place is taken.",
        low=1,
        high=20_000,
        beyond="Rows further away say little about a place; count by zones instead.",
    )
    category: str = param(
        "",
        "The declared category by whose values places are counted, too; empty for none.",
        category=True,
        optional=True,
    )
    slices: str = slices_param(optional=True)

    @property
    def by_context(self) -> bool:
        """Whether places are also counted by context."""
        return bool(self.category) or self.slices != ALL_TIMES


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare measurements of the places and, with contexts, of pairs of a place and a context."""
    if not params.by_context:
        return [Spend(label=LABEL, epsilon=epsilon)]
    return [
        Spend(label=LABEL, epsilon=epsilon * SHARE),
        Spend(label=PAIRS, epsilon=epsilon * (1 - SHARE)),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> PlacesRelease:
    """Measure every place once and, with contexts, every pair of a place and a context."""
    contexts, near = _contexts(params, view.domain), regions(params, view.domain)
    visits, size = view.counting is Counting.VISITS, len(near)
    pairs: PrivateCounts | None = None
    if contexts:
        pairs = view.sliced_histogram(SlicedZones(near, contexts))
    if pairs is not None and visits:
        # The count of a place is the sum of its counts over all contexts, so that the counts of
        # places and those of pairs rest on the same sample of contributions.
        counts = pairs.flat().regroup(np.tile(np.arange(size), pairs.shape[0]), size)
    else:
        counts = view.zone_counts(near)
    noise = meter.noise(LABEL, counts)
    measured = meter.measure(LABEL, counts)
    pair_noise, of_pairs = noise, np.empty((0, size), dtype=np.int64)
    if pairs is not None:
        pair_noise = meter.noise(PAIRS, pairs)
        of_pairs = meter.measure(PAIRS, pairs)
    places = near.places
    return PlacesRelease(
        keys=places.keys,
        names=places.names,
        longitude=places.longitude,
        latitude=places.latitude,
        reach=0 if near.by_key else params.reach,
        counts=measured,
        noise=noise,
        pairs=of_pairs,
        pair_noise=pair_noise,
        slices=contexts.names if contexts else UNDIVIDED,
        adds_up=contexts is not None and visits,
    )


def regions(params: Params, domain: Domain) -> NearPlaces:
    """Return the places with their reach: the regions to count, and for popular bounding to rank.

    Raises InvalidInput if the parameters ask for keys and the dataset has none.
    """
    if params.match == BY_KEY and not domain.place_keys:
        raise InvalidInput(
            "This dataset has no column with keys of places; choose nearest, or name the column in "
            "a new dataset.",
            field="match",
        )
    by_key = domain.place_keys and params.match != NEAREST
    return NearPlaces(domain.layer(params.places, Places), params.reach, by_key)


def _contexts(params: Params, domain: Domain) -> Slicing | None:
    """Return the contexts, or None if there are none.

    Raises InvalidInput if the dataset lacks the times or the category that they need, or if there
    are too many contexts.
    """
    category = find_category(domain.categories, params.category) if params.category else None
    return slicing(params.slices, category, domain.time_zone)


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a place's count.

    Raises InvalidInput for keys or contexts that the dataset lacks.
    """
    contexts, near = _contexts(params, domain), regions(params, domain)
    noise = law.counts(epsilon * (SHARE if contexts else 1), bound)
    facts = [
        Phrase(
            "Two places can be ranked for certain if their counts are more than {apart:,} apart, "
            "with all {places:,} places right at once, 95 times in 100.",
            apart=2 * joint_margin(noise, len(near)),
            places=len(near),
        )
    ]
    if contexts:
        facts.append(
            Phrase(
                "There are {count} contexts. The bound on what one person adds holds for all of "
                "them together.",
                count=len(contexts),
            )
        )
    return Forecast(
        region="place",
        regions=len(near) * (1 + len(contexts or ())),
        noise=noise,
        ground_metres=math.sqrt(math.pi) * params.reach,
        alike=True,
        facts=tuple(facts),
    )


def serial(params: Params, counting: Counting) -> bool:
    """Return whether one sample of contributions serves all counts, as a series requires.

    If people are counted by context, the bound applies to places and to pairs of a place and a
    context separately, so there are two samples.
    """
    return counting is Counting.VISITS or not params.by_context


MECHANISM = Mechanism(
    key="places",
    title="Busiest places",
    summary="One count for each place of your list, such as stops or parks, with the ranks that it "
    "may have; also by time or category.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=PLACES,
    regions=regions,
    counted=regions,
    subjects=(subjects.PLACES,),
    serial=serial,
)
