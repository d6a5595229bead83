"""Search by name among the world's countries and cities, which every site knows.

It is the coarse layer beneath the names of installed regions: matched in the same way, by the
beginnings of words and with one typing error forgiven, but without streets and outlines. Large
cities are also found by their names in other languages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from dpgeo.ground.names import RANKS, Found, Row, found_in, score_of
from dpgeo.ground.regions import Bounds
from dpgeo.ground.words import LEAST_FORGIVEN, fold, is_near, spellings
from dpgeo.spatial.named_places import City, WorldPlaces

CITY_DEGREES = 0.05
"""Half the side of the box around a city's position, in degrees."""

LEAST_LETTERS = 3
"""Number of Latin letters with which names in other languages are searched; fewer begin too many.
"""

OTHER_NAME_LOSS = 2.0
"""By how much a match of another name scores less than one of a place's own name."""


class WorldSearch:
    """Search in a list of countries and cities, held in memory."""

    def __init__(self, places: WorldPlaces) -> None:
        self._places = places

    @cached_property
    def _rows(self) -> list[tuple[str, Row]]:
        """The folded words by which each place is found, and its row, the largest first."""
        return sorted(self._read(), key=lambda each: -each[1][4])

    @cached_property
    def _others(self) -> list[tuple[str, str, Row]]:
        """Each further name of a city: its folded words, the name itself, and the city's row."""
        return [
            (f" {fold(other)} {fold(city.country)}", other, row)
            for city, row in self._cities()
            for other in city.others
        ]

    def search(self, text: str, most: int = 8, box: Bounds | None = None) -> list[Found]:
        """Return the places whose names begin with the words of a text, best matches first.

        With a `box` in degrees, only places that touch it are returned.
        """
        words = fold(text).split()
        if not words:
            return []
        rows = self._rows
        if box is not None:
            rows = [each for each in rows if _touches(each[1], box)]
        begun, key = [f" {word}" for word in words], " ".join(words)
        found = [row for keys, row in rows if all(word in keys for word in begun)]
        scores = {row: score_of(row, key) for row in found}
        if len(key) >= LEAST_LETTERS or not key.isascii():
            for row, score in self._by_other_names(begun, key, box):
                scores[row] = max(score, scores.get(row, score))
        if not scores and len(words[0]) >= LEAST_FORGIVEN:
            found = [row for keys, row in rows if _is_like(words, keys.split())]
            scores = {row: score_of(row, key) for row in found}
        best = sorted(scores.items(), key=lambda each: -each[1])
        return [found_in(row, score) for row, score in best[:most]]

    def _by_other_names(
        self, begun: list[str], key: str, box: Bounds | None
    ) -> Iterator[tuple[Row, float]]:
        """Yield the row and the score of each city with another name that matches."""
        for keys, name, row in self._others:
            inside = box is None or _touches(row, box)
            if inside and all(word in keys for word in begun):
                yield row, score_of((row[0], name, *row[2:]), key) - OTHER_NAME_LOSS

    def _read(self) -> Iterator[tuple[str, Row]]:
        for name, box in self._places.country_boxes:
            middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            row = (0, name, "country", "", RANKS["country"] + 8, *middle, *box, 0)
            yield f" {fold(name)}", row
        for city, row in self._cities():
            keys = " ".join(sorted(spellings(city.name) | {fold(city.country)}))
            yield f" {keys}", row

    def _cities(self) -> Iterator[tuple[City, Row]]:
        for city in self._places.cities.values():
            x, y = city.longitude, city.latitude
            box = x - CITY_DEGREES, y - CITY_DEGREES, x + CITY_DEGREES, y + CITY_DEGREES
            rank = RANKS["city"] + math.log10(max(city.population, 1))
            yield city, (0, city.name, "city", city.country, rank, x, y, *box, 0)


def _is_like(typed: list[str], words: list[str]) -> bool:
    """Return whether each typed word is the beginning of a word, with at most one error each."""
    return all(any(is_near(each, word) for word in words) for each in typed)


def _touches(row: Row, box: Bounds) -> bool:
    west, south, east, north = row[7:11]
    return bool(west <= box[2] and east >= box[0] and south <= box[3] and north >= box[1])
