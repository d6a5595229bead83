"""PMTiles archives of vector tiles: checking, copying, conversion and reading.

Archives can be converted from MBTiles. The tiles have the layers of the Shortbread schema 1.0
(https://shortbread-tiles.org, CC0).
"""

from __future__ import annotations

import gzip
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from pmtiles.reader import MmapSource, Reader, all_tiles
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

from dpgeo.core.errors import InvalidInput
from dpgeo.ground.regions import Bounds

NEEDED_LAYERS = ("streets", "place_labels")

DEGREE = 10_000_000

GZIP_MAGIC = b"\x1f\x8b"

WORLD: Bounds = (-180.0, -85.0511, 180.0, 85.0511)

Tile = tuple[tuple[int, int, int], bytes]
"""Zoom, column and row from the north, and the tile's bytes."""


def convert(source: Path, target: Path, bounds: Bounds | None = None) -> tuple[Bounds, Any]:
    """Write the tiles of a PMTiles or MBTiles file as PMTiles compressed by gzip.

    Only tiles that intersect `bounds` are kept. Returns the new archive's bounds and metadata.
    Raises InvalidInput for a file in neither format, or if its tiles are not in the Shortbread
    schema.
    """
    with source.open("rb") as file:
        magic = file.read(16)
    if magic.startswith(b"PMTiles"):
        with source.open("rb") as file:
            return _copy(file, target, bounds)
    if magic.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True)) as database:
            return _copy_rows(database, target, bounds)
    raise InvalidInput("Is neither PMTiles nor MBTiles.", field="file")


def write(tiles: Iterable[Tile], target: Path, bounds: Bounds, metadata: Any) -> int:
    """Write an archive of tiles and return their number.

    Tiles that are not compressed by gzip yet are compressed. Raises InvalidInput if there are none.
    """
    count = 0
    with target.open("wb") as file:
        writer = Writer(file)
        for place, body in tiles:
            writer.write_tile(zxy_to_tileid(*place), _compressed(body))
            count += 1
        if count:
            writer.finalize(_header(bounds), metadata)
    if not count:
        raise InvalidInput("Has no tiles there.", field="bbox")
    return count


def _copy(file: Any, target: Path, bounds: Bounds | None) -> tuple[Bounds, Any]:
    """Copy a PMTiles archive to `target`; return its bounds and its metadata."""
    source = MmapSource(file)
    archive = Reader(source)
    try:
        header, metadata = archive.header(), archive.metadata()
    except (ArithmeticError, EOFError, IndexError, LookupError, OSError, ValueError):
        raise InvalidInput("Is damaged.", field="file") from None
    if header["tile_type"] != TileType.MVT:
        raise InvalidInput("Holds pictures; vector tiles are needed.", field="file")
    if header["tile_compression"] not in {Compression.NONE, Compression.GZIP}:
        raise InvalidInput(
            "Its tiles are compressed by brotli or zstd; convert them to gzip, for instance with "
            "`versatiles convert --compress gzip`.",
            field="file",
        )
    _check_layers(metadata)
    whole = tuple(
        header[f"{side}_e7"] / DEGREE for side in ("min_lon", "min_lat", "max_lon", "max_lat")
    )
    box = _shared(whole, bounds)
    write(_within(all_tiles(source), box), target, box, metadata)
    return box, metadata


def _copy_rows(
    database: sqlite3.Connection, target: Path, bounds: Bounds | None
) -> tuple[Bounds, Any]:
    """Copy the tiles of an MBTiles file, whose rows are numbered from the south.

    Returns the new archive's bounds and metadata.
    """
    try:
        metadata = dict(database.execute("SELECT name, value FROM metadata"))
        places = database.execute("SELECT zoom_level, tile_column, tile_row FROM tiles").fetchall()
    except sqlite3.DatabaseError:
        raise InvalidInput("Is a database, but not MBTiles.", field="file") from None
    _check_layers(metadata)
    whole = (
        tuple(map(float, metadata.get("bounds", "").split(",")))
        if metadata.get("bounds")
        else WORLD
    )
    box = _shared(whole, bounds)
    north = [(zoom, column, (1 << zoom) - 1 - row) for zoom, column, row in places]
    chosen = sorted(
        (each for each in north if _touches(each, box)), key=lambda at: zxy_to_tileid(*at)
    )

    def rows() -> Iterator[Tile]:
        one = (
            "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?"
        )
        for zoom, column, row in chosen:
            stored = database.execute(one, (zoom, column, (1 << zoom) - 1 - row)).fetchone()
            yield (zoom, column, row), stored[0]

    write(rows(), target, box, metadata)
    return box, metadata


