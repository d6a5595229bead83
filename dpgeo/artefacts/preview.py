"""preview.png: a picture of a release with its legend.

It shows the layer that the site's map shows first, with the same unit, classes and colours
(`postprocess.opening`). Features that the site's map does not colour, because they do not stand out
from the noise, are grey.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.picture_names import INK, OUTLINE, QUIET, SHEET, draw_names, font
from dpgeo.artefacts.statement import cost_words
from dpgeo.artefacts.table import extent, parts
from dpgeo.artefacts.view import MAX_RADIUS, MIN_RADIUS, NOISE, Colour, View, unit_words
from dpgeo.core.released import Released
from dpgeo.phrases import translatable
from dpgeo.postprocess.layers import BoxLayer, PointLayer, ShapeLayer
from dpgeo.spatial.projection import to_mercator

PNG_LEVEL = 6
"""Level of compression; level 9 takes four times as long and saves four per cent."""

NAME = "preview.png"
MEDIA_TYPE = "image/png"
TITLE = "PNG"
USE = translatable("a picture with its legend")

WIDTH, MAP_HEIGHT, HEAD, FOOT, EDGE = 1200, 800, 110, 130, 40
HEIGHT = HEAD + MAP_HEIGHT + FOOT

PAPER: Colour = (243, 245, 242)

MAX_CIRCLES = 200
"""With this many points or more, circles sized by counts would hide each other, so dots are drawn.
"""


@dataclass(frozen=True, slots=True)
class _Frame:
    """The mapping from Web Mercator metres to pixels."""

    west: float
    north: float
    scale: float

    width: int
    height: int

    @classmethod
    def around(cls, box: list[float], width: int, height: int) -> _Frame:
        (west, east), (south, north) = to_mercator([box[0], box[2]], [box[1], box[3]])
        wide, high = max(east - west, 1e-3), max(north - south, 1e-3)
        scale = min((width - 2 * EDGE) / wide, (height - 2 * EDGE) / high)
        return cls(
            west=float((west + east) / 2 - width / 2 / scale),
            north=float((south + north) / 2 + height / 2 / scale),
            scale=float(scale),
            width=width,
            height=height,
        )

    def pixels(self, longitude: Any, latitude: Any) -> NDArray[np.float64]:
        """Convert positions in degrees to an array (n, 2) of pixel coordinates.

        The coordinates start at the north-west corner of the map: x grows to the east, y to the
        south.
        """
        x, y = to_mercator(longitude, latitude)
        return np.column_stack([(x - self.west) * self.scale, (self.north - y) * self.scale])


def position(bounds: Sequence[float], pictured: Sequence[float]) -> tuple[float, ...]:
    """Return where `bounds` lie in a picture of the extent `pictured`.

    Both are west, south, east and north in degrees. The position is the middle, x and y, then the
    width and the height, in pixels of the picture; x and y are counted from its upper left corner.
    """
    frame = _Frame.around(list(pictured), WIDTH, MAP_HEIGHT)
    west, south, east, north = bounds
    (left, low), (right, high) = frame.pixels([west, east], [south, north]).tolist()
    middle = (left + right) / 2, HEAD + (low + high) / 2
    return tuple(round(each, 2) for each in (*middle, right - left, low - high))


def write(released: Released, view: View, path: Path) -> None:
    """Draw the layer that a release's map shows first."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    picture.paste(draw_map(released, view, WIDTH, MAP_HEIGHT), (0, HEAD))
    _write_words(ImageDraw.Draw(picture), released, view)
    picture.save(path, format="PNG", compress_level=PNG_LEVEL)


def draw_map(released: Released, view: View, width: int, height: int) -> Any:
    """Return a picture of the layer and the study area's outline.

    `width` and `height` are in pixels.
    """
    from PIL import Image, ImageDraw

    layer = view.layer
    frame = _Frame.around(extent(released, layer), width, height)
    drawn = Image.new("RGB", (width, height), SHEET)
    if isinstance(layer, BoxLayer):
        drawn = Image.fromarray(_paint_boxes(layer, view, frame))
        drawn.putpalette([part for colour in (SHEET, *view.palette) for part in colour])
        drawn = drawn.convert("RGB")
    pen = ImageDraw.Draw(drawn)
    if isinstance(layer, ShapeLayer):
        _draw_shapes(pen, layer, view.colours(), frame)
    elif isinstance(layer, PointLayer):
        _draw_points(pen, layer, view.colours(), frame)
    _draw_outline(pen, released.area.shape, frame)
    draw_names(pen, released, frame.pixels, width, height)
    return drawn


