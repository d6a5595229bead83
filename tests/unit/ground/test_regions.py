"""Regions of the basemap: added, replaced without interruption, and removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ground import archives, regions
from dpgeo.ground.adding import ground_add
from dpgeo.ground.names import search
from tests.unit.ground.files import TILES

BOX = (9.50, 47.12, 9.54, 47.16)


def test_a_region_is_replaced_in_one_step_and_old_files_stay_for_days(tmp_path: Path) -> None:
    past = time.time() - regions.KEPT_SECONDS - 60
    first = ground_add(tmp_path, TILES, name="here", bounds=BOX)
    os.utime(tmp_path / f"{first.tiles}.pmtiles", (past, past))
    second = ground_add(tmp_path, TILES, name="here", attribution="© Somebody")
    assert regions.regions(tmp_path) == [second]
    assert first.tiles != second.tiles
    assert first.attribution == "© OpenStreetMap contributors"
    old = tmp_path / f"{first.tiles}.pmtiles"
    assert archives.tile(old, 14, *archives.tile_at(9.52, 47.14, 14))
    os.utime(old, (past, past))
    regions.sweep(tmp_path)
    assert not old.exists()
    assert (tmp_path / f"{second.tiles}.pmtiles").exists()
    assert search(tmp_path / f"{second.names}.sqlite", "vaduz")


def test_regions_lie_side_by_side(tmp_path: Path) -> None:
    ground_add(tmp_path, TILES, name="b", bounds=BOX)
    ground_add(tmp_path, TILES, name="a")
    assert [each.name for each in regions.regions(tmp_path)] == ["a", "b"]
    regions.region_remove(tmp_path, "a")
    assert [each.name for each in regions.regions(tmp_path)] == ["b"]
    with pytest.raises(InvalidInput, match="no ground called 'a'"):
        regions.region_remove(tmp_path, "a")


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", "x" * 61, "-a"])
def test_names_that_could_be_paths_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="small letters"):
        ground_add(tmp_path, TILES, name=name)
    assert not list(tmp_path.iterdir())


def test_a_broken_file_leaves_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pmtiles"
    broken.write_bytes(b"PMTiles\x03" + bytes(200))
    folder = tmp_path / "ground"
    with pytest.raises(InvalidInput):
        ground_add(folder, broken, name="a")
    with pytest.raises(InvalidInput, match="no such file"):
        ground_add(folder, tmp_path / "missing", name="a")
    assert not list(folder.glob("*"))
