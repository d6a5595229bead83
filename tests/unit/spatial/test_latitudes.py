"""Latitudes by a polynomial: as exact as promised in its interval, and NaN outside it."""

from __future__ import annotations

import numpy as np
import pytest

from dpgeo.spatial.latitudes import Latitudes
from dpgeo.spatial.projection import to_degrees, to_mercator


@pytest.mark.parametrize("error", [1e-3, 1e-6, 2e-9])
@pytest.mark.parametrize(("south", "north"), [(50, 50.3), (-1, 1), (84.9, 85), (60, 72), (-35, -8)])
def test_the_error_is_within_its_bound(south: float, north: float, error: float) -> None:
    latitudes = Latitudes.between(south, north, error=error)
    assert latitudes is not None
    low, high = to_mercator(0, [south, north])[1]
    y = np.linspace(low, high, 100_001)
    differences = np.abs(latitudes(y) - to_degrees(0, y)[1])
    # `error` does not include rounding, which adds some units in the last place of the latitude.
    assert differences.max() <= error + 1e-13


def test_positions_outside_the_interval_have_no_latitude() -> None:
    latitudes = Latitudes.between(50, 51, error=1e-9)
    assert latitudes is not None
    y = to_mercator(0, [49.99, 50, 50.5, 51, 51.01])[1]
    with np.errstate(invalid="ignore"):
        found = latitudes(np.array([*y, np.nan, np.inf, -np.inf]))
    inside = np.isfinite(found)
    assert not inside[[0, 4, 5, 6, 7]].any()
    assert inside[2]