def _paint_boxes(layer: BoxLayer, view: View, frame: _Frame) -> NDArray[np.uint8]:
    """Return an image (height, width) of the classes of the boxes in which pixels have their
    centres: 0 where there is no box, 1 for grey, and 2 and above for the classes.
    """
    grid = layer.grid
    x = frame.west + (np.arange(frame.width) + 0.5) / frame.scale
    y = frame.north - (np.arange(frame.height) + 0.5) / frame.scale
    column = np.floor((x - grid.west) / grid.cell).astype(np.int64)
    row = np.floor((grid.north - y) / grid.cell).astype(np.int64)
    pixels = np.zeros((frame.height, frame.width), dtype=np.uint8)
    if layer.is_cells:
        _paint_cells(pixels, layer, view, row, column)
        return pixels
    tops, ends = np.searchsorted(row, layer.boxes[:, :2].T)
    lefts, rights = np.searchsorted(column, layer.boxes[:, 2:].T)
    for index, number in enumerate(view.classes.tolist()):
        pixels[tops[index] : ends[index], lefts[index] : rights[index]] = number + 2
    return pixels


def _paint_cells(
    pixels: NDArray[np.uint8],
    layer: BoxLayer,
    view: View,
    row: NDArray[np.int64],
    column: NDArray[np.int64],
) -> None:
    """Paint cells; `row` (height,) and `column` (width,) are the grid's rows and columns in which
    the centres of pixels lie.

    A cell is visible only if the centre of a pixel lies in its row and in its column. The visible
    cells are painted into an image with one pixel each, whose rows and columns are then repeated.
    """
    from_row, row_pixels, row_places = _seen(row, layer.grid.rows)
    from_column, column_pixels, column_places = _seen(column, layer.grid.columns)
    image = np.zeros((from_row[-1] + 1, from_column[-1] + 1), dtype=np.uint8)
    # Cells are numbered along the rows, since an array is written faster by one index than by two.
    from_row *= image.shape[1]
    for part in parts(layer):
        top, _, left, _ = layer.boxes[part].T
        image.ravel()[from_row[top] + from_column[left]] = view.classes[part] + 2
    pixels[np.ix_(row_pixels, column_pixels)] = image[np.ix_(row_places, column_places)]


