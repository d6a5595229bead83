"""Vector tiles (Mapbox Vector Tile 2.1) in one PMTiles 3 archive, for web maps.

GDAL needs a second for 1,500 cells, so tiles are encoded here instead, with all features of a tile
at once: each feature becomes a row of numbers, which are encoded as protocol-buffer varints. A
feature's id is its row in the other files. Its estimate, margin and threshold are exact at every
zoom level; only shapes are rounded, to 1/4096 of a tile. No feature is dropped or merged to make a
tile smaller; instead, zoom levels at which a tile would have too many features are omitted, except
the largest one. Only shapes that vanish when rounded are left out.
"""

from __future__ import annotations

import gzip
import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

from dpgeo.artefacts.formats import LayerFormat, every_layer
from dpgeo.artefacts.table import MEASURES, bounds, columns, extent, is_text, summary
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer
from dpgeo.postprocess.layers.contours import DENSITY, FROM, TO
from dpgeo.postprocess.layers.features import MEAN, QUARTILE_COLUMNS, interval_columns
from dpgeo.spatial.projection import MERCATOR_RADIUS_METRES, to_mercator

MAX_FEATURES = 200_000
"""Largest number of features in an archive; a larger one would take longer to write than all other
files.
"""

MAX_IN_TILE = 50_000
"""Largest number of features in a tile; browsers stall if there are more."""

EXTENT = 4096
"""Number of units along the side of a tile."""

BUFFER = 64
"""Number of units by which clipped shapes extend beyond a tile, so that the clipped edges are not
visible.
"""

TILES_ACROSS = 16
"""Number of tiles across the layer at the largest zoom level. Shapes are accurate to 1/65,536 of
the layer's extent.
"""

MAX_FINE_CELLS_SIDE = 64
"""Number of grid cells along the side of a tile at the largest zoom level.

Clients can enlarge such a tile further without loss.
"""

MAX_ZOOM = 22

EMPTY = gzip.compress(b"", mtime=0)
"""A tile without layers. It is added to archives that would otherwise have no tiles, because an
archive must have at least one.
"""

WORLD = 2 * math.pi * MERCATOR_RADIUS_METRES

_POINT, _LINE, _POLYGON = 1, 2, 3
_MOVE, _DRAW, _CLOSE = 1, 2, 7

Numbers = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Column:
    """A property of features, stored as distinct values and an index for each feature.

    `values` holds the distinct values as encoded bytes; `index` (n,) holds, for each feature, the
    index of its value in `values`.
    """

    name: str
    values: list[bytes]
    index: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Ragged:
    """n rows of numbers, which may have different lengths.

    `numbers` holds the numbers of all rows, one row after another. `counts`, of shape (n,), holds
    the lengths of the rows.
    """

    numbers: Numbers
    counts: NDArray[np.int64]


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer as an archive of tiles, ordered by tile id."""
    place = _mercator(layer)
    shown = [_column(name, values) for name, values in _properties(layer).items()]
    tiles: dict[int, bytes] = {}
    zooms = _zooms(released, layer, place)
    for zoom in zooms:
        for x, y, rows in _members(place, zoom):
            if tile := _tile(layer, place, shown, zoom, x, y, rows):
                tiles[zxy_to_tileid(zoom, x, y)] = tile
    sides = zip(("min_lon", "min_lat", "max_lon", "max_lat"), extent(released, layer), strict=True)
    header = {
        "tile_type": TileType.MVT,
        "tile_compression": Compression.GZIP,
        **{f"{name}_e7": round(side * 1e7) for name, side in sides},
    }
    with path.open("wb") as file:
        writer = Writer(file)
        for number in sorted(tiles) or [0]:
            writer.write_tile(number, tiles.get(number, EMPTY))
        writer.finalize(header, _metadata(released, layer, zooms))


def _metadata(released: Released, layer: Layer, zooms: range) -> dict[str, Any]:
    """Return the layer's metadata in the form of TileJSON."""
    described = summary(released, layer)
    kinds = {
        name: "String" if is_text(values) else "Number"
        for name, values in _properties(layer).items()
    }
    zoom = {"minzoom": zooms[0], "maxzoom": zooms[-1]}
    return {
        "name": f"{described['title']}: {layer.title}",
        "description": layer.note,
        "attribution": described["attribution"] or described["publisher"],
        "license": described["licence"],
        "epsilon": described["epsilon"],
        "dpgeo": described,
        "type": "overlay",
        "format": "pbf",
        "vector_layers": [{"id": layer.name, "fields": kinds, **zoom}],
    }


