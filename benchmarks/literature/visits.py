"""Visits by person, place and day of the week, bounded as Fan and Jin 2015 do.

SRA keeps at most l visits of each person at random; HPA keeps those to the places that are most
popular, by a noisy count of one visit of each person.

Privacy. SRA chooses by the person's own visits alone, so one person changes counts of the kept
visits by at most l. HPA also reads a public estimate, which costs epsilon_0 and has the sensitivity
1; given this estimate, the kept visits of a person again depend on nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_mercator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAYS = 7
CELLS = 64
PEOPLE, VENUES, MOST = 45_289, 17_967, 1_303
"""Numbers of people and venues, and the most visits of a person, in table 4 of Fan and Jin 2015."""

FAVOURITES = 3
"""Number of venues that a person visits again and again."""

MINUTES_OF_A_DAY = 1_440


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Visits (n,): person, place from 0 to below `places`, and day of the week from 0 to 6."""

    person: Ints
    place: Ints
    day: Ints
    places: int

    def of_places(self) -> Floats:
        """Return the number of visits to each place."""
        return np.bincount(self.place, minlength=self.places).astype(np.float64)

    def of_edges(self) -> Floats:
        """Return the number of visits (places, DAYS) to each place on each day of the week."""
        key = self.place * DAYS + self.day
        return np.bincount(key, minlength=self.places * DAYS).astype(np.float64)

    def of_days(self) -> Floats:
        """Return the share of visits on each day of the week."""
        return np.bincount(self.day, minlength=DAYS) / max(1, self.day.size)

    def largest(self) -> int:
        """Return the largest number of visits of any person.

        The number is private; only published methods that need it are given it.
        """
        return int(np.unique(self.person, return_counts=True)[1].max())

    def bounded(self, bound: int, random: Generator, popularity: Floats | None = None) -> Visits:
        """Return at most `bound` visits of each person.

        They are chosen at random, or those to the places with the greatest `popularity`.
        """
        score = np.zeros(self.place.size) if popularity is None else -popularity[self.place]
        order = np.lexsort([random.random(self.person.size), score, self.person])
        _, start, number = np.unique(self.person[order], return_index=True, return_counts=True)
        rank = np.arange(order.size) - np.repeat(start, number)
        kept = order[rank < bound]
        return Visits(self.person[kept], self.place[kept], self.day[kept], self.places)


def read(file: Path | None) -> Visits:
    """Return the visits in a Parquet file, or invented ones.

    The file has the columns user and minute (since a Sunday at midnight), and poi, or lon and lat,
    from which 64 x 64 cells are made.
    """
    if file is None:
        return _generated()
    import pandas

    table = pandas.read_parquet(file)
    person = np.unique(table["user"], return_inverse=True)[1].astype(np.int64)
    day = (table["minute"].to_numpy() // MINUTES_OF_A_DAY % DAYS).astype(np.int64)
    if "poi" in table:
        names, place = np.unique(table["poi"], return_inverse=True)
        return Visits(person, place.astype(np.int64), day, len(names))
    lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
    grid = Grid.over(StudyArea.from_bounds(lon.min(), lat.min(), lon.max(), lat.max()), CELLS)
    return Visits(person, grid.locate(*to_mercator(lon, lat)), day, grid.size)


def _generated() -> Visits:
    """Return invented visits like the Foursquare data of Fan and Jin 2015.

    The numbers of people and of venues and the most visits of a person are those of the paper. Half
    of a person's visits are to a few venues of his or her own, the others to venues that are
    popular by Zipf's law. People with few visits go out at week-ends more often than the others.
    """
    random = np.random.default_rng(11)
    number = np.minimum(random.pareto(1.1, PEOPLE) * 7 + 1, MOST).astype(np.int64)
    person = np.repeat(np.arange(PEOPLE), number)
    weight = np.cumsum(1 / (np.arange(VENUES) + 10))
    place = np.searchsorted(weight, random.random(person.size) * weight[-1]).astype(np.int64)
    private = random.integers(0, VENUES, (PEOPLE, FAVOURITES))
    own = random.random(person.size) < 0.5
    place[own] = private[person[own], random.integers(0, FAVOURITES, int(own.sum()))]
    weekend = random.random(person.size) < np.where(number <= 10, 0.4, 2 / 7)[person]
    day = np.where(weekend, random.choice([0, 6], person.size), random.integers(1, 6, person.size))
    return Visits(person, place, day, VENUES)
