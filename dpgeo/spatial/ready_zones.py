"""Zones that need no file: H3 hexagons or squares of a national grid over an area.

Both are public systems. Their cells were defined before any data were read, so they reveal nothing
about the data.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import shapely

from dpgeo.phrases import InvalidValue
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.national_grids import SQUARE_METRES, NationalGrid
from dpgeo.spatial.prepared import prepared
from dpgeo.spatial.zones import MAX_ZONES

Document = dict[str, Any]

H3_RESOLUTIONS = range(4, 12)
"""H3 resolutions offered: hexagons from about 1,770 km² down to 0.002 km²."""

MIN_ZONES = 4


def h3_resolutions(area: StudyArea) -> list[int]:
    """Return the resolutions with a suitable number of hexagons over an area, coarsest first."""
    if area.bounds[0] < -179 or area.bounds[2] > 179:
        return []  # Hexagons are not cut at the antimeridian, so none are offered there.
    import h3

    wide = area.ground_square_kilometres
    return [
        resolution
        for resolution in H3_RESOLUTIONS
        if MIN_ZONES <= wide / h3.average_hexagon_area(resolution, "km^2") <= MAX_ZONES / 2
    ]


def h3_hexagons(area: StudyArea, resolution: int) -> Document:
    """Return the H3 hexagons that intersect an area as GeoJSON, with their H3 indexes as keys.

    Raises ValueError if there are too many.
    """
    import h3

    cells: set[str] = set()
    for part in shapely.get_parts(area.shape):
        shape = h3.geo_to_h3shape(json.loads(shapely.to_geojson(part)))
        cells.update(h3.h3shape_to_cells_experimental(shape, resolution, contain="overlap"))
    keys = sorted(cells)
    corners = [[(lon, lat) for lat, lon in h3.cell_to_boundary(key)] for key in keys]
    return _zones(keys, [shapely.Polygon(each) for each in corners], area)


def square_sides(area: StudyArea, grid: NationalGrid) -> list[int]:
    """Return the sides of squares, in metres, that give an area a reasonable number of squares.

    The largest side is first. The list is empty if the grid does not cover the whole area.
    """
    if not grid.fits(area):
        return []
    metres = area.ground_square_kilometres * 1e6
    return [side for side in SQUARE_METRES if MIN_ZONES <= metres / side**2 <= MAX_ZONES / 2]


def grid_squares(area: StudyArea, grid: NationalGrid, side: int) -> Document:
    """Return the squares of a grid that intersect an area as GeoJSON, with names as keys.

    Names follow the grid's own system, such as 1kmE4295N2662. `side` is in metres. Raises
    ValueError if there are too many squares.
    """
    from pyproj import Transformer

    epsg = grid.epsg_of(area)
    there = Transformer.from_crs(4326, epsg, always_xy=True)
    back = Transformer.from_crs(epsg, 4326, always_xy=True)
    dense = shapely.segmentize(area.shape, 0.05)
    x, y = there.transform(*shapely.get_coordinates(dense).T)
    if np.ptp(x) * np.ptp(y) > 20 * MAX_ZONES * side**2:
        raise InvalidValue("Has too many squares; choose larger ones.")
    east = np.arange(np.floor(x.min() / side), np.ceil(x.max() / side), dtype=np.int64)
    north = np.arange(np.floor(y.min() / side), np.ceil(y.max() / side), dtype=np.int64)
    column, row = (each.ravel() for each in np.meshgrid(east, north))
    around = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    corners = (np.column_stack([column, row])[:, None] + around) * float(side)
    degrees = np.stack(back.transform(corners[..., 0], corners[..., 1]), axis=-1)
    shapes = shapely.polygons(degrees)
    touched = shapely.intersects(prepared(area.shape), shapes)
    middles = degrees[touched, :4].mean(axis=1).tolist()
    keys = [
        grid.key_of(side, each * side, other * side, *middle)
        for each, other, middle in zip(
            column[touched].tolist(), row[touched].tolist(), middles, strict=True
        )
    ]
    return _zones(keys, list(shapes[touched]), area)


def _zones(keys: list[str], shapes: list[shapely.Polygon], area: StudyArea) -> Document:
    if len(keys) > MAX_ZONES:
        raise InvalidValue(
            "Has {count:,} zones; give at most {most:,}, or use a grid.",
            count=len(keys),
            most=MAX_ZONES,
        )
    shared = shapely.area(shapely.intersection(np.array(shapes), area.shape))
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"key": key, "name": key},
                "geometry": json.loads(shapely.to_geojson(shapely.set_precision(shape, 1e-7))),
            }
            for key, shape, inside in zip(keys, shapes, shared, strict=True)
            if inside > 0
        ],
    }