def _properties(layer: Layer) -> dict[str, NDArray[Any]]:
    """Return the columns (n,) stored in tiles: texts, and the numbers that decide colours."""
    every = columns(layer)
    typical = (MEAN, *QUARTILE_COLUMNS)
    ends = (end for column in typical for end in interval_columns(column))
    names = (*MEASURES, "cells", FROM, TO, DENSITY, *typical, *ends)
    stored = {name: each for name, each in every.items() if name in names or is_text(each)}
    # Tiles cannot store missing numbers. For a withheld mean, which is NaN, the property `told` is
    # 0.
    return stored if layer.told is None else stored | {"told": layer.told.astype(np.float64)}


def _mercator(layer: Layer) -> NDArray[np.float64]:
    """Return an array (n, 4) of the bounds of features in Web Mercator.

    The columns are west, north, east and south, as fractions of the width of the world, measured
    from its north-west corner.
    """
    box = bounds(layer, slice(None))
    west, south = to_mercator(box[:, 0], box[:, 1])
    east, north = to_mercator(box[:, 2], box[:, 3])
    corners = np.column_stack([west, -north, east, -south])
    return np.asarray(corners / WORLD + 0.5, dtype=np.float64)


def _zooms(released: Released, layer: Layer, place: NDArray[np.float64]) -> range:
    """Return the zoom levels to write: all from the first at which no tile is crowded.

    A tile is crowded if it has more than MAX_IN_TILE features. The largest zoom level is always
    written.
    """
    west, south, east, north = extent(released, layer)
    (left, right), (low, top) = to_mercator([west, east], [south, north])
    side = max(right - left, top - low) / WORLD
    across = float(TILES_ACROSS)
    if isinstance(layer, BoxLayer):
        across = min(across, max(1.0, side * WORLD / layer.grid.cell / MAX_FINE_CELLS_SIDE))
    greatest = max(0, min(MAX_ZOOM, math.floor(math.log2(across / max(side, 1e-9)))))
    least = max(0, min(greatest, math.floor(math.log2(0.25 / max(side, 1e-9)))))
    for zoom in range(least, greatest):
        if max((rows.size for _, _, rows in _members(place, zoom)), default=0) <= MAX_IN_TILE:
            return range(zoom, greatest + 1)
    return range(greatest, greatest + 1)


