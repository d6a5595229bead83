"""Invented people in a study area, for rehearsals and practice.

They are generated from public facts alone. Everybody has a home in one of a few neighbourhoods and
is also seen in the others. The number of sightings per person is heavy-tailed: most people have a
few, and some have very many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import to_degrees, to_mercator

NEIGHBOURHOODS = 14
DAYS = 28
FIRST_DAY = 1_777_852_800
"""Day on which invented sightings begin: Monday, 4 May 2026, 00:00 UTC, in seconds since 1970."""
MAX_SIGHTINGS = 200
TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InventedPeople:
    """Sightings of invented people, as arrays (n,).

    `person` holds the index of the person, `x` and `y` are in Web Mercator metres, and `time` is in
    seconds since 1970.
    """

    person: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    time: NDArray[np.int64]

    @property
    def degrees(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the longitudes (n,) and latitudes (n,) in degrees."""
        return to_degrees(self.x, self.y)

    def share(self, area: StudyArea) -> NDArray[np.float64]:
        """Return a number from 0 to 1 for each sighting (n,): a value of an invented measure.

        The number rises from the west of the area to the middle and falls again towards the east.
        """
        west, _, east, _ = area.mercator_bounds
        return 0.2 + 0.6 * np.sin(np.pi * np.clip((self.x - west) / (east - west), 0, 1))


def invent_people(area: StudyArea, people: int, seed: int = 1) -> InventedPeople:
    """Invent `people` people in `area` and return their sightings.

    The same arguments always give the same sightings.
    """
    random = np.random.default_rng(seed)
    middle = _anywhere(area, NEIGHBOURHOODS, random)
    share = np.arange(1, NEIGHBOURHOODS + 1, dtype=np.float64) ** -0.5
    share /= share.sum()
    west, south, east, north = area.mercator_bounds
    spread = 0.03 * min(east - west, north - south) * random.uniform(0.5, 1.6, NEIGHBOURHOODS)

    home_hood = random.choice(NEIGHBOURHOODS, people, p=share)
    home = _around(area, middle, spread, home_hood, random)
    sightings = np.minimum(1 + random.lognormal(1.3, 0.9, people).astype(np.int64), MAX_SIGHTINGS)
    person = np.repeat(np.arange(people, dtype=np.int64), sightings)
    elsewhere = random.random(len(person)) < 0.55
    place = home[person].copy()
    hood = random.choice(NEIGHBOURHOODS, int(elsewhere.sum()), p=share)
    place[elsewhere] = _around(area, middle, spread, hood, random)
    hour = np.mod(random.normal(np.where(elsewhere, 14.0, 20.5), 3.2), 24)
    day = random.integers(DAYS, size=len(person))
    time = FIRST_DAY + day * 86_400 + (hour * 3600).astype(np.int64)
    return InventedPeople(person=person, x=place[:, 0], y=place[:, 1], time=time)


def _around(
    area: StudyArea,
    middle: NDArray[np.float64],
    spread: NDArray[np.float64],
    hood: NDArray[np.int64],
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw positions (n, 2) around the neighbourhoods with the indices `hood` (n,).

    A position that is still outside the area after TRIES more draws is replaced by the
    centre of its neighbourhood.
    """

    def draw(at: NDArray[np.int64]) -> NDArray[np.float64]:
        scatter = random.normal(size=(len(at), 2)) * spread[hood[at], None]
        return np.asarray(middle[hood[at]] + scatter)

    place = draw(np.arange(len(hood)))
    for _ in range(TRIES):
        outside = np.flatnonzero(~_inside(area, place))
        if not len(outside):
            return place
        place[outside] = draw(outside)
    strays = np.flatnonzero(~_inside(area, place))
    place[strays] = middle[hood[strays]]
    return place


def _anywhere(area: StudyArea, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Draw `count` positions (count, 2), uniformly distributed in the area.

    If too few draws lie in the area, a fixed point of the area is repeated.
    """
    west, south, east, north = area.mercator_bounds
    tried = random.uniform((west, south), (east, north), (200 * count, 2))
    positions = tried[_inside(area, tried)][:count]
    at = area.shape.representative_point()
    middle = np.column_stack(to_mercator([at.x], [at.y]))
    return np.vstack([positions, np.repeat(middle, count - len(positions), axis=0)])


def _inside(area: StudyArea, place: NDArray[np.float64]) -> NDArray[np.bool_]:
    return area.covers(*to_degrees(place[:, 0], place[:, 1]))
