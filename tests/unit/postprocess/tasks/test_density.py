"""Population densities at given points and in rings around them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgeo.postprocess.tasks.density import ring_edges
from tests.unit.postprocess.tasks.surfaces import even_surface, two_towns


def test_density_is_zero_outside_the_grid() -> None:
    surface = even_surface()
    assert surface.at(np.array([0.0, 18.1]), np.array([59.3, 10.0])).tolist() == [0, 0]
    assert surface.noise_at(np.array([0.0]), np.array([59.3])).tolist() == [0]


@pytest.mark.parametrize("metres", [300.0, 2000.0, 15000.0])
def test_rings_hold_the_people_that_live_there(metres: float) -> None:
    surface = two_towns(128)
    lon, lat = np.array([18.09, 18.17]), np.array([59.315, 59.285])
    edges = ring_edges(metres)
    rings = surface.rings(lon, lat, edges)
    people = (math.pi * rings * np.diff(edges**2)).sum(axis=1)
    for task in range(2):
        fine = (np.arange(500) + 0.5) / 250 - 1
        across, along = (axis.ravel() * metres for axis in np.meshgrid(fine, fine))
        near = np.hypot(across, along) <= metres
        around_lat = lat[task] + np.degrees(along[near] / 6371008.8)
        scale = 6371008.8 * math.cos(math.radians(lat[task]))
        around_lon = lon[task] + np.degrees(across[near] / scale)
        exact = surface.at(around_lon, around_lat).sum() * (metres / 250) ** 2
        assert people[task] == pytest.approx(exact, rel=0.05)
