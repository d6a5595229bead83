"""Invented names of places and streets, as varied and as repetitive as real ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

import shapely

from dpgeo.ground.names import Place
from dpgeo.ground.words import MIN_FUZZY_LENGTH

FIRST = (
    *("ba", "be", "bra", "bu", "cha", "da", "do", "du", "ei", "el", "fa", "fle"),
    *("fro", "ga", "gre", "ha", "hei", "ho", "ilm", "ja", "ka", "kle", "ko", "la"),
    *("le", "lim", "lu", "ma", "mei", "mo", "na", "neu", "no", "ob", "os", "pa"),
    *("pe", "plo", "ra", "rei", "ro", "sa", "schö", "se", "sta", "sta", "ta", "tre"),
    *("ul", "va", "ve", "wa", "wei", "wo", "ya", "za", "zei", "žu", "ø", "å", "é"),
)
MIDDLE = (
    *("", "", "", "ber", "chi", "den", "der", "gen", "ken", "len", "li", "lo", "mar"),
    *("men", "mi", "na", "ner", "nin", "ra", "ren", "ri", "ro", "sel", "sen", "ta"),
    *("ten", "ti", "ver", "win"),
)
LAST = (
    *("au", "bach", "berg", "bridge", "burg", "by", "dorf", "feld", "ford", "furt"),
    *("hagen", "ham", "heim", "hof", "hus", "ingen", "kirchen", "lund", "mar"),
    *("mont", "nik", "ov", "ow", "rode", "stad", "stätten", "tal", "thorpe", "ton"),
    *("vik", "ville", "wald", "wick", "wil", "yeni"),
)
STREETS = (
    *("{}straße", "{}straße", "{}straße", "{}weg", "{}gasse", "{}platz", "{} Road", "{} Street"),
    *("{} Lane", "Rue de {}", "Avenue {}", "Via {}", "Calle {}", "{}gatan", "{}vej", "Am {}"),
)
SHARED = ("Haupt", "Bahnhof", "Kirch", "Schul", "Garten", "Linden", "Dorf", "Wald", "Markt", "Ring")

VILLAGES, TOWNS = 0.2, 0.02
"""Shares of villages and of towns among the names; the rest are streets."""

MUNICIPALITIES = 5000

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def invented_places(count: int, rng: random.Random) -> Iterator[Place]:
    """Yield places with random names at random positions."""
    around = [_name(rng) for _ in range(MUNICIPALITIES)]
    for _ in range(count):
        draw = rng.random()
        point = shapely.Point(rng.uniform(-10, 30), rng.uniform(36, 60))
        if draw < TOWNS:
            people = 10 ** rng.uniform(4, 6.5)
            yield Place(name=_name(rng), kind="town", shape=point, population=people)
        elif draw < TOWNS + VILLAGES:
            yield Place(name=_name(rng), kind="village", shape=point, within=rng.choice(around))
        else:
            stem = rng.choice(SHARED) if rng.random() < 0.1 else _name(rng)
            name = rng.choice(STREETS).format(stem)
            yield Place(name=name, kind="street", shape=point, within=rng.choice(around))


def mistyped(name: str, rng: random.Random) -> str:
    """Return a name with one letter left out, added, replaced or swapped with its neighbour."""
    letters = [
        at
        for start, word in _words(name)
        if len(word) > MIN_FUZZY_LENGTH
        for at in range(start, start + len(word) - 1)
    ]
    at = rng.choice(letters)
    kind = rng.randrange(4)
    if kind == 0:
        return name[:at] + name[at + 1 :]
    if kind == 1:
        return name[:at] + rng.choice(LETTERS) + name[at:]
    if kind == 2:
        return name[:at] + rng.choice(LETTERS) + name[at + 1 :]
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def _name(rng: random.Random) -> str:
    return (rng.choice(FIRST) + rng.choice(MIDDLE) + rng.choice(MIDDLE) + rng.choice(LAST)).title()


def _words(name: str) -> Iterator[tuple[int, str]]:
    start = 0
    for word in name.split(" "):
        yield start, word
        start += len(word) + 1
