"""Search index of place names in SQLite, by prefix and tolerating one typing error.

Rows are stored by descending rank, so that the first ones found are the most important ones. The
index is a file of its own, separate from the site's database. Once written, it is only read.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import shapely

from dpgeo.ground.regions import new_file
from dpgeo.ground.words import MIN_FUZZY_LENGTH, error_keys, fold, is_near, spellings

RANKS = {
    **{
        "country": 9.0,
        "capital": 9.0,
        "city": 8.0,
        "county": 8.0,
        "town": 7.0,
        "municipality": 7.0,
    },
    **{
        "village": 6.0,
        "district": 5.0,
        "suburb": 5.0,
        "quarter": 4.0,
        "island": 5.0,
        "hamlet": 4.0,
    },
    **{"neighbourhood": 3.0, "station": 5.0, "halt": 4.0, "tram_stop": 2.0, "park": 3.0},
    **{"water": 3.0, "river": 4.0, "peak": 3.0, "street": 2.0, "locality": 1.0},
}
"""Base importance of each kind of place.

The importance of a place, `Place.rank`, is its kind's importance plus log10 of its population.
"""

OTHER_NAME, OTHER_BEGINNING = 7.5, 3.5
"""Scores if the search text is, or begins, another name of a place.

They are a little lower than the scores for the name on the map.
"""

MAX_SCORED = 500
"""Largest number of places scored in a search for whole words, or for beginnings of words."""

MAX_NAMES_IN_BOX = 5000
"""Largest number of matching places that a search within a box looks through.

A search without a box looks through MAX_SCORED.
"""

EVERYWHERE = (-180.0, -90.0, 180.0, 90.0)

MAX_NAMES_NEAR = 4000
"""Maximum number of words that are compared with a word that may contain an error."""

MAX_SPELLINGS = 12
"""Maximum number of similar words that are searched for besides each typed word."""

MAX_WORDS = 8

FEW = 5
"""If a search finds fewer results than this, it also looks for words with typing errors."""

MAX_RANKED = 100_000
"""The most important places in a box are taken from this many most important ones of all."""

SCHEMA = """
CREATE TABLE place (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, within TEXT NOT NULL,
    rank REAL NOT NULL, longitude REAL NOT NULL, latitude REAL NOT NULL,
    west REAL NOT NULL, south REAL NOT NULL, east REAL NOT NULL, north REAL NOT NULL, outline BLOB,
    others TEXT NOT NULL
);
CREATE VIRTUAL TABLE word USING fts5(
    keys, content='', columnsize=0, detail=none, prefix='1 2 3 4 5 6 7', tokenize='unicode61'
);
CREATE TABLE spelling (id INTEGER PRIMARY KEY, word TEXT NOT NULL);
CREATE TABLE near (key INTEGER NOT NULL, spelling INTEGER NOT NULL, PRIMARY KEY (key, spelling))
WITHOUT ROWID;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


COLUMNS = (
    "id, name, kind, within, rank, longitude, latitude, west, south, east, north, "
    "outline IS NOT NULL, others"
)

