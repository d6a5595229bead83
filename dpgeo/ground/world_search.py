"""Search by name among the world's countries and cities, which every site knows.

It adds to the search in the installed basemap regions. Like that search, it matches the beginnings
of words and tolerates one typing error, but it knows no streets and no outlines. The names in other
languages are known once the operator has added a table of GeoNames.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol

import shapely

from dpgeo.ground import names
from dpgeo.ground.names import RANKS, Found, Place, Row, found_in, name_score
from dpgeo.ground.regions import Bounds
from dpgeo.ground.words import MIN_FUZZY_LENGTH, fold, is_near, spellings
from dpgeo.spatial.named_places import CITY_KILOMETRES, Source, WorldPlaces

CITY_DEGREES = 0.05
"""Half the side of the box around a city's position, in degrees."""


COUNTRY_PEOPLE = 1e8
"""Population assumed for every country, so that a search ranks it above all cities."""


ADDED = f"GeoNames, as added to this site (CC BY 4.0), {CITY_KILOMETRES} km around the city"


class NameSearch(Protocol):
    """Search for places of the world by name."""

    def search(self, text: str, most: int = 8, box: Bounds | None = None) -> list[Found]:
        """Return the places whose names begin with the words of a text, best matches first.

        With a `box` in degrees, only places that intersect it are returned.
        """


class IndexedSearch:
    """Search in an index of towns with their alternative names, and of countries."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def source(self) -> Source:
        """The public source of the towns (GeoNames), with the date of the operator's copy."""
        date = str(json.loads(names.source_of(self._path))["date"])
        return Source(name=ADDED, url="https://www.geonames.org/", date=date)

    def search(self, text: str, most: int = 8, box: Bounds | None = None) -> list[Found]:
        """Return places with names that begin with the words of a text, best matches first.

        The result is empty if the index has been removed.
        """
        try:
            return names.search(self._path, text, most, box)
        except FileNotFoundError:  # The operator removed the index after this search began.
            return []


class WorldSearch:
    """Search by name in a list of countries and cities, held in memory."""

    def __init__(self, places: WorldPlaces) -> None:
        self._places = places

    @cached_property
    def _rows(self) -> list[tuple[str, Row]]:
        """For each place, the largest first: the words of its names, normalised by `fold`, and its
        row.
        """
        return sorted(self._read(), key=lambda each: -each[1][4])

    def search(self, text: str, most: int = 8, box: Bounds | None = None) -> list[Found]:
        """Return the places whose names begin with the words of a text, best matches first.

        With a `box` in degrees, only places that intersect it are returned.
        """
        words = fold(text).split()
        if not words:
            return []
        rows = self._rows
        if box is not None:
            rows = [each for each in rows if _touches(each[1], box)]
        begun = [f" {word}" for word in words]
        found = [row for keys, row in rows if all(word in keys for word in begun)]
        if not found and len(words[0]) >= MIN_FUZZY_LENGTH:
            found = [row for keys, row in rows if _is_like(words, keys.split())]
        key = " ".join(words)
        best = sorted(((name_score(row, key), row) for row in found), key=lambda each: -each[0])
        return [found_in(row, score) for score, row in best[:most]]

    def _read(self) -> Iterator[tuple[str, Row]]:
        highest = RANKS["country"] + math.log10(COUNTRY_PEOPLE)
        for name, box in self._places.country_boxes:
            middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            row = (0, name, "country", "", highest, *middle, *box, 0, "")
            yield f" {fold(name)}", row
        for city in self._places.cities.values():
            x, y = city.longitude, city.latitude
            box = city_box(x, y)
            rank = RANKS["city"] + math.log10(max(city.population, 1))
            keys = " ".join(sorted(spellings(city.name) | {fold(city.country)}))
            yield f" {keys}", (0, city.name, "city", city.country, rank, x, y, *box, 0, "")


def countries(places: WorldPlaces) -> Iterator[Place]:
    """Yield the countries as places for an index."""
    for name, box in places.country_boxes:
        shape = shapely.box(*box)
        yield Place(name=name, kind="country", shape=shape, population=COUNTRY_PEOPLE)


def city_box(longitude: float, latitude: float) -> Bounds:
    """Return the box, in degrees, that stands for a city at a position."""
    return (
        longitude - CITY_DEGREES,
        latitude - CITY_DEGREES,
        longitude + CITY_DEGREES,
        latitude + CITY_DEGREES,
    )


def _is_like(typed: list[str], words: list[str]) -> bool:
    """Return whether each typed word begins one of `words`, with at most one error each."""
    return all(any(is_near(each, word) for word in words) for each in typed)


def _touches(row: Row, box: Bounds) -> bool:
    west, south, east, north = row[7:11]
    return bool(west <= box[2] and east >= box[0] and south <= box[3] and north >= box[1])
