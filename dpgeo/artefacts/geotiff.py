"""Cloud-optimised GeoTIFF of grid cells, with the bands estimate and margin.

The format is written here because installing GDAL's raster library would take as much space as all
other readers together. The layout is the one that GDAL's COG driver requires: a classic
little-endian TIFF with square tiles, in which all directories precede all pixels. The directory of
the full image comes first, followed by those of the overviews, each half the size of the one
before. Pixels are deflated doubles in Web Mercator (EPSG:3857), so values are exact; cells that are
not listed are NaN. Each pixel of an overview is a single cell of the full image with its own
margin, since an average of several cells would have different noise.

Specifications: TIFF 6.0 (Adobe 1992); OGC GeoTIFF 1.1 (19-008r4); OGC Cloud Optimized GeoTIFF 1.0
(21-026).
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import summary
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer

TILE = 256
"""Number of pixels along the side of a tile."""

MAX_CELLS = 1 << 24
"""Largest number of cells in an image. Finer grids list only cells that stand out from the noise,
so their images would be mostly empty.
"""

BANDS = ("estimate", "margin")

HEADER = 8
"""Number of bytes before the first directory."""

_SHORT, _LONG, _DOUBLE, ASCII = 3, 4, 12, 2
_WIDTH = {_SHORT: 2, _LONG: 4, _DOUBLE: 8, ASCII: 1}
_LETTER = {_SHORT: "H", _LONG: "I", _DOUBLE: "d"}

DEFLATE, _SEPARATE, _FLOAT = 8, 2, 3
_PROJECTED, _PIXEL_IS_AREA, _WEB_MERCATOR, _METRE = 1, 1, 3857, 9001

Tag = tuple[int, int, bytes]
"""A directory entry: its number, its type and its packed values."""


@dataclass(frozen=True, slots=True)
class Image:
    """The image at one resolution: `bands`, (bands, rows, columns), has every `step`-th cell."""

    bands: NDArray[Any]
    step: int

    def tiles(self) -> Iterator[bytes]:
        """Yield the compressed tiles of one band after the other, row by row."""
        for band in self.bands:
            for top in range(0, band.shape[0], TILE):
                for left in range(0, band.shape[1], TILE):
                    part = band[top : top + TILE, left : left + TILE]
                    yield zlib.compress(_tile(part), 6)


def _tile(part: NDArray[Any]) -> bytes:
    """Return a tile's uncompressed bytes: doubles, or two classes per byte."""
    if part.dtype == np.uint8:
        classes = np.zeros((TILE, TILE), dtype=np.uint8)
        classes[: part.shape[0], : part.shape[1]] = part
        return (classes[:, ::2] << 4 | classes[:, 1::2]).tobytes()
    tile = np.full((TILE, TILE), np.nan, dtype="<f8")
    tile[: part.shape[0], : part.shape[1]] = part
    return tile.tobytes()


def holds(layer: Layer) -> bool:
    """Return whether a layer can be an image: it has counts of at most MAX_CELLS grid cells."""
    return isinstance(layer, BoxLayer) and layer.is_cells and layer.grid.size <= MAX_CELLS


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer of cells as a GeoTIFF.

    Raises TypeError unless `holds` accepts the layer.
    """
    if not isinstance(layer, BoxLayer) or not holds(layer):
        raise TypeError("Only layers of cells are images.")
    images = pyramid(_bands(layer))
    tiles = [list(image.tiles()) for image in images]
    write_images(path, [_tags(released, layer, image) for image in images], tiles)


def write_images(path: Path, tags: Sequence[list[Tag]], tiles: Sequence[list[bytes]]) -> None:
    """Write an image and its overviews, each given by its directory entries and its tiles.

    The tiles are already compressed.
    """
    position = HEADER + sum(
        _directory_size(each, len(of)) for each, of in zip(tags, tiles, strict=True)
    )
    places: dict[int, list[int]] = {}
    # The tiles of the smallest overview come first, since readers fetch them first.
    for index in reversed(range(len(tiles))):
        sizes = [len(tile) for tile in tiles[index]]
        places[index] = [position + before for before in (0, *itertools.accumulate(sizes[:-1]))]
        position += sum(sizes)
    with path.open("wb") as file:
        file.write(struct.pack("<2sHI", b"II", 42, HEADER))
        for index, each in enumerate(tags):
            each.append((324, _LONG, _pack(_LONG, places[index])))
            each.append((325, _LONG, _pack(_LONG, [len(tile) for tile in tiles[index]])))
            file.write(_directory(sorted(each), file.tell(), last=each is tags[-1]))
        for index in reversed(range(len(tiles))):
            file.writelines(tiles[index])


def _bands(layer: BoxLayer) -> NDArray[np.float64]:
    """Return an array (2, rows, columns) of the estimates and margins of all grid cells."""
    bands = np.full((len(BANDS), *layer.grid.shape), np.nan)
    row, column = layer.boxes[:, 0], layer.boxes[:, 2]
    bands[0, row, column] = layer.value
    bands[1, row, column] = layer.margin
    return bands


def pyramid(bands: NDArray[Any]) -> list[Image]:
    """Return the full image and its overviews, each half the size, down to a single tile."""
    images = [Image(bands, 1)]
    while max(images[-1].bands.shape[1:]) > TILE:
        images.append(Image(images[-1].bands[:, ::2, ::2], images[-1].step * 2))
    return images


def _tags(released: Released, layer: BoxLayer, image: Image) -> list[Tag]:
    """Return the directory entries of an image, except its tiles' offsets and sizes."""
    shorts = {
        259: [DEFLATE],
        258: [64] * len(BANDS),
        262: [1],  # photometric interpretation: black is zero
        277: [len(BANDS)],
        284: [_SEPARATE],
        322: [TILE],
        323: [TILE],
        338: [0],  # the second band is extra data, not a colour
        339: [_FLOAT] * len(BANDS),
    }
    tags = image_tags(layer, image, shorts, "nan")
    if image.step == 1:
        tags.append((42112, ASCII, described(summary(released, layer), BANDS)))
    return tags


