"""The world's towns from a table of GeoNames, with their names in other languages."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ground import regions
from dpgeo.ground.adding import world_build
from dpgeo.ground.world_search import IndexedSearch
from tests.unit.spatial.test_named_places import SHAPES, world


def line(name: str, others: str, at: tuple[float, float], people: int, **facts: str) -> str:
    """Return a line of a table in the form of GeoNames."""
    facts = {"feature": "P", "code": "PPL", "country": "FR", **facts}
    left = ["1", name, name, others, str(at[1]), str(at[0]), facts["feature"], facts["code"]]
    right = [facts["country"], *[""] * 5, str(people), "", "", "UTC", "2026-01-02"]
    return "\t".join([*left, *right])


TABLE = "\n".join(
    [
        line("Vienna", "Wien,Vindobona,Відень", (16.4, 48.2), 1_700_000, code="PPLC"),
        line("Wiener Wald", "", (16.0, 48.0), 900_000),
        line("Hamlet", "Weiler", (2.0, 2.0), 40),
        line("Mount Odd", "", (2.0, 2.0), 0, feature="T"),
    ]
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write an invented table, packed as GeoNames publishes it."""
    path = tmp_path / "cities15000.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cities15000.txt", TABLE + "\n")
    return path


def found(folder: Path, text: str) -> list[tuple[str, str, str]]:
    search = IndexedSearch(regions.world_file(folder))
    return [(each.name, each.kind, each.within) for each in search.search(text)]


def test_towns_are_found_by_their_names_in_other_languages(tmp_path: Path, table: Path) -> None:
    folder = tmp_path / "ground"
    assert world_build(folder, table, world(tmp_path, SHAPES), "2026-11-01") == 3 + len(SHAPES)
    vienna = ("Vienna", "capital", "France")
    assert found(folder, "wien")[0] == vienna
    assert found(folder, "віден")[0] == vienna
    assert found(folder, "vindbona") == [vienna]
    assert found(folder, "weiler") == [("Hamlet", "town", "France")]
    assert found(folder, "mount") == []
    assert found(folder, "oddl") == [("Oddland", "country", "")]
    search = IndexedSearch(regions.world_file(folder))
    assert [each.is_exact for each in search.search("wien")] == [True, False]
    assert search.source.date == "2026-11-01"


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n",
        line("X", "", (400, 2), 1),
        line("X", "", (2, 2), 1).replace("\t1\t", "\tmany\t"),
        "\x00",
    ],
)
def test_other_tables_are_refused_and_leave_nothing(tmp_path: Path, content: str) -> None:
    folder, path = tmp_path / "ground", tmp_path / "towns.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match="not a table of GeoNames"):
        world_build(folder, path, world(tmp_path, SHAPES))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not a table of GeoNames"):
        world_build(folder, path, world(tmp_path, SHAPES))
    with pytest.raises(InvalidInput, match=r"Give a table of GeoNames"):
        world_build(folder, tmp_path / "missing.zip", world(tmp_path, SHAPES))
    assert not list(folder.iterdir())