def _seen(
    lines: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Find the visible rows of a grid of `size` rows: those in which the centres of pixels lie.

    `lines` (n,) holds the grid row of each of n pixels. The first result (size + 1,) holds, for
    each row, its number among the visible rows, from 0. For a row that is not visible, and for an
    extra entry at the end, it holds how many rows are visible. The second result holds the indices
    of the pixels that lie in the grid, and the third, for each of them, the number of its row. The
    function serves columns as well.
    """
    pixels = np.flatnonzero((lines >= 0) & (lines < size))
    rows = np.unique(lines[pixels])
    numbers = np.full(size + 1, len(rows), dtype=np.int64)
    numbers[rows] = np.arange(len(rows))
    return numbers, pixels, numbers[lines[pixels]]


def _draw_shapes(pen: Any, layer: ShapeLayer, look: NDArray[np.uint8], frame: _Frame) -> None:
    for index, shape in enumerate(layer.shapes.tolist()):
        colour = tuple(look[index].tolist())
        for part in shapely.get_parts(shape).tolist():
            if part.geom_type == "Polygon":
                pen.polygon(_flat(part.exterior, frame), fill=colour, outline=OUTLINE)
                for hole in part.interiors:
                    pen.polygon(_flat(hole, frame), fill=SHEET, outline=OUTLINE)
            elif part.geom_type == "LineString":
                pen.line(_flat(part, frame), fill=colour, width=2)


def _draw_points(pen: Any, layer: PointLayer, look: NDArray[np.uint8], frame: _Frame) -> None:
    """Draw the points; if they have counts and are few, as circles sized by their counts.

    Such circles have a dark edge, which makes them visible on a background of any colour.
    """
    counted = layer.value is not None and len(layer) < MAX_CIRCLES
    radius = np.full(len(layer), 4.0 if len(layer) < 2000 else 1.0)
    if counted:
        radius = radii(np.asarray(layer.value, dtype=np.float64))
    places = frame.pixels(layer.longitude, layer.latitude).tolist()
    # Small circles lie over large ones.
    for index in np.argsort(-radius, kind="stable").tolist():
        (x, y), reach = places[index], radius[index]
        pen.ellipse(
            (x - reach, y - reach, x + reach, y + reach),
            fill=tuple(look[index].tolist()),
            outline=INK if counted else None,
        )


def radii(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the radii (n,) of the circles for counts, whose areas grow with the counts."""
    largest = max(float(values.max(initial=0.0)), 1.0)
    return np.maximum(MIN_RADIUS, MAX_RADIUS * np.sqrt(np.maximum(values, 0.0) / largest))


def _draw_outline(pen: Any, shape: Any, frame: _Frame) -> None:
    """Draw the study area's outline."""
    for part in shapely.get_parts(shape).tolist():
        for ring in (part.exterior, *part.interiors):
            pen.line(_flat(ring, frame), fill=OUTLINE, width=2)


def _flat(line: Any, frame: _Frame) -> list[tuple[float, float]]:
    return [tuple(each) for each in frame.pixels(*shapely.get_coordinates(line).T).tolist()]


def _write_words(pen: Any, released: Released, view: View) -> None:
    """Write the title above the map, and the legend and privacy sentence below it."""
    about = released.about
    pen.text((EDGE, 24), _short(about.get("title", ""), 60), fill=INK, font=font(36))
    pen.text((EDGE, 72), _short(source_words(about), 110), fill=QUIET, font=font(20))
    top = HEAD + MAP_HEIGHT + 18
    left = _draw_key(pen, view, top)
    if view.grey_words:
        pen.rectangle((left, top, left + 28, top + 22), fill=NOISE)
        pen.text((left + 36, top), view.grey_words.lower(), fill=INK, font=font(18))
    unit = released.guarantee.unit.value
    promise = f"{unit_words(released, view)}, {cost_words(released)} per {unit}"
    pen.text((EDGE, top + 62), promise + margin_words(view), fill=QUIET, font=font(18))


def source_words(about: Mapping[str, str]) -> str:
    """Return the publisher, the licence, and the credits that the geometry's licences require."""
    parts = (about.get(each, "") for each in ("publisher", "licence", "attribution"))
    return " · ".join(filter(None, parts))


def _draw_key(pen: Any, view: View, top: int) -> int:
    """Draw a swatch for every class and, below each border of two swatches, the classes' limit.

    `top` is the y coordinate of the swatches. Returns the x coordinate from which the legend can
    continue to the right.
    """
    edges = view.edges
    left = EDGE
    for number, (edge, colour) in enumerate(zip(edges, view.ramp, strict=True)):
        pen.rectangle((left, top, left + 72, top + 22), fill=colour)
        if number or len(edges) == 1:
            anchor = "ma" if number else "la"
            pen.text((left, top + 28), f"{edge:,.6g}", fill=INK, font=font(18), anchor=anchor)
        left += 74
    return left + 24 if edges else left


def margin_words(view: View) -> str:
    """Return the phrase on the margin of error of each value, or "" if the layer has none.

    As on the map, it is the margin of a count per square if every box is a single cell, and of a
    box's or feature's own count otherwise. Margins of the cells of a smoothed surface do not add up
    to the margin of a larger square, so the phrase then refers to the data files.
    """
    layer = view.layer
    if layer.margin is None or not layer.margin.size:
        return ""
    cells = isinstance(layer, BoxLayer) and layer.is_cells
    if cells and layer.kind == "inferred" and view.factor > 1:
        return ", smoothed: the data files have the margins of error"
    factor = view.factor if cells else 1.0
    low, high = float(layer.margin.min()) * factor, float(layer.margin.max()) * factor
    span = _rounded(high)
    if not math.isclose(low, high):
        span = f"{_rounded(low)} to {span}"
    return f", each count ± {span}" if view.divisor else f", each ± {span}"


def _rounded(margin: float) -> str:
    """Return a margin as on pages: whole from 10 on, else with two significant digits."""
    return f"{margin:,.0f}" if margin >= 10 else f"{margin:.2g}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
