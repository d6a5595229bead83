"""Vector tile archives of the basemap, which are copied, converted, cut or refused."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest
from pmtiles.reader import MmapSource, all_tiles

from dpgeo.core.errors import InvalidInput
from dpgeo.ground import archives
from tests.unit.ground.files import TILES


def tiles_of(path: Path) -> dict[tuple[int, int, int], bytes]:
    with path.open("rb") as file:
        return dict(all_tiles(MmapSource(file)))


def test_a_box_keeps_the_tiles_that_touch_it(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pmtiles"
    box = (9.51, 47.13, 9.53, 47.15)
    bounds, _ = archives.convert(TILES, cut, box)
    cut_tiles, whole = tiles_of(cut), tiles_of(TILES)
    assert bounds == box
    assert cut_tiles.items() < whole.items()
    left, top = archives.tile_at(9.51, 47.15, 14)
    right, bottom = archives.tile_at(9.53, 47.13, 14)
    deepest = {place[1:] for place in cut_tiles if place[0] == 14}
    wanted = {(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)}
    assert deepest == wanted & {place[1:] for place in whole if place[0] == 14}


def test_other_files_are_refused_with_the_remedy(tmp_path: Path) -> None:
    other = tmp_path / "other.pmtiles"
    other.write_bytes(b"no tiles")
    with pytest.raises(InvalidInput, match="neither PMTiles nor MBTiles"):
        archives.convert(other, tmp_path / "a.pmtiles")
    database = tmp_path / "b.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE a (b)")
    with pytest.raises(InvalidInput, match="not MBTiles"):
        archives.convert(database, tmp_path / "a.pmtiles")
    schema = tmp_path / "schema.pmtiles"
    metadata = {"vector_layers": [{"id": "transportation"}, {"id": "water"}]}
    archives.write([((0, 0, 0), b"x")], schema, archives.WORLD, metadata)
    with pytest.raises(InvalidInput, match=r"layers transportation, water.*Shortbread"):
        archives.convert(schema, tmp_path / "a.pmtiles")
    with pytest.raises(InvalidInput, match="outside the file"):
        archives.convert(TILES, tmp_path / "a.pmtiles", (20.0, 40.0, 21.0, 41.0))


def test_a_tile_is_read_from_a_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pmtiles"
    metadata: dict[str, list[str]] = {"vector_layers": []}
    archives.write([((0, 0, 0), b"first")], path, archives.WORLD, metadata)
    assert gzip.decompress(archives.tile(path, 0, 0, 0) or b"") == b"first"
    assert archives.tile(path, 3, 1, 1) is None
    path.unlink()
    with pytest.raises(FileNotFoundError):
        archives.tile(path, 0, 0, 0)
