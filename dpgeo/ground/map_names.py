"""Names to write on maps: the largest places of an area, and cities and countries around it.

Installed regions of the basemap know the places within their bounds (OpenStreetMap). Elsewhere the
cities of GeoNames and the countries of Natural Earth are used. Nothing here depends on any dataset.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpgeo.ground import names
from dpgeo.ground.regions import ATTRIBUTION, Bounds, Region
from dpgeo.spatial.named_places import City
from dpgeo.spatial.projection import to_mercator

SETTLEMENTS = ("capital", "state_capital", "city", "town", "village", "suburb", "hamlet")
"""Kinds of places that a map names, the largest kinds first."""

LARGE = SETTLEMENTS[:3]
"""The kinds of settlements that are cities."""

GEONAMES = "GeoNames"
"""Credit for the names of the world's cities, which their licence (CC BY 4.0) requires."""

MAX_INSIDE, MAX_AROUND = 40, 40
"""Maximum number of names inside an area, and maximum number of further names around it."""

APART = 1 / 25
"""Smallest distance between two names, as a fraction of the longer side of the area they lie in."""

COUNTRY_RANK = 20.0

MIN_COUNTRY, MAX_COUNTRY = 1 / 2000, 4.0
"""Smallest and largest size of a country whose name is shown, as a multiple of the map's size.

Both sizes are in square degrees.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapName:
    """A name at a position in degrees, and the source to credit ("" for the public domain).

    `kind` is "country", "city" or "town".
    """

    name: str
    kind: str
    longitude: float
    latitude: float
    rank: float
    source: str


class WorldNames:
    """Names of the world's countries and of its cities, which every site knows.

    `countries` is a table with the tab-separated columns name, longitude, latitude and size in
    square degrees. The file may be missing.
    """

    def __init__(self, countries: Path, cities: Iterable[City]) -> None:
        self._countries = countries
        self._cities = [city for city in cities if city.population]
        self.cities = functools.lru_cache(maxsize=256)(self._cities_within)

    @cached_property
    def _at(self) -> NDArray[np.float64]:
        """Positions (n, 2) of the cities in degrees."""
        places = [(city.longitude, city.latitude) for city in self._cities]
        return np.array(places, dtype=np.float64).reshape(-1, 2)

    @cached_property
    def _named(self) -> list[tuple[str, float, float, float]]:
        """Name, position in degrees, and size in square degrees of each country."""
        if not self._countries.exists():
            return []
        rows = self._countries.read_text(encoding="utf-8").splitlines()
        return [(name, *map(float, rest)) for name, *rest in (row.split("\t") for row in rows)]  # type: ignore[misc]

    def _cities_within(self, bounds: Bounds) -> Sequence[MapName]:
        """Return the cities within bounds in degrees."""
        inside = (self._at >= bounds[:2]).all(axis=1) & (self._at <= bounds[2:]).all(axis=1)
        return [_name_of(self._cities[number]) for number in np.flatnonzero(inside).tolist()]

    def countries(self, area: Bounds, around: Bounds) -> list[MapName]:
        """Return the countries whose names lie in an area's surroundings.

        Countries that are too small or too large for a map of the surroundings are left out, and so
        are those whose name lies in the area and that are more than a quarter of the area's size.
        """
        shown = _size(around)
        return [
            MapName(
                name=name,
                kind="country",
                longitude=longitude,
                latitude=latitude,
                rank=COUNTRY_RANK + size / 1e4,
                source="",
            )
            for name, longitude, latitude, size in self._named
            if MIN_COUNTRY <= size / shown <= MAX_COUNTRY
            and _holds(around, longitude, latitude)
            and not (size > _size(area) / 4 and _holds(area, longitude, latitude))
        ]


def map_names(
    area: Bounds, around: Bounds, folder: Path, regions: Sequence[Region], world: WorldNames
) -> list[MapName]:
    """Return the names for a map of an area and its surroundings, most important first.

    `regions` are the basemap regions in `folder`. A place near a more important one is left out.
    """
    named = [each for each in regions if each.names and each.names_file(folder).exists()]
    cities = [
        city
        for city in world.cities(around)
        if not any(_holds(each.bounds, city.longitude, city.latitude) for each in named)
    ]
    inside = [place for each in named for place in _own(folder, each, area)]
    inside += [city for city in cities if _holds(area, city.longitude, city.latitude)]
    outside = [city for city in cities if not _holds(area, city.longitude, city.latitude)]
    chosen = [
        *world.countries(area, around),
        *_spread(inside, area, MAX_INSIDE),
        *_spread(outside, around, MAX_AROUND),
    ]
    return sorted(chosen, key=lambda each: -each.rank)


def sources_of(found: Iterable[MapName]) -> list[str]:
    """Return the sources to credit for the names, without duplicates."""
    return list(dict.fromkeys(each.source for each in found if each.source))


def _own(folder: Path, region: Region, area: Bounds) -> Iterator[MapName]:
    """Yield the settlements of a region that lie in an area."""
    for place in names.largest(region.names_file(folder), area, SETTLEMENTS, 4 * MAX_INSIDE):
        if _holds(area, place.longitude, place.latitude):
            yield MapName(
                name=place.name,
                kind="city" if place.kind in LARGE else "town",
                longitude=place.longitude,
                latitude=place.latitude,
                rank=place.rank,
                source=region.attribution or ATTRIBUTION,
            )


def _name_of(city: City) -> MapName:
    return MapName(
        name=city.name,
        kind="city",
        longitude=city.longitude,
        latitude=city.latitude,
        rank=names.RANKS["city"] + math.log10(city.population),
        source=GEONAMES,
    )


def _spread(found: list[MapName], bounds: Bounds, most: int) -> list[MapName]:
    """Return at most `most` names, the most important first, leaving out those close to others."""
    (west, east), (south, north) = to_mercator([bounds[0], bounds[2]], [bounds[1], bounds[3]])
    apart = APART * float(max(east - west, north - south))
    ranked = sorted(found, key=lambda place: -place.rank)
    x, y = to_mercator([each.longitude for each in ranked], [each.latitude for each in ranked])
    chosen: list[int] = []
    for number in range(len(ranked)):
        if len(chosen) == most:
            break
        far = np.maximum(abs(x[chosen] - x[number]), abs(y[chosen] - y[number])) >= apart
        if far.all():
            chosen.append(number)
    return [ranked[number] for number in chosen]


def _size(bounds: Bounds) -> float:
    """Return the size of a box in square degrees."""
    return (bounds[2] - bounds[0]) * (bounds[3] - bounds[1])


def _holds(bounds: Bounds, longitude: float, latitude: float) -> bool:
    west, south, east, north = bounds
    return west <= longitude <= east and south <= latitude <= north