def _members(place: NDArray[np.float64], zoom: int) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield x, y and the sorted feature rows for each tile of a zoom level with features."""
    tiles = 1 << zoom
    first = np.clip(np.floor(place[:, :2] * tiles).astype(np.int64), 0, tiles - 1)
    # A feature that ends on the edge of a tile is not in the next tile.
    last = np.clip(np.ceil(place[:, 2:] * tiles - 1e-9).astype(np.int64) - 1, first, tiles - 1)
    wide, high = (last - first + 1).T
    copies = wide * high
    rows = np.repeat(np.arange(len(place)), copies)
    nth = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
    x = first[rows, 0] + nth % wide[rows]
    y = first[rows, 1] + nth // wide[rows]
    number = y * tiles + x
    order = np.argsort(number, kind="stable")
    edges = [*np.flatnonzero(np.diff(number[order], prepend=-1)).tolist(), number.size]
    for start, end in itertools.pairwise(edges):
        tile = int(number[order[start]])
        yield tile % tiles, tile // tiles, rows[order[start:end]]


def _tile(
    layer: Layer,
    place: NDArray[np.float64],
    shown: Sequence[_Column],
    zoom: int,
    x: int,
    y: int,
    rows: NDArray[np.int64],
) -> bytes:
    """Return a compressed tile of one layer, or b"" if rounding leaves no features."""
    kind, rows, geometry = _geometry(layer, place, zoom, x, y, rows)
    if not rows.size:
        return b""
    tags, values = _tags(shown, rows)
    body = _field(1, layer.name.encode())
    body += _features(rows, tags, kind, geometry)
    body += b"".join(_field(3, column.name.encode()) for column in shown)
    body += b"".join(_field(4, value) for value in values)
    body += bytes([5 << 3]) + _varint(EXTENT) + bytes([15 << 3, 2])
    return gzip.compress(_field(3, body), 6, mtime=0)


def _features(
    rows: NDArray[np.int64], tags: Numbers, kind: NDArray[np.uint64], geometry: _Ragged
) -> bytes:
    """Encode all features of a tile, each as protobuf field 2: id, tags, type and geometry."""
    lengths = np.add.reduceat(_widths(geometry.numbers), _starts(geometry.counts))
    packed = _widths(tags).sum(axis=1)
    ids = rows.astype(np.uint64)
    inner = [
        _constant(1 << 3, ids), ids,
        _constant(2 << 3 | 2, ids), packed, *tags.T,
        _constant(3 << 3, ids), kind,
        _constant(4 << 3 | 2, ids), lengths,
    ]  # fmt: skip
    heads = np.column_stack(inner).astype(np.uint64)
    size = _widths(heads).sum(axis=1) + lengths
    heads = np.column_stack([_constant(2 << 3 | 2, ids), size, heads]).astype(np.uint64)
    return _varints(_interleaved(heads, geometry))


def _interleaved(heads: Numbers, tails: _Ragged) -> Numbers:
    """Return one array in which each row of `heads` (n, k) is followed by its row of `tails`."""
    width = heads.shape[1]
    starts = _starts(tails.counts) + np.arange(len(heads)) * width
    line = np.empty(heads.size + tails.numbers.size, dtype=np.uint64)
    places = starts[:, None] + np.arange(width)
    line[places] = heads
    is_tail = np.ones(line.size, dtype=np.bool_)
    is_tail[places.ravel()] = False
    line[is_tail] = tails.numbers
    return line


def _geometry(
    layer: Layer, place: NDArray[np.float64], zoom: int, x: int, y: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], _Ragged]:
    """Return the geometry types (n,), rows in the layer (n,) and commands of a tile's features."""
    corner, scale = np.array([x, y]), EXTENT * 2.0**zoom
    if isinstance(layer, BoxLayer):
        units = np.rint(place[rows] * scale - np.tile(corner * EXTENT, 2)).astype(np.int64)
        units = np.clip(units, -BUFFER, EXTENT + BUFFER)
        kinds = np.full(rows.size, _POLYGON, dtype=np.uint64)
        return kinds, rows, _box_commands(units)
    if isinstance(layer, PointLayer):
        units = np.rint(place[rows, :2] * scale - corner * EXTENT).astype(np.int64)
        ones = np.ones(rows.size, dtype=np.int64)
        commands = np.column_stack([ones * _command(_MOVE, 1), _zigzag(units)])
        kinds = np.full(rows.size, _POINT, dtype=np.uint64)
        return kinds, rows, _Ragged(commands.astype(np.uint64).ravel(), ones * 3)
    return _shape_commands(layer, rows, corner, scale)


def _box_commands(units: NDArray[np.int64]) -> _Ragged:
    """Encode boxes (n, 4) as clockwise rings, at least one unit wide."""
    left, top = units[:, 0], units[:, 1]
    wide = np.maximum(units[:, 2] - left, 1)
    high = np.maximum(units[:, 3] - top, 1)
    zero = np.zeros_like(left)
    columns = [
        _constant(_command(_MOVE, 1), left), _zigzag(left), _zigzag(top),
        _constant(_command(_DRAW, 3), left), _zigzag(wide), zero, zero, _zigzag(high),
        _zigzag(-wide), zero, _constant(_command(_CLOSE, 1), left),
    ]  # fmt: skip
    commands = np.column_stack(columns).astype(np.uint64)
    return _Ragged(commands.ravel(), np.full(len(units), commands.shape[1], dtype=np.int64))