def image_tags(
    layer: BoxLayer, image: Image, shorts: Mapping[int, Sequence[int]], nothing: str
) -> list[Tag]:
    """Return an image's directory entries, except those for its tiles.

    They are the entries given, the image's size and no-data value and, for the full image, the
    georeferencing tags.
    """
    rows, columns = image.bands.shape[1:]
    tags = [(number, _SHORT, _pack(_SHORT, values)) for number, values in shorts.items()]
    tags += [(256, _LONG, _pack(_LONG, [columns])), (257, _LONG, _pack(_LONG, [rows]))]
    tags.append((254, _LONG, _pack(_LONG, [int(image.step > 1)])))
    tags.append((42113, ASCII, f"{nothing}\0".encode()))
    return tags + _place(layer) if image.step == 1 else tags


def _place(layer: BoxLayer) -> list[Tag]:
    """Return the georeferencing tags: cell size, north-western corner, coordinate system."""
    grid = layer.grid
    keys = [
        *(1, 1, 1, 4),
        *(1024, 0, 1, _PROJECTED),
        *(1025, 0, 1, _PIXEL_IS_AREA),
        *(3072, 0, 1, _WEB_MERCATOR),
        *(3076, 0, 1, _METRE),
    ]
    return [
        (33550, _DOUBLE, _pack(_DOUBLE, [grid.cell, grid.cell, 0.0])),
        (33922, _DOUBLE, _pack(_DOUBLE, [0.0, 0.0, 0.0, grid.west, grid.north, 0.0])),
        (34735, _SHORT, _pack(_SHORT, keys)),
    ]


def described(facts: Mapping[str, str], bands: Sequence[str]) -> bytes:
    """Return a file's description as GDAL metadata in XML."""
    items = [
        f'  <Item name="{name}">{escape(value)}</Item>' for name, value in sorted(facts.items())
    ]
    items += [
        f'  <Item name="DESCRIPTION" sample="{band}" role="description">{escape(name)}</Item>'
        for band, name in enumerate(bands)
    ]
    text = "<GDALMetadata>\n" + "\n".join(items) + "\n</GDALMetadata>\n"
    return text.encode() + b"\0"


def _pack(kind: int, values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}{_LETTER[kind]}", *values)


def _directory_size(tags: list[Tag], tiles: int) -> int:
    """Return the size in bytes of a TIFF directory and its values, a multiple of 8.

    `tags` does not include the two entries for the offsets and sizes of the image's tiles.
    """
    beside = [len(data) for _, _, data in tags] + [tiles * _WIDTH[_LONG]] * 2
    size = 2 + 12 * len(beside) + 4
    return _up_to_8(size) + sum(_up_to_8(each) for each in beside if each > 4)


def _directory(tags: list[Tag], start: int, *, last: bool) -> bytes:
    """Encode a directory at the offset `start`, followed by the values to which it points.

    `last` is true for the last directory of the file, which refers to no next one.
    """
    head = 2 + 12 * len(tags) + 4
    position = start + _up_to_8(head)
    entries, beside = [], []
    for number, kind, data in tags:
        count = len(data) // _WIDTH[kind]
        value = data
        if len(data) > 4:
            value = struct.pack("<I", position)
            beside.append(data.ljust(_up_to_8(len(data)), b"\0"))
            position += len(beside[-1])
        entries.append(struct.pack("<HHI", number, kind, count) + value.ljust(4, b"\0"))
    end = struct.pack("<I", 0 if last else position)
    whole = struct.pack("<H", len(tags)) + b"".join(entries) + end
    return whole.ljust(_up_to_8(head), b"\0") + b"".join(beside)


def _up_to_8(size: int) -> int:
    return -(-size // 8) * 8


FORMAT = LayerFormat(
    suffix=".tif",
    media_type="image/tiff; application=geotiff; profile=cloud-optimized",
    title="GeoTIFF",
    use="an image of estimate and margin, for raster tools",
    write=write,
    holds=holds,
)
