"""PriLocation: a synthetic dataset of people's places, each replaced at random.

Idea. A public hierarchy, such as country, city and street, lists the candidate places. Its finest
levels are hidden; units of the other levels are visible. Each record is assigned to the place
nearest to it, places are clustered, and persons are assigned to a public number of virtual users. A
bin consists of the places in one visible unit and one cluster. For each virtual user and bin, the
number of records w is measured with noise. Of the virtual user's places in the bin, w are kept; if
there are fewer than w, public places of the bin are added. Each of them is then replaced by a
nearby place of the bin. The release consists of the places drawn in this way, with new labels for
the virtual users, the clusters, and noisy counts of the bins.

Privacy argument. The hierarchy, the number N of virtual users and the first centres are public.
Every person is assigned to one of the N virtual users by an independent draw. So adding a person
adds at most l records to one virtual user and reassigns nobody else, however many persons there are
(`privacy.person_records`). Whether a request is refused never depends on the data. Let E be the
whole epsilon, divided into C for clustering, W for weights and R for replacement, with
C + W + R = E:
    - the rounds of k-means on records moved to their nearest places, and the counts of bins: C in
      equal parts; a round has the joint sensitivity 3 l (`privacy.vector_sums`), and the counts,
      over disjoint bins, have sensitivity l;
    - the counts of every pair of a virtual user and a bin: W, with sensitivity l;
    - the replacement, given these counts: R (`privacy.exponential_mechanism`).
They add up to E for a person. For a single record of a person with at most l records, the privacy
loss is at most E/l.

Utility. Noise adds about l/(2 W) spurious places to every bin of every virtual user. With E = 1,
W = 1/4, l = 1 and 80 bins, each virtual user gets about 160 spurious places, while a person may
have 16 real ones. The forecast states their number before any epsilon is spent. If it is large,
private clusters show the same hot spots far better. With p persons in the data, the probability
that a person is alone in a virtual user is about e^(-p/N).

References. Zhu, Li, Zhou and Yu 2017, section 12.4 (Xiong, Zhu, Niu and Li 2014). Its proof is
incomplete: noise on the objective protects no centre, candidates and sensitivity come from private
data, and a list of people taken from the data reveals who is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.kinds import CLUSTERS
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import LocationsRelease
from dpgeo.core.spend import Spend
from dpgeo.phrases import Phrase, phrase_of, translatable
from dpgeo.privacy.clustering import run_kmeans
from dpgeo.privacy.exponential_mechanism import Bins
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, ground_metres, nearest, spread_evenly
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places

BINS = translatable("records in each unit and cluster")
WEIGHTS = "records of each person in each bin"
REPLACEMENT = "replacement places"

GRID_CELLS = 4096
"""Number of cells along each side of a grid: all records of a cell belong to the place nearest to
that cell.
"""

MAX_PAIRS = 2_000_000
"""Largest number of pairs of a virtual user and a bin (the places of one visible unit and one
cluster); each pair takes about 100 bytes of memory.
"""

MAX_PLACES = 5_000_000
"""Largest expected number of places that a release draws because of noise alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of PriLocation."""

    people: int = param(
        1000,
        "How many virtual users to publish places of. Everybody in the data is assigned to one "
        "at random: with twice as many as you guess there are people, six in ten share theirs "
        "with nobody. The number is published, so do not count the people in the data.",
        low=1,
        high=200_000,
    )
    places: str = param(
        "",
        "The declared places and their units. Without them, blocks, quarters and districts of a "
        "grid.",
        layer=LayerKind.PLACES,
        optional=True,
    )
    hidden: int = param(
        2, "Levels to hide: 1 hides the finest, such as streets; 2 the next as well.", low=1, high=8
    )
    clusters: int = param(10, "How many clusters to divide the places into.", low=1, high=100)
    rounds: int = param(3, "How often the clusters' centres are moved.", low=1, high=20)
    clustering: int = param(50, "Percent of epsilon spent on the clusters.", low=5, high=70)
    weights: int = param(
        25, "Percent of epsilon spent on how many places each virtual user has.", low=5, high=45
    )
    cells: int = param(
        64, "Blocks along each side of the grid, if no places are declared.", low=4, high=256
    )

    def __post_init__(self) -> None:
        if self.clustering + self.weights > 95:
            raise InvalidInput(
                "Clusters and weights together take more than 95 percent of epsilon; leave some "
                "for the replacement.",
                field="weights",
            )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare spends for the clusters, the weights and the replacement.

    The weights are the counts of each virtual user's records in each bin, which is the places of
    one visible unit and one cluster.
    """
    clustering = epsilon * Fraction(params.clustering, 100)
    weights = epsilon * Fraction(params.weights, 100)
    labels = [*_labels(params), BINS]
    return [
        *(Spend(label=label, epsilon=clustering / len(labels)) for label in labels),
        Spend(label=WEIGHTS, epsilon=weights),
        Spend(label=REPLACEMENT, epsilon=epsilon - clustering - weights),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> LocationsRelease:
    """Cluster places, count each virtual user's records by bin, and draw places by noisy counts.

    A bin is the places of one visible unit and one cluster.
    """
    places = _places(params, view.domain)
    paths, unit = _visible(places, params)
    side = GRID_CELLS if params.places else params.cells
    grid = Grid.over(view.domain.area, side)
    visits = meter.assign_virtual_user(view.visits(grid), params.people)
    visits = visits.map_items(places.nearest_to_cells(grid), len(places))
    at = places.positions
    own_cell = grid.locate(at.x, at.y)
    records = visits.map_items(own_cell.__getitem__, grid.size).counts()
    start = spread_evenly(view.domain.area, params.clusters)
    centres = run_kmeans(meter, _labels(params), records, grid, start)
    cluster = nearest(grid, own_cell, centres)
    pair, of_place = np.unique(unit * np.int64(len(centres)) + cluster, return_inverse=True)
    distance = ground_metres(at, Centres(centres.x[cluster], centres.y[cluster]))
    bins = Bins.ranked(of_place.astype(np.int64), len(pair), at, distance)
    pair_counts = visits.person_counts(bins.of_place, len(bins))
    grouped = visits.group_counts(bins.of_place, len(bins))
    noise = meter.laplace(BINS, grouped)
    counts = meter.measure(BINS, grouped)
    wanted = np.maximum(meter.measure(WEIGHTS, pair_counts), 0)
    person, place = meter.replace(REPLACEMENT, visits, wanted, bins)
    longitude, latitude = centres.degrees
    return LocationsRelease(
        longitude=places.longitude,
        latitude=places.latitude,
        unit=unit,
        cluster=cluster.astype(np.int32),
        levels=places.levels[: -params.hidden],
        unit_paths=paths,
        centre_longitude=longitude,
        centre_latitude=latitude,
        bin_unit=(pair // len(centres)).astype(np.int32),
        bin_cluster=(pair % len(centres)).astype(np.int32),
        counts=counts,
        noise=noise,
        people=params.people,
        person=person.astype(np.int32),
        place=place.astype(np.int32),
    )


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Forecast the noise of the count of a bin, the places of one visible unit and one cluster.

    Warns if many of the drawn places will be spurious, which means drawn because of noise.
    Raises InvalidInput for parameters that do not suit the places or would need too much memory.
    """
    places = _places(params, domain)
    paths, _ = _visible(places, params)
    if params.clusters > len(places):
        raise InvalidInput(
            "Is more than the {count:,} places there are; choose fewer.",
            count=len(places),
            field="clusters",
        )
    if places.sensitivity(params.hidden) == 0:
        raise InvalidInput(
            "Every visible unit has a single place, so nothing is hidden; hide more levels, or "
            "declare more places.",
            field="hidden",
        )
    bins = min(len(paths) * params.clusters, len(places))
    drawn = params.people * bins * spurious_places(params, epsilon, bound)
    if params.people * bins > MAX_PAIRS or drawn > MAX_PLACES:
        raise InvalidInput(
            "Would draw about {drawn:,.0f} places for {bins:,} bins of each of {people:,} "
            "virtual users, nearly all of them noise; choose fewer people or clusters or more "
            "epsilon, or use private-clusters.",
            drawn=drawn,
            bins=bins,
            people=params.people,
            field="people",
        )
    part = epsilon * Fraction(params.clustering, 100) / (params.rounds + 1)
    DiscreteLaplace(part, 3 * bound * GRID_CELLS)
    return Forecast(
        region="unit and cluster",
        plural="units and clusters",
        regions=bins,
        noise=DiscreteLaplace(part, bound),
        ground_metres=(domain.area.ground_square_kilometres / bins) ** 0.5 * 1000,
        cautions=(*_alone(places, params), *_caution(params, epsilon, bound, bins)),
        facts=_hiding(places),
    )


def _alone(places: Places, params: Params) -> tuple[Phrase, ...]:
    """Return a warning if a visible unit, such as a city, has one place alone: it is not hidden."""
    names = places.alone(params.hidden)
    if not names:
        return ()
    sentence = Phrase(
        "{count:,} of the visible units, such as {name}, have a single place: nothing is "
        "hidden there.",
        count=len(names),
        name=names[0],
    )
    return (sentence,)


def _caution(params: Params, epsilon: Fraction, bound: int, bins: int) -> tuple[Phrase, ...]:
    """Return a warning that recommends private clusters if many places will be spurious.

    `bins` is the largest possible number of bins: pairs of a visible unit and a cluster.
    """
    each = bins * spurious_places(params, epsilon, bound)
    if each * 4 < bound:
        return ()
    sentence = Phrase(
        "Every virtual user gets about {each:,.0f} places that are noise, and at most "
        "{bound:,} of each real person assigned to it. Private clusters show where people "
        "gather with far less noise.",
        each=each,
        bound=bound,
    )
    return (sentence,)


def spurious_places(params: Params, epsilon: Fraction, bound: int) -> float:
    """Return how many spurious places a virtual user is expected to get in a bin without records.

    It is E[max(0, X)] = a/(1 - a^2), where X is the discrete Laplace noise of the virtual user's
    count in the bin. a = exp(-r), where r is the rate of the noise: the epsilon of these counts,
    the weights, divided by the contribution bound `bound`.
    """
    noise = DiscreteLaplace(epsilon * Fraction(params.weights, 100), bound)
    ratio = float(np.exp(-float(noise.rate)))
    return ratio / max(1 - ratio**2, 1e-12)


def _labels(params: Params) -> list[str]:
    return [f"round {number}: sums of clusters" for number in range(1, params.rounds + 1)]


def _places(params: Params, domain: Domain) -> Places:
    if params.places:
        return domain.layer(params.places, Places)
    return _blocks(domain.area, params.cells)


@lru_cache(maxsize=8)
def _blocks(area: StudyArea, cells: int) -> Places:
    """Return the blocks of a grid over the study area as candidate places.

    The result is cached, since the form requests a forecast at each keystroke.
    """
    return Places.of_cells(area, cells)


@lru_cache(maxsize=16)
def _hiding(places: Places) -> tuple[Phrase, ...]:
    """Return, for each number of hidden levels, how far apart places of one unit can be.

    The sentences are cached.
    """
    return tuple(places.hiding())


def _visible(
    places: Places, params: Params
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int32]]:
    try:
        return places.paths(params.hidden)
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="hidden") from None


MECHANISM = Mechanism(
    key="prilocation",
    title="PriLocation",
    summary="Places of virtual users, drawn near real people's in the same city or district. "
    "Most of them are noise unless people have many records: consider private clusters first.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    kind=CLUSTERS,
)