def _shape_commands(
    layer: Any, rows: NDArray[np.int64], corner: NDArray[np.int64], scale: float
) -> tuple[NDArray[np.uint64], NDArray[np.int64], _Ragged]:
    """Encode the shapes in `rows` of a layer, clipped to a tile and its buffer.

    Returns the geometry types (m,), the rows (m,) and the drawing commands of the m shapes that
    have something to draw in the tile; shapes that vanish when rounded are left out. `corner`
    (2,) is the tile's x and y, and `scale` the width of the world in tile units.
    """

    def to_units(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        across, up = to_mercator(degrees[:, 0], degrees[:, 1])
        share = np.column_stack([across, -up]) / WORLD + 0.5
        return np.asarray(share * scale - corner * EXTENT, dtype=np.float64)

    flat = shapely.transform(layer.shapes[rows], to_units)
    low, high = -BUFFER, EXTENT + BUFFER
    cut = shapely.clip_by_rect(shapely.make_valid(flat), low, low, high, high)
    paths = _paths(cut)
    if not paths.size.size:
        return np.empty(0, dtype=np.uint64), rows[:0], _Ragged(np.empty(0, np.uint64), rows[:0])
    kept, first = np.unique(paths.shape, return_index=True)
    kinds = np.where(paths.ring[first], _POLYGON, _LINE).astype(np.uint64)
    numbers, lengths = paths.commands()
    return kinds, rows[kept], _Ragged(numbers, np.add.reduceat(lengths, first))


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """Rings and lines (n,) of shapes, in tile units, in the order in which they are drawn.

    `shape` (n,) holds the index of each path's shape, ascending, and `ring` (n,) whether the path
    is a ring. `points` (k, 2) are the vertices of all paths, and `size` (n,) is the number of
    vertices of each path. No vertex repeats the previous one, and a ring's first vertex is not
    repeated at the ring's end.
    """

    shape: NDArray[np.int64]
    ring: NDArray[np.bool_]
    points: NDArray[np.int64]
    size: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> _Paths:
        """Return the paths that a mask (n,) chooses."""
        points = self.points[np.repeat(chosen, self.size)]
        return _Paths(self.shape[chosen], self.ring[chosen], points, self.size[chosen])

    def doubled_areas(self) -> NDArray[np.int64]:
        """Return twice the area (n,) of each path as a ring, positive for clockwise rings."""
        starts = _starts(self.size)
        following = np.arange(1, len(self.points) + 1)
        following[starts + self.size - 1] = starts
        x, y = self.points.T
        return np.add.reduceat(x * y[following] - x[following] * y, starts)

    def turned(self, chosen: NDArray[np.bool_]) -> _Paths:
        """Return the paths; those that a mask (n,) chooses have their vertices in reverse order."""
        starts = _starts(self.size)
        index, number = np.arange(len(self.points)), np.repeat(np.arange(len(starts)), self.size)
        mirrored = (2 * starts + self.size - 1)[number] - index
        points = self.points[np.where(chosen[number], mirrored, index)]
        return _Paths(self.shape, self.ring, points, self.size)

    def commands(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the drawing commands of all paths, and how many numbers (n,) each path takes.

        Every vertex is relative to the previous vertex of its shape.
        """
        starts = _starts(self.size)
        previous = np.concatenate([np.zeros((1, 2), dtype=np.int64), self.points[:-1]])
        previous[starts[np.diff(self.shape, prepend=-1) != 0]] = 0
        steps = _zigzag(self.points - previous)
        lengths = 2 * self.size + 2 + self.ring
        ends = np.cumsum(lengths)
        begins = ends - lengths
        numbers = np.empty(int(ends[-1]), dtype=np.uint64)
        numbers[begins] = _command(_MOVE, 1)
        numbers[begins + 3] = (self.size - 1) << 3 | _DRAW
        numbers[ends[self.ring] - 1] = _command(_CLOSE, 1)
        nth = np.arange(len(steps)) - np.repeat(starts, self.size)
        place = np.repeat(begins, self.size) + 1 + 2 * nth + (nth > 0)
        numbers[place], numbers[place + 1] = steps.T
        return numbers, lengths


def _paths(shapes: NDArray[np.object_]) -> _Paths:
    """Return the paths of shapes (n,), rounded to whole tile units.

    A shape is drawn by its polygons, or by its lines if it has none. Outer rings are clockwise on
    screen, and holes counterclockwise. Paths that vanish when rounded are left out.
    """
    shapes, shape = shapely.get_parts(shapes, return_index=True)
    parts, within = shapely.get_parts(shapes, return_index=True)
    shape = shape[within]
    # Shapely numbers the types in ascending order: points, lines, polygons.
    kind = np.where(shapely.is_empty(parts), -1, shapely.get_type_id(parts)).astype(np.int64)
    greatest = np.full(int(shape.max(initial=-1)) + 1, -1)
    np.maximum.at(greatest, shape, kind)
    drawn = kind == greatest[shape]
    polygons = np.flatnonzero(drawn & (kind == shapely.GeometryType.POLYGON))
    lines = np.flatnonzero(drawn & (kind == shapely.GeometryType.LINESTRING))
    rings, of = shapely.get_rings(parts[polygons], return_index=True)
    part = np.concatenate([polygons[of], lines])
    order = np.argsort(part, kind="stable")
    part = part[order]
    is_ring = (np.arange(len(part)) < len(rings))[order]
    paths = np.concatenate([rings, parts[lines]])[order]
    cut = _rounded(paths, shape[part], is_ring)
    # The first ring of a polygon is its outer ring; if that vanishes, its holes are left out, too.
    area = np.zeros(len(part), dtype=np.int64)
    has_points = cut.size > 0
    some = cut.only(has_points)
    if some.size.size:
        area[has_points] = some.doubled_areas()
    outer = np.diff(part, prepend=-1) != 0
    has_area = (area != 0)[np.flatnonzero(outer)][np.cumsum(outer) - 1] & (area != 0)
    kept = np.where(is_ring, has_area, cut.size > 1)
    wrong = is_ring & ((area > 0) != outer)
    return cut.only(kept).turned(wrong[kept])


def _rounded(
    paths: NDArray[np.object_], shape: NDArray[np.int64], is_ring: NDArray[np.bool_]
) -> _Paths:
    """Return paths (n,) with vertices rounded to whole tile units, none of which repeats the
    previous one.
    """
    places, path = shapely.get_coordinates(paths, return_index=True)
    points = np.rint(places).astype(np.int64)
    moved = np.any(np.diff(points, axis=0, prepend=0) != 0, axis=1)
    first, last = np.diff(path, prepend=-1) != 0, np.diff(path, append=-1) != 0
    # The first vertex of a ring is dropped if it coincides, after rounding, with the last vertex
    # before the ring's end.
    moved[first] = np.where(is_ring[path[first]], moved[last], True)
    moved[last & is_ring[path]] = False
    size = np.bincount(path[moved], minlength=len(paths)).astype(np.int64)
    return _Paths(shape, is_ring, points[moved], size)


def _column(name: str, values: NDArray[Any]) -> _Column:
    distinct, index = np.unique(values, return_inverse=True)
    return _Column(name, [_value(each) for each in distinct.tolist()], index)


def _value(value: str | int | float) -> bytes:
    """Encode a property value: a text, a double or a zigzag integer."""
    if isinstance(value, str):
        return _field(1, value.encode())
    if isinstance(value, float):
        return bytes([3 << 3 | 1]) + struct.pack("<d", value)
    return bytes([6 << 3]) + _varint(2 * value if value >= 0 else -2 * value - 1)


def _tags(shown: Sequence[_Column], rows: NDArray[np.int64]) -> tuple[Numbers, list[bytes]]:
    """Return the features' tags (n, 2k), as pairs of key and value indices, and the values."""
    tags: list[NDArray[Any]] = []
    values: list[bytes] = []
    for key, column in enumerate(shown):
        used, index = np.unique(column.index[rows], return_inverse=True)
        tags += [np.full(rows.size, key), index + len(values)]
        values += [column.values[each] for each in used.tolist()]
    if not tags:
        return np.zeros((rows.size, 0), dtype=np.uint64), values
    return np.column_stack(tags).astype(np.uint64), values


def _field(number: int, data: bytes) -> bytes:
    """Encode a length-delimited protocol-buffer field."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _command(command: int, count: int) -> int:
    return count << 3 | command


def _constant(value: int, like: NDArray[Any]) -> NDArray[np.uint64]:
    return np.full(len(like), value, dtype=np.uint64)


def _zigzag(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return (values << 1) ^ (values >> 63)


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(counts) - counts


def _widths(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many bytes each number takes as a varint."""
    values = values.astype(np.uint64)
    widths = np.ones(values.shape, dtype=np.int64)
    for bits in range(7, 64, 7):
        widths += values >= np.uint64(1 << bits)
    return widths


def _varint(value: int) -> bytes:
    """Encode one number as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varints(numbers: Numbers) -> bytes:
    """Encode numbers as protocol-buffer varints: seven bits per byte, lowest bits first."""
    widths = _widths(numbers)
    starts = _starts(widths)
    out = np.zeros(int(widths.sum()), dtype=np.uint8)
    for place in range(int(widths.max(initial=0))):
        here = widths > place
        low = (numbers[here] >> np.uint64(7 * place)) & np.uint64(0x7F)
        more = np.where(widths[here] > place + 1, np.uint64(0x80), np.uint64(0))
        out[starts[here] + place] = low | more
    return out.tobytes()


FORMAT = LayerFormat(
    suffix=".pmtiles",
    media_type="application/vnd.pmtiles",
    title="PMTiles",
    use="vector tiles, for web maps",
    write=write,
    max_features=MAX_FEATURES,
    at_once=every_layer,
)
