"""Cluster centres, nearest-centre assignment and areas of influence.

Everything here is public geometry. Nearest centres are found by straight-line distances through the
sphere, which order positions in the same way as great-circle distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_degrees, to_mercator

CHUNK = 1 << 15
"""Number of cells assigned to centres at a time, so that arrays stay in the processor's cache."""

CELLS_PER_CENTRE = 24
"""Minimum number of grid cells per centre in the k-means of `spread_evenly`."""

SPREADING_ROUNDS = 10
"""Number of rounds of k-means in `spread_evenly`."""


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Positions of k centres: `x` and `y`, float64 (k,), in Web Mercator metres."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.x)

    @classmethod
    def from_degrees(cls, longitude: ArrayLike, latitude: ArrayLike) -> Self:
        """Build centres from longitudes and latitudes in degrees."""
        return cls(*to_mercator(longitude, latitude))

    @property
    def degrees(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Longitudes, float64 (k,), and latitudes, float64 (k,), in degrees."""
        return to_degrees(self.x, self.y)

    def clamped(self, grid: Grid) -> Centres:
        """Return the centres, each moved to the nearest position inside the grid."""
        west, south, east, north = grid.mercator_bounds
        return Centres(np.clip(self.x, west, east), np.clip(self.y, south, north))


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Unit vectors from the Earth's centre to a grid's cells, computed from tables.

    A cell's vector is computed by table lookups and two products, each correctly rounded.
    So every bit of it is the same, no matter which other cells are computed in the same
    call. Without tables, the last bit of a sine might depend on the other entries of the
    array.
    """

    columns: int
    cos_latitude: NDArray[np.float64]
    sin_latitude: NDArray[np.float64]
    cos_longitude: NDArray[np.float64]
    sin_longitude: NDArray[np.float64]

    @classmethod
    def of(cls, grid: Grid) -> Self:
        """Build the tables: sines and cosines of the longitudes and latitudes of cell centres."""
        x = grid.west + (np.arange(grid.columns) + 0.5) * grid.cell
        y = grid.north - (np.arange(grid.rows) + 0.5) * grid.cell
        longitude, latitude = np.radians(to_degrees(x, 0)[0]), np.radians(to_degrees(0, y)[1])
        return cls(
            grid.columns, np.cos(latitude), np.sin(latitude), np.cos(longitude), np.sin(longitude)
        )

    def __call__(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Return points on the unit sphere for the cells with these indices (n,).

        The three arrays hold x, y and z (n,).
        """
        row, column = np.divmod(cells, self.columns)
        flat = self.cos_latitude[row]
        return (
            flat * self.cos_longitude[column],
            flat * self.sin_longitude[column],
            self.sin_latitude[row],
        )


def nearest(grid: Grid, cells: NDArray[np.int64], centres: Centres) -> NDArray[np.int64]:
    """Return, for each cell (n,), the index of the centre nearest to it on the ground.

    If several centres are equally near, the first is chosen. The result for a cell depends
    on that cell and the centres alone, because every operation acts on one cell and is
    correctly rounded. Matrix products are not used: their rounding may depend on other
    entries, which would break that independence, and with it the sensitivity of sums over
    clusters.
    """
    directions, targets = Directions.of(grid), np.column_stack(unit_vectors(centres))
    nearest_centre = np.empty(len(cells), dtype=np.int64)
    for start in range(0, len(cells), CHUNK):
        chunk = slice(start, start + CHUNK)
        first, second, third = directions(cells[chunk])
        best = np.full(first.shape, -np.inf)
        number = np.zeros(first.shape, dtype=np.int64)
        for index, target in enumerate(targets):
            cosine = first * target[0] + second * target[1] + third * target[2]
            nearer = cosine > best
            np.copyto(best, cosine, where=nearer)
            np.copyto(number, index, where=nearer)
        nearest_centre[chunk] = number
    return nearest_centre


def unit_vectors(centres: Centres) -> tuple[NDArray[np.float64], ...]:
    """Return the centres on the unit sphere, as three arrays of coordinates (k,)."""
    longitude, latitude = (np.radians(angle) for angle in centres.degrees)
    flat = np.cos(latitude)
    return flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)


def ground_metres(one: Centres, other: Centres) -> NDArray[np.float64]:
    """Compute great-circle distances in metres between pairs of positions; shapes broadcast.

    The haversine formula is used, since it is accurate for short distances.
    """
    (lon, lat), (to_lon, to_lat) = (
        [np.radians(angle) for angle in positions.degrees] for positions in (one, other)
    )
    longitude_term = np.cos(lat) * np.cos(to_lat) * np.sin((to_lon - lon) / 2) ** 2
    chord = np.sqrt(np.clip(np.sin((to_lat - lat) / 2) ** 2 + longitude_term, 0, 1))
    return np.asarray(2 * EARTH_RADIUS_METRES * np.arcsin(chord), dtype=np.float64)


@lru_cache(maxsize=16)
def spread_evenly(area: StudyArea, number: int) -> Centres:
    """Spread `number` positions evenly over a study area, by k-means on cells that intersect it.

    The positions are a deterministic function of public inputs.
    """
    grid, cells = _cells_of(area, CELLS_PER_CENTRE * number)
    row, column = np.divmod(cells, grid.columns)
    x, y = grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell
    chosen = _far_apart(x, y, number)
    centres = Centres(x[chosen], y[chosen])
    for _ in range(SPREADING_ROUNDS):
        region = nearest(grid, cells, centres)
        size = np.bincount(region, minlength=number)
        divisor = np.maximum(size, 1)
        centres = Centres(
            np.where(size > 0, np.bincount(region, x, number) / divisor, centres.x),
            np.where(size > 0, np.bincount(region, y, number) / divisor, centres.y),
        )
    return centres


def areas_of_influence(centres: Centres, area: StudyArea) -> NDArray[np.object_]:
    """Divide a study area by nearest centre; return the parts as shapes (k,) in degrees.

    Borders are straight on the map. Over a city, they differ from the true borders on the ground by
    less than the width of a drawn line. If centres coincide, the first of them gets the whole
    shape. A shape may be empty.
    """
    positions = np.column_stack([centres.x, centres.y])
    distinct = np.sort(np.unique(positions, axis=0, return_index=True)[1])
    shapes = np.full(len(centres), shapely.MultiPolygon(), dtype=np.object_)
    if len(distinct) == 1:
        shapes[distinct] = area.shape
        return shapes
    west, south, east, north = area.mercator_bounds
    frame = shapely.box(west, south, east, north)
    cells = shapely.voronoi_polygons(
        shapely.multipoints(positions[distinct]), extend_to=frame, ordered=True
    )
    in_degrees = shapely.transform(
        shapely.get_parts(cells), lambda flat: np.column_stack(to_degrees(*flat.T))
    )
    # If two centres nearly coincide, rounding can make the outlines of the two centres' areas
    # invalid.
    whole = shapely.make_valid(in_degrees)
    shapes[distinct] = [_polygons(each) for each in shapely.intersection(whole, area.shape)]
    return shapes


def _polygons(shape: Any) -> Any:
    """Return the polygons of a shape, oriented counterclockwise."""
    parts = shapely.get_parts(shapely.get_parts(shape))
    parts = [each for each in parts if each.geom_type == "Polygon"]
    return shapely.orient_polygons(parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts))


def _cells_of(area: StudyArea, least: int) -> tuple[Grid, NDArray[np.int64]]:
    """Return a grid in which `least` cells or more intersect the area, and their indices."""
    side = 32
    while True:
        grid = Grid.over(area, side)
        cells = np.flatnonzero(grid.inside(area))
        if len(cells) >= least:
            return grid, cells
        side *= 2


def _far_apart(x: NDArray[Any], y: NDArray[Any], number: int) -> list[int]:
    """Return the indices of `number` points, each as far as possible from the earlier ones."""
    chosen = [0]
    distance = np.hypot(x - x[0], y - y[0])
    while len(chosen) < number:
        chosen.append(int(np.argmax(distance)))
        np.minimum(distance, np.hypot(x - x[chosen[-1]], y - y[chosen[-1]]), out=distance)
    return chosen