def layer_names(metadata: Any) -> list[str]:
    """Return the names of an archive's layers, from whichever metadata member lists them."""
    listed = metadata.get("vector_layers")
    if listed is None:
        listed = json.loads(metadata.get("json") or "{}").get("vector_layers", [])
    return [each["id"] for each in listed]


def _check_layers(metadata: Any) -> None:
    layers = layer_names(metadata)
    if not set(NEEDED_LAYERS) <= set(layers):
        raise InvalidInput(
            "Has the layers {found}. The Shortbread schema is needed, with streets and "
            "place_labels among its layers; download.geofabrik.de has such files of every country.",
            field="file",
            found=", ".join(layers) or "none",
        )


def _shared(whole: tuple[float, ...], wanted: Bounds | None) -> Bounds:
    """Return the intersection of an archive's bounds with the bounds that are `wanted`.

    None stands for the whole world. Raises InvalidInput if the intersection is empty.
    """
    west, south, east, north = wanted or WORLD
    shared = max(west, whole[0]), max(south, whole[1]), min(east, whole[2]), min(north, whole[3])
    if shared[0] >= shared[2] or shared[1] >= shared[3]:
        raise InvalidInput("Lies outside the file.", field="bbox")
    return shared


def _within(tiles: Iterable[Tile], bounds: Bounds) -> Iterator[Tile]:
    return (tile for tile in tiles if _touches(tile[0], bounds))


def _touches(place: tuple[int, int, int], bounds: Bounds) -> bool:
    """Return whether a tile intersects bounds in degrees."""
    zoom, column, row = place
    left, top = tile_at(bounds[0], bounds[3], zoom)
    right, bottom = tile_at(bounds[2], bounds[1], zoom)
    return left <= column <= right and top <= row <= bottom


def tile_at(longitude: float, latitude: float, zoom: int) -> tuple[int, int]:
    """Return the column and row of the tile that contains a position (Web Mercator)."""
    side = 1 << zoom
    north = math.asinh(math.tan(math.radians(latitude))) / math.pi
    column, row = (longitude + 180) / 360 * side, (1 - north) / 2 * side
    return min(max(int(column), 0), side - 1), min(max(int(row), 0), side - 1)


def _compressed(body: bytes) -> bytes:
    return body if body.startswith(GZIP_MAGIC) else gzip.compress(body, 9, mtime=0)


def _header(bounds: Bounds) -> dict[str, Any]:
    sides = ("min_lon_e7", "min_lat_e7", "max_lon_e7", "max_lat_e7")
    edges = dict(zip(sides, (round(each * DEGREE) for each in bounds), strict=True))
    return {"tile_type": TileType.MVT, "tile_compression": Compression.GZIP, **edges}


@lru_cache(maxsize=16)
def _opened(path: Path, changed_ns: int) -> Any:
    """Return a reader for an archive; each process maps the archive into memory only once.

    `changed_ns` is the file's modification time, so that a replaced archive is mapped again.
    """
    with path.open("rb") as file:
        return Reader(MmapSource(file))


def tile(path: Path, zoom: int, column: int, row: int) -> bytes | None:
    """Return a gzip-compressed tile, or None if it is empty. Raises FileNotFoundError."""
    content: bytes | None = _opened(path, path.stat().st_mtime_ns).get(zoom, column, row)
    return content


def zooms(path: Path) -> tuple[int, int]:
    """Return the lowest and highest zoom of an archive."""
    header = _opened(path, path.stat().st_mtime_ns).header()
    return header["min_zoom"], header["max_zoom"]


def metadata(path: Path) -> Any:
    """Return the metadata that an archive stores about itself."""
    return _opened(path, path.stat().st_mtime_ns).metadata()
