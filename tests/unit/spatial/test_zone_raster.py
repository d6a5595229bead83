"""The raster that speeds up zone lookup: it gives every position the zone of the exact test."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.projection import to_degrees, to_mercator
from dpgeo.spatial.zone_raster import ZoneRaster
from dpgeo.spatial.zones import RASTER_POSITIONS, Locator, Zones


def named(shapes: NDArray[np.object_]) -> Zones:
    keys = tuple(map(str, range(len(shapes))))
    return Zones(keys=keys, names=keys, shapes=shapes)


def irregular(number: int) -> NDArray[np.object_]:
    """Return `number` polygons that cover the unit square without overlaps."""
    seeds = shapely.multipoints(np.random.default_rng(1).random((number, 2)))
    frame = shapely.box(0, 0, 1, 1)
    parts = shapely.get_parts(shapely.voronoi_polygons(seeds, extend_to=frame))
    return np.asarray(shapely.intersection(parts, frame), dtype=object)


def scattered() -> NDArray[np.object_]:
    """Return zones that overlap, have holes, several parts, slivers and gaps between them."""
    circles = shapely.buffer(shapely.points(np.random.default_rng(2).random((30, 2))), 0.15)
    ring = shapely.box(0.2, 0.2, 0.8, 0.8).difference(shapely.box(0.4, 0.4, 0.41, 0.6))
    pair = shapely.multipolygons([shapely.box(1.2, 0, 1.5, 1), shapely.box(2, 2, 3, 2.001)])
    needle = shapely.Polygon([(0, 0), (3, 3), (3, 3.00001)])
    return np.array([*circles, ring, pair, needle], dtype=object)


@pytest.mark.parametrize("shapes", [irregular(300), irregular(1), scattered()])
def test_positions_are_in_the_same_zones_with_and_without_the_raster(
    shapes: NDArray[np.object_],
) -> None:
    zones = named(shapes)
    locator = Locator(zones)
    low, high = shapely.bounds(shapely.multipolygons(shapely.get_parts(shapes))).reshape(2, 2)
    random = np.random.default_rng(3)
    corners = shapely.get_coordinates(shapes)
    anywhere = random.uniform(low - 0.1, high + 0.1, (RASTER_POSITIONS, 2))
    beside = np.nextafter(corners, random.choice([-9.0, 9.0], corners.shape))
    # Positions on edges, and beside them by less and by more than rounding errors.
    edges = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(shapes)))
    share = random.random((3, len(edges) - 1, 1))
    along = (edges[:-1] * share + edges[1:] * (1 - share)).reshape(-1, 2)
    near = along + random.normal(size=along.shape) * 10.0 ** random.integers(-17, -3, along.shape)
    odd = np.array([[np.nan, 0.5], [0.5, np.nan], [np.inf, 0.5], [0.5, -np.inf], [1e300, 0.5]])
    longitude, latitude = np.concatenate([anywhere, corners, beside, along, near, odd]).T

    position, zone = locator.locate(longitude, latitude)

    tested, tested_zone = locator.tested(longitude, latitude)
    assert isinstance(locator._raster, ZoneRaster)
    assert len(np.unique(tested)) > 0.05 * len(longitude)
    np.testing.assert_array_equal(position, tested)
    np.testing.assert_array_equal(zone, tested_zone)


@pytest.mark.parametrize("stretch", [1e-7, 1e-5, 1e-4, 0.001, 1, 20])
def test_positions_in_metres_are_in_the_same_zones_as_in_degrees(stretch: float) -> None:
    """A position in metres is in the same zone as in degrees, whether zones are small or large.

    The zones cover `stretch` degrees of longitude.

    With 20, they extend over so many degrees of latitude that latitudes are computed exactly, not
    approximated. With 1e-5 or less, conversion from metres rounds positions by more than a raster
    allows.
    """
    away = (10, -5) if stretch == 20 else (170, 60)
    zones = named(shapely.transform(irregular(300), lambda at: at * stretch * (1, 3) + away))
    locator = Locator(zones)
    random = np.random.default_rng(5)
    corners = shapely.get_coordinates(zones.shapes)
    low, high = corners.min(axis=0), corners.max(axis=0)
    anywhere = random.uniform(low - 0.1 * stretch, high + stretch, (3 * RASTER_POSITIONS, 2))
    edges = shapely.get_coordinates(shapely.get_rings(zones.shapes))
    share = random.random((len(edges) - 1, 1))
    along = edges[:-1] * share + edges[1:] * (1 - share)
    # Add positions at distances from far below to far above the error of approximate latitudes.
    near = along + random.normal(size=along.shape) * 10.0 ** random.integers(-15, -3, along.shape)
    x, y = to_mercator(*np.concatenate([anywhere, corners, along, near]).T)

    found = locator.locate_projected(x, y)

    assert (locator._raster is None) == (stretch <= 1e-5)
    if locator._raster is not None:
        assert (locator._raster.latitudes is None) == (stretch == 20)
    for one, other in zip(found, locator.tested(*to_degrees(x, y)), strict=True):
        assert len(one) > RASTER_POSITIONS
        np.testing.assert_array_equal(one, other)
