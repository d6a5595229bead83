"""Place name search: spellings, first letters, ranks and typing errors."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import shapely

from dpgeo.ground import names
from dpgeo.ground.names import Place
from dpgeo.ground.osm_names import extract_names
from dpgeo.ground.words import fold
from tests.unit.ground.files import EXTRACT

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module")
def extract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a search index, built from the names in an extract of OpenStreetMap."""
    path = tmp_path_factory.mktemp("names") / "a.sqlite"
    assert names.build(path, extract_names(EXTRACT), "OpenStreetMap") > 1000
    return path


def found(path: Path, text: str) -> list[tuple[str, str]]:
    return [(place.name, place.kind) for place in names.search(path, text)]


def mistyped(text: str, random: Random) -> str:
    """Return the text with one typing error.

    A letter is omitted, inserted, replaced, or swapped with the next one.
    """
    at, letter = random.randrange(len(text) - 1), random.choice(LETTERS)
    return random.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at + 1] + text[at] + text[at + 2 :],
        ]
    )


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Vaduz", ("Vaduz", "capital")),
        ("vad", ("Vaduz", "capital")),
        ("städtle", ("Städtle", "street")),
        ("STADTLE", ("Städtle", "street")),
        ("staedtle", ("Städtle", "street")),
        ("landstr triesen", ("Landstrasse", "street")),
        ("triesenbreg", ("Triesenberg", "village")),
        ("schan", ("Schaan", "village")),
    ],
)
def test_places_are_found_as_people_type_them(
    extract: Path, text: str, first: tuple[str, str]
) -> None:
    assert found(extract, text)[0] == first


def test_areas_have_outlines_and_municipalities_are_named(extract: Path) -> None:
    vaduz = next(each for each in names.search(extract, "vaduz") if each.has_outline)
    shape = names.outline(extract, vaduz.id)
    assert isinstance(shape, shapely.MultiPolygon | shapely.Polygon)
    assert shape.is_valid
    assert shape.contains(shapely.Point(9.5209, 47.1391))
    (street,) = [each for each in names.search(extract, "städtle") if each.kind == "street"]
    assert street.within == "Vaduz"
    assert names.outline(extract, street.id) is None
    assert names.outline(extract, 10**9) is None


def test_one_typing_error_is_forgiven(extract: Path) -> None:
    """Names are found despite one typing error in at least 85 of 100 cases.

    Most names that are not found are short words, or have a missing or misplaced space.
    """
    random = Random(20261123)  # noqa: S311 - the same names in each run
    known = sorted({place.name for place in extract_names(EXTRACT) if len(fold(place.name)) > 3})
    searches = [(name, mistyped(fold(name), random)) for name in random.sample(known, 200)]
    right = [
        name in {place.name for place in names.search(extract, text, 5)} for name, text in searches
    ]
    assert sum(right) >= 0.85 * len(searches), [
        each for each, hit in zip(searches, right, strict=True) if not hit
    ]


def test_an_exact_name_comes_before_larger_places_that_begin_with_it(tmp_path: Path) -> None:
    def places() -> list[Place]:
        at = shapely.Point(1, 2)
        hundreds = [Place(name=f"Berg{n}", kind="street", shape=at) for n in range(700)]
        return [*hundreds, Place(name="Berg", kind="locality", shape=at)]

    path = tmp_path / "a.sqlite"
    names.build(path, places(), "")
    assert names.search(path, "berg")[0].name == "Berg"
