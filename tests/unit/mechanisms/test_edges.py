"""Edge counts of Fan and Jin's graphs, obtained as flows or as counts by context.

Edges between two items are flows; edges between an item and an attribute are counts by context.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import shapely

from dpgeo.core.guarantees import Counting
from dpgeo.core.released import FlowsRelease, PlacesRelease
from dpgeo.mechanisms import flows, places
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones
from tests.randomness import ZeroNoise
from tests.views import ArrayView

AREA = StudyArea.from_bounds(0, 0, 0.1, 0.1)
KEYS = ("post", "mill", "quay", "hall")
LONGITUDE, LATITUDE = np.array([0.02, 0.08, 0.02, 0.08]), np.array([0.02, 0.02, 0.08, 0.08])
ITEMS = Places(
    levels=("place",),
    keys=KEYS,
    units=tuple((key,) for key in KEYS),
    longitude=LONGITUDE,
    latitude=LATITUDE,
)
AROUND = Zones(
    keys=KEYS,
    names=KEYS,
    shapes=shapely.box(LONGITUDE - 0.01, LATITUDE - 0.01, LONGITUDE + 0.01, LATITUDE + 0.01),
)
"""Squares around the places that people visit, as zones between which trips are counted."""

GAP = 6
PEOPLE, VISITS = 30, 8


def visits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return who was where and in which hour of the week. A person's hours all differ."""
    random = np.random.default_rng(9)
    who = np.repeat(np.arange(PEOPLE), VISITS)
    hour = np.concatenate(
        [np.sort(random.choice(168, VISITS, replace=False)) for _ in range(PEOPLE)]
    )
    return who, random.integers(0, 4, who.size), hour


def graph(counting: Counting) -> ArrayView:
    who, item, hour = visits()
    return ArrayView(
        area=AREA,
        longitude=LONGITUDE[item],
        latitude=LATITUDE[item],
        persons=who,
        hours=hour,
        counting=counting,
        bound=VISITS,
        declared={"items": ITEMS, "around": AROUND},
    )


def test_an_edge_between_two_items_is_a_flow_between_places() -> None:
    params = flows.Params(zones="around", trips=flows.FOLLOWING, gap_hours=GAP)
    released = run(
        flows.MECHANISM, graph(Counting.VISITS), params, Fraction(1), ZeroNoise(), {}
    ).content
    assert isinstance(released, FlowsRelease)
    who, item, hour = visits()
    edges = Counter(
        (int(item[n]), int(item[n + 1]))
        for n in range(who.size - 1)
        if who[n] == who[n + 1] and hour[n + 1] - hour[n] <= GAP and item[n] != item[n + 1]
    )
    counts = released.pairs.reshape(4, 4)
    assert {(int(i), int(j)): int(counts[i, j]) for i, j in np.argwhere(counts)} == edges
    assert len(edges) > 5


def test_an_edge_between_an_item_and_an_attribute_is_a_count_in_a_context() -> None:
    for counting in Counting:
        params = places.Params(places="items", slices="days of the week")
        released = run(
            places.MECHANISM, graph(counting), params, Fraction(1), ZeroNoise(), {}
        ).content
        assert isinstance(released, PlacesRelease)
        who, item, hour = visits()
        rows = list(zip((hour // 24).tolist(), item.tolist(), who.tolist(), strict=True))
        seen = set(rows) if counting is Counting.PEOPLE else rows
        edges = Counter((day, place) for day, place, _ in seen)
        found = {
            (int(i), int(j)): int(released.pairs[i, j]) for i, j in np.argwhere(released.pairs)
        }
        assert found == edges
        nodes = {(place, person) for _, place, person in rows}
        of_items = nodes if counting is Counting.PEOPLE else [(place, 0) for _, place, _ in rows]
        assert released.counts.tolist() == [
            sum(place == each for place, _ in of_items) for each in range(4)
        ]
