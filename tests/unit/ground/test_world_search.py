"""Search among the countries and cities that every site knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpgeo.ground.world_search import WorldSearch
from tests.unit.spatial.test_named_places import SHAPES, world


@pytest.fixture
def search(tmp_path: Path) -> WorldSearch:
    """Return a search for place names in an invented world."""
    return WorldSearch(world(tmp_path, SHAPES))


def names(search: WorldSearch, text: str) -> list[str]:
    """Return the names and countries of the places that a search finds."""
    return [f"{each.name}, {each.within}".strip(", ") for each in search.search(text)]


def test_beginnings_find_places_without_accents_and_the_larger_come_first(
    search: WorldSearch,
) -> None:
    assert names(search, "odd")[:3] == ["Oddland", "Oddtown, France", "Oddtown, United States"]
    assert names(search, "oddtown united st") == ["Oddtown, United States"]
    assert names(search, "reykjav")[0] == "Reykjavík, Iceland"
    assert names(search, "sao ficta") == ["São Ficta"]
    assert names(search, "") == names(search, "qqqq") == []
