"""The raster of nearest places: where a cell names a place, the exact search finds it, too."""

from __future__ import annotations

import numpy as np
import pytest

from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.place_raster import PlaceRaster
from dpgeo.spatial.places import Places
from dpgeo.spatial.zone_raster import MARKED, OUTSIDE


def places(longitude: np.ndarray, latitude: np.ndarray, reach: int) -> NearPlaces:
    keys = tuple(map(str, range(len(longitude))))
    return NearPlaces(
        Places(
            levels=("place",),
            keys=keys,
            units=tuple((key,) for key in keys),
            longitude=longitude,
            latitude=latitude,
        ),
        reach,
    )


def scattered(number: int, reach: int) -> NearPlaces:
    random = np.random.default_rng(number)
    return places(random.uniform(13.0, 13.5, number), random.uniform(52.3, 52.6, number), reach)


def in_rows(reach: int) -> NearPlaces:
    """Return places on a lattice, so that borders between them run along lines of cells."""
    longitude, latitude = np.meshgrid(np.linspace(13.0, 13.5, 5), np.linspace(52.3, 52.6, 5))
    return places(longitude.ravel(), latitude.ravel(), reach)


@pytest.mark.parametrize(
    "near", [scattered(40, 3000), scattered(300, 400), in_rows(30_000)], ids=["few", "many", "rows"]
)
def test_what_is_not_marked_is_the_nearest_place(near: NearPlaces) -> None:
    raster = PlaceRaster.over(near)
    random = np.random.default_rng(2)
    at = random.uniform(0, len(raster.nearest), (2, 60_000))
    at[:, :20_000] = np.floor(at[:, :20_000])  # these lie on lines between cells
    longitude, latitude = (raster.low[axis] + at[axis] / raster.scale[axis] for axis in range(2))
    column, row = (
        ((degrees - raster.low[axis]) * raster.scale[axis]).astype(int)
        for axis, degrees in enumerate((longitude, latitude))
    )
    known = raster.nearest[row, column]
    found = np.full(len(known), OUTSIDE)
    position, place = near.locator().locate(longitude, latitude)
    found[position] = place
    inside = (found != OUTSIDE) & (known != MARKED)
    np.testing.assert_array_equal(known[inside], found[inside])
    assert inside.sum() > 5_000
    assert (known == MARKED).mean() < 0.2