Row: TypeAlias = tuple[Any, ...]
"""A row of the table of places: COLUMNS, then the place's other names as one text.

The other names are folded (`words.fold`), and each is between two line breaks.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A named place to be stored.

    `others` are further names, and `within` is the municipality or country around the place.
    `outline` is the boundary of an area that owners may choose as a study area, or None for any
    other place.
    """

    name: str
    kind: str
    shape: shapely.Geometry
    others: Sequence[str] = ()
    within: str = ""
    population: float = 0.0
    outline: shapely.Geometry | None = None

    @property
    def rank(self) -> float:
        """Importance of the place, from about 1 (low) to 17 (high)."""
        return RANKS.get(self.kind, 1.0) + math.log10(max(self.population, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A place found by a search; `box` is west, south, east and north in degrees.

    The better the place matches the search text, the higher `score` is.
    """

    id: int
    name: str
    kind: str
    within: str
    rank: float
    longitude: float
    latitude: float
    box: tuple[float, float, float, float]
    has_outline: bool
    score: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether the whole search text is one of the place's names."""
        return self.score - self.rank >= OTHER_NAME - 0.5


def build(path: Path, places: Iterable[Place], source: str) -> int:
    """Write a file of names at a path where no file exists; return the number of places in it.

    `source` says where the names come from.
    """
    ranked = sorted(places, key=lambda place: -place.rank)
    words: dict[str, None] = {}
    with new_file(path.parent) as loose, closing(sqlite3.connect(loose)) as database:
        database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA}")
        database.execute("INSERT INTO about VALUES ('source', ?)", (source,))
        for number, place in enumerate(ranked, 1):
            database.execute(
                "INSERT INTO place VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, *_values(place)),
            )
            keys = spellings(place.name) | _folded_others(place)
            keys |= {fold(place.within)} - {""}
            database.execute(
                "INSERT INTO word (rowid, keys) VALUES (?, ?)", (number, " ".join(sorted(keys)))
            )
            words.update(dict.fromkeys(word for key in sorted(keys) for word in key.split()))
        database.executemany("INSERT INTO spelling VALUES (?, ?)", enumerate(words, 1))
        database.executemany("INSERT INTO near VALUES (?, ?)", sorted(_near_rows(words)))
        database.execute("INSERT INTO word (word) VALUES ('optimize')")
        database.commit()
        # VACUUM without INTO would first write a copy into the system's temporary folder.
        database.execute("VACUUM INTO ?", (str(path),))
    return len(ranked)


def search(path: Path, text: str, most: int = 8, box: Sequence[float] | None = None) -> list[Found]:
    """Return places with names that begin with the words of a text, best matches first.

    With a `box` in degrees, only places that intersect it are returned. If there are few results,
    words with one typing error are searched for as well. Raises FileNotFoundError if `path` is
    missing.
    """
    words = fold(text).split()[:MAX_WORDS]
    if not words:
        return []
    database = _opened(path, path.stat().st_mtime_ns)
    matches = _matching(database, [[word] for word in words], box, whole=True)
    matches |= _matching(database, [[word] for word in words], box)
    if len(matches) < FEW:
        near = [[word, *_near_words(database, word)] for word in words]
        matches |= _matching(database, near, box)
    key = " ".join(words)
    # Only the best rows are turned into objects, since there may be hundreds of matches.
    best = sorted(
        ((name_score(row, key), row) for row in matches.values()), key=lambda each: -each[0]
    )
    return [found_in(row, score) for score, row in best[:most]]


def outline(path: Path, number: int) -> shapely.Geometry | None:
    """Return the outline of a place, or None if it has none."""
    database = _opened(path, path.stat().st_mtime_ns)
    row = database.one("SELECT outline FROM place WHERE id = ?", (number,))
    return shapely.from_wkb(row[0]) if row and row[0] else None


def source_of(path: Path) -> str:
    """Return the text `source` that was given to `build`: where the names come from."""
    database = _opened(path, path.stat().st_mtime_ns)
    return str(database.one("SELECT value FROM about WHERE name = 'source'", ())[0])


def kinds_within(path: Path, box: Sequence[float]) -> dict[tuple[str, bool], int]:
    """Return the number of places that intersect a box in degrees, by (kind, has an outline)."""
    rows = _opened(path, path.stat().st_mtime_ns).all(
        "SELECT kind, outline IS NOT NULL, count(*) FROM place "
        "WHERE east >= ? AND north >= ? AND west <= ? AND south <= ? GROUP BY 1, 2",
        _corners(box),
    )
    return {(kind, bool(outlined)): count for kind, outlined, count in rows}


def places_within(
    path: Path, box: Sequence[float], kinds: Sequence[str], *, outlined: bool
) -> list[tuple[str, str, shapely.Geometry]]:
    """Return each place of the given kinds that intersects a box: name, surroundings and shape.

    The surroundings are the municipality or country around the place. If `outlined`, only places
    with a stored outline are returned, which is then their shape. Otherwise, only places without an
    outline are returned, and their shape is a point.
    """
    rows = _opened(path, path.stat().st_mtime_ns).all(
        "SELECT name, within, longitude, latitude, outline FROM place "
        "WHERE east >= ? AND north >= ? AND west <= ? AND south <= ? "
        "AND (outline IS NOT NULL) = ? AND kind IN (SELECT value FROM json_each(?)) ORDER BY id",
        (*_corners(box), outlined, json.dumps([*kinds])),
    )
    return [
        (name, within, shapely.from_wkb(shape) if outlined else shapely.Point(longitude, latitude))
        for name, within, longitude, latitude, shape in rows
    ]


def largest(path: Path, box: Sequence[float], kinds: Sequence[str], most: int) -> list[Found]:
    """Return the most important places of the given kinds that intersect a box in degrees."""
    database = _opened(path, path.stat().st_mtime_ns)
    rows = database.places(
        "id <= ? AND east >= ? AND north >= ? AND west <= ? AND south <= ? "
        "AND kind IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?",
        (MAX_RANKED, *_corners(box), json.dumps([*kinds]), most),
    )
    return [found_in(row) for row in rows]


def _corners(box: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(each) for each in box)


class _Database:
    """A file of names that several threads can read."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            f"file:{path}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )

    def all(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Run a query with these values, and return all rows of the result."""
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def places(self, where: str, values: Sequence[Any]) -> list[Row]:
        """Return the rows of the places that meet an SQL condition with these `values`."""
        return self.all(f"SELECT {COLUMNS} FROM place WHERE {where}", values)  # noqa: S608

    def one(self, query: str, values: Sequence[Any]) -> Any:
        """Return the first row of a query's result, or None if there is none."""
        return next(iter(self.all(query, values)), None)


@lru_cache(maxsize=16)
def _opened(path: Path, changed_ns: int) -> _Database:
    return _Database(path)


def _values(place: Place) -> tuple[Any, ...]:
    middle = place.shape.representative_point()
    shape = None if place.outline is None else shapely.to_wkb(place.outline, output_dimension=2)
    facts = (place.name, place.kind, place.within, place.rank)
    others = "\n".join(["", *sorted(_folded_others(place)), ""])
    return (*facts, middle.x, middle.y, *place.shape.bounds, shape, others)


def _folded_others(place: Place) -> set[str]:
    return {key for name in place.others for key in spellings(name)}


def _near_rows(words: Iterable[str]) -> set[tuple[int, int]]:
    return {
        (key, number)
        for number, word in enumerate(words, 1)
        if len(word) >= MIN_FUZZY_LENGTH - 1
        for key in error_keys(word)
    }


def _matching(
    database: _Database,
    words: Sequence[Sequence[str]],
    box: Sequence[float] | None,
    *,
    whole: bool = False,
) -> dict[int, Row]:
    """Return the rows of the places that match every typed word in at least one of its spellings.

    `words` holds the spellings of each word. A spelling may also match the beginning of a longer
    word, unless `whole` is true.
    """
    end = '"' if whole else '"*'
    groups = (" OR ".join(f'"{each}{end}' for each in spelled) for spelled in words)
    match = " AND ".join(f"({group})" for group in groups)
    looked_at = MAX_SCORED if box is None else MAX_NAMES_IN_BOX
    rows = database.places(
        "id IN (SELECT rowid FROM word WHERE word MATCH ? LIMIT ?) "
        "AND east >= ? AND north >= ? AND west <= ? AND south <= ? ORDER BY id LIMIT ?",
        (match, looked_at, *_corners(EVERYWHERE if box is None else box), MAX_SCORED),
    )
    return {row[0]: row for row in rows}


def found_in(row: Row, score: float = 0.0) -> Found:
    """Convert a row of the index to a search result; `score` says how well it matches."""
    return Found(
        id=row[0],
        name=row[1],
        kind=row[2],
        within=row[3],
        rank=row[4],
        longitude=row[5],
        latitude=row[6],
        box=row[7:11],
        has_outline=bool(row[11]),
        score=score,
    )


def _near_words(database: _Database, typed: str) -> list[str]:
    """Return the words that a typed word may stand for, the most important ones first."""
    if len(typed) < MIN_FUZZY_LENGTH:
        return []
    keys = error_keys(typed)
    rows = database.all(
        "SELECT word FROM spelling WHERE id IN (SELECT spelling FROM near WHERE key IN "
        "(SELECT value FROM json_each(?))) ORDER BY id LIMIT ?",
        (json.dumps([*keys]), MAX_NAMES_NEAR),
    )
    near = [word for (word,) in rows if word != typed and is_near(typed, word)]
    return sorted(near, key=lambda word: abs(len(word) - len(typed)) > 1)[:MAX_SPELLINGS]


def name_score(row: Row, key: str) -> float:
    """Return a score of how well a place matches a search.

    The match of the name counts more than the place's rank.
    """
    title, rank, others = row[1], row[4], row[12]
    first = key.partition(" ")[0]
    best = (
        OTHER_NAME if f"\n{key}\n" in others else OTHER_BEGINNING if f"\n{key}" in others else 0.0
    )
    for name in spellings(title):
        if name == key:
            best = max(best, 8.0)
        elif name.startswith(key):
            best = max(best, 4.0)
        elif is_near(key, name):
            best = max(best, 3.0 if abs(len(name) - len(key)) <= 1 else 1.5)
        elif name.startswith(first):
            best = max(best, 1.0)
    return float(best + rank - len(title) / 1000)
